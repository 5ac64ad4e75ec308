"""Threads: run a kernel on ranges of documents or words. Kernels release the GIL, so plain threads are enough.

A range never shares what it writes with another, and nothing depends on where the cuts are: the result is the same,
bit for bit, for every number of threads.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from supertopic.backends.base import Partitioned, RangeFunction, in_turn
from supertopic.backends.cpu.ops import CpuOps
from supertopic.cores import most_threads

_MANY_PARTS = 32  # of a range; more only where every thread would have fewer than two
_FEW_THREADS = 4  # are always woken; of more threads, each needs …
_WORTH_WAKING = 1.5e-4  # seconds of work


@cache
def _matrix_libraries() -> ThreadpoolController:
    """The libraries of matrix products. Looking for them takes milliseconds, longer than a document's prediction."""
    return ThreadpoolController()


class Helpers:
    """Threads that wait for calls. With futures, as of a `ThreadPoolExecutor`, a wave of calls takes 0.05 ms longer."""

    def __init__(self) -> None:
        self._tasks, self._threads = SimpleQueue[Any](), list[threading.Thread]()
        weakref.finalize(self, _end, self._tasks, self._threads)

    def call(self, work: Callable[[], None], n: int) -> SimpleQueue[BaseException | None]:
        """Let n of them work; each puts its error, or None, into the queue that is returned."""
        while len(self._threads) < n:
            thread = threading.Thread(target=_help, args=(self._tasks,), daemon=True)
            thread.start()  # which a system may refuse
            self._threads.append(thread)
        ends = SimpleQueue[BaseException | None]()
        for _ in range(n):
            self._tasks.put((work, ends))
        return ends

    def dismiss(self) -> None:
        """Each ends after what it does now; a later call has new ones."""
        _end(self._tasks, self._threads)


def _help(tasks: SimpleQueue[Any]) -> None:
    while (task := tasks.get()) is not None:
        work, ends = task
        try:
            work()
        except BaseException as error:
            ends.put(error)
        else:
            ends.put(None)


def _end(tasks: SimpleQueue[Any], threads: list[threading.Thread]) -> None:
    for _ in threads:
        tasks.put(None)
    threads.clear()


class Threads:
    """A pool of `n_jobs` threads (scikit-learn's meaning: None is 1, -1 is all cores); a context manager.

    Inside, matrix products keep to one thread: theirs would fight with these for the cores.
    """

    remote = on_device = False

    def __init__(self, n_jobs: int | None = None) -> None:
        if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
            raise ValueError(f"n_jobs: got {n_jobs!r}, expected a whole number other than 0, or None")
        self.n_threads = min(effective_n_jobs(n_jobs), most_threads())
        self._kept = threading.local()
        self._helpers = Helpers()
        # more parts than threads: one slow part does not hold up the rest; but each waits for Python's lock to begin,
        n_parts = min(8 * self.n_threads, max(2 * self.n_threads, _MANY_PARTS))
        left = np.arange(n_parts - 1, 0, -1) / n_parts
        self._done = 1.0 - left * left  # and ever smaller ones: at the end nobody waits long
        self._seconds: dict[Any, float] = {}  # that a call of each function took the last time

    def __enter__(self) -> Self:
        self._products = _matrix_libraries().limit(limits=1, user_api="blas")
        self._products.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._products.__exit__(kind, error, trace)
        self._helpers.dismiss()

    def scratch(self, n_rows: int, n_columns: int) -> np.ndarray:
        """A float32 array of the calling thread, to be overwritten. It is kept, since a new one costs page faults."""
        room = getattr(self._kept, "room", None)
        if room is None or len(room) < n_rows * n_columns:
            room = self._kept.room = np.empty(n_rows * n_columns, dtype=np.float32)
        return room[: n_rows * n_columns].reshape(n_rows, n_columns)

    def over_range(self, n: int, task: RangeFunction) -> None:
        """task(start, stop) over [0, n), cut as items of the same work are."""
        self.all([(task, *ends) for ends in self._cut(n, lambda: np.ceil(n * self._done).astype(np.int64))])

    def over_weights(self, cumulative: np.ndarray, task: RangeFunction) -> None:
        """task(start, stop) over items whose running total of work is `cumulative` (one longer than the items)."""
        self.all([(task, *ends) for ends in self.cut(cumulative)])

    def cut(self, cumulative: np.ndarray) -> list[tuple[int, int]]:
        """Ranges (start, stop) of items of less and less work, whose running total is `cumulative`, for the threads."""

        def places() -> np.ndarray:
            return np.searchsorted(cumulative, cumulative[0] + (cumulative[-1] - cumulative[0]) * self._done)

        return self._cut(len(cumulative) - 1, places)

    def _cut(self, n: int, places: Callable[[], np.ndarray]) -> list[tuple[int, int]]:
        """Ranges of [0, n) between places, where as much of the work is done as `_done` says."""
        if self.n_threads == 1:
            return [(0, n)] if n > 0 else []
        cuts = range(n + 1) if n <= len(self._done) + 1 else [0, *places().tolist(), n]
        return [(a, b) for a, b in pairwise(cuts) if a < b]

    def all(self, calls: Sequence[tuple[Any, ...]]) -> None:
        """Run calls (function, *arguments) that share no output; an error in one is raised here.

        Whoever is free takes the next call, this thread too: a wave of many small calls costs little. To wake a thread
        takes longer than a small call does, so that of many no more are woken than have something worth it to do.
        """
        if self.n_threads == 1:
            return in_turn(calls)
        left, spent = deque(calls), defaultdict[Any, list[float]](list)
        many = self.n_threads > _FEW_THREADS

        def work() -> None:
            while True:
                try:
                    function, *arguments = left.popleft()
                except IndexError:
                    return
                begin = time.thread_time() if many else 0.0  # not of the clock: waiting for Python's lock is no work
                function(*arguments)
                if many:
                    spent[_kind(function)].append(time.thread_time() - begin)

        expected = sum(self._seconds.get(_kind(call[0]), np.inf) for call in calls) if many else np.inf
        n_workers = math.ceil(min(self.n_threads, len(calls), expected / _WORTH_WAKING))
        ends = self._helpers.call(work, max(n_workers - 1, 0))
        try:
            work()
        finally:
            left.clear()  # after an error here, nobody begins another
            errors = [ends.get() for _ in range(1, n_workers)]  # waits for each
        for error in errors:
            if error is not None:
                raise error
        self._seconds.update({kind: sum(seconds) / len(seconds) for kind, seconds in spent.items()})

    def spread(self, documents: Partitioned) -> OnePartition:
        """All documents in one partition: threads share memory, and kernels cut it into ranges themselves."""
        return OnePartition(documents.split(1)[0], self)

    @property
    def ops(self) -> CpuOps:
        return CpuOps(self)

    def form(self, original: object) -> Any:
        """A function or class as it is."""
        return original

    def alone(self) -> Threads:
        """One thread. A call of this pool that waited for a place in it would wait for ever."""
        return Threads(1)


def _kind(function: object) -> Any:
    """What calls that take about the same time have in common: the code of a closure, or the function."""
    function = getattr(function, "func", function)  # of a partial
    return getattr(function, "__code__", function)


class OnePartition:
    """The partition of all documents, in this process."""

    def __init__(self, partition: object, backend: Threads) -> None:
        self.partition, self._backend = partition, backend

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        return [function(self.partition, self._backend, *shared)]
