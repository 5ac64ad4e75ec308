"""How kernels start: as numba's do, `kernel[blocks, threads](*arguments)`, in a tenth of the time on the host.

numba looks at every argument anew, which takes about 0.1 ms for the twenty arrays of a step, and short steps launch a
dozen kernels each. Arrays here are flat and know how a kernel takes them (`Given`, from `memory.empty`), so that a
launch is a lookup by kinds of arguments, and one copy of their numbers.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, from_dtype, typeof, types

from supertopic.backends.cuda.kernels.lanes import SIMULATED

_FORMATS = {  # of eight bytes each, whatever the number takes of them
    np.dtype(np.bool_): "?7x", np.dtype(np.float32): "f4x", np.dtype(np.float64): "d", np.dtype(np.int32): "i4x",
    np.dtype(np.int64): "q", np.dtype(np.uint64): "Q",
}  # fmt: skip
_HERE = threading.local()  # whether this thread has the device's context


class Given(NamedTuple):
    """A flat array as a kernel takes it."""

    dtype: np.dtype
    numbers: tuple[int, ...]  # no owner, no parent, items, bytes of each, address, items, bytes from one to the next

    @classmethod
    def of(cls, dtype: np.dtype, address: int, n_items: int) -> Given:
        return cls(dtype, (0, 0, n_items, dtype.itemsize, address, n_items, dtype.itemsize))

    @property
    def address(self) -> int:
        return self.numbers[4]


class _Compiled:
    """A kernel for some kinds of arguments. Its numbers have one place, so that one thread launches it at a time."""

    def __init__(self, kernel: Any, kinds: tuple[Any, ...]) -> None:
        driver = import_module("cuda.bindings.driver")  # which comes with numba-cuda
        self._start = driver.cuLaunchKernel
        self._kernel = kernel  # holds the code that the handle names; numba has no public way to it
        self._handle = driver.CUfunction(int(kernel._codelibrary.get_cufunc().handle))
        self._pack = struct.Struct("=" + "".join(map(_format, kinds)))
        n_numbers = self._pack.size // 8
        self._numbers, self._lock = ctypes.create_string_buffer(self._pack.size), threading.Lock()
        first = ctypes.addressof(self._numbers)
        self._addresses = (ctypes.c_void_p * n_numbers)(*range(first, first + self._pack.size, 8))
        self._parameters = ctypes.addressof(self._addresses)

    def launch(self, blocks: tuple[int, ...], threads: tuple[int, ...], numbers: list[Any]) -> None:
        with self._lock:  # until the driver has copied them
            self._pack.pack_into(self._numbers, 0, *numbers)
            (code,) = self._start(self._handle, *blocks, *threads, 0, 0, self._parameters, 0)
        if code:
            raise RuntimeError(f"a kernel did not start on the GPU: {code!r}")


class Kernel:
    """A function for the device, compiled for the kinds of arguments that it gets."""

    def __init__(self, function: Callable[..., None], **options: Any) -> None:
        self._function, self._compiled = cuda.jit(**options)(function), dict[Any, _Compiled]()

    def __getitem__(self, size: tuple[Any, Any]) -> Callable[..., None]:
        blocks, threads = map(_in_three, size)

        def launch(*arguments: Any) -> None:
            if not hasattr(_HERE, "context"):
                _HERE.context = cuda.current_context()
            kinds = tuple(map(_kind, arguments))
            compiled = self._compiled.get(kinds) or self._compile(kinds)
            numbers: list[Any] = []
            for one in arguments:
                given = getattr(one, "given", None)
                if given is not None:
                    numbers += given.numbers
                elif isinstance(one, tuple):
                    numbers += one
                else:
                    numbers.append(one)
            compiled.launch(blocks, threads, numbers)

        return launch

    def _compile(self, kinds: tuple[Any, ...]) -> _Compiled:
        found = self._compiled[kinds] = _Compiled(self._function.compile(tuple(map(_type, kinds))), kinds)
        return found


def _in_three(size: Any) -> tuple[int, ...]:
    given = size if isinstance(size, tuple) else (size,)
    return (*map(int, given), 1, 1)[:3]


def _kind(argument: Any) -> Any:
    """What a kernel is compiled for: the items of an array, the type of a number, those of a tuple."""
    given = getattr(argument, "given", None)
    if given is not None:
        return given.dtype
    return tuple(map(type, argument)) if isinstance(argument, tuple) else type(argument)


def _type(kind: Any) -> Any:
    """numba's type."""
    if isinstance(kind, np.dtype):
        return types.Array(from_dtype(kind), 1, "C")
    return types.Tuple([typeof(one()) for one in kind]) if isinstance(kind, tuple) else typeof(kind())


def _format(kind: Any) -> str:
    if isinstance(kind, np.dtype):
        return "7q"
    return "".join(map(_format, kind)) if isinstance(kind, tuple) else _FORMATS[np.dtype(kind)]


def as_kernel(function: Callable[..., None] | None = None, **options: Any) -> Any:
    """A decorator: a function as a kernel, with numba's options for the compiler."""
    if function is None:
        return lambda found: as_kernel(found, **options)
    return cuda.jit(**options)(function) if SIMULATED else Kernel(function, **options)
