"""One model, four choices: what is fitted (Model), the numbers that fitting changes (State), what data say (Stats).

No algorithm lives here. `inference` turns documents and a State into Stats, and Stats into the next State; Stats
of two sets of documents add up, which is what lets threads, mini-batches, streams and clusters share one engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.emissions.base import Emission
from supertopic.priors.base import SharePrior
from supertopic.responses.base import NoResponse, Response

if TYPE_CHECKING:
    from supertopic.backends.base import Backend, Spread


@dataclass(frozen=True)
class Model:
    """A cell of the grid: emission × response (× prior on its coefficients), with a prior on the topic shares.

    `coef_step` is the M-step of the coefficients: none, that of a generalised linear model, or a max-margin problem.
    `one_topic` says that all words of a document share one topic (mixture of categoricals), instead of each having its
    own (LDA). `per_token` says that the E-step gives every token its own term of the response, which is exact and
    slower, instead of one term for all tokens of a document (`supertopic.kernels.e_step_mean`). `collapsed` says that
    topics and their shares are integrated out and stand at the mean of their counts (CVB0), instead of having a q of
    their own.
    """

    n_topics: int
    emission: Emission
    doc_topic_prior: SharePrior
    response: Response = field(default_factory=NoResponse)
    coef_prior: CoefPrior = field(default_factory=CoefPrior)
    coef_step: CoefStep = field(default_factory=lambda: NoCoefStep())
    one_topic: bool = False
    per_token: bool = False
    collapsed: bool = False
    n_covariates: int = 0


@dataclass
class State:
    """All numbers that fitting changes and that describe no single document.

    With the data, the seed and what is kept about documents (`DocumentTerms`), this is enough to continue after a kill.
    A model without a response has arrays of zero columns.
    """

    by_words: ClassVar[bool] = True  # whether topics and their prior are all that a fit without labels finds

    word_topic: np.ndarray  # (V, K) float32: the emission's parameters; pseudo-counts lambda for Dirichlet topics
    alpha: np.ndarray  # float64: parameters of the prior on the topic shares; (K,) where all documents have one alpha
    coef: np.ndarray  # (C, K + P) float32: eta, one row per response column, and the coefficients of P covariates
    coef_cov: np.ndarray  # (C, K, K) float32: covariances of q(eta), or (0, K, K) for a point estimate
    gram: np.ndarray  # (C, K + P, K + P) float64: normal equations of eta, gram eta = cross …
    cross: np.ndarray  # (C, K + P) float64: … (`supertopic.inference.design`)
    information: np.ndarray  # (C, K + P, K + P) float64: curvature of the log-likelihood at eta, for standard errors
    dispersion: np.ndarray  # (P,) float64: the response's own parameters: variance, cut-points, …

    @classmethod
    def first(cls, model: Model, word_topic: np.ndarray, **more: np.ndarray) -> Self:
        """The State of given topics before the first step; `more` sets further fields."""
        columns, n_topics, n_coef = model.response.n_columns, model.n_topics, model.n_topics + model.n_covariates
        start: dict[str, np.ndarray] = {
            "alpha": model.doc_topic_prior.start.copy(),
            "coef": np.zeros((columns, n_coef), dtype=np.float32),
            "coef_cov": np.zeros((0, n_topics, n_topics), dtype=np.float32),
            "gram": np.zeros((columns, n_coef, n_coef)),
            "cross": np.zeros((columns, n_coef)),
            "information": np.zeros((columns, n_coef, n_coef)),
            "dispersion": np.zeros(0),
        }
        return cls(word_topic, **{**start, **more})

    def arrays(self) -> dict[str, np.ndarray]:
        """All fields by name: what a checkpoint keeps."""
        return dict(vars(self))

    def copy(self) -> Self:
        return replace(self, **{name: value.copy() for name, value in vars(self).items()})


@dataclass
class MixtureState(State):
    """The State of a mixture, whose documents have one topic each."""

    shares: np.ndarray  # (K,) float64: posterior pseudo-counts of the topics


def restore_state(arrays: dict[str, np.ndarray]) -> State:
    """The State that `State.arrays` gave; the names of the arrays say of which kind."""
    kinds: list[type[State]] = [State, *State.__subclasses__()]
    for kind in kinds:
        if {one.name for one in fields(kind)} == set(arrays):
            return kind(**arrays)
    raise ValueError(f"a state has the arrays {', '.join(sorted(arrays))}, which no model has")


@dataclass
class Stats:
    """What a set of documents says about the State; the sum of two is what their union says."""

    word_topic: np.ndarray  # (V, K) expected counts of words by topic
    prior: np.ndarray  # what moves alpha (`SharePrior.summarise`); expected topic counts where documents have one
    n_documents: float
    bound: float  # the documents' part of the evidence bound
    gram: np.ndarray  # (C, K + P, K + P) and
    cross: np.ndarray  # (C, K + P): normal equations of the coefficients
    response: np.ndarray  # what moves the response's own parameters (`Response.summarise`)

    def __add__(self, other: Stats) -> Stats:
        return Stats(**{name: value + getattr(other, name) for name, value in vars(self).items()})


class DocumentTerms:
    """What the coefficients' step keeps about each document, beside its topic shares: nothing, for most models."""

    def slope(self, rows: slice) -> np.ndarray | float:
        """(D, C) what the E-step adds to the response's slope in these documents."""
        return 0.0

    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps of it."""
        return {}

    def again(self, n_documents: int) -> DocumentTerms | None:
        """What another fit of as many documents may start from."""
        return None


class CoefStep(Protocol):
    """The M-step of the coefficients."""

    monotone: bool  # whether no step lowers the objective, once documents continue from where they were
    patience: int  # steps that may pass without a gain before a fit has converged
    sums_equations: bool  # whether it needs the normal equations of the documents in Stats

    def document_terms(self, n_documents: int, n_columns: int) -> Any:
        """The DocumentTerms before the first step."""
        ...

    def restore_terms(self, arrays: dict[str, np.ndarray]) -> Any:
        """The DocumentTerms of a checkpoint; it takes its own arrays out of `arrays`."""
        ...

    def update(
        self, model: Model, before: State, after: State, stats: Stats, spread: Spread, terms: Any, backend: Backend,
        scale: float, rate: float,
    ) -> tuple[State, Any]:  # fmt: skip
        """The State with new coefficients and dispersion, and the new DocumentTerms.

        before : the State that the documents were inferred with
        after : the same with new topics and alpha
        stats : what the documents of `spread` say; `scale` of them make the corpus
        rate : how far a step of stochastic inference goes
        """
        ...

    def refit(self, model: Model, state: State, terms: Any, documents: Any) -> tuple[State, Any]:
        """The State with coefficients that fit best to documents whose topic shares have not seen y.

        documents : a `Total` (`supertopic.inference.regression`)
        """
        ...


class NoCoefStep:
    """There are no coefficients to be fitted."""

    monotone = True
    patience = 1
    sums_equations = False

    def document_terms(self, n_documents: int, n_columns: int) -> DocumentTerms:
        return DocumentTerms()

    def restore_terms(self, arrays: dict[str, np.ndarray]) -> DocumentTerms:
        return DocumentTerms()

    def update(
        self, model: Model, before: State, after: State, stats: Stats, spread: Spread, terms: DocumentTerms,
        backend: Backend, scale: float, rate: float,
    ) -> tuple[State, DocumentTerms]:  # fmt: skip
        return after, terms

    def refit(self, model: Model, state: State, terms: DocumentTerms, documents: Any) -> tuple[State, DocumentTerms]:
        return state, terms
