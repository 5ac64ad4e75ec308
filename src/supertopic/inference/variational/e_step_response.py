"""The E-step of documents with a response: kernels, and slopes and curvatures renewed between their passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from supertopic.backends.base import Backend, Run
from supertopic.inference.batches import Batch, Block, Locals
from supertopic.inference.design import Design, TokenDesign, shifted
from supertopic.kernels.e_step_mean import infer_documents_mean
from supertopic.kernels.e_step_token import infer_documents_token
from supertopic.model import Model, State, Stats
from supertopic.priors.base import Rows

_PASSES_BETWEEN_REFRESHES = 5  # (slope, curvature) are renewed this often: more often saves no passes


@dataclass(frozen=True)
class LocalLimits:
    """When a document's inference stops: a mean change of its topic counts below `tol`, or `max_passes`."""

    max_passes: int = 100
    tol: float = 1e-3


@dataclass
class ResponseBlock:
    """A run of documents, their labels, and where their results go."""

    model: Model
    state: State
    limits: LocalLimits
    weights: np.ndarray  # (V, K) of the topics
    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # (D,) of y
    lengths: np.ndarray
    covariates: np.ndarray  # (D, P)
    longest: int
    prior: Rows  # alpha of these documents
    found: Locals  # results: topic shares and scores
    phi: np.ndarray  # (entries, K) result: topic shares of the words; (0, K) where `weighed` and `ratio` are enough
    added_slope: np.ndarray | float = 0.0  # (D, C) beside the response's (`DocumentTerms.slope`), with weights in it

    @classmethod
    def of(
        cls, model: Model, state: State, limits: LocalLimits, weights: np.ndarray, batch: Batch, documents: Block,
        prior: Rows, found: Locals, added_slope: np.ndarray | float, room: np.ndarray,
    ) -> ResponseBlock:  # fmt: skip
        """Documents of a batch, whose alpha is `prior`; `room` is where phi goes, (0, K) where it is not wanted."""
        some, csr = slice(*documents), batch.entries(documents)
        labels = (batch.y[some], batch.weight[some], batch.lengths[some], batch.extra[some])
        room = room[: len(csr[2])]
        return cls(model, state, limits, weights, *csr, *labels, batch.longest, prior[some], found, room, added_slope)

    def __post_init__(self) -> None:
        n_topics = self.model.n_topics
        self.coef = np.ascontiguousarray(self.state.coef[:, :n_topics])
        self.offset = self.covariates @ self.state.coef[:, n_topics:].T.astype(np.float64)
        self.weighed = np.empty((len(self.y), n_topics), dtype=np.float32)  # the two factors of the words' shares
        self.ratio = np.empty(len(self.counts), dtype=np.float32)
        self.passes = np.zeros(len(self.y), dtype=np.int32)
        self.bound = np.zeros(len(self.y))

    def infer(self, backend: Backend, fresh: bool, *also: Callable[[], None]) -> None:
        """Topic shares, scores and bound of the documents. also : done beside it."""
        response, found = self.model.response, self.found
        self._infer_mean(backend, fresh, list(also))
        if self.model.per_token:
            self._infer_tokens(backend)
        found.score[:], found.moment[:] = self._whole()
        self.bound += self.weight * response.log_density(self.y, found.score, found.moment, self.state.dispersion)

    def add_to(self, stats: Stats, run: Run) -> None:
        """Add the bound, and what the documents say about the coefficients and the response's own parameters."""
        response, found = self.model.response, self.found
        stats.bound += float(self.bound.sum())
        if not self.model.coef_step.sums_equations:
            return
        given = (self.y, found.score, found.moment)
        slope, curvature = response.slope_and_curvature(*given, self.state.dispersion)
        slope, curvature = self.weight[:, None] * slope, self.weight[:, None] * curvature
        coef = self.state.coef.astype(np.float64)
        known = (coef, response.is_product, found.moment, slope, curvature)
        gram, cross = self._design().normal_equations(*known, run=run)
        stats.gram += gram
        stats.cross += cross
        stats.response += response.summarise(*given, self.weight, self.state.dispersion)

    def _design(self) -> Design:
        alpha = self.prior.by_document(self.prior.single)
        design = Design.of(self.found.doc_topic, alpha, self.lengths, self.covariates)
        if self.model.per_token:
            tokens = {"phi": self.phi, "counts": self.counts, "indptr": self.indptr}
            return TokenDesign(design.mean, self.lengths, self.covariates, **tokens)
        return design

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        """Moments of the whole linear predictor, from those of the topics' part and the covariates' part, `offset`."""
        return shifted(self.found.score, self.found.moment, self.offset, self.model.response.is_product)

    def _slope_and_curvature(self) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature) in terms of the topics' part of the linear predictor."""
        response = self.model.response
        slope, curvature = response.slope_and_curvature(self.y, *self._whole(), self.state.dispersion)
        if self.covariates.shape[1]:
            slope = np.where(response.is_product, slope, slope - curvature * self.offset)
            curvature = np.where(response.is_product, curvature * np.exp(np.minimum(self.offset, 300.0)), curvature)
        return self.weight[:, None] * slope + self.added_slope, self.weight[:, None] * curvature

    def _infer_mean(self, backend: Backend, fresh: bool, also: list[Callable[[], None]]) -> None:
        """Inference with one term of the response for all tokens of a document.

        Where the slopes depend on the scores, a few passes without the response give the first scores.
        """
        found = self.found
        slope, curvature = np.zeros((2, *found.score.shape))
        factors, active = np.full_like(found.score, np.nan), np.ones(len(self.y), dtype=bool)
        if fresh:  # a document without topics yet is pulled gently at first
            factors[:, ~self.model.response.is_product] = 0.0

        def run(max_passes: int, fresh: bool) -> None:
            self._run_mean(backend, max_passes, fresh, slope, curvature, active, factors, also)
            also.clear()

        most = self.limits.max_passes
        if self.model.response.constant_slopes:
            slope, curvature = self._slope_and_curvature()
            run(most, fresh)
            return
        run(min(most, _PASSES_BETWEEN_REFRESHES) if fresh else 0, fresh)
        for _ in range(0, most, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = self._slope_and_curvature()
            run(_PASSES_BETWEEN_REFRESHES, False)
            active &= self.passes > 1  # the others did not move under the new slopes
            if not active.any():
                break

    def _run_mean(
        self, backend: Backend, max_passes: int, fresh: bool, slope: np.ndarray, curvature: np.ndarray,
        active: np.ndarray, factors: np.ndarray, also: list[Callable[[], None]],
    ) -> None:  # fmt: skip
        """At most `max_passes` over the words of the active documents, at these slopes and curvatures."""
        found, prior = self.found, (self.prior.single, self.prior.which)

        def over(start: int, stop: int) -> None:
            rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
            infer_documents_mean(
                start, stop, self.indptr, self.indices, self.counts, self.weights, *prior,
                self.model.collapsed, max_passes, self.limits.tol, fresh, slope, curvature, self.coef,
                self.state.coef_cov, self.model.response.is_product, active, factors, found.doc_topic, self.weighed,
                self.ratio, self.phi, self.bound, self.passes, found.score, found.moment, rows,
            )  # fmt: skip

        backend.all([*((call,) for call in also), *((over, *ends) for ends in backend.cut(self.indptr))])

    def _infer_tokens(self, backend: Backend) -> None:
        """Continue with a term of the response for every token."""
        found, prior = self.found, (self.prior.single, self.prior.which)
        slope, curvature = np.zeros((2, *found.score.shape))

        def over(start: int, stop: int) -> None:
            rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
            infer_documents_token(
                start, stop, self.indptr, self.indices, self.counts, self.weights, *prior,
                _PASSES_BETWEEN_REFRESHES, self.limits.tol, slope, curvature, self.coef, self.state.coef_cov,
                self.model.response.is_product, found.doc_topic, self.phi, self.bound, self.passes,
                found.score, found.moment, rows,
            )  # fmt: skip

        over(0, len(self.y))  # the moments of each token's own shares
        for _ in range(0, self.limits.max_passes, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = self._slope_and_curvature()
            backend.over_weights(self.indptr, over)
            if self.passes.max(initial=0) < _PASSES_BETWEEN_REFRESHES:
                break
