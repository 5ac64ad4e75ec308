"""The contract of a backend, the only part that knows how the work is spread.

Kernels run over ranges of documents or words (`over_range`, `over_weights`, `all`). A local step runs over partitions
of the documents (`spread`, `Spread.map`): its results come back in the order of the partitions and are added in that
order, so that the sum does not depend on who finishes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

RangeFunction = Callable[[int, int], None]


class Partitioned(Protocol):
    """Documents that can be cut into partitions."""

    def split(self, n_parts: int) -> list[Any]: ...


class Spread(Protocol):
    """Documents in partitions, each wherever the backend keeps it."""

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """function(partition, backend, *shared) for every partition, in their order.

        The function is one of a module, so that another process can import it. What it changes in its partition stays
        there for the next call.
        """
        ...


class Backend(Protocol):
    """Where kernels run: a context manager."""

    n_threads: int

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def scratch(self, n_rows: int, n_columns: int) -> np.ndarray:
        """A float32 array of the calling thread, to be overwritten."""
        ...

    def over_range(self, n: int, task: RangeFunction) -> None:
        """task(start, stop) over [0, n), in even parts."""
        ...

    def over_weights(self, cumulative: np.ndarray, task: RangeFunction) -> None:
        """task(start, stop) over items whose running total of work is `cumulative` (one longer than the items)."""
        ...

    def cut(self, cumulative: np.ndarray) -> list[tuple[int, int]]:
        """The ranges that `over_weights` would use."""
        ...

    def all(self, calls: Sequence[tuple]) -> None:
        """Run calls (function, *arguments) that share no output."""
        ...

    def spread(self, documents: Partitioned) -> Spread:
        """The documents in as many partitions as this backend has places for."""
        ...

    def form(self, original: Any) -> Any:
        """A function or class in the form that runs where this backend keeps its documents; itself, on the CPU."""
        ...

    def alone(self) -> Backend:
        """A backend of one thread, for a fit that runs inside one of this backend's calls."""
        ...


def total(parts: Sequence[Any], combine: Callable[[Any, Any], Any] = add) -> Any:
    """The parts combined from the first to the last."""
    return reduce(combine, parts)
