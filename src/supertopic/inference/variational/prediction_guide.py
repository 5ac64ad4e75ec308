"""What prediction-constrained training follows: labels as linear models on words see them.

A label that is a number is a mean and noise, and topics that follow it learn the noise by heart. So where the gradient
is linear in y (`Response.follows_means`), training follows estimates of the mean, and topics may learn for longer.
Ridge regressions on the documents' words (tf-idf) and covariates give them. Each regression leaves out one of three
parts of the labelled documents, and an estimate is the mean of all three: so much of a document's own label is in it as
its words would say again. What is left out chooses the penalty. With noise for labels, it is large, and the estimates
are all alike.

Documents held out are judged by their labels and by estimates that know nothing of them, half and half. Labels alone
are so noisy that training would often stop early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from supertopic.inference.after.words import word_features, word_scale
from supertopic.inference.batches import Batch
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of

_PARTS = 3
_FEWEST = 30  # labels
_PENALTIES = 10.0 ** np.arange(-1.0, 3.1, 0.5)  # of rows of length 1
_FIRST = 2  # the place of 1 among them
_OWN = 0.5  # the weight of the label itself, of a document held out


def guided(train: Batch, held: Batch, response: Response, seed: int) -> tuple[Batch, Batch]:
    """Both batches with estimates of means in place of labels, where a response follows means."""
    followed, judged = (_columns(batch.y).copy() for batch in (train, held))
    columns = [
        part.label
        for part in parts_of(response)
        if part.response.follows_means and known(train, followed[:, part.label]).sum() >= _FEWEST
    ]
    if not columns:
        return train, held
    scale = word_scale(train.counts)
    features, unseen = (
        sp.hstack([word_features(batch.counts, scale), sp.csr_matrix(batch.extra)], format="csr")
        for batch in (train, held)
    )
    for column in columns:
        y = followed[:, column]
        rows = np.flatnonzero(known(train, y))
        found, models = estimate(features[rows], y[rows], train.weight[rows], seed)
        followed[rows, column] = found
        if len(held):
            means = np.mean([_predict(model, unseen, y[rows]) for model in models], axis=0)
            judged[:, column] = _OWN * judged[:, column] + (1.0 - _OWN) * means
    return replace(train, y=followed.reshape(train.y.shape)), replace(held, y=judged.reshape(held.y.shape))


def _columns(y: np.ndarray) -> np.ndarray:
    """(D, M)."""
    return y if y.ndim == 2 else y[:, None]


def known(batch: Batch, y: np.ndarray) -> np.ndarray:
    """(D,) which documents have a label in this column that counts."""
    return (batch.weight > 0) & ~np.isnan(y)


def estimate(features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, seed: int) -> tuple[np.ndarray, list[Ridge]]:
    """(the documents' estimates, the regressions whose mean they are), at the penalty that suits left-out labels best.

    The search goes from penalty to penalty, as long as they get better, in the better of two directions.
    """
    parts = np.random.default_rng([seed, 9]).permutation(len(y)) % _PARTS

    def attempt(place: int) -> tuple[float, np.ndarray, list[Ridge]]:
        error, means, models = 0.0, np.zeros(len(y)), []
        for rest, out in _folds(parts):
            given = (features[rest], y[rest], weight[rest] / weight[rest].mean())
            models.append(Ridge(_PENALTIES[place], solver="lsqr", tol=1e-3).fit(*given))
            found = _predict(models[-1], features, y)
            error += float(weight[out] @ (y[out] - found[out]) ** 2)
            means += found / _PARTS
        return error, means, models

    best, place = attempt(_FIRST), _FIRST
    for step in (1, -1):
        while 0 <= place + step < len(_PENALTIES) and (other := attempt(place + step))[0] < best[0]:
            best, place = other, place + step
        if place > _FIRST:
            break
    return best[1], best[2]


def _predict(model: Ridge, features: sp.csr_matrix, y: np.ndarray) -> np.ndarray:
    """(D,) estimates, none of them beyond all labels."""
    return model.predict(features).clip(y.min(), y.max())


def _folds(parts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(the rest, the documents left out) of each part."""
    for part in range(_PARTS):
        yield np.flatnonzero(parts != part), np.flatnonzero(parts == part)
