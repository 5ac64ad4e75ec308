"""The law of every response in plain scipy, a row of EXAMPLES for each response and link; and the slow searches."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize, stats
from scipy.special import expit, ndtr, softmax

import supertopic.responses  # noqa: F401  (registers them)
from supertopic.responses.base import registry

SCORE = np.array([[-1.2], [0.4], [1.5], [0.05]])
VARIANCE = np.array([[0.3], [0.02], [0.8], [0.4]])


@dataclass
class Example:
    """Labels of four documents, a dispersion, and the law of y in plain scipy for known columns s (…, D, C)."""

    y: list[float]
    dispersion: list[float]
    law: Callable  # (s, dispersion) -> a frozen distribution of y, or the probabilities (…, D, n_classes) of classes
    n_classes: int = 0
    how: str = "bound"  # "exact": log_density is E[log p] itself; "bound": below it; "delta": to second order
    learned: slice = field(default_factory=lambda: slice(0, 1))  # which numbers of the dispersion `update` moves
    refused: tuple[float, ...] = ()
    score: np.ndarray = field(default_factory=SCORE.copy)
    variance: np.ndarray = field(default_factory=VARIANCE.copy)
    draw_score: Callable = lambda rng, size: rng.normal(size=size)

    def log_p(self, y, s, dispersion):
        law = self.law(s, np.array(dispersion))
        if self.n_classes:
            return np.log(np.take_along_axis(law, np.broadcast_to(y, law.shape[:-1])[..., None].astype(int), -1))[
                ..., 0
            ]
        return law.logpmf(y) if hasattr(law.dist, "logpmf") else law.logpdf(y)

    def mean(self, s, dispersion):
        law = self.law(s, np.array(dispersion))
        return law if self.n_classes else law.mean()


def _gaussian(s, d):
    return stats.norm(d[1] + d[2] * s[..., 0], d[2] * np.sqrt(d[0]))


def _binary(link, s):
    return np.stack([link(-s[..., 0]), link(s[..., 0])], axis=-1)


def _ordinal(s, cuts):
    """Differences of Phi on the side where they are small, so that they stay exact."""
    ends = np.broadcast_to(np.inf, s.shape)
    edges = np.concatenate([-ends, cuts - s, ends], axis=-1)
    low, high = edges[..., :-1], edges[..., 1:]
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _gamma(mean, d):
    return stats.gamma(d[0], scale=d[1] * mean / d[0])


def _inverse_gaussian(mean, d):
    return stats.invgauss(mean / d[0], scale=d[0] * d[1])


# with a canonical link s is above zero, and the delta method wants it known to some ten percent
POSITIVE = {
    "score": np.array([[0.5], [1.0], [2.5], [1.5]]),
    "variance": np.array([[0.002], [0.01], [0.03], [0.02]]),
    "draw_score": lambda rng, size: 0.5 + rng.gamma(2.0, 0.5, size=size),
    "refused": (0.0, -2.0),
    "how": "delta",
}
SOFTMAX = {
    "score": np.array([[-1.2, 0.3, 0.9], [0.4, 0.1, -0.5], [1.5, -1.0, 0.0], [0.05, 0.2, 2.0]]),
    "variance": np.array([[0.3, 0.1, 0.05], [0.02, 0.4, 0.1], [0.3, 0.02, 0.2], [0.4, 0.1, 0.1]]),
}
EXAMPLES = {
    "gaussian": Example([-1.0, 0.3, 4.0, 2.0], [0.7, 1.5, 2.0], _gaussian, how="exact"),
    "poisson": Example(
        [0.0, 1.0, 7.0, 3.0], [], lambda s, d: stats.poisson(np.exp(s[..., 0])), how="exact", refused=(-1.0, 1.5)
    ),
    "negative_binomial": Example(
        [0.0, 1.0, 7.0, 3.0], [2.5], lambda s, d: stats.nbinom(d[0], expit(-s[..., 0])), refused=(-1.0, 1.5)
    ),
    "logit": Example([0.0, 1.0, 1.0, 0.0], [], lambda s, d: _binary(expit, s), 2),
    "probit": Example([0.0, 1.0, 1.0, 0.0], [], lambda s, d: _binary(ndtr, s), 2),
    "softmax": Example([0.0, 2.0, 1.0, 2.0], [], lambda s, d: softmax(s, axis=-1), 3, **SOFTMAX),
    "ordinal": Example([0.0, 2.0, 3.0, 1.0], [-0.7, 0.2, 1.1], _ordinal, 4, learned=slice(1, 3)),
    "gamma": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _gamma(np.exp(-s[..., 0]), d), how="exact", refused=(0.0, -2.0)
    ),
    "gamma canonical": Example([0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _gamma(1 / s[..., 0], d), **POSITIVE),
    # all above their means, where the density is concave in s; below it has a test of its own
    "inverse_gaussian": Example(
        [0.8, 6.0, 12.0, 2.5], [1.7, 2.0], lambda s, d: _inverse_gaussian(np.exp(s[..., 0]), d), how="delta",
        refused=(0.0, -2.0), variance=0.1 * VARIANCE,
    ),
    "inverse_gaussian canonical": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _inverse_gaussian(s[..., 0] ** -0.5, d), **POSITIVE
    ),
    "weibull": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: stats.weibull_min(d[0], scale=d[1] * np.exp(-s[..., 0] / d[0])),
        how="exact", refused=(0.0, -2.0),
    ),
}  # fmt: skip


def build(key):
    """The response of a row: its name and, after a blank, its link."""
    name, _, link = key.partition(" ")
    return registry()[name](EXAMPLES[key].n_classes, *([link] if link else []))


def moments(response, score, variance):
    """E[s²] or E[exp s] of normal columns s."""
    return np.where(response.is_product, np.exp(score + 0.5 * variance), score**2 + variance)


def over_normal(function, score, variance):
    """E[function(s)] for independent normal columns of s (D, C), by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24 if score.shape[1] == 1 else 16)
    grid = np.stack(np.meshgrid(*[nodes] * score.shape[1], indexing="ij"), axis=-1).reshape(-1, 1, score.shape[1])
    weight = np.prod(np.meshgrid(*[weights / weights.sum()] * score.shape[1], indexing="ij"), axis=0).ravel()
    return np.tensordot(weight, function(score + grid * np.sqrt(variance)), axes=1)


def simulated(response, example, dispersion, variance=0.05):
    """(y, score, moment, weight) of 500 documents."""
    rng = np.random.default_rng(3)
    score = example.draw_score(rng, (500, response.n_columns))
    variance = rng.gamma(2.0, 0.5 * variance, size=score.shape) * score**2
    law, noise = example.law(score, dispersion), rng.random(500)
    y = (noise[:, None] > np.cumsum(law, axis=1)).sum(axis=1).astype(float) if example.n_classes else law.ppf(noise)
    return y, score, moments(response, score, variance), rng.choice([0.0, 0.5, 2.0], size=500)


def best_dispersion(key, y, score, moment, weight, dispersion):
    """The dispersion with the highest expected log-density, all documents at once.

    A positive parameter moves by at most 1 in its logarithm, a gap between cut-points as far as it likes.
    """
    response, rows = build(key), ~np.isnan(y) & (weight > 0)

    def loss(found):
        return -weight[rows] @ response.log_density(y[rows], score[rows], moment[rows], np.array(found)) / weight.sum()

    if key == "gaussian":
        _, center, scale = dispersion
        u = (y[rows] - center) / scale
        squares = (u - score[rows, 0]) ** 2 + moment[rows, 0] - score[rows, 0] ** 2
        return np.array([np.average(squares, weights=weight[rows]), center, scale])
    if key == "ordinal":
        found = optimize.minimize(
            lambda gaps: loss(dispersion[0] + np.cumsum([0.0, *np.exp(gaps)])), np.log(np.diff(dispersion)),
            method="L-BFGS-B", bounds=[(-12.0, 4.0)] * (len(dispersion) - 1), options={"ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        return dispersion[0] + np.cumsum([0.0, *np.exp(found.x)])
    now = np.log(dispersion[0])
    found = optimize.minimize_scalar(
        lambda x: loss([np.exp(x), *dispersion[1:]]), bounds=(now - 1, now + 1), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    return np.array([np.exp(found.x), *dispersion[1:]])


def _labels_that_count(y, weight):
    """The labels and their weights; all of them, and alike, where no weight is positive."""
    y, weight = y[~np.isnan(y)], weight[~np.isnan(y)]
    return (y[weight > 0], weight[weight > 0]) if np.any(weight > 0) else (y, np.ones(len(y)))


def first_dispersion(key, y, weight):
    """Where a fit starts, from the labels themselves."""
    counted, by = _labels_that_count(y, weight)
    mean = np.average(counted, weights=by)
    if key == "gaussian":
        return np.array([1.0, mean, np.sqrt(np.average((counted - mean) ** 2, weights=by))])
    if key == "negative_binomial":
        mean, variance = counted.mean(), counted.var()
        return np.array([np.clip(mean**2 / max(variance - mean, 1e-2 * max(mean, 1e-3)), 0.05, 100.0)])
    if key == "ordinal":
        known = ~np.isnan(y)
        shares = np.bincount(y[known].astype(int), weight[known] + 1e-12, minlength=4) + 1e-12
        below = np.cumsum(shares)[:-1] / shares.sum()
        return stats.norm.ppf(np.clip(below, 1e-3, 1 - 1e-3)) + 1e-6 * np.arange(3)
    return np.array([1.0, mean]) if EXAMPLES[key].dispersion else np.zeros(0)


def first_coef(key, y, weight):
    """(C,) the first coefficient of all topics, from the labels themselves."""
    known = ~np.isnan(y)
    if key == "poisson":
        counted, by = _labels_that_count(y, weight)
        return np.array([np.log(max(np.average(counted, weights=by), 0.5 / known.sum()))])
    if key == "softmax":
        shares = np.bincount(y[known].astype(int), weight[known] + 1e-12, minlength=3)
        logs = np.log((shares + 0.5 * shares.sum() / known.sum()) / shares.sum())
        return logs - logs.mean()
    return np.full(1, 1.0 if "canonical" in key else 0.0)
