"""Intervals that are wider where labels lie further from predictions.

One level for all documents holds nine of ten on average, and six of ten where noise is large. With t_d how far the
label of a document lies from its prediction (its level as a standard normal's), x_d what is known of the document
before (its linear predictor, its length), and σ a *scale* that others' distances tell,

    log σ(x) = sum over features of a piecewise linear function,     interval of a new document: level of q·σ(x)

where q is the quantile of t_d / σ(x_d) that conformal prediction asks for. The scale is that of high quantiles: with
a_τ the level of quantile τ, it minimises the pinball losses of log t - a_τ - log σ, all τ together. The scale that
divides t_d comes from other documents (cross-fitting), so that intervals hold their promise whatever the scale is
worth. Where other documents' scale does not predict distances better than none, there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.later import Later
from supertopic.responses.interval_levels import WIDEST

optimize, special, stats = (Later(f"scipy.{name}") for name in ("optimize", "special", "stats"))

_QUANTILES = np.array([0.8, 0.9, 0.95])
_KNOTS, _PER_KNOT = 8, 60  # of a feature at most, and documents for each
_SMOOTH = 0.05  # width of the corner of a pinball loss, of log t
_PRIOR = 20.0  # documents' worth of: neighbouring knots are alike
_NEAREST = 1e-3  # of the median distance: the least whose logarithm tells
_GAIN = 0.002  # of the mean loss, relative: the least that a scale is worth


def distances(found: np.ndarray) -> np.ndarray:
    """(n,) t >= 0 of levels: |normal quantile| of the level, and beyond `WIDEST` in proportion."""
    inside = stats.norm.ppf(0.5 + 0.5 * np.minimum(found, WIDEST))
    return np.where(found > WIDEST, np.maximum(found, 1.0) * inside, inside)


def levels_at(distance: np.ndarray) -> np.ndarray:
    """(n,) the levels of distances; the inverse of `distances`, but for levels between `WIDEST` and 1."""
    widest = stats.norm.ppf(0.5 + 0.5 * WIDEST)
    return np.where(distance > widest, distance / widest, 2.0 * stats.norm.cdf(distance) - 1.0)


@dataclass(frozen=True)
class Scale:
    """log σ: for each feature, values at knots and straight lines between them."""

    knots: np.ndarray  # (F, M) ascending
    values: np.ndarray  # (F, M)

    @classmethod
    def none(cls, n_features: int) -> Scale:
        return cls(np.zeros((n_features, 1)), np.zeros((n_features, 1)))

    def of(self, features: np.ndarray) -> np.ndarray:
        """(D,) σ of documents with features (D, F); beyond the first and last knots, that of these."""
        pairs = zip(features.T, self.knots, self.values, strict=True)
        return np.exp(np.sum([np.interp(*one) for one in pairs], axis=0))

    @property
    def is_one(self) -> bool:
        return not self.values.any()


def features_of(score: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(D, 2) what the scale of a document depends on, from its linear predictor (D, 1) and its tokens (D,)."""
    return np.column_stack([score[:, 0], np.log1p(lengths)])


def levels_of(level: float, scale: Scale | None, score: np.ndarray, lengths: np.ndarray) -> float | np.ndarray:
    """The level of documents' intervals, or (D,) of each one's: `level` over all, times the scale of each."""
    if scale is None:
        return level
    return levels_at(distances(np.array(level)) * scale.of(features_of(score, lengths)))


def fit_scale(features: np.ndarray, distance: np.ndarray) -> Scale:
    """The scale of distances (n,) at features (n, F); its logarithm is zero on average."""
    n, n_features = features.shape
    n_knots = min(_KNOTS, n // (_PER_KNOT * max(n_features, 1)))
    if n_knots < 2:
        return Scale.none(n_features)
    knots = np.quantile(features, (np.arange(n_knots) + 0.5) / n_knots, axis=0).T
    basis = np.hstack([_hats(column, own) for column, own in zip(features.T, knots, strict=True)])
    logs = _logs(distance)

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        start, values = free[: len(_QUANTILES)], free[len(_QUANTILES) :]
        value, slope = _pinball((logs - basis @ values)[:, None] - start)
        steps = np.diff(values.reshape(n_features, n_knots), axis=1)
        rough = np.zeros((n_features, n_knots))
        rough[:, :-1] -= steps
        rough[:, 1:] += steps
        gradient = np.concatenate([-slope.mean(axis=0), -basis.T @ slope.sum(axis=1) / n])
        gradient[len(_QUANTILES) :] += _PRIOR / n * rough.ravel()
        return value.sum() / n + 0.5 * _PRIOR / n * (steps**2).sum(), gradient

    free = np.concatenate([np.quantile(logs, _QUANTILES), np.zeros(basis.shape[1])])
    values = (
        optimize.minimize(loss, free, jac=True, method="L-BFGS-B").x[len(_QUANTILES) :].reshape(n_features, n_knots)
    )
    means = (basis.mean(axis=0).reshape(n_features, n_knots) * values).sum(axis=1)
    return Scale(knots, values - means[:, None])


def cross_fitted(features: np.ndarray, distance: np.ndarray, part: np.ndarray) -> tuple[Scale, np.ndarray]:
    """(the scale of all documents, (n,) distances over the scale that other documents tell).

    Where the latter are not closer to one another than the distances themselves, there is no scale.

    part : (n,) whole numbers; others are the documents of other parts
    """
    over = np.empty(len(distance))
    for number in np.unique(part):
        out = part == number
        over[out] = distance[out] / fit_scale(features[~out], distance[~out]).of(features[out])
    if _loss(over) < (1.0 - _GAIN) * _loss(distance):
        return fit_scale(features, distance), over
    return Scale.none(features.shape[1]), distance


def _loss(distance: np.ndarray) -> float:
    """How far the logarithms lie from their own quantiles."""
    logs = _logs(distance)
    return float(_pinball(logs[:, None] - np.quantile(logs, _QUANTILES))[0].mean())


def _logs(distance: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(distance, max(_NEAREST * float(np.median(distance)), 1e-300)))


def _hats(column: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(n, M) the weights of the knots in a piecewise linear function."""
    return np.column_stack([np.interp(column, knots, one) for one in np.eye(len(knots))])


def _pinball(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(loss, its slope), each (n, Q), with a rounded corner."""
    away = rest / _SMOOTH
    value = _QUANTILES * rest + _SMOOTH * np.logaddexp(0.0, -away)
    return value, _QUANTILES - special.expit(-away)
