"""numba's CUDA simulator, five times as fast: the threads of a block take turns, each a greenlet.

numba makes a thread of the system of each. They all ask for the interpreter's lock, and what starts them asks again and
again which of them waits. Here a thread runs until it has to wait for others; if all wait, that is an error.
"""

import runpy
import sys
from types import SimpleNamespace

import numpy as np
from greenlet import getcurrent, greenlet
from numba.cuda.simulator import kernel, kernelapi


class Thread(greenlet):
    """A thread of a block. `syncthreads` and the numbers are what numba's own has."""

    def __init__(self, run, block, block_index, index):
        super().__init__(run)
        self.block, self.blockIdx, self.threadIdx, self.waits = block, block_index, index, False

    def syncthreads(self):
        self.block.arrived += 1
        self.waits = True
        while self.waits:
            self.parent.switch()

    def of_all_lanes(self, value):
        """The values of all lanes of a warp, which is a row of threads."""
        values = self.block.values.setdefault(self.threadIdx.y, {})
        self.block.arrived += 1
        values[self.threadIdx.x] = value
        if len(values) == 32:
            del self.block.values[self.threadIdx.y]  # what the next ones bring is for the next time
        while len(values) < 32:
            self.parent.switch()
        return [values[lane] for lane in range(32)]


class Block:
    """Runs the threads of a block, forwards and backwards in turn: what they must wait for, none finds by luck."""

    def __init__(self, function, grid, size, debug):
        self.function, self.size, self.values, self.arrived = function, size, {}, 0

    def run(self, place, *arguments):
        where = kernelapi.Dim3(*place)
        alive = [
            Thread(lambda: self.function(*arguments), self, where, kernelapi.Dim3(*at)) for at in np.ndindex(*self.size)
        ]
        while alive:
            before = len(alive), self.arrived
            for thread in alive:
                thread.switch()
            alive = [thread for thread in reversed(alive) if not thread.dead]
            if all(thread.waits for thread in alive):
                for thread in alive:
                    thread.waits = False
            elif before == (len(alive), self.arrived):
                raise RuntimeError("the threads of a block wait for one another")


def shared_array(shared, shape, dtype):
    """An array of a block, known by the line that asks for it; numba reads the source of the whole stack for that."""
    asking = sys._getframe(1)
    line = asking.f_code.co_filename, asking.f_lineno
    if line not in shared._allocations:
        kind = kernelapi.numpy_support.as_dtype(dtype) if isinstance(dtype, kernelapi.types.Type) else dtype
        shared._allocations[line] = np.empty(shape, kind)
    return shared._allocations[line]


def install():
    kernel.BlockManager = Block
    kernel.FakeWithinKernelCUDAArray = lambda fake: fake._ary  # NumPy's own is as good, where no array holds records
    kernelapi.FakeCUDAShared.array = shared_array
    kernelapi.threading = SimpleNamespace(current_thread=getcurrent)


if __name__ == "__main__":
    install()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__")
