"""Kernels as plain Python (`NUMBA_DISABLE_JIT=1`), so that `make coverage` can count their lines.

`tests/conftest.py` calls `install` where the JIT is off. The Gibbs kernels have vector functions written in LLVM, which
run only where they are compiled: here is what they mean, in NumPy. A test that takes too long is skipped on its way,
with the lines counted that it has reached: the same test runs to its end, compiled, in `make test`.
"""

import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

LANES = 16
LONGEST = 5.0  # seconds of one test, of the processor: other work on the machine takes none of them


def _counts_lines(frame):
    """Whether coverage is at work: it holds a lock, which an error would leave locked for all tests to come."""
    while frame is not None and not {"supertopic", "tests"} & set(Path(frame.f_code.co_filename).parts):
        if "coverage" in Path(frame.f_code.co_filename).parts:
            return True
        frame = frame.f_back
    return False


@contextmanager
def time_limit():
    """Skip the test under way after LONGEST seconds."""

    def stop(number, frame):
        if _counts_lines(frame):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
        else:
            pytest.skip(f"takes more than {LONGEST:g} seconds as plain Python")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def add(a, b):
    return a + b


def multiply(a, b):
    return a * b


def floats(values):
    return values.astype(np.float32)


def spread(value):
    return np.full(LANES, value, np.float32)


def last(values):
    return values[LANES - 1]


def low_bits(values, mask):
    return values & np.int32(mask)


def high_bits(values, shift):
    return (values.view(np.uint32) >> np.uint32(shift)).view(np.int32)


def count_up(first):
    return np.arange(first, first + LANES, dtype=np.int32)


def prefix_sums(values):
    """In the order of the kernel's four steps, so that the roundings are its own."""
    for step in (1, 2, 4, 8):
        values = values + np.concatenate([np.zeros(step, np.float32), values[:-step]])
    return values


def count_not_above(values, limit):
    return int((values <= np.float32(limit)).sum())


def first_equal(keys, key):
    found = np.flatnonzero(keys == key)
    return int(found[0]) if len(found) else 64


def gather(array, indices):
    return array[indices]


def prefetch(array, position):
    pass


def load(array, start, size=LANES):
    values = np.zeros(LANES, np.float32 if array.dtype == np.float32 or size < LANES else np.int32)
    values[:size] = array.reshape(-1)[start : start + size].astype(values.dtype)
    return values


def load_floats(array, start, size):
    """`load` of the document-major kernel, which gives integers as float32."""
    return load(array, start, size).astype(np.float32)


def store(array, start, values):
    array.reshape(-1)[start : start + LANES] = values


def replace(values, keys, key, value):
    return np.where(keys == key, np.float32(value), values)


class OneThread:
    """In the place of a pool: threads would go on after their test was skipped, and hold up those after it."""

    def __init__(self, n_threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def map(self, function, *arguments):
        return list(map(function, *arguments))


def install():
    """Put these functions into the place of the compiled ones, and one thread into the place of many."""
    from supertopic.backends import threads
    from supertopic.kernels import gibbs_documents, gibbs_words
    from supertopic.metrics import heldout

    threads.effective_n_jobs = lambda n_jobs: 1
    heldout.ThreadPoolExecutor = OneThread

    shared = (add, multiply, spread, prefix_sums, count_not_above, prefetch, store, replace)
    for kernel, own in (
        (gibbs_words, (floats, last, low_bits, high_bits, count_up, first_equal, gather, load)),
        (gibbs_documents, ()),
    ):
        for function in (*shared, *own):
            assert hasattr(kernel, function.__name__)
            setattr(kernel, function.__name__, function)
    gibbs_documents.load = load_floats
