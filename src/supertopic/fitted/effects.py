"""What the prediction of a fitted model changes by when a topic, or a covariate, goes from few to much of a document.

`supertopic.inference.after.effects` has the mathematics. Here a Fitted becomes its documents and its regression: means
of y in the units that users know, one for each column of coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import softmax

from supertopic.documents.covariates import Scaling
from supertopic.fitted.certainty.margin_probabilities import scaled_probabilities
from supertopic.fitted.certainty.softmax_heat import heated
from supertopic.fitted.coefficients import CoefficientTable, check_probability, covariance, units_of
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import covariate_coef
from supertopic.inference.after.effects import (
    Documents,
    Effects,
    Regression,
    column_effects,
    effects_by_draw,
    effects_of_draws,
    share_effects,
)
from supertopic.responses.base import known_moment

DRAWS = 200  # of a posterior, at most
_STAND_INS = 2000  # documents drawn from the prior, where those of the fit are not kept


@dataclass(frozen=True)
class Range:
    """From which to which quantile a topic moves, and what intervals are to hold."""

    low: float
    high: float
    probability: float = 0.9

    def __post_init__(self) -> None:
        check_probability("probability", self.probability)
        for name, value in (("low", self.low), ("high", self.high)):
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
                raise ValueError(f"{name}: got {value!r}, expected a number from 0 to 1")
        if not self.low < self.high:
            raise ValueError(f"low: got {self.low!r}, expected less than high={self.high:g}")

    @classmethod
    def of(cls, fitted: Fitted, low: float = 0.1, high: float | None = None, probability: float = 0.9) -> Range:
        """By default from 0.1 to 0.9; of many classes up to where half the documents of an average class are above."""
        n_classes = 0 if fitted.classes is None else len(fitted.classes)
        usual = 0.9 if n_classes <= 5 else 1.0 - 0.5 / n_classes
        return cls(low, usual if high is None else high, probability)


def topic_effects(fitted: Fitted, table: CoefficientTable, given: Range | None = None) -> Effects:
    """The effects of all topics on the means of all columns, by draws where the table has some."""
    given, documents = given or Range.of(fitted), _documents(fitted)
    ends = (given.low, given.high, given.probability)
    if table.draws is not None:
        return effects_of_draws(documents, _drawn(fitted, len(table.draws)), *ends)
    return _possible(fitted, share_effects(documents, _regression(fitted, table), *ends))


def effect_spread(fitted: Fitted, given: Range) -> np.ndarray | None:
    """(K, C) the standard deviations of effects among other fits that find a topic again; None without such fits."""
    if (others := fitted.others) is None:
        return None
    table, n_topics = _regression(fitted), fitted.n_topics
    fits = []
    for one in others.coef.astype(np.float64):
        coef, own = table.coef.copy(), one[:, :n_topics]
        level = (table.coef[:, :n_topics] - own) @ fitted.average_shares  # effects are those around one mean prediction
        coef[:, :n_topics] = own + level[:, None]
        fits.append(replace(table, coef=coef))
    found = effects_by_draw(_documents(fitted), fits, given.low, given.high)
    return others.spread(found.transpose(0, 2, 1)).T


def covariate_effects(fitted: Fitted, table: CoefficientTable, given: Range | None = None) -> Effects:
    """The effects of the covariates, whose values are those that users gave."""
    given = given or Range.of(fitted)
    found = column_effects(_documents(fitted), _regression(fitted, table), given.low, given.high, given.probability)
    found = _possible(fitted, found)
    scaling, own = fitted.spec.schema.scaling, slice(1, 1 + len(fitted.spec.schema.scaling.mean))
    low, high = (values[own] / _per_unit(scaling) for values in (found.low, found.high))
    arrays = (array[own] for array in (found.effect, found.std_error, found.lower, found.upper))
    return Effects(*(_with_digits(end + scaling.mean, scaling) for end in (low, high)), *arrays)


def _possible(fitted: Fitted, found: Effects) -> Effects:
    """With intervals that end where no mean of classes can change any further: errors know nothing of ends."""
    most = np.full(len(fitted.state.coef), np.inf)
    for target, part in fitted.spec.parts:
        if target.classes is not None and part.response.ordered:
            most[part.columns] = np.ptp(grades_of(target.classes))
    most[np.array(kinds_of(fitted)) == "points"] = 100.0
    return replace(found, lower=np.maximum(found.lower, -most), upper=np.minimum(found.upper, most))


def _with_digits(values: np.ndarray, scaling: Scaling) -> np.ndarray:
    """(P,) values of covariates with the digits that are known of them, since documents keep them as float32."""
    size = np.maximum(np.abs(scaling.mean), 1.0 / np.where(scaling.factor > 0, scaling.factor, 1.0))
    digits = 5 - np.floor(np.log10(np.maximum(size, 1e-15))).astype(int)
    return np.array([round(float(value), int(n)) + 0.0 for value, n in zip(values, digits, strict=True)])


def kinds_of(fitted: Fitted) -> list[str]:
    """What the effects on each column are: "difference" in units of y, "ratio", "points" of percent, or "score"."""
    found: list[str] = []
    for target, part in fitted.spec.parts:
        kind = "ratio" if part.response.log_link else "difference"
        if target.classes is not None and not part.response.ordered:
            kind = "score" if part.response.max_margin and fitted.certainty.scaling is None else "points"
        found += [kind] * (part.columns.stop - part.columns.start)
    return found


def means_of(fitted: Fitted, score: np.ndarray, dispersion: np.ndarray | None = None) -> np.ndarray:
    """(D, C) what is predicted for linear predictors that are known: E[y], percents of classes, the mean grade.

    Of two classes, the percents of the second; of a margin without probabilities, its scores.
    """
    response, certainty = fitted.spec.response, fitted.certainty
    dispersion = fitted.state.dispersion if dispersion is None else dispersion
    if certainty.scaling is not None:
        found = 100.0 * scaled_probabilities(certainty.scaling, score)
        return found if score.shape[1] > 1 else found[:, 1:]
    moment = known_moment(score, response.is_product)
    score, moment = heated(fitted, score, moment)
    found = score.copy()
    for target, part in fitted.spec.parts:
        own = part.columns
        if target.classes is not None and part.response.max_margin:
            continue
        if part.response.name == "softmax":  # its own way is by pairs of classes, which only doubt needs
            found[:, own] = 100.0 * softmax(score[:, own], axis=1)
            continue
        mean = part.response.predict(score[:, own], moment[:, own], dispersion[part.numbers])
        if target.classes is None:
            mean = mean[:, None]
        elif part.response.ordered:
            mean = (mean @ grades_of(target.classes))[:, None]
        else:
            mean = 100.0 * (mean[:, 1:] if own.stop - own.start == 1 else mean)
        found[:, own] = mean
    if fitted.spec.schema.one_against_rest:
        found *= 100.0 / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    return found


def grades_of(classes: np.ndarray) -> np.ndarray:
    """Ordered classes as numbers: those that they are, or their places from 1 on."""
    if classes.dtype.kind in "iuf":
        return classes.astype(np.float64)
    return np.arange(1.0, len(classes) + 1.0)


def _documents(fitted: Fitted) -> Documents:
    """The training documents, with a constant and covariates beside their topics; stand-ins for those of a stream."""
    shares, n_covariates = fitted.doc_topic, len(fitted.spec.schema.scaling.mean)
    if shares is None:
        prior = np.maximum(fitted.average_shares * fitted.prior_shares.sum(), 1e-3)
        shares = np.random.default_rng(0).dirichlet(prior, _STAND_INS)
    others = np.zeros((len(shares), 1 + n_covariates))
    others[:, 0] = 1.0
    if fitted.doc_covariates is not None:
        others[:, 1:] = fitted.doc_covariates
    return Documents.of(shares.astype(np.float64), others)


def _regression(fitted: Fitted, table: CoefficientTable | None = None) -> Regression:
    """By the model's own coefficients, with errors where the table has some."""
    n_topics, n_covariates = fitted.n_topics, len(fitted.spec.schema.scaling.mean)
    beside = covariate_coef(fitted)
    constant = beside[:, n_covariates:].sum(axis=1, keepdims=True)  # of one column, or none
    coef = np.hstack([fitted.state.coef[:, :n_topics].astype(np.float64), constant, beside[:, :n_covariates]])
    errors = None
    if table is not None and table.std is not None:
        order = [*range(1, 1 + n_topics), 0, *range(1 + n_topics, 1 + n_topics + n_covariates)]
        unit = np.repeat(_units(fitted)[:, None], len(order), axis=1)
        unit[:, 1 + n_topics :] *= _per_unit(fitted.spec.schema.scaling)
        own = covariance(fitted) / (unit[:, :, None] * unit[:, None, :])
        errors = own[:, order][:, :, order]
    return Regression(coef, partial(means_of, fitted), errors, _ratios(fitted), fitted.freedom)


def _drawn(fitted: Fitted, n: int) -> list[Regression]:
    """The regressions of the first n draws, or of some of them, evenly."""
    found, ratio, unit = [], _ratios(fitted), _units(fitted)
    topics = slice(0, fitted.n_topics)
    users = _per_unit(fitted.spec.schema.scaling)
    for place in range(0, n, max(n // DRAWS, 1)):
        coef, dispersion = fitted.draws["coef"][place] / unit[:, None], fitted.draws["dispersion"][place]
        level = fitted.draws["intercept"][place][:, None] - _origins(fitted, dispersion)[:, None]
        own = np.hstack([coef[:, topics], level / unit[:, None], coef[:, fitted.n_topics :] / users])
        found.append(Regression(own, partial(means_of, fitted, dispersion=dispersion), None, ratio))
    return found


def _per_unit(scaling: Scaling) -> np.ndarray:
    """(P,) one of each covariate as the regression has it; 1 of those that have no part."""
    return np.where(scaling.factor > 0, scaling.factor, 1.0)


def _ratios(fitted: Fitted) -> np.ndarray:
    """(C,) whether an effect is a ratio."""
    return np.array(kinds_of(fitted)) == "ratio"


def _units(fitted: Fitted) -> np.ndarray:
    """(C,) what a linear predictor of one more means to users."""
    unit = np.empty(len(fitted.state.coef))
    for _, part in fitted.spec.parts:
        unit[part.columns] = units_of(part.response, fitted.state.dispersion[part.numbers]) * fitted.spec.unit
    return unit


def _origins(fitted: Fitted, dispersion: np.ndarray) -> np.ndarray:
    """(C,) what a linear predictor of zero means to users."""
    found = np.zeros(len(fitted.state.coef))
    for _, part in fitted.spec.parts:
        found[part.columns] = part.response.unscale(np.zeros(1), np.zeros(1), dispersion[part.numbers])[0][0]
    return found
