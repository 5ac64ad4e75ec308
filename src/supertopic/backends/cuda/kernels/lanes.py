"""What the 32 lanes of a warp do together, and functions of one number that kernels share.

A document belongs to a warp or to a team of warps, a run of a word's entries to one warp. Lane l of a warp holds the
topics l, l + 32, l + 64 … in registers. The simulator has no shuffles: lanes wait there for one another. Functions
that kernels call do without the name `cuda`, which the simulator gives to kernels alone.
"""

import math

import numpy as np
from numba import config, cuda

config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # small batches are small; whoever fits them knows
SIMULATED = bool(config.ENABLE_CUDASIM)
WARPS = 1 if SIMULATED else 4  # of a block; in the simulator, threads take long to make
_ALL = 0xFFFFFFFF

TINY = np.float32(1e-30)
WEIGHT_OFFSET = np.float32(1e-18)  # added to all weights, as on the CPU: no word is impossible

if SIMULATED:
    from greenlet import getcurrent  # threads of a block take turns there (`tests/lanes_in_turn.py`)

    def _of_all_lanes(value):
        """The values of all lanes of a warp, as soon as they are there."""
        return getcurrent().of_all_lanes(value)

    def on_device(function):
        """A function that kernels call: plain Python, in the simulator."""
        return function

    def wait_for_lanes():
        _of_all_lanes(None)

    def wait_for_block():
        getcurrent().syncthreads()

    def add_lanes(value):
        return type(value)(sum(_of_all_lanes(value)))

    def most_of_lanes(value):
        return max(_of_all_lanes(value))

    def from_lane(value, lane):
        return _of_all_lanes(value)[lane]

    def scan_lanes(value, lane):
        return type(value)(sum(_of_all_lanes(value)[: lane + 1]))

    def first_lane(flag, lane):
        flags = _of_all_lanes(bool(flag))
        return flags.index(True) if True in flags else -1

    def add_eight(value, lane):
        return np.float32(sum(_of_all_lanes(value)[lane & 24 : (lane & 24) + 8]))

    def add_two(a, b, lane):
        return np.float32(sum(two[(lane >> 3) & 1] for two in _of_all_lanes((a, b))[lane & 16 : (lane & 16) + 16]))

    def add_four(a, b, c, d, lane):
        return np.float32(sum(four[lane >> 3] for four in _of_all_lanes((a, b, c, d))))

else:
    on_device = cuda.jit(device=True, fastmath=True)

    @on_device
    def wait_for_lanes():
        """Until all lanes are here, and see what the others have written."""
        cuda.syncwarp()

    @on_device
    def wait_for_block():
        """As `wait_for_lanes`, of all warps of a block."""
        cuda.syncthreads()

    @on_device
    def add_lanes(value):
        """The sum over the lanes, in every lane."""
        value += cuda.shfl_xor_sync(_ALL, value, 16)
        value += cuda.shfl_xor_sync(_ALL, value, 8)
        value += cuda.shfl_xor_sync(_ALL, value, 4)
        value += cuda.shfl_xor_sync(_ALL, value, 2)
        value += cuda.shfl_xor_sync(_ALL, value, 1)
        return value

    @on_device
    def most_of_lanes(value):
        """The largest value of the lanes, in every lane."""
        value = max(value, cuda.shfl_xor_sync(_ALL, value, 16))
        value = max(value, cuda.shfl_xor_sync(_ALL, value, 8))
        value = max(value, cuda.shfl_xor_sync(_ALL, value, 4))
        value = max(value, cuda.shfl_xor_sync(_ALL, value, 2))
        return max(value, cuda.shfl_xor_sync(_ALL, value, 1))

    @on_device
    def from_lane(value, lane):
        """The value of another lane."""
        return cuda.shfl_sync(_ALL, value, lane)

    @on_device
    def scan_lanes(value, lane):
        """The sum over this lane and those before it."""
        for step in (1, 2, 4, 8, 16):
            before = cuda.shfl_up_sync(_ALL, value, step)
            if lane >= step:
                value += before
        return value

    @on_device
    def first_lane(flag, lane):
        """The first lane whose flag is set; -1 without any."""
        return cuda.ffs(cuda.ballot_sync(_ALL, flag)) - 1

    @on_device
    def add_eight(value, lane):
        """The sum over this lane and the seven of its group, which begins at a multiple of eight."""
        value += cuda.shfl_xor_sync(_ALL, value, 4)
        value += cuda.shfl_xor_sync(_ALL, value, 2)
        return value + cuda.shfl_xor_sync(_ALL, value, 1)

    @on_device
    def add_two(a, b, lane):
        """Sums over sixteen lanes, those below 16 or the others: of a in the first eight of them, of b in the next."""
        kept, sent = (b, a) if (lane & 8) != 0 else (a, b)
        value = kept + cuda.shfl_xor_sync(_ALL, sent, 8)
        return add_eight(value, lane)

    @on_device
    def add_four(a, b, c, d, lane):
        """The sum over the lanes of a in lanes 0 to 7, of b in 8 to 15, of c in 16 to 23, and of d in the others.

        Lanes send one half of what they have and keep the other, so that four sums take six shuffles and not twenty.
        """
        high, second = (lane & 16) != 0, (lane & 8) != 0
        kept, sent = (c, a) if high else (a, c)
        first = kept + cuda.shfl_xor_sync(_ALL, sent, 16)
        kept, sent = (d, b) if high else (b, d)
        other = kept + cuda.shfl_xor_sync(_ALL, sent, 16)
        kept, sent = (other, first) if second else (first, other)
        value = kept + cuda.shfl_xor_sync(_ALL, sent, 8)
        value += cuda.shfl_xor_sync(_ALL, value, 4)
        value += cuda.shfl_xor_sync(_ALL, value, 2)
        return value + cuda.shfl_xor_sync(_ALL, value, 1)


@on_device
def uniform(key, index):
    """u in [0, 1) with 24 bits: splitmix64 of (key, index)."""
    x = np.uint64(key) + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32(np.uint64(x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@on_device
def lower(pair):
    """The number that the lower half of 32 bits holds in bfloat16."""
    return np.uint32(np.uint32(pair) << np.uint32(16)).view(np.float32)


@on_device
def upper(pair):
    """The number that all 32 bits hold, of which the upper half was chosen (`paired`)."""
    return np.uint32(pair).view(np.float32)


@on_device
def paired(x, y):
    """Two numbers >= 0 in 32 bits: x in bfloat16 below, and above it what makes the whole nearest to y as a float32.

    So y is read without a mask, and is as exact as in bfloat16 of its own.
    """
    below = (np.float32(x).view(np.uint32) + np.uint32(0x8000)) >> np.uint32(16)
    above = (np.float32(y).view(np.uint32) + np.uint32(0x8000) - below) >> np.uint32(16)
    return np.uint32(below | (above << np.uint32(16)))


@on_device
def exp_digamma(x):
    """exp(psi(x)) in float32 for x > 0: psi(x) = psi(x + 6) - sum 1/(x + i), and a series at x + 6."""
    if x > np.float32(1e4):
        inv = np.float32(1.0) / x
        return x - np.float32(0.5) + inv * np.float32(1 / 24)
    t = x * (x + np.float32(5.0))
    u = t * t
    shift = (np.float32(2.0) * x + np.float32(5.0)) * (
        (np.float32(3.0) * u + np.float32(20.0) * t + np.float32(24.0))
        / (t * (u + np.float32(10.0) * t + np.float32(24.0)))
    )
    y = x + np.float32(6.0)
    inv = np.float32(1.0) / y
    series = y - np.float32(0.5) + inv * (np.float32(1 / 24) + inv * (np.float32(1 / 48) - inv * np.float32(23 / 5760)))
    return series * math.exp(max(-shift, np.float32(-40.0)))


@on_device
def digamma(x):
    """psi(x) in float64 for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@on_device
def row_of(which, d):
    """The row of a document; the same one for all documents where one is given."""
    return np.int64(which[min(d, which.shape[0] - 1)])
