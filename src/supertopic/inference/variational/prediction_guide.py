"""What prediction-constrained training follows: labels as linear models on words see them.

A label that is a number is a mean and noise, and topics that follow it learn the noise by heart. So where the gradient
is linear in y (`Response.follows_means`), training follows estimates of the mean, and topics may learn for longer.
Ridge regressions on the documents' words (tf-idf) and covariates give them. The labelled documents are cut into three
parts, and each regression leaves one of them out. A document's estimate is the mean of what all three predict for it:
two have seen its label, and one has not. The labels left out choose the penalty. They also say whether words tell
anything of the labels; if not, as with noise, training follows the labels as they are.

Documents held out are judged by their labels and by estimates that know nothing of them, half and half. Labels alone
are so noisy that training would often stop early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from supertopic.inference.after.words import word_features, word_scale
from supertopic.inference.batches import Batch
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of

_PARTS = 3
_FEWEST, _MOST = 30, 200_000  # labels; of more, the regressions would take longer than a fit on a GPU
_PENALTIES = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # of rows of length 1
_FIRST = 2  # the place of 1 among them
_LEAST_SKILL = 0.02  # share of the labels' variance that words have to tell
_DIGITS = 4  # of estimates, in units of the labels' range: covariates in other units leave them the same to the bit
_OWN = 0.5  # the weight of the label itself, of a document held out


def followed_columns(response: Response, *batches: Batch) -> list[int]:
    """The columns of y in whose place training may follow estimates: where words tell anything of them, it does."""
    n_labels = np.sum([_known(batch).sum(axis=0) for batch in batches], axis=0)
    return [
        part.label
        for part in parts_of(response)
        if part.response.follows_means and _FEWEST <= n_labels[part.label] <= _MOST
    ]


def guided(
    train: Batch, held: Batch, response: Response, seed: int, places: dict[int, int] | None = None
) -> tuple[Batch, Batch]:
    """Both batches with estimates of means in place of labels, where a response follows means.

    places : of the penalties, by column of y; those that are missing are looked for, and entered
    """
    places = {} if places is None else places
    columns = followed_columns(response, train, held)
    if not columns:
        return train, held
    followed, judged, known = _columns(train.y).copy(), _columns(held.y).copy(), _known(train)
    scale = word_scale(train.counts)
    features, unseen = (
        sp.hstack([word_features(batch.counts, scale), sp.csr_matrix(batch.extra)], format="csr")
        for batch in (train, held)
    )
    for column in columns:
        rows = np.flatnonzero(known[:, column])
        y = followed[rows, column]
        level, unit = y.mean(), np.ptp(y) or 1.0  # squares of large labels would be infinite
        found = estimate(features[rows], (y - level) / unit, train.weight[rows], seed, places.get(column))
        places[column] = found.place
        if found.skill < _LEAST_SKILL:
            continue
        followed[rows, column] = level + unit * found.means
        if len(held):
            means = level + unit * found.predict(unseen)
            judged[:, column] = _OWN * judged[:, column] + (1.0 - _OWN) * means
    return replace(train, y=followed.reshape(train.y.shape)), replace(held, y=judged.reshape(held.y.shape))


def _columns(y: np.ndarray) -> np.ndarray:
    """(D, M)."""
    return y if y.ndim == 2 else y[:, None]


def _known(batch: Batch) -> np.ndarray:
    """(D, M) which labels there are."""
    return (batch.weight > 0)[:, None] & ~np.isnan(_columns(batch.y))


@dataclass(frozen=True)
class Estimates:
    """What regressions without a part of the documents say."""

    skill: float  # share of the variance that they tell of labels left out
    means: np.ndarray  # (D,) of the documents
    models: list[Ridge]
    place: int  # of their penalty
    ends: tuple[float, float]  # of all labels: no estimate is beyond them

    def predict(self, features: sp.csr_matrix) -> np.ndarray:
        """(D,) estimates of other documents."""
        return np.mean([model.predict(features).clip(*self.ends) for model in self.models], axis=0).round(_DIGITS)


def estimate(
    features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, seed: int, known: int | None = None
) -> Estimates:
    """Regressions at the penalty that suits the labels left out best, or at the one whose place is `known`.

    The search goes from penalty to penalty, as long as they get better, in the better of two directions.
    """
    parts = np.random.default_rng([seed, 9]).permutation(len(y)) % _PARTS
    ends = float(y.min()), float(y.max())

    def attempt(place: int) -> tuple[float, np.ndarray, list[Ridge]]:
        error, means, models = 0.0, np.zeros(len(y)), []
        for rest, out in _folds(parts):
            given = (features[rest], y[rest], weight[rest] / weight[rest].mean())
            models.append(Ridge(_PENALTIES[place], solver="lsqr", tol=1e-3).fit(*given))
            found = models[-1].predict(features).clip(*ends)
            error += float(weight[out] @ (y[out] - found[out]) ** 2)
            means += found / _PARTS
        return error, means.round(_DIGITS), models

    place = _FIRST if known is None else known
    best = attempt(place)
    for step in (1, -1) if known is None else ():
        while 0 <= place + step < len(_PENALTIES) and (other := attempt(place + step))[0] < best[0]:
            best, place = other, place + step
        if place > _FIRST:
            break
    constant = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    return Estimates(1.0 - best[0] / max(constant, 1e-300), best[1], best[2], place, ends)


def _folds(parts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(the rest, the documents left out) of each part."""
    for part in range(_PARTS):
        yield np.flatnonzero(parts != part), np.flatnonzero(parts == part)
