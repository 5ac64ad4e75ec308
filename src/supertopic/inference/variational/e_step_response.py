"""The local step of documents with a response: the kernels, and the response's word between their passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.backends.threads import Threads
from supertopic.inference.regression import Design, TokenDesign, shifted
from supertopic.kernels.e_step_mean import infer_documents_mean
from supertopic.kernels.e_step_token import infer_documents_token
from supertopic.model import Model, State

_PASSES_BETWEEN_REFRESHES = 5  # (slope, curvature) renewed this often: more often saves no passes


@dataclass(frozen=True)
class LocalLimits:
    """When a document's inference stops: a mean change of its topic counts below `tol`, or `max_passes`."""

    max_passes: int = 100
    tol: float = 1e-3


@dataclass
class LabelledBlock:
    """A run of documents, their labels, and where their results go."""

    model: Model
    state: State
    limits: LocalLimits
    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    weights: np.ndarray  # (V, K) of the topics
    alpha: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # (D,) of y
    lengths: np.ndarray
    covariates: np.ndarray  # (D, P)
    doc_topic: np.ndarray  # this and the next four are results
    phi: np.ndarray
    bound: np.ndarray
    score: np.ndarray
    moment: np.ndarray
    longest: int
    dual: np.ndarray | None = None  # (D, C) of a max-margin model

    def __post_init__(self) -> None:
        n_topics = self.model.n_topics
        self.coef = np.ascontiguousarray(self.state.coef[:, :n_topics])
        self.offset = self.covariates @ self.state.coef[:, n_topics:].T.astype(np.float64)
        self.dispersion = np.zeros(0) if self.state.dispersion is None else self.state.dispersion
        self.passes = np.zeros(len(self.y), dtype=np.int32)

    def infer(self, backend: Threads, fresh: bool) -> tuple[np.ndarray, np.ndarray]:
        """Topic shares, scores and bound of the documents; returns the normal equations of the coefficients."""
        response = self.model.response
        self._tilt(backend, fresh)
        if self.model.per_token:
            self._go_on(backend)
        self.score[:], self.moment[:] = self._whole()
        self.bound += self.weight * response.log_density(self.y, self.score, self.moment, self.dispersion)
        if response.max_margin:  # whose M-step needs the documents themselves
            n_coef = self.state.coef.shape[1]
            return np.zeros((response.n_columns, n_coef, n_coef)), np.zeros((response.n_columns, n_coef))
        slope, curvature = response.slope_and_curvature(self.y, self.score, self.moment, self.dispersion)
        slope, curvature = self.weight[:, None] * slope, self.weight[:, None] * curvature
        return self._design().normal_equations(
            self.state.coef.astype(np.float64), response.is_product, self.moment, slope, curvature
        )

    def _design(self) -> Design:
        design = Design.of(self.doc_topic, self.alpha, self.lengths, self.covariates)
        if self.model.per_token:
            own = {"phi": self.phi, "counts": self.counts, "indptr": self.indptr}
            return TokenDesign(design.mean, self.lengths, self.covariates, **own)
        return design

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        """Moments of the whole linear predictor, from those of the topics' part and the covariates' part, `offset`."""
        return shifted(self.score, self.moment, self.offset, self.model.response.is_product)

    def _listen(self) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature) in terms of the topics' part alone."""
        response = self.model.response
        slope, curvature = response.slope_and_curvature(self.y, *self._whole(), self.dispersion)
        slope = np.where(response.is_product, slope, slope - curvature * self.offset)
        curvature = np.where(response.is_product, curvature * np.exp(np.minimum(self.offset, 300.0)), curvature)
        slope = self.weight[:, None] * slope
        if self.dual is not None:  # has the weight in it
            slope += self.dual
        return slope, self.weight[:, None] * curvature

    def _tilt(self, backend: Threads, fresh: bool) -> None:
        """What y says to all tokens of a document alike; a response that listens to the scores first hears them."""
        slope, curvature = np.zeros((2, *self.score.shape))
        factors, active = np.full_like(self.score, np.nan), np.ones(len(self.y), dtype=bool)
        if fresh:  # a document that has no topics yet is pulled gently at first
            factors[:, ~self.model.response.is_product] = 0.0

        def run(max_passes: int, fresh: bool) -> None:
            def over(start: int, stop: int) -> None:
                rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
                infer_documents_mean(
                    start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
                    self.model.collapsed, max_passes, self.limits.tol, fresh, slope, curvature, self.coef,
                    self.state.coef_cov, self.model.response.is_product, active, factors, self.doc_topic, self.phi,
                    self.bound, self.passes, self.score, self.moment, rows,
                )  # fmt: skip

            backend.over_weights(self.indptr, over)

        most = self.limits.max_passes
        if self.model.response.constant_slopes:
            slope, curvature = self._listen()
            run(most, fresh)
            return
        run(min(most, _PASSES_BETWEEN_REFRESHES) if fresh else 0, fresh)
        for _ in range(0, most, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = self._listen()
            run(_PASSES_BETWEEN_REFRESHES, False)
            active &= self.passes > 1  # the others stayed where they were although they were told anew
            if not active.any():
                break

    def _go_on(self, backend: Threads) -> None:
        """Go on with what y says to each token of its own."""
        slope, curvature = np.zeros((2, *self.score.shape))

        def over(start: int, stop: int) -> None:
            rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
            infer_documents_token(
                start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
                _PASSES_BETWEEN_REFRESHES, self.limits.tol, slope, curvature, self.coef, self.state.coef_cov,
                self.model.response.is_product, self.doc_topic, self.phi, self.bound, self.passes,
                self.score, self.moment, rows,
            )  # fmt: skip

        over(0, len(self.y))  # the moments of each token's own shares
        for _ in range(0, self.limits.max_passes, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = self._listen()
            backend.over_weights(self.indptr, over)
            if self.passes.max(initial=0) < _PASSES_BETWEEN_REFRESHES:
                break
