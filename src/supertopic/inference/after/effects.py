"""What a prediction changes by when a topic goes from few to much of a document, averaged over documents.

A coefficient belongs to a document that is all of one topic, and there is none. An effect stays within what documents
do. With θ_d the shares of document d, x_d its other columns, and a, b two quantiles of the share of topic k over the
documents, the share becomes a, or b, and the other topics give way in proportion:

    θ_dk → a,   θ_dj → θ_dj (1 - a) / (1 - θ_dk)       μ_k(a) = mean_d E[y | coef·(θ_d, x_d)]

    effect_k = μ_k(b) - μ_k(a), or μ_k(b) / μ_k(a) where y is positive

The effect of a column of x is the same with x_dp → a and b. Standard errors are those of the delta method: the gradient
of the effect along the coefficients, and the coefficients' covariance; a ratio's are found on the log scale. What is
known by draws from a posterior needs no gradient: `effects_of_draws`.

Cost: O(D·K·C). Gradients, O(D·K²·C²) of classes, are averages over `GRADIENT_DOCUMENTS` documents at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

GRADIENT_DOCUMENTS = 4000
_FEWEST, _FEW_COLUMNS = 200, 5  # … and over fewer, but not that few, with more columns of coefficients
_CHUNK = 1 << 21  # numbers in an array of one chunk of documents
_STEP = 1e-4  # of the differences by which the slope of E[y | s] is found
_ALL = 1e-9  # a document with less than this left of its other topics is all of one topic
_ZERO = 1e-150  # means below are as large as this to a ratio, so that of two that are zero none is more

Mean = Callable[[np.ndarray], np.ndarray]  # linear predictors (D, C) -> means (D, n)


@dataclass(frozen=True)
class Documents:
    """What linear predictors are made of, and the average document."""

    shares: np.ndarray  # (D, K) rows sum to one
    others: np.ndarray  # (D, P)
    average: np.ndarray  # (K,)

    @classmethod
    def of(cls, shares: np.ndarray, others: np.ndarray | None = None) -> Documents:
        """All documents of a fit; without other columns by default."""
        return cls(shares, np.zeros((len(shares), 0)) if others is None else others, shares.mean(axis=0))

    @property
    def n_topics(self) -> int:
        return self.shares.shape[1]

    def rows(self, rows: slice) -> Documents:
        return replace(self, shares=self.shares[rows], others=self.others[rows])

    def chunks(self, width: int) -> Iterator[Documents]:
        """The documents in pieces, of which arrays with `width` numbers a document are small."""
        size = max(_CHUNK // max(width, self.n_topics), 1)
        return (self.rows(slice(start, start + size)) for start in range(0, len(self.shares), size))

    def some(self, n: int) -> Documents:
        """At most n of them, evenly."""
        return self.rows(slice(None, None, max(-(-len(self.shares) // n), 1)))

    def mix(self, k: int) -> np.ndarray:
        """(K,) the shares of the others in a document that is all of topic k: those of the average document."""
        found = np.array(self.average, dtype=np.float64)
        found[k] = 0.0
        return found / max(found.sum(), 1e-300)


@dataclass(frozen=True)
class Effects:
    """Effects of M topics or columns on n means, from the values `low` to the values `high`."""

    low: np.ndarray  # (M,)
    high: np.ndarray  # (M,)
    effect: np.ndarray  # (M, n) differences, or ratios
    std_error: np.ndarray  # (M, n); NaN where the coefficients' covariance is not known
    lower: np.ndarray  # (M, n) ends of intervals
    upper: np.ndarray


@dataclass(frozen=True)
class Regression:
    """The mean of y given topic shares and other columns."""

    coef: np.ndarray  # (C, K + P) of the shares, with the intercept in them, and of the other columns
    mean: Mean
    covariance: np.ndarray | None = None  # (C, K + P, K + P) of the coefficients of each column
    ratio: np.ndarray | bool = False  # (n,) whether effects are ratios of means; otherwise they are differences
    freedom: float = np.inf  # of the covariance: Student's t has so many degrees

    def compare(self, means: np.ndarray) -> np.ndarray:
        """Effects, from means (2, …) at the low and the high value."""
        return np.where(self.ratio, self.of_ratio(means[1]) / self.of_ratio(means[0]), means[1] - means[0])

    def of_ratio(self, means: np.ndarray) -> np.ndarray:
        """Means (…, n) as ratios take them; ones where effects are differences."""
        return np.where(self.ratio, np.maximum(means, _ZERO), 1.0)


def share_effects(
    documents: Documents, regression: Regression, low: float = 0.1, high: float = 0.9, probability: float = 0.9
) -> Effects:
    """The effect of every topic, from a low to a high quantile of its share over the documents."""
    ends = np.quantile(documents.shares, [low, high], axis=0)
    return _effects(documents, regression, np.arange(documents.n_topics), ends, probability)


def column_effects(
    documents: Documents, regression: Regression, low: float = 0.1, high: float = 0.9, probability: float = 0.9
) -> Effects:
    """The effect of every other column between two quantiles, the shares as they are; of two values, from one to the
    other.
    """
    n_columns = documents.others.shape[1]
    ends = np.quantile(documents.others, [low, high], axis=0) if n_columns else np.zeros((2, 0))
    for p, column in enumerate(documents.others.T):
        values = np.unique(column)
        if len(values) == 2:
            ends[:, p] = values
    return _effects(documents, regression, documents.n_topics + np.arange(n_columns), ends, probability)


def effects_of_draws(
    documents: Documents, draws: list[Regression], low: float = 0.1, high: float = 0.9, probability: float = 0.9
) -> Effects:
    """Effects of topics by draws from a posterior: their means, spreads and central intervals."""
    ends, found = np.quantile(documents.shares, [low, high], axis=0), effects_by_draw(documents, draws, low, high)
    lower, upper = np.quantile(found, [0.5 - probability / 2, 0.5 + probability / 2], axis=0)
    error = found.std(axis=0, ddof=1) if len(found) > 1 else np.full(found.shape[1:], np.nan)
    return Effects(ends[0], ends[1], found.mean(axis=0), error, lower, upper)


def effects_by_draw(documents: Documents, draws: list[Regression], low: float, high: float) -> np.ndarray:
    """(S, K, n) the effects of topics by each of some regressions."""
    few, ends = documents.some(GRADIENT_DOCUMENTS), np.quantile(documents.shares, [low, high], axis=0)
    return np.stack([one.compare(_means(few, one, np.arange(documents.n_topics), ends)) for one in draws])


def _effects(
    documents: Documents, regression: Regression, places: np.ndarray, ends: np.ndarray, probability: float
) -> Effects:
    effect = regression.compare(_means(documents, regression, places, ends))
    error = np.full_like(effect, np.nan)
    if regression.covariance is not None:
        few = documents.some(max(int(GRADIENT_DOCUMENTS * min(_FEW_COLUMNS / len(regression.coef), 1.0) ** 2), _FEWEST))
        for i, k in enumerate(places):
            error[i] = _error(few, regression, regression.covariance, k, ends[:, i])
    reach = student.ppf(0.5 + probability / 2, regression.freedom) * error
    ratio = np.broadcast_to(regression.ratio, effect.shape)
    logs = np.log(np.where(ratio, effect, 1.0))
    lower, upper = (np.where(ratio, np.exp(logs + part), effect + part) for part in (-reach, reach))
    return Effects(ends[0], ends[1], effect, np.where(ratio, effect, 1.0) * error, lower, upper)


def _means(documents: Documents, regression: Regression, places: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(2, M, n) mean predictions with topic or column `places[m]` at its low and at its high value."""
    coef, sums = regression.coef, []
    for part in documents.chunks(len(coef)):
        beside = part.others @ coef[:, part.n_topics :].T
        score = part.shares @ coef[:, : part.n_topics].T
        sums.append(
            [
                [regression.mean(_moved(part, coef, score, beside, k, value)).sum(axis=0) for k, value in pairs]
                for pairs in (zip(places, end, strict=True) for end in ends)
            ]
        )
    return np.sum(np.array(sums), axis=0) / len(documents.shares)


def _moved(
    documents: Documents, coef: np.ndarray, score: np.ndarray, beside: np.ndarray, k: int, value: float
) -> np.ndarray:
    """(D, C) linear predictors with topic or column k at a value, from those of shares and of the other columns."""
    n_topics = documents.n_topics
    if k >= n_topics:
        return score + beside + (value - documents.others[:, k - n_topics, None]) * coef[:, k]
    share = documents.shares[:, k, None]
    rest = np.maximum(1.0 - share, _ALL)
    mixed = np.where(rest > _ALL, (score - share * coef[:, k]) / rest, coef[:, :n_topics] @ documents.mix(k))
    return value * coef[:, k] + (1.0 - value) * mixed + beside


def _moved_shares(documents: Documents, k: int, value: float) -> np.ndarray:
    """(D, K + P) the shares and columns themselves, moved."""
    shares, others = documents.shares, documents.others
    if k >= documents.n_topics:
        others = others.copy()
        others[:, k - documents.n_topics] = value
        return np.hstack([shares, others])
    rest = np.maximum(1.0 - shares[:, k, None], _ALL)
    mixed = np.where(rest > _ALL, shares / rest, documents.mix(k))
    mixed *= 1.0 - value
    mixed[:, k] = value
    return np.hstack([mixed, others])


def _error(
    documents: Documents, regression: Regression, covariance: np.ndarray, k: int, ends: np.ndarray
) -> np.ndarray:
    """(n,) the standard errors of the effects of topic or column k, of a ratio those of its logarithm."""
    means, gradients = zip(*(_gradient(documents, regression, k, value) for value in ends), strict=True)
    scaled = [
        gradient / regression.of_ratio(mean)[:, None, None] for gradient, mean in zip(gradients, means, strict=True)
    ]
    gradient = scaled[1] - scaled[0]
    variance = np.einsum("nci,cij,ncj->n", gradient, covariance, gradient, optimize=True)
    return np.sqrt(np.maximum(variance, 0.0))


def _gradient(documents: Documents, regression: Regression, k: int, value: float) -> tuple[np.ndarray, np.ndarray]:
    """The mean predictions (n,) with topic or column k at a value, and their gradient (n, C, K + P) along coef."""
    coef, totals, slopes = regression.coef, [], []
    for part in documents.chunks(len(coef) ** 2):
        moved = _moved_shares(part, k, value)
        score = moved @ coef.T
        totals.append(regression.mean(score).sum(axis=0))
        slope = np.stack([_slope(regression.mean, score, c) for c in range(len(coef))], axis=2)  # (D, n, C)
        slopes.append(np.tensordot(slope, moved, axes=(0, 0)))
    n = len(documents.shares)
    return np.sum(totals, axis=0) / n, np.sum(slopes, axis=0) / n


def _slope(mean: Mean, score: np.ndarray, c: int) -> np.ndarray:
    """(D, n) the derivative of the means along the linear predictor of column c."""
    step = np.zeros(score.shape[1])
    step[c] = _STEP * max(float(np.std(score[:, c])), 1e-8 + 1e-4 * float(np.abs(score[:, c]).max()))
    return (mean(score + step) - mean(score - step)) / (2.0 * step[c])
