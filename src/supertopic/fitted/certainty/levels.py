"""Levels of intervals and of sets of classes, from documents whose labels had no part in their predictions.

Intervals are wider where labels of such documents lie further from their predictions: at some linear predictors, and
in documents of some length (`supertopic.responses.interval_scale`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from supertopic.fitted.certainty.figures import Figures, held_by_others
from supertopic.fitted.certainty.softmax_heat import heated, with_heat
from supertopic.fitted.fitted import Fitted, LeftOut
from supertopic.inference.after.class_sets import class_levels, levels_by_class
from supertopic.inference.after.group_levels import levels_by_group
from supertopic.inference.after.splits import parts_at_random, parts_of_groups
from supertopic.responses.base import Response
from supertopic.responses.interval_levels import condense, level_of, levels
from supertopic.responses.interval_scale import Scale, cross_fitted, distances, features_of, levels_at, levels_of
from supertopic.responses.several import Part

_FEATURES = 2  # that intervals' widths depend on
_PARTS = 5  # of the documents: the scale of one comes from the others


@dataclass(frozen=True, eq=False)
class Unseen:
    """Documents whose labels had no part in what is predicted of them."""

    rows: np.ndarray  # (n,) which of the training documents
    fold: np.ndarray  # (n,) whose fit predicts it
    y: np.ndarray  # (n,) or (n, M)
    score: np.ndarray  # (n, C) linear predictors
    moment: np.ndarray  # (n, C)
    lengths: np.ndarray  # (n,) tokens
    groups: np.ndarray | None = None  # (n,) codes: intervals are to hold documents of new groups

    def labels(self, part: Part) -> np.ndarray:
        """(n,) of one response."""
        found: np.ndarray = part.labels(self.y)
        return found


def with_levels(fitted: Fitted, unseen: Unseen) -> Fitted:
    """With what intervals and probabilities need."""
    fitted = with_heat(fitted, unseen.y, unseen.score)
    score, moment = heated(fitted, unseen.score, unseen.moment)
    found, scales, means, figures = [], [], [], []
    for target, part in fitted.spec.parts:
        labels = unseen.labels(part)
        known, numbers = ~np.isnan(labels), fitted.state.dispersion[part.numbers]
        means.append(part.response.predict(score[:, part.columns], moment[:, part.columns], numbers))
        groups = None if unseen.groups is None else unseen.groups[known]
        given = (score[known, part.columns], moment[known, part.columns], numbers)
        mean = means[-1][known]
        if target.classes is None:
            own, scale = _levels(part.response, labels[known], *given, unseen.lengths[known], groups)
            figures.append(Figures.of_numbers(labels[known], mean, held_by_others(own, groups), groups))
        else:
            own, scale = class_levels(mean, labels[known].astype(int)), Scale.none(_FEATURES)
            told = (part.response.decide(mean), mean, len(target.classes), groups)
            figures.append(Figures.of_classes(labels[known], *told))
        found.append(condense(own) if groups is None else levels_by_group(own, groups))
        scales.append(scale)
    table = np.full((len(found), max(map(len, found))), np.nan)
    for place, one in enumerate(found):
        table[place, : len(one)] = one
    fitted = replace(fitted, left_out=left_out(unseen.rows, unseen.fold, unseen.y, means, unseen.groups))
    fitted = fitted.with_certainty(levels=table, figures=np.stack([one.row() for one in figures]))
    return _with_scales(fitted, scales)


def left_out(
    rows: np.ndarray, fold: np.ndarray, y: np.ndarray, means: list[np.ndarray], groups: np.ndarray | None
) -> LeftOut:
    """Means of documents that are left out, as a Fitted keeps them."""
    columns = np.hstack([one.reshape(len(rows), -1) for one in means]).astype(np.float32)
    group = np.arange(len(rows)) if groups is None else groups
    fold, group = fold.astype(np.int32), group.astype(np.int32)
    return LeftOut(rows.astype(np.int64), fold, group, y.reshape(len(rows), -1), columns)


def _levels(
    response: Response, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray,
    lengths: np.ndarray, groups: np.ndarray | None,
) -> tuple[np.ndarray, Scale]:  # fmt: skip
    """((n,) levels over the scale of other documents, the scale of all)."""
    found = levels(response, y, score, moment, dispersion)
    generator = np.random.default_rng(17)
    if groups is None:
        part = parts_at_random(np.arange(len(y)), _PARTS, generator)
    else:
        part = parts_of_groups(groups, _PARTS, generator)
    scale, over = cross_fitted(features_of(score, lengths), distances(found), part)
    return (found if scale.is_one else levels_at(over)), scale


def _with_scales(fitted: Fitted, scales: list[Scale]) -> Fitted:
    if all(scale.is_one for scale in scales):
        return fitted.with_certainty(knots=None, widths=None)
    most = max(scale.knots.shape[1] for scale in scales)
    wider = [((0, 0), (0, most - scale.knots.shape[1])) for scale in scales]
    tables = {
        name: np.stack([np.pad(one, pad, mode="edge") for one, pad in zip(arrays, wider, strict=True)])
        for name, arrays in (("knots", [s.knots for s in scales]), ("widths", [s.values for s in scales]))
    }
    return fitted.with_certainty(**tables)


def scale_of(fitted: Fitted, place: int) -> Scale | None:
    """That of the intervals of response number `place`; None where they are as wide everywhere."""
    knots, widths = fitted.certainty.knots, fitted.certainty.widths
    if knots is None or widths is None or not widths[place].any():
        return None
    return Scale(knots[place], widths[place])


def level(fitted: Fitted, place: int, probability: float) -> float:
    """The level at which intervals, as wide as their scale says, hold new documents with this probability."""
    if fitted.certainty.levels is None:
        return probability
    return level_of(own_levels(fitted, place), probability)


def document_levels(
    fitted: Fitted, place: int, score: np.ndarray, lengths: np.ndarray, probability: float
) -> float | np.ndarray:
    """The level of the intervals of response number `place`, or (D,) of each document's, with score (D, 1)."""
    return levels_of(level(fitted, place, probability), scale_of(fitted, place), score, lengths)


def own_class_levels(fitted: Fitted) -> list[np.ndarray]:
    """Of each class the sorted levels of its documents, of the first response."""
    assert fitted.left_out is not None
    y, chances = fitted.left_out.y[:, 0], fitted.left_out_means(0).astype(np.float64)
    known = ~np.isnan(y)
    groups = fitted.left_out.group[known] if "n_groups" in fitted.notes else None
    return levels_by_class(chances[known], y[known].astype(np.intp), groups)


def own_levels(fitted: Fitted, place: int) -> np.ndarray:
    """(n,) sorted: the levels of the documents behind the intervals or sets of response number `place`."""
    assert fitted.certainty.levels is not None
    found: np.ndarray = fitted.certainty.levels[place]
    return found[~np.isnan(found)]
