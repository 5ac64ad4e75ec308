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
from typing import cast

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.inference.batches import Batch
from supertopic.inference.regression import Design
from supertopic.model import Model, State
from supertopic.responses.margin import TOLERANCE, MaxMargin, Solution

_LEAST_MIX = 0.1  # of a step's duals, in what documents are told next; the first steps weigh more
_TURNS = 5  # between the response's own parameters and q(eta), in one M-step
_TURN_TOL = 0.01  # relative change of those parameters below which the turns stop
_SMALLEST = 3e-3  # of the largest coefficient: what is smaller is zero under a Laplace prior, but can come back


@dataclass(frozen=True)
class Margin:
    """q(eta) and what belongs to it."""

    solution: Solution
    coef_cov: np.ndarray  # (C, n, n), or (0, n, n) where the response has no likelihood
    gram: np.ndarray  # (C, n, n) of the likelihood
    dispersion: np.ndarray


def maximise_margin(model: Model, before: State, after: State, doc_topic: np.ndarray, batch: Batch) -> State:
    """The State after the response's M-step; the duals go on from where they were.

    Documents are told an average of the duals of several steps. Told those of the last alone, all that miss their
    margin are pulled past it at once, and in the next step back: the objective jumps to and fro, and ends far lower.
    """
    design = Design.of(doc_topic, before.alpha, batch.lengths, batch.extra)
    start = None if before.dual is None else Solution(before.coef, before.dual, before.planes)
    response = cast(MaxMargin, model.response)
    found = fit_margin(
        response, model.coef_prior, design, batch.y, batch.weight, before.coef, before.coef_cov, before.learned()[1],
        start, tol=response.tolerance,
    )  # fmt: skip
    dual, support = found.solution.dual, np.any(found.solution.dual, axis=1)
    n_support = np.zeros(0, np.int64) if before.n_support is None else before.n_support
    mix = max(_LEAST_MIX, 2.0 / (2.0 + len(n_support)))
    return replace(
        after,
        coef=found.solution.coef.astype(np.float32),
        coef_cov=found.coef_cov.astype(np.float32),
        gram=found.gram,
        dispersion=found.dispersion,
        dual=dual if before.dual is None else (1.0 - mix) * before.dual + mix * dual,
        support=support,
        planes=found.solution.planes,
        n_support=np.append(n_support, np.count_nonzero(support)),
    )


def fit_margin(
    response: MaxMargin, prior: CoefPrior, design: Design, y: np.ndarray, weight: np.ndarray, coef: np.ndarray,
    coef_cov: np.ndarray, dispersion: np.ndarray, start: Solution | None = None, turns: int = _TURNS,
    tol: float = TOLERANCE,
) -> Margin:  # fmt: skip
    """The response's own parameters given q(eta), and q(eta) given them, by turns."""
    coef, x = coef.astype(np.float64), np.asarray(design.columns, dtype=np.float64)
    n_coef = coef.shape[1]
    total = max(float(weight[~np.isnan(y)].sum()), 1e-300)
    while True:
        score, moment = design.moments(coef, response.is_product)
        if response.n_dispersion:
            # E[s²] has tr(cov E[Zbar Zbar']) besides; of what is a mean over documents, each may have the mean of it
            second = second_moments(design, np.where(np.isnan(y), 0.0, weight))
            moment = moment + sum(float((cov * second).sum()) for cov in coef_cov) / total
        before, dispersion = dispersion, response.update(y, score, moment, weight, dispersion, 1.0)
        slope, curvature = response.slope_and_curvature(y, score, moment, dispersion)
        has_likelihood = bool(curvature.any())
        gram, cross = np.zeros((len(coef), n_coef, n_coef)), np.zeros_like(coef)
        if has_likelihood:
            gram, cross = design.normal_equations(
                coef, response.is_product, moment, weight[:, None] * slope, weight[:, None] * curvature
            )
        precision = gram + _prior_precision(prior, coef)
        mean = np.linalg.solve(precision, cross[..., None])[..., 0]
        start = response.solve(x, y, weight, mean, precision, dispersion, start, tol)
        moved = float(np.abs(start.coef - coef).max())
        coef = start.coef
        coef_cov = np.linalg.inv(precision) if has_likelihood else np.zeros((0, n_coef, n_coef))
        turns -= 1
        still = np.allclose(before, dispersion, rtol=_TURN_TOL) and (
            prior.name != "laplace" or moved <= _SMALLEST * np.abs(coef).max()
        )
        if turns == 0 or still:
            return Margin(start, coef_cov, gram, dispersion)


def _prior_precision(prior: CoefPrior, coef: np.ndarray) -> np.ndarray:
    """(C, n, n), diagonal."""
    if prior.name != "laplace" or not coef.any():
        return np.broadcast_to(np.eye(coef.shape[1]) / prior.scale**2, (len(coef), *2 * coef.shape[1:]))
    size = np.maximum(np.abs(coef), _SMALLEST * np.abs(coef).max())
    return np.stack([np.diag(1.0 / (prior.scale * row)) for row in size])


def without_smallest(prior: CoefPrior, coef: np.ndarray) -> np.ndarray:
    """Under a Laplace prior, coefficients that are on their way to zero are zero."""
    if prior.name != "laplace":
        return coef
    return np.where(np.abs(coef) > _SMALLEST * np.abs(coef).max(initial=0.0), coef, 0.0)


def second_moments(design: Design, weight: np.ndarray) -> np.ndarray:
    """(n, n) sum_d weight_d E[Zbar Zbar']."""
    nothing, one = np.zeros((1, design.columns.shape[1])), np.zeros(1, dtype=bool)
    none = np.zeros((len(weight), 1))
    return design.normal_equations(nothing, one, none, none, weight[:, None])[0][0]
