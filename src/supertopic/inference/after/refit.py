"""Documents for a second fit of the coefficients, on topic shares inferred without y.

In training, E[Zbar] of a document has been pulled towards its y; at prediction it has not. Coefficients fitted on the
first are wrong for the second, the more so the harder the response pulls. `CoefStep.refit` solves the M-step's problem
once more on these documents.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from operator import add
from typing import Any

import numpy as np

from supertopic.backends.base import Combine
from supertopic.inference.design import Design
from supertopic.inference.regression import Labelled

_ROWS_AT_ONCE = 8192


def with_known_shares(mean_topics: np.ndarray, covariates: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Labelled:
    """Documents whose topic shares (D, K) are taken as known exactly."""
    return Labelled(Design(np.asarray(mean_topics, dtype=np.float64), np.full(len(y), np.inf), covariates), y, weight)


class SpilledDocuments:
    """Topic shares and labels of a stream's documents in a temporary file: one pass infers them, a regression reads
    them as often as it needs, and memory holds a block of rows.
    """

    def __init__(self, n_topics: int, n_covariates: int, n_labels: int) -> None:
        self._cuts = np.cumsum([n_topics, n_covariates, n_labels])
        self._width = int(self._cuts[-1]) + 1
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this object)

    def append(self, mean_topics: np.ndarray, covariates: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Add documents at the end."""
        labels = y.reshape(len(y), -1)
        rows = np.hstack([mean_topics, covariates, labels, weight[:, None]])
        self._file.write(np.ascontiguousarray(rows, dtype=np.float64).tobytes())

    def _blocks(self) -> Iterator[Labelled]:
        self._file.seek(0)
        while len(data := self._file.read(8 * self._width * _ROWS_AT_ONCE)):
            rows = np.frombuffer(data, dtype=np.float64).reshape(-1, self._width)
            mean_topics, covariates, labels, weight = np.split(rows, self._cuts, axis=1)
            y = labels[:, 0] if labels.shape[1] == 1 else labels
            yield with_known_shares(mean_topics, covariates, y, weight[:, 0])

    def total(self, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any:
        """The `Total` of all documents."""
        found = None
        for number, part in enumerate(self._blocks()):
            value = function(part, *arguments)
            found = value if number == 0 else combine(found, value)
        return found

    def close(self) -> None:
        self._file.close()
