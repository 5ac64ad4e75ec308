"""The M-step of a max-margin response (MedLDA): q(eta) and the duals, given the documents' topics.

    max_q(eta)  E[log p0(eta)] + H(q) + sum_d w_d E[log p(y_d | eta·Zbar_d)] - C sum_d w_d loss_d(E[eta]·E[Zbar_d])

Without a likelihood of y, only the mean of q(eta) matters: an SVM on E[Zbar]. With a Gaussian one, q(eta) is normal
with precision P = 1/scale² + gram, and its mean solves the SVM with the prior N(P⁻¹ cross, P⁻¹) in place of p0
(gram, cross: `supertopic.inference.regression`).

A Laplace prior is normal given the coefficients r there were, |eta|/scale <= (eta²/r + r)/(2 scale), with equality at
|eta| = r: every solve with the variances r·scale lowers the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from supertopic.backends.base import Backend, Spread
from supertopic.coefficients import CoefPrior
from supertopic.inference.design import Design
from supertopic.inference.regression import Total, itself, join
from supertopic.inference.variational.m_step_glm import over_partitions
from supertopic.model import DocumentTerms, Model, State, Stats
from supertopic.responses.margin import TOLERANCE, MaxMargin, Solution

_LEAST_MIX = 0.1  # of a step's duals in their average over steps; the first steps weigh more
_TURNS = 5  # between the response's own parameters and q(eta), in one M-step
_TURN_TOL = 0.01  # relative change of those parameters below which the turns stop
_REFIT_TURNS, _REFIT_TOL = 50, 1e-4  # of a refit: no later step makes up for a gap
_SMALLEST = 3e-3  # of the largest coefficient: what is smaller is zero under a Laplace prior, but can come back


@dataclass
class Duals(DocumentTerms):
    """The multipliers of the max-margin problem, and which documents carry it."""

    dual: np.ndarray  # (D, C) float64: averaged over steps, as the E-step uses them
    support: np.ndarray  # (D,) bool: the documents with a dual that is not zero in the last step
    planes: np.ndarray  # (J, D) int32: cutting planes to start from, where there is one slack for all; (0, D) without
    n_support: np.ndarray  # (steps,) int64: how many documents carried the problem after each step

    def slope(self, rows: slice) -> np.ndarray:
        return self.dual[rows]

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(vars(self))

    @classmethod
    def none(cls, n_documents: int, n_columns: int) -> Self:
        """Before the first step."""
        return cls(
            np.zeros((n_documents, n_columns)), np.zeros(n_documents, dtype=bool),
            np.zeros((0, n_documents), dtype=np.int32), np.zeros(0, dtype=np.int64),
        )  # fmt: skip

    def again(self, n_documents: int) -> Duals | None:
        """The multipliers alone."""
        if len(self.dual) != n_documents:
            return None
        return replace(self.none(*self.dual.shape), dual=self.dual)

    def start(self, coef: np.ndarray) -> Solution | None:
        """Where the next problem starts; None before the first step."""
        if len(self.n_support) == 0 and not self.dual.any():
            return None
        return Solution(coef, self.dual, self.planes if len(self.planes) else None)

    def after(self, found: Solution, mix: float) -> Duals:
        """The duals after a step, of which `mix` enter the average."""
        support = np.any(found.dual, axis=1)
        planes = np.zeros((0, len(support)), dtype=np.int32) if found.planes is None else found.planes
        n_support = np.append(self.n_support, np.count_nonzero(support))
        return Duals((1.0 - mix) * self.dual + mix * found.dual, support, planes, n_support)


@dataclass(frozen=True)
class Margin:
    """q(eta) and what belongs to it."""

    solution: Solution
    coef_cov: np.ndarray  # (C, K, K), or (0, K, K) where the response has no likelihood; covariates' coefs are points
    gram: np.ndarray  # (C, n, n) of the likelihood
    dispersion: np.ndarray

    def enter(self, state: State) -> State:
        """The State with this q(eta)."""
        return replace(
            state, coef=self.solution.coef.astype(np.float32), coef_cov=self.coef_cov.astype(np.float32),
            gram=self.gram, information=self.gram, dispersion=self.dispersion,
        )  # fmt: skip


class MarginStep:
    """q(eta) and the duals given all documents' topics, which are gathered: K numbers a document.

    The E-step uses an average of the duals of several steps. With those of the last step alone, all documents that miss
    their margin would be pulled past it at once, and back in the next step: the objective oscillates, and ends far
    lower. It may fall all the same, since the E-step takes the duals as they were.
    """

    monotone = False
    patience = 5
    sums_equations = False

    def __init__(self, response: MaxMargin) -> None:
        self.response = response

    def document_terms(self, n_documents: int, n_columns: int) -> Duals:
        return Duals.none(n_documents, n_columns)

    def restore_terms(self, arrays: dict[str, np.ndarray]) -> Duals:
        return Duals(**{name: arrays.pop(name) for name in ("dual", "support", "planes", "n_support")})

    def update(
        self, model: Model, before: State, after: State, stats: Stats, spread: Spread, terms: Duals, backend: Backend,
        scale: float, rate: float,
    ) -> tuple[State, Duals]:  # fmt: skip
        part = over_partitions(spread, itself, combine=join)
        found = fit_margin(
            self.response, model.coef_prior, part.design, part.y, part.weight, before.coef, before.coef_cov,
            before.dispersion, terms.start(before.coef), tol=self.response.tolerance,
        )  # fmt: skip
        mix = max(_LEAST_MIX, 2.0 / (2.0 + len(terms.n_support)))
        return found.enter(after), terms.after(found.solution, mix)

    def refit(self, model: Model, state: State, terms: Duals, documents: Total) -> tuple[State, Duals]:
        """By the same problem, to a smaller gap; a sampler, which has no duals of its own, takes those of this fit."""
        part = documents(itself, combine=join)
        found = fit_margin(
            self.response, model.coef_prior, part.design, part.y, part.weight, state.coef, state.coef_cov,
            state.dispersion, turns=_REFIT_TURNS, tol=_REFIT_TOL,
        )  # fmt: skip
        state = found.enter(state)
        state.coef = without_smallest(model.coef_prior, found.solution.coef).astype(np.float32)
        return state, terms if len(terms.n_support) else terms.after(found.solution, mix=1.0)


def fit_margin(
    response: MaxMargin, prior: CoefPrior, design: Design, y: np.ndarray, weight: np.ndarray, coef: np.ndarray,
    coef_cov: np.ndarray, dispersion: np.ndarray, start: Solution | None = None, turns: int = _TURNS,
    tol: float = TOLERANCE,
) -> Margin:  # fmt: skip
    """The response's own parameters given q(eta), and q(eta) given them, by turns."""
    coef, x = coef.astype(np.float64), np.asarray(design.columns, dtype=np.float64)
    n_topics, n_coef = coef_cov.shape[1], coef.shape[1]
    total = max(float(weight[~np.isnan(y)].sum()), 1e-300)
    while True:
        score, moment = design.moments(coef, response.is_product)
        if response.n_dispersion:
            # E[s²] has tr(cov E[Zbar Zbar']) besides; of what is a mean over documents, each may have the mean of it
            second = second_moments(design, np.where(np.isnan(y), 0.0, weight))[:n_topics, :n_topics]
            moment = moment + sum(float((cov * second).sum()) for cov in coef_cov) / total
        before, dispersion = dispersion, response.fit_dispersion(y, score, moment, weight, dispersion)
        slope, curvature = response.slope_and_curvature(y, score, moment, dispersion)
        has_likelihood = bool(curvature.any())
        gram, mean, precision = (
            np.zeros((len(coef), n_coef, n_coef)),
            np.zeros_like(coef),
            _prior_precision(prior, coef),
        )
        if has_likelihood:  # without one, the precisions stay diagonal: nothing of size n² is touched
            gram, cross = design.normal_equations(
                coef, response.is_product, moment, weight[:, None] * slope, weight[:, None] * curvature
            )
            precision = gram + np.stack([np.diag(row) for row in precision])
            mean = np.linalg.solve(precision, cross[..., None])[..., 0]
        start = response.solve(x, y, weight, mean, precision, dispersion, start, tol)
        moved = float(np.abs(start.coef - coef).max())
        coef = start.coef
        coef_cov = np.zeros((0, n_topics, n_topics))
        if has_likelihood:
            coef_cov = np.linalg.inv(precision[:, :n_topics, :n_topics])
        turns -= 1
        still = np.allclose(before, dispersion, rtol=_TURN_TOL) and (
            not prior.sparse or moved <= _SMALLEST * np.abs(coef).max()
        )
        if turns == 0 or still:
            return Margin(start, coef_cov, gram, dispersion)


def _prior_precision(prior: CoefPrior, coef: np.ndarray) -> np.ndarray:
    """(C, n)."""
    if not (prior.sparse and coef.any()):
        return np.full(coef.shape, prior.scale**-2.0)
    size = np.maximum(np.abs(coef), _SMALLEST * np.abs(coef).max())
    return 1.0 / (prior.scale * size)


def without_smallest(prior: CoefPrior, coef: np.ndarray) -> np.ndarray:
    """Under a Laplace prior, coefficients that are on their way to zero are zero."""
    if not prior.sparse:
        return coef
    return np.where(np.abs(coef) > _SMALLEST * np.abs(coef).max(initial=0.0), coef, 0.0)


def second_moments(design: Design, weight: np.ndarray) -> np.ndarray:
    """(n, n) sum_d weight_d E[Zbar Zbar']."""
    nothing, one = np.zeros((1, design.columns.shape[1])), np.zeros(1, dtype=bool)
    none = np.zeros((len(weight), 1))
    return design.normal_equations(nothing, one, none, none, weight[:, None])[0][0]
