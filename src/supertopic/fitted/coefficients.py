"""Coefficients as users see them: an intercept, what each topic adds to it, and the errors of both.

A model has one coefficient for each topic, and a document's topic shares sum to one. A number that is added to all
coefficients therefore is an intercept. Users see it apart:

    linear predictor = intercept + coef·shares + covariate_coef·(x - covariate_mean)

The intercept is the linear predictor of the average training document, and the coefficient of a topic is its difference
from that. Under a prior that makes some coefficients exactly zero, the intercept is the level that these differ from
(`supertopic.coefficients`): a zero then is a topic without effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import t as student

from supertopic.checks import check_choice
from supertopic.coefficients import CoefPrior
from supertopic.fitted.fitted import Fitted
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of


@dataclass(frozen=True)
class Effects:
    """The coefficients of a fit or of a draw, on the scale of y."""

    intercept: np.ndarray  # (C,)
    topics: np.ndarray  # (C, K)
    others: np.ndarray  # (C, P) per unit of the covariates


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """s = intercept + theta·coef: coefficients are relative to the average document (a sparse prior: to its origin)."""

    names: list[str]  # (C,) the class or the response of each column; "" where there is one only
    intercept: np.ndarray  # (C,)
    coef: np.ndarray  # (C, K)
    std: np.ndarray | None  # (C, K) standard errors, where the model has them
    intercept_std: np.ndarray | None = None  # (C,)
    draws: np.ndarray | None = None  # (S, C, K) draws of a posterior, where the model has them
    covariates: tuple[str, ...] = ()  # names
    others: np.ndarray = field(default_factory=lambda: np.zeros((1, 0)))  # (C, P) of the covariates
    others_std: np.ndarray | None = None
    found_again: np.ndarray | None = None  # (K,) the share of other fits that find a topic again …
    spread: np.ndarray | None = None  # (C, K) … and the standard deviation of its coefficient among these
    freedom: float = np.inf  # of the errors: one less than the groups that they are of

    @property
    def posterior(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The mean and the standard deviation (C, K) of the draws that intervals come from; None without draws."""
        if self.draws is None:
            return None
        many = len(self.draws) > 1
        return self.draws.mean(axis=0), self.draws.std(axis=0, ddof=1) if many else np.zeros_like(self.coef)

    def ends(self, probability: float = 0.9) -> np.ndarray | None:
        """(2, C, K) ends of intervals; None where the model knows no errors."""
        check_probability("probability", probability)
        if self.draws is not None:
            return np.quantile(self.draws, [0.5 - 0.5 * probability, 0.5 + 0.5 * probability], axis=0)
        return None if self.std is None else ends_of(self.coef, self.std, probability, self.freedom)

    def order(self, columns: list[int] | None = None) -> np.ndarray:
        """Topics from the first row to the last: by the column of their largest coefficient, the largest first."""
        coef = self.coef if columns is None else self.coef[columns]
        best = coef.argmax(axis=0)
        return np.lexsort((-coef[best, np.arange(coef.shape[1])], best))

    def column(self, target: object) -> int:
        """The place of a class or a response by its name; None is the only one."""
        if target is None and len(self.names) == 1:
            return 0
        if isinstance(target, (int, np.integer)) and str(target) not in self.names and 0 <= target < len(self.names):
            return int(target)
        check_choice("target", None if target is None else str(target), tuple(self.names))
        return self.names.index(str(target))


def check_probability(name: str, value: object) -> None:
    """A probability between 0 and 1."""
    if not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise ValueError(f"{name}: got {value!r}, expected a number between 0 and 1")


def ends_of(coef: np.ndarray, errors: np.ndarray, probability: float, freedom: float = np.inf) -> np.ndarray:
    """(2, …) ends of intervals of normal estimates; of Student's t, where errors are of few groups."""
    reach = student.ppf(0.5 + 0.5 * probability, freedom) * errors
    return np.stack([coef - reach, coef + reach])


def table_of(fitted: Fitted, has_errors: bool, draws: np.ndarray | None = None) -> CoefficientTable:
    """The coefficients of a fitted model; draws : (S, C, K) that intervals are taken from."""
    found, n_topics = effects(fitted), fitted.n_topics
    errors = standard_errors(fitted) if has_errors else None
    others = fitted.others
    moved = None if others is None else np.stack([effects(fitted, one).topics for one in others.coef])
    return CoefficientTable(
        names=fitted.spec.column_names,
        intercept=found.intercept,
        coef=found.topics,
        std=None if errors is None else errors[:, 1 : 1 + n_topics],
        draws=draws,
        intercept_std=None if errors is None else errors[:, 0],
        covariates=tuple(fitted.spec.schema.covariate_names),
        others=found.others,
        others_std=None if errors is None else errors[:, 1 + n_topics :],
        found_again=None if others is None else others.found_again,
        spread=None if others is None or moved is None else others.spread(moved),
        freedom=fitted.freedom,
    )


def effects(fitted: Fitted, coef: np.ndarray | None = None, dispersion: np.ndarray | None = None) -> Effects:
    """What users see of a model's own coefficients (C, K + P), by default those of the State."""
    spec, state = fitted.spec, fitted.state
    own = (state.coef if coef is None else coef, state.dispersion if dispersion is None else dispersion)
    found = find_effects(spec.response, spec.model.coef_prior, *own, fitted.average_shares)
    others = spec.schema.scaling.users(found.others) * spec.unit
    found = replace(found, topics=found.topics * spec.unit, others=others)
    if not spec.schema.constant:  # its coefficient joins the intercept
        return found
    return Effects(found.intercept + others[:, -1], found.topics, others[:, :-1])


def covariance(fitted: Fitted) -> np.ndarray:
    """(C, 1 + K + P, 1 + K + P) of the intercept, the topics' coefficients and those of the covariates."""
    spec, state, n_topics = fitted.spec, fitted.state, fitted.n_topics
    prior, own, wider = spec.model.coef_prior, fitted.certainty.coef_cov, fitted.certainty.topic_error
    if own is None:
        own = np.stack([prior.covariance(one) for one in state.information])
    found = effects_covariance(spec.response, prior, own, state.dispersion, fitted.average_shares)
    unit = np.full(found.shape[:2], spec.unit)
    unit[:, 1 : 1 + n_topics] *= 1.0 if wider is None else wider[:, None]
    unit[:, 1 + n_topics :] *= spec.schema.scaling.users(np.ones(spec.schema.n_covariates))
    found = found * unit[:, :, None] * unit[:, None, :]
    if not spec.schema.constant:
        return found
    order = [found.shape[1] - 1, *range(1, found.shape[1] - 1)]
    return found[:, order][:, :, order]


def standard_errors(fitted: Fitted) -> np.ndarray:
    """(C, 1 + K + P) of the same."""
    return np.sqrt(np.maximum(np.diagonal(covariance(fitted), axis1=1, axis2=2), 0.0))


def sparse_errors(fitted: Fitted) -> np.ndarray:
    """(C, K) errors of a sparse estimate: of each topic beside those that have a coefficient.

    They are given the level that coefficients differ from: shares add up to one, so that a number which is added to all
    coefficients, and taken from the level, changes nothing.
    """
    state, n_topics = fitted.state, fitted.n_topics
    found = np.zeros((len(state.coef), n_topics))
    others = np.arange(n_topics, state.coef.shape[1] - int(fitted.spec.schema.constant))
    for _, part in fitted.spec.parts:
        unit = units_of(part.response, state.dispersion[part.numbers]) * fitted.spec.unit
        for c in range(part.columns.start, part.columns.stop):
            active = np.flatnonzero(state.coef[c, :n_topics])
            for k in range(n_topics):
                topics = np.union1d(active, [k])
                rows = np.concatenate([topics, others])
                gram = state.information[c][np.ix_(rows, rows)]
                inverse = np.linalg.inv(gram + 1e-9 * max(np.trace(gram), 1e-12) * np.eye(len(rows)))
                place = int(np.searchsorted(topics, k))
                found[c, k] = unit * np.sqrt(inverse[place, place])
    return found


def users_draws(fitted: Fitted) -> Fitted:
    """With the draws of the coefficients in the meaning of `effects`, and those of the intercepts."""
    own = fitted.draws.get("coef")
    if own is None:
        return fitted
    pairs = zip(own, fitted.draws["dispersion"], strict=True)
    found = [effects(fitted, coef, dispersion) for coef, dispersion in pairs]
    coef = np.stack([np.hstack([one.topics, one.others]) for one in found])
    return replace(fitted, draws={**fitted.draws, "coef": coef, "intercept": np.stack([e.intercept for e in found])})


def word_effects(fitted: Fitted) -> np.ndarray | None:
    """(C, V) the coefficients of words beside topics, on the scale of y."""
    if fitted.words is None:
        return None
    found = fitted.words.coef.astype(np.float64)
    for _, part in fitted.spec.parts:
        if part.response.shares_shift:
            found[part.columns] -= found[part.columns].mean(axis=0)
        found[part.columns] *= units_of(part.response, fitted.state.dispersion[part.numbers])
    return found


def find_effects(
    response: Response, prior: CoefPrior, coef: np.ndarray, dispersion: np.ndarray, shares: np.ndarray
) -> Effects:
    """From a model's own coefficients (C, K + P), which have the intercept in those of the topics.

    shares : (K,) of the average training document
    """
    coef, n_topics = coef.astype(np.float64), len(shares)
    level = prior.origin(coef[:, :n_topics], shares)
    apart = prior.apart(coef[:, :n_topics], level)
    intercept, others = level.copy(), coef[:, n_topics:].copy()
    for part in parts_of(response):
        rows, numbers = part.columns, dispersion[part.numbers]
        unit = units_of(part.response, numbers)
        intercept[rows] = part.response.unscale(level[rows, None], np.zeros((1, 1)), numbers)[0][:, 0]
        if part.response.shares_shift and not prior.sparse:
            apart[rows] -= apart[rows].mean(axis=0)
        if part.response.shares_shift:
            others[rows] -= others[rows].mean(axis=0)
        apart[rows] *= unit
        others[rows] *= unit
    return Effects(intercept, apart, others)


def effects_covariance(
    response: Response, prior: CoefPrior, own: np.ndarray, dispersion: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """(C, 1 + K + P, 1 + K + P) of the intercept, the topics' coefficients and the others, given the topics.

    own : (C, K + P, K + P) of the model's own coefficients
    shares : (K,) of the average training document, which are taken as known
    """
    n_topics, n_coef = len(shares), own.shape[1]
    contrast = np.vstack([np.zeros(n_coef), np.eye(n_coef)])
    if not prior.sparse or prior.n_level:
        contrast[0, :n_topics] = shares
        contrast[1 : 1 + n_topics, :n_topics] -= shares
    found: np.ndarray = contrast @ own @ contrast.T
    for part in parts_of(response):
        found[part.columns] *= units_of(part.response, dispersion[part.numbers]) ** 2
    return found


def units_of(response: Response, dispersion: np.ndarray) -> float:
    """What a linear predictor of one more means on the scale of y."""
    zero, one = response.unscale(np.array([0.0, 1.0]), np.zeros(2), dispersion)[0]
    return float(one - zero)
