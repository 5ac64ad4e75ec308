"""What is to be fitted, as values: made once from an estimator's parameters and the shape of its data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from supertopic.backends import make_backend, without_client
from supertopic.backends.base import Backend
from supertopic.checkpoint import Checkpoint, fingerprint_value
from supertopic.documents.corpus import Corpus
from supertopic.documents.covariates import Columns, Scaling
from supertopic.documents.embeddings import Block
from supertopic.documents.known import Known
from supertopic.documents.labels import Target, as_codes, as_table
from supertopic.emissions.seeds import Seeds
from supertopic.inference.settings import Engine
from supertopic.model import Model
from supertopic.priors.base import SharePrior
from supertopic.responses.base import Response
from supertopic.responses.several import Part, Several, parts_of

if TYPE_CHECKING:
    from supertopic.fitted.fitted import Fitted
    from supertopic.fitted.training import Training


class Tokens(NamedTuple):
    """How many tokens there are, as topics see them."""

    per_document: float
    per_word: float
    documents: float  # how many

    @classmethod
    def of(cls, corpus: Corpus, counts: str = "raw", n_documents: int | None = None) -> Self:
        """Of a corpus; n_documents: if there will be more than those of `corpus`."""
        seen = corpus.logs if counts == "log" else corpus
        per_document, documents = seen.n_tokens / max(len(corpus), 1), float(n_documents or len(corpus))
        return cls(per_document, per_document * documents / seen.shape[1], documents)


@dataclass(frozen=True, eq=False)
class Schema:
    """What stands beside the words of a document: the responses, the covariates, and how topics see counts."""

    targets: tuple[Target, ...] = ()
    classes: np.ndarray | None = None  # of an estimator whose y is one column of classes
    columns: Columns = field(default_factory=Columns)  # of the covariates
    scaling: Scaling = field(default_factory=Scaling)
    constant: bool = False  # whether a constant stands behind the covariates
    counts: str = "raw"  # or "log"
    tokens: Tokens | None = None  # of the documents that were fitted
    supervision: float = 1.0
    prior: SharePrior | None = None  # on topic shares, where metadata is part of it
    seeds: Seeds | None = None  # words that topics begin with
    block: Block | None = None  # what embeddings stand for: the last of the covariates

    @property
    def covariate_names(self) -> list[str]:
        """Of the covariates as the regression takes them, the constant not included."""
        more = [] if self.block is None else list(self.block.names)
        return (self.columns.labels or [f"x{place}" for place in range(len(self.scaling.mean) - len(more))]) + more

    @property
    def block_columns(self) -> slice:
        """Which of the covariates embeddings stand for."""
        n_columns = len(self.scaling.mean)
        return slice(n_columns - (0 if self.block is None else len(self.block.names)), n_columns)

    @property
    def pooled(self) -> np.ndarray:
        """(P,) bool: which of the covariates are levels that are drawn towards their mean."""
        found = np.zeros(self.n_covariates, dtype=bool)
        for name in self.columns.pooled:
            found[self.columns.places[name]] = True
        return found

    @property
    def n_covariates(self) -> int:
        """The constant included."""
        return len(self.scaling.mean) + int(self.constant)

    @property
    def one_against_rest(self) -> bool:
        """Whether each class is a response of its own."""
        return self.classes is not None and len(self.targets) > 1

    @property
    def response(self) -> Response:
        parts = [target.make() for target in self.targets]
        return parts[0] if len(parts) == 1 else Several(parts)

    def encode(self, covariates: object, known: Known) -> np.ndarray:
        """(D, P): what joins the topics in the linear predictor, centred and scaled.

        Covariates that have names and are not given are columns of metadata.
        """
        if covariates is None and known.metadata and self.columns.names:
            covariates = list(self.columns.names)
        covariates, known = known.widened(covariates)
        if self.block is None and known.embeddings is not None:
            raise ValueError("embeddings: got some, but the model was fitted without embeddings")
        return self.extra(covariates, known, None if self.block is None else self.block.numbers(known.embeddings))

    def extra(self, covariates: object, known: Known, block: np.ndarray | None = None) -> np.ndarray:
        """(D, P): covariates, then the numbers (D, C) that embeddings stand for, then a constant."""
        given = self.columns.encode(known.covariates(covariates), len(known))
        extra = self.scaling.apply(given if block is None else np.hstack([given, block]))
        return np.hstack([extra, np.ones((len(known), 1))]) if self.constant else extra

    def with_block(self, block: Block) -> Schema:
        """With the numbers that embeddings stand for, which are centred and scaled."""
        zero, unit = np.zeros(len(block.names)), np.ones(len(block.names))
        scaling = Scaling(np.append(self.scaling.mean, zero), np.append(self.scaling.factor, unit))
        return replace(self, block=block, scaling=scaling)

    def numbers(self, y: object, n_documents: int, who: str) -> np.ndarray:
        """Labels of new documents as numbers, classes by their place among those of the fit."""
        table, _ = as_table(y, n_documents, who)
        if self.one_against_rest:
            assert self.classes is not None
            return against_rest(as_codes(table[:, 0], who, self.classes)[0], len(self.classes))
        if table.shape[1] != len(self.targets):
            raise ValueError(f"y has {table.shape[1]} columns, expected {len(self.targets)} as in fit")
        pairs = zip(self.targets, table.T, strict=True)
        numbers = np.column_stack([target.encode(column, who) for target, column in pairs])
        return numbers[:, 0] if len(self.targets) == 1 else numbers


def against_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(D, C) whether a document is of each class, NaN where its label is missing."""
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(n_classes))


@dataclass(frozen=True, eq=False)
class Place:
    """Where and how a fit runs, which does not change what it finds."""

    backend: Any = "threads"
    n_jobs: int | None = None
    verbose: int = 0
    checkpoint: Any = None

    def open(self, n_jobs: int | None = None) -> Backend:
        """The backend, by `n_jobs` threads or as many as the user asked for."""
        return make_backend(self.backend, n_jobs or self.n_jobs)

    def aside(self, what: str, number: int, n_jobs: int | None = None) -> Place:
        """That of a fit which is a part of this one."""
        checkpoint = Checkpoint.aside(self.checkpoint, what, number)
        return Place(self.backend, n_jobs or self.n_jobs, 0, checkpoint)

    def __getstate__(self) -> dict[str, Any]:  # a connection cannot travel
        return {**vars(self), "backend": without_client(self.backend), "checkpoint": None}


class Finish(Protocol):
    """What follows once the topics are there: coefficients, words beside topics, what is said about certainty."""

    @property
    def refits(self) -> bool:
        """Whether coefficients are those of a regression on the topics."""
        ...

    def seen(self, training: Training, seed: int) -> Training:
        """The documents as topics may see them."""
        ...

    def __call__(self, fitted: Fitted, training: Training, seed: int) -> Fitted: ...

    def of_part(self) -> Finish:
        """What follows a fit that is a part of this one."""
        ...


class AsItIs:
    """Nothing follows."""

    refits = False

    def seen(self, training: Training, seed: int) -> Training:
        return training

    def __call__(self, fitted: Fitted, training: Training, seed: int) -> Fitted:
        return fitted

    def of_part(self) -> AsItIs:
        return self


@dataclass(frozen=True, eq=False)
class Spec:
    """A fit to be done, but for its documents."""

    name: str  # of the estimator
    model: Model
    engine: Engine
    settings: Any  # what the engine reads
    inference: str = ""  # the engine's name
    schema: Schema = field(default_factory=Schema)
    finish: Finish = field(default_factory=AsItIs)
    place: Place = field(default_factory=Place)
    identity: dict[str, Any] = field(default_factory=dict)  # what a checkpoint belongs to: parameters as short texts
    n_chains: int = 1
    unit: float = 1.0  # in which users see coefficients: sigma of a sparse model

    @property
    def response(self) -> Response:
        return self.model.response

    @property
    def parts(self) -> list[tuple[Target, Part]]:
        """The responses, and where each is found."""
        return list(zip(self.schema.targets, parts_of(self.response), strict=True))

    @property
    def column_names(self) -> list[str]:
        """One per column of coefficients: the class for classes, the response's name among several."""
        names = []
        for target, part in self.parts:
            several = part.columns.stop - part.columns.start > 1
            labels = [str(label) for label in target.classes] if several and target.classes is not None else [""]
            names += [f"{target.name if len(self.parts) > 1 else ''} {label}".strip() for label in labels]
        return names

    def part(self, what: str, number: int, n_jobs: int | None = None, **changes: Any) -> Spec:
        """A fit that is a part of this one: quiet, in one chain, with a checkpoint beside this one's."""
        changes = {"finish": self.finish.of_part(), "n_chains": 1, **changes}
        identity = {**self.identity, "part": what, "settings": fingerprint_value(repr(changes.get("settings")))}
        return replace(self, place=self.place.aside(what, number, n_jobs), identity=identity, **changes)
