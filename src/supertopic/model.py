"""One model, four choices: what is fitted (Model), the numbers that fitting changes (State), what data say (Stats).

No algorithm lives here. `inference` turns documents and a State into Stats, and Stats into the next State; Stats
of two sets of documents add up, which is what lets threads, mini-batches, streams and clusters share one engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.base import Emission
from supertopic.responses.base import NoResponse, Response


@dataclass(frozen=True)
class Model:
    """A cell of the grid: emission × response (× prior on its coefficients), with a prior on the topic shares.

    `single` says that all words of a document share one topic (mixture of categoricals), instead of each
    having its own (LDA). `per_token` says that responses speak to every token of its own share in Zbar, which is exact
    and slower, instead of to all tokens of a document alike (`supertopic.kernels.e_step_mean`). `collapsed` says that
    topics and their shares are integrated out, and stand at the mean their counts give them (CVB0), instead of having
    a q of their own.
    """

    n_topics: int
    emission: Emission
    doc_topic_prior: DocTopicPrior
    response: Response = field(default_factory=NoResponse)
    coef_prior: CoefPrior = field(default_factory=CoefPrior)
    one_topic: bool = False
    per_token: bool = False
    collapsed: bool = False
    n_covariates: int = 0


@dataclass
class State:
    """All numbers that fitting changes; enough, with the data and the seed, to go on after a kill."""

    word_topic: np.ndarray  # (V, K) float32: the emission's parameters; pseudo-counts lambda for Dirichlet topics
    alpha: np.ndarray  # (K,) float64: prior on the topic shares
    coef: np.ndarray  # (C, K + P) float32: eta, one row per response column, and the coefficients of P covariates
    coef_cov: np.ndarray  # (C, K, K) float32, or (0, K, K) for a point estimate
    shares: np.ndarray | None = None  # (K,) float64: posterior pseudo-counts of the topics, where documents have one
    gram: np.ndarray | None = None  # (C, K + P, K + P) float64: what the data say of eta: its normal equations …
    cross: np.ndarray | None = None  # (C, K + P) float64: … gram eta = cross (`supertopic.inference.regression`)
    epsilon: np.ndarray | None = None  # (1,) float64: how often a sentence draws its topic anew
    word_coef: np.ndarray | None = None  # (C, V) float32: coefficients of words beside the topics …
    word_scale: np.ndarray | None = None  # (V,) float64: … and the weights of their tf-idf
    dispersion: np.ndarray | None = None  # (P,) float64: the response's own parameters: variance, cut-points, …
    dual: np.ndarray | None = None  # (D, C) float64: what max-margin says to each document, averaged over steps
    support: np.ndarray | None = None  # (D,) bool: the documents with a dual that is not zero in the last step
    planes: np.ndarray | None = None  # (J, D) int32: cutting planes to start from, where there is one slack for all
    n_support: np.ndarray | None = None  # (steps,) int64: how many these were after each step

    def learned(self) -> tuple[np.ndarray, np.ndarray]:
        """(gram, dispersion) of a model with a response."""
        if self.gram is None or self.dispersion is None:
            raise ValueError("the model has no response")
        return self.gram, self.dispersion

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that are set, by name: what a checkpoint keeps."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def copy(self) -> State:
        return replace(self, **{name: value.copy() for name, value in self.arrays().items()})


@dataclass
class Stats:
    """What a set of documents says about the State; the sum of two is what their union says."""

    word_topic: np.ndarray  # (V, K) expected counts of words by topic
    log_theta: np.ndarray  # (K,) sum over documents of E[log theta]; expected topic counts where documents have one
    n_documents: float
    bound: float  # the documents' part of the evidence bound
    gram: np.ndarray  # (C, K + P, K + P) and
    cross: np.ndarray  # (C, K + P): normal equations of the coefficients

    def __add__(self, other: Stats) -> Stats:
        return Stats(**{name: value + getattr(other, name) for name, value in vars(self).items()})
