"""The contract of a backend, the only part that knows how the work is spread.

Kernels run over ranges of documents or words (`over_range`, `over_weights`, `all`). A local step runs over partitions
of the documents (`spread`, `Spread.map`): its results are added up a tree whose order the partitions alone decide
(`total`), so that the sum does not depend on who finishes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import add
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from supertopic.emissions.seeds import Seeds

RangeFunction = Callable[[int, int], None]
Function = TypeVar("Function", bound=Callable[..., Any])
Combine = Callable[[Any, Any], Any]
Run = Callable[[Sequence[tuple[Any, ...]]], None]  # does calls (function, *arguments) that share no output


def in_turn(calls: Sequence[tuple[Any, ...]]) -> None:
    """One call after the other."""
    for function, *arguments in calls:
        function(*arguments)


class Partitioned(Protocol):
    """Documents that can be cut into partitions."""

    @property
    def n_pieces(self) -> int:
        """How many partitions are worth sending to other machines; the documents alone decide it."""
        ...

    def split(self, n_parts: int) -> list[Any]: ...


class Movable(Protocol):
    """A partition that another process can hold: what local steps find in it is apart from its documents."""

    def kept(self) -> Any:
        """What local steps found."""
        ...

    def holding(self, kept: Any, *, copied: bool) -> Self:
        """These documents with what `kept` gave, or with nothing; local steps leave what is copied as it is."""
        ...


class Spread(Protocol):
    """Documents in partitions, each wherever the backend keeps it."""

    def map(self, function: Callable[..., Any], *shared: Any) -> Iterable[Any]:
        """function(partition, backend, *shared) for every partition, in their order; `total` adds the results.

        The function is one of a module, so that another process can import it. What it changes in its partition stays
        there for the next call.
        """
        ...


def reads_only(function: Function) -> Function:
    """Say of a function for `Spread.map` that it changes nothing in its partition, and that its results are small."""
    function.reads_only = True  # type: ignore[attr-defined]
    return function


class Room:
    """An array to be overwritten, if there is one. It does not travel: in another process, there is none."""

    def __init__(self, array: np.ndarray | None = None) -> None:
        self.array = array

    def __reduce__(self) -> tuple[type[Room], tuple[()]]:
        return Room, ()

    def like(self, other: np.ndarray) -> np.ndarray:
        """The array, or a new one where there is none of this shape."""
        fits = self.array is not None and self.array.shape == other.shape
        return self.array if fits else np.empty_like(other)  # type: ignore[return-value]


class TokenTopics(Protocol):
    """The topics of all tokens of a corpus, and the counts that follow from them: the state of a Gibbs sampler."""

    n_topics: int
    n_tokens: int
    seeds: Seeds  # pseudo-counts that counts of words by topic hold, too

    @property
    def lengths(self) -> np.ndarray:
        """(D,) tokens."""
        ...

    @property
    def word_topic(self) -> np.ndarray:
        """(V, K) int32 counts of words by topic."""
        ...

    @property
    def topic_count(self) -> np.ndarray:
        """(K,) int64 tokens of each topic."""
        ...

    def of_topics(self, n_topics: int) -> TokenTopics:
        """The same tokens with another number of topics."""
        ...

    def take(self, topic: np.ndarray) -> None:
        """Set the topics (N,) uint16, and count."""
        ...

    def topic(self) -> np.ndarray:
        """(N,) uint16."""
        ...

    def draw(self, number: int, alpha: np.ndarray, which: np.ndarray, prior: float, topics: Any = None) -> None:
        """Draw every token once, with the random numbers of this sweep; topics (V, K) are integrated out, or given.

        alpha, which : (R, K), and (D,) int32 the row of each document
        """
        ...

    def draw_topics(self, number: int, prior: float) -> Any:
        """phi_k ~ Dirichlet(prior + n_.k), (V, K)."""
        ...

    def histogram(self) -> np.ndarray:
        """(K, L): documents that hold topic k exactly n times."""
        ...

    def doc_topic(self) -> np.ndarray:
        """(D, K) tokens of each topic in each document."""
        ...


class LocalOps(Protocol):
    """What engines do with documents and topics, where these lie.

    Arrays of a row per word or document are the backend's own. They have a shape, and NumPy can copy them.
    """

    def check(self, model: Any) -> None:
        """Refuse a model that cannot be fitted there, in one sentence."""
        ...

    def emission(self, emission: Any) -> Any:
        """The emission with its parameters there."""
        ...

    def place(self, values: Any) -> Any:
        """An array of a row per word or document, there; itself, if it is there."""
        ...

    def take(self, matrix: Any, rows: np.ndarray, counts: Any) -> Any:
        """The rows of these documents; `counts` are theirs, of `thinned`."""
        ...

    def put(self, matrix: Any, rows: np.ndarray, counts: Any, values: Any) -> None:
        """Overwrite the rows of these documents."""
        ...

    def thinned(self, counts: Any, batches: list[np.ndarray], dropped: float, key: int) -> Iterable[Any]:
        """The counts of batches of documents, given their rows, without a share of their entries that is drawn."""
        ...

    def learner(
        self, counts: Any, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int,
    ) -> Any:  # fmt: skip
        """Steps of stochastic collapsed inference: `step(rate)`, expected counts `word_topic` times `scale`."""
        ...

    def distributions(self, logits: Any) -> Any:
        """exp of the logits (V, K), columns sum to one."""
        ...

    def climb(
        self, topics: Any, gradient: Any, prior: float, pull: float, anchor: Any, rates: Sequence[float],
        kept: tuple[Any, Any, Any, Any],
    ) -> Any:  # fmt: skip
        """A step of Adam on log b along the gradient of an objective + sum (prior + pull·anchor) log b; b after it.

        topics, gradient : (V, K); they are overwritten
        rates : how far the step goes (`Rates`); kept : log b, Adam's moments and the average of log b, which move
        """
        ...

    def tokens(self, counts: Any, n_topics: int, seed: int) -> TokenTopics:
        """All tokens, before they have topics."""
        ...


class Backend(Protocol):
    """Where kernels run: a context manager."""

    n_threads: int
    remote: bool  # whether partitions lie in other processes
    on_device: bool  # whether documents lie on a GPU

    @property
    def ops(self) -> LocalOps: ...

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

    def all(self, calls: Sequence[tuple[Any, ...]]) -> None:
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


def total(parts: Iterable[Any], combine: Combine = add) -> Any:
    """The parts, combined up a tree. Results that lie elsewhere (`fold`) are combined there."""
    fold = getattr(parts, "fold", None)
    return in_tree(list(parts), combine) if fold is None else fold(combine)


def in_tree(parts: list[Any], combine: Combine) -> Any:
    """Neighbours are combined, then neighbours of those, and so on; a last one without a neighbour waits."""
    while len(parts) > 1:
        pairs = [combine(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]
