"""Levels of intervals and of sets of classes, from documents whose labels had no part in their predictions."""

from __future__ import annotations

import numpy as np

from supertopic.fitted.certainty.softmax_heat import heated, with_heat
from supertopic.fitted.fitted import Fitted
from supertopic.inference.after.class_sets import class_levels
from supertopic.inference.after.interval_levels import condense, level_of, levels


def with_levels(fitted: Fitted, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> Fitted:
    """With what intervals and probabilities need, from predictors of documents whose y did not take part in them."""
    fitted = with_heat(fitted, y, score)
    return fitted.with_certainty(levels=_levels(fitted, y, *heated(fitted, score, moment)))


def _levels(fitted: Fitted, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """(M, n) for each response: levels of intervals, or 1 - P(its class) of each document; NaN fills up."""
    found = []
    for target, part in fitted.spec.parts:
        labels, numbers = y if y.ndim == 1 else y[:, part.label], fitted.state.dispersion[part.numbers]
        given = (score[:, part.columns], moment[:, part.columns], numbers)
        if target.classes is None:
            found.append(condense(levels(part.response, labels, *given)))
        else:
            known = ~np.isnan(labels)
            chances = part.response.predict(*given)[known]
            found.append(condense(class_levels(chances, labels[known].astype(int))))
    table = np.full((len(found), max(map(len, found))), np.nan)
    for place, one in enumerate(found):
        table[place, : len(one)] = one
    return table


def level(fitted: Fitted, place: int, probability: float) -> float:
    """The level at which the intervals of response number `place` hold new documents with this probability."""
    if fitted.certainty.levels is None:
        return probability
    return level_of(own_levels(fitted, place), probability)


def own_levels(fitted: Fitted, place: int) -> np.ndarray:
    """(n,) sorted: the levels of the documents behind the intervals or sets of response number `place`."""
    assert fitted.certainty.levels is not None
    found: np.ndarray = fitted.certainty.levels[place]
    return found[~np.isnan(found)]
