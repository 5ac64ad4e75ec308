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

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Run, in_turn
from supertopic.inference.after.words import word_features, word_scale
from supertopic.inference.batches import Batch
from supertopic.inference.ridge import Ridge, fit_ridge
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
    train: Batch, held: Batch, response: Response, seed: int, places: dict[int, int] | None = None, run: Run = in_turn
) -> tuple[Batch, Batch]:
    """Both batches with estimates of means in place of labels, where a response follows means.

    places : of the penalties, by column of y; those that are missing are looked for, and entered
    run : does calls, as many at a time as it can
    """
    places = {} if places is None else places
    columns = followed_columns(response, train, held)
    if not columns:
        return train, held
    followed, judged, known = _columns(train.y).copy(), _columns(held.y).copy(), _known(train)
    scale = word_scale(train.counts)
    features, unseen = (_features(batch, scale) for batch in (train, held))
    for column in columns:
        rows = np.flatnonzero(known[:, column])
        y = followed[rows, column]
        level, unit = y.mean(), np.ptp(y) or 1.0  # squares of large labels would be infinite
        own = features if len(rows) == len(train) else features[rows]
        parts = _parts(train, rows, seed)
        found = estimate(own, (y - level) / unit, train.weight[rows], parts, places.get(column), run)
        places[column] = found.place
        if found.skill < _LEAST_SKILL:
            continue
        followed[rows, column] = level + unit * found.means
        if len(held):
            means = level + unit * found.predict(unseen)
            judged[:, column] = _OWN * judged[:, column] + (1.0 - _OWN) * means
    return replace(train, y=followed.reshape(train.y.shape)), replace(held, y=judged.reshape(held.y.shape))


def _parts(batch: Batch, rows: np.ndarray, seed: int) -> np.ndarray:
    """(n,) the part of each of the rows; documents that belong together are in one."""
    generator = np.random.default_rng([seed, 9])
    plain = generator.permutation(len(rows)) % _PARTS
    if batch.belonging is None or len(np.unique(batch.belonging.together[rows])) < _PARTS:
        return plain
    return batch.belonging.parts(rows, plain, generator)


def _features(batch: Batch, scale: np.ndarray) -> sp.csr_matrix:
    """(D, V + P) words and covariates."""
    words = word_features(batch.counts, scale)
    return words if batch.covariates is None else sp.hstack([words, sp.csr_matrix(batch.covariates)], format="csr")


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
    features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, parts: np.ndarray, known: int | None = None,
    run: Run = in_turn,
) -> Estimates:  # fmt: skip
    """Regressions at the penalty that suits the labels left out best, or at the one whose place is `known`.

    parts : (D,) 0, 1 or 2: which of the documents are left out together

    The search goes from penalty to penalty, as long as they get better, in the better of two directions.
    """
    found = _Attempts(features, y, weight, parts, run)
    place = _FIRST if known is None else known
    found.attempt(*([place] if known is not None else [place, place + 1]))
    for step in (1, -1) if known is None else ():
        while 0 <= place + step < len(_PENALTIES) and found.error(place + step) < found.error(place):
            place += step
        if place > _FIRST:
            break
    constant = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    skill = 1.0 - found.error(place) / max(constant, 1e-300)
    return Estimates(skill, found.means(place).round(_DIGITS), found.models(place), place, found.ends)


class _Attempts:
    """Regressions at some penalties, each without one part of the documents, and what they say of all of them."""

    def __init__(self, features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, parts: np.ndarray, run: Run) -> None:
        self.features, self.y, self.weight, self.parts, self.run = features, y, weight, parts, run
        self.ends = float(y.min()), float(y.max())
        self._found: dict[tuple[int, int], tuple[Ridge, np.ndarray]] = {}  # by place of the penalty, and part

    def attempt(self, *places: int) -> None:
        """Fit the regressions at penalties, unless that is done."""
        if left := [place for place in places if (place, 0) not in self._found]:
            self.run([(self._fit, place, part) for place in left for part in range(_PARTS)])

    def _fit(self, place: int, part: int) -> None:
        rest = np.flatnonzero(self.parts != part)
        weight = self.weight[rest]
        model = fit_ridge(self.features, rest, self.y[rest], weight / weight.mean(), _PENALTIES[place])
        self._found[place, part] = model, model.predict(self.features).clip(*self.ends)

    def models(self, place: int) -> list[Ridge]:
        self.attempt(place)
        return [self._found[place, part][0] for part in range(_PARTS)]

    def means(self, place: int) -> np.ndarray:
        """(D,) of what the regressions predict."""
        return np.mean(self._predicted(place), axis=0)

    def error(self, place: int) -> float:
        """Of the labels left out."""
        return float(self.weight @ (self.y - np.choose(self.parts, self._predicted(place))) ** 2)

    def _predicted(self, place: int) -> list[np.ndarray]:
        self.attempt(place)
        return [self._found[place, part][1] for part in range(_PARTS)]
