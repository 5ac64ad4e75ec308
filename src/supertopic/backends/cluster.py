"""A cluster: partitions of the documents on the workers of a Dask scheduler, each worked on by the threads' kernels.

What must not be lost with a worker is what its partitions' local steps found. Every partition is therefore two
futures: its documents, by a task that can be run again, and what was found last, by a chain of tasks from there. Dask
runs again what a lost worker had. The chain is cut now and then: what was found comes here, and the next link starts
from it, so that the scheduler need not keep all models that ever were.

The number of partitions depends on the documents alone, and results are added up a tree of fixed order: the sum does
not depend on the number of workers nor on who finishes first. Documents that are too few to be worth sending, such as
those of a small mini-batch, stay here.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import count, repeat
from time import monotonic
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import dask
from dask.base import annotate
from dask.delayed import Delayed, delayed
from distributed import Client, Future, wait
from distributed.client import FuturesCancelledError
from distributed.comm.core import CommClosedError
from distributed.protocol import deserialize_bytes, serialize_bytes  # type: ignore[attr-defined]

from supertopic.backends.base import Combine, Movable, Partitioned, Spread, in_tree
from supertopic.backends.threads import Threads

_LONGEST_CHAIN, _LARGEST_CHAIN = 8, 256 << 20  # local steps, and bytes that they were given, between two cuts
_SMALL = 1 << 16  # bytes that go along with every task; more are sent to the workers once
_KERNELS = "supertopic.kernels"  # what workers import
_FAILURES = 100  # workers that a task may see dying; Dask gives up after three, which need not be the task's fault
_LOOK = 2.0  # seconds between two looks whether anybody is there
_AGAIN = "with checkpoint= the next fit goes on from the last step"


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """What a dead scheduler, or workers that cannot work, raise: as one sentence."""
    try:
        yield
    except (CancelledError, FuturesCancelledError, CommClosedError) as error:
        raise ConnectionError(f"the cluster's scheduler is gone: start one and fit again; {_AGAIN}") from error
    except ModuleNotFoundError as error:
        raise ValueError(f"{error} on the workers of the cluster: install supertopic there as it is here") from error


class Cluster(Threads):
    """The workers of a Dask client; what belongs to no document is done here, by `n_jobs` threads."""

    remote = True

    def __init__(self, client: Client, n_jobs: int | None = None) -> None:
        if client.status != "running":
            raise ValueError(f"backend: got a Dask client that is {client.status}, expected one that is connected")
        super().__init__(n_jobs)
        self._client = client

    def __enter__(self) -> Self:
        self._quiet = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._quiet.__exit__(kind, error, trace)  # type: ignore[no-untyped-call]

    def spread(self, documents: Partitioned) -> Spread:  # type: ignore[override]
        """The documents on the workers, or here if they are one piece."""
        if documents.n_pieces == 1:
            return super().spread(documents)
        with _in_a_sentence():
            self._client.run(import_module, _KERNELS)  # before any work
            _bear_failures(self._client)
            return ClusterSpread(self._client, documents.split(documents.n_pieces))


def _bear_failures(client: Client) -> None:
    """Let tasks outlive more workers than Dask's default, which is three."""

    def bear(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = max(dask_scheduler.allowed_failures, _FAILURES)

    client.run_on_scheduler(bear)


class ClusterSpread:
    """Partitions on the workers."""

    def __init__(self, client: Client, partitions: list[Movable]) -> None:
        self._client, self._name, self._numbers = client, f"supertopic-{uuid4().hex[:12]}", count()
        self._workers = self._places(len(partitions))
        self._documents = self._hold([part.holding(None, copied=False) for part in partitions], "documents")
        self._found = self._hold([part.kept() for part in partitions], "found")
        self._length = self._bytes = 0  # of the chain since its last cut
        self._waiting: Parts | None = None

    def _places(self, n_partitions: int) -> list[dict[str, Any]]:
        """Where each partition is worked on, if that worker is there. Left to itself, Dask moves documents to where the
        topics arrive first, and one worker does it all.
        """
        places = sorted(self._client.nthreads().items())
        workers = [worker for worker, n_threads in places for _ in range(n_threads)]
        if not workers:
            return [{}] * n_partitions
        chosen = (workers[i * len(workers) // n_partitions] for i in range(n_partitions))
        return [{"workers": [worker], "allow_other_workers": True} for worker in chosen]

    def _hold(self, values: list[Any], what: str) -> list[Future]:
        """Each value on the worker of its partition."""
        name, pairs = self.name(what), zip(values, self._workers, strict=True)
        return [
            self._client.submit(deserialize_bytes, serialize_bytes(value), key=f"{name}-{i}", pure=False, **place)
            for i, (value, place) in enumerate(pairs)
        ]

    def name(self, what: str) -> str:
        """A key that no other task has."""
        return f"{self._name}-{what}-{next(self._numbers)}"

    def map(self, function: Callable[..., Any], *shared: Any) -> Parts:
        """As `Spread.map`; the results stay on the workers until they are asked for."""
        self.flush()
        packed = serialize_bytes((function, shared))
        given = packed
        if len(packed) > _SMALL:
            given = delayed(deserialize_bytes)(packed, dask_key_name=self.name("given"))
        if getattr(function, "reads_only", False):
            return Parts(self, self._tasks(_ask, given, getattr(function, "__name__", "ask")))
        if self._length >= _LONGEST_CHAIN or self._bytes > _LARGEST_CHAIN:
            self._workers = self._places(len(self._found))  # some may be new
            self._found = self._hold(self.gather(self._found), "found")
            self._length = self._bytes = 0
        self._length, self._bytes = self._length + 1, self._bytes + len(packed)
        steps = self._tasks(_step, given, getattr(function, "__name__", "step"))
        found, values = (
            self._by_place(what, part, zip(steps)) for what, part in (("found", _first), ("value", _second))
        )
        self._waiting = Parts(self, values, found)
        return self._waiting

    def _tasks(self, task: Callable[..., Any], given: object, what: str) -> list[Delayed]:
        return self._by_place(what, task, zip(self._documents, self._found, repeat(given)))

    def _by_place(self, what: str, task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Delayed]:
        """A task for each partition, where that is worked on."""
        name, run, found = self.name(what), delayed(task, traverse=False), []
        for i, (place, given) in enumerate(zip(self._workers, arguments, strict=True)):
            with annotate(**place):
                found.append(run(*given, dask_key_name=f"{name}-{i}"))
        return found

    def flush(self) -> None:
        """Run what nobody has asked the results of."""
        if self._waiting is not None:
            self._waiting.run([])

    def run(self, tasks: list[Delayed], found: list[Delayed]) -> list[Future]:
        """Submit tasks, and with them the next links of the chain."""
        futures: list[Future] = self._client.compute([*tasks, *found], optimize_graph=False)
        if found:
            self._found, self._waiting = futures[len(tasks) :], None
        return futures[: len(tasks)]

    def gather(self, futures: list[Future]) -> list[Any]:
        with _in_a_sentence():
            self._wait(futures)
            return list(self._client.gather(futures))

    def _wait(self, futures: list[Future]) -> None:
        """Until they are there; a cluster without any worker has `supertopic.patience` seconds (60) to find one."""
        patience, last_seen = float(dask.config.get("supertopic.patience", 60.0)), monotonic()
        while True:
            try:
                with self._client.as_current():
                    wait(futures, timeout=min(_LOOK, patience))
                return
            except TimeoutError:
                if self._client.status != "running":
                    raise CancelledError from None
            if self._client.nthreads():
                last_seen = monotonic()
            elif monotonic() - last_seen >= patience:
                raise ConnectionError(
                    f"the cluster has had no worker for {patience:g} seconds: start some and fit again; {_AGAIN}"
                )


class Parts:
    """Results of a call for every partition, in their order."""

    def __init__(self, spread: ClusterSpread, values: list[Delayed], found: list[Delayed] | None = None) -> None:
        self._spread, self._values, self._found = spread, values, found or []

    def run(self, tasks: list[Delayed]) -> list[Future]:
        """Submit the tasks that are asked for; the chain grows once."""
        found, self._found = self._found, []
        return self._spread.run(tasks, found)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._spread.gather(self.run(self._values)))

    def fold(self, combine: Combine) -> Any:
        """The results combined up a tree: by the workers if they are large, here if they are small."""
        if not self._found:
            return in_tree(list(self), combine)
        name, numbers, task = self._spread.name("sum"), count(), delayed(combine, traverse=False)
        root = in_tree(self._values, lambda one, other: task(one, other, dask_key_name=f"{name}-{next(numbers)}"))
        return self._spread.gather(self.run([root]))[0]


@cache
def _kernels() -> Threads:
    """Where a worker runs kernels: the thread of the task, for as long as the worker lives."""
    return Threads(1).__enter__()


def _unpacked(given: Any) -> tuple[Callable[..., Any], tuple]:
    return deserialize_bytes(given) if isinstance(given, bytes) else given


def _step(documents: Movable, found: object, given: object) -> tuple[Any, Any]:
    """(what is found of the documents, the function's result)."""
    function, shared = _unpacked(given)
    own = documents.holding(found, copied=True)
    value = function(own, _kernels(), *shared)
    return own.kept(), value


def _ask(documents: Movable, found: object, given: object) -> Any:
    function, shared = _unpacked(given)
    return function(documents.holding(found, copied=False), _kernels(), *shared)


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]
