"""`supervision="auto"`: how hard the response should pull, along a warm path of short fits without some documents.

The labelled documents are cut into three folds. For each, one fit without the fold's documents, words and labels, goes
through the grid: a few steps at 1, then a few more from there at 3, and so on; at each weight it predicts the fold. A
higher weight is taken where it predicts better than the one before it by more than the standard error of this
difference over the folds, so that noise chooses 1, which is the paper's model.

The fits of "pc" are whole ones, since short ones mislead: after eight epochs, film ratings are told best at 100, and in
the end at 1. The grid then ends at the first weight that is not taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from supertopic.fitted.finish import Coefficients
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import score_of
from supertopic.fitted.spec import Spec
from supertopic.fitted.training import Training
from supertopic.inference.after.splits import Split

_GRID = (1.0, 3.0, 10.0, 30.0, 100.0)
_FOLDS = 3
_FIRST, _NEXT = 1 / 3, 1 / 6  # of the steps of a fit: at the first weight of the path, and at each other


def choose_supervision(spec: Spec, training: Training, seed: int, refit: bool) -> tuple[float, dict[float, float]]:
    """The weight of a short grid that predicts best, or the smallest of equals; and the mean score of each weight.

    Documents with all their labels are scored.
    """
    labelled = ~np.isnan(training.y.reshape(len(training.y), -1)).any(axis=1)
    everything, belonging = np.arange(len(training.y)), training.belonging
    if belonging is None:
        folds = [Split(*one) for one in KFold(_FOLDS, shuffle=True, random_state=seed).split(everything)]
    else:
        folds = belonging.splits(everything, _FOLDS, np.random.default_rng([seed, 19]))
    parts = [(training.rows(one.rest), training.rows(one.out[labelled[one.out]])) for one in folds]
    before: list[Fitted | None] = [None] * len(parts)
    columns: list[list[float]] = []
    for place, supervision in enumerate(_GRID):
        column = []
        for fold, (seen, unseen) in enumerate(parts):
            settings, start = _settings(spec, first=place == 0), before[fold] if _goes_on(spec) else None
            schema = replace(spec.schema, supervision=supervision)
            number = fold * len(_GRID) + place
            own = spec.part("choice", number, schema=schema, settings=settings, finish=Coefficients(refit))
            before[fold] = found = fit(own, seen, seed, start=start)
            column.append(score_of(found, unseen))
        columns.append(column)
        if spec.engine.at_mode and _best(np.array(columns).T) < place:
            break
    found_all = np.array(columns).T
    return _GRID[_best(found_all)], dict(zip(_GRID, found_all.mean(axis=0).tolist(), strict=False))


def _goes_on(spec: Spec) -> bool:
    """Whether fits go on from weight to weight; those of other engines start afresh."""
    return spec.inference == "vb"


def _settings(spec: Spec, first: bool) -> Any:
    """How long a fit of the path is."""
    steps = int(spec.settings.max_iter)
    if _goes_on(spec):
        steps = max(1, round((_FIRST if first else _NEXT) * steps))
    elif not spec.engine.at_mode:
        steps = min(spec.engine.short, steps)
    return replace(spec.settings.lasting(steps), n_init=1)


def _best(scores: np.ndarray) -> int:
    """The column of `scores` (folds, weights) that is chosen."""
    best = 0
    for column in range(1, scores.shape[1]):
        gain = scores[:, column] - scores[:, best]
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            best = column
    return best
