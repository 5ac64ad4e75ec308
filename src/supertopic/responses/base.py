"""The contract of a response: how topics make y, and what y says back to the E-step.

A response has C columns of coefficients; column c of document d has the linear predictor s = coef_c·Zbar_d. To the
E-step and to the sampler it speaks through two (D, C) arrays, in one of two languages per column
(`supertopic.kernels.variational` has the formulas):

    quadratic   E[log p(y)] = const + slope·E[s] - curvature/2·E[s²]
    product     E[log p(y)] = const + slope·E[s] - curvature·E[exp s]

A document without a label has slope = curvature = 0. A new response is one class in one file that registers itself;
tests, documentation, command line and estimators walk `registry()`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

_REGISTRY: dict[str, type[Response]] = {}


class Response:
    """No response at all: zero columns. LDA is this, and every other response overrides it."""

    name: ClassVar[str] = "none"
    is_product: np.ndarray = np.zeros(0, dtype=bool)  # (C,): the language of each column

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            _REGISTRY[cls.name] = cls

    @property
    def n_columns(self) -> int:
        return len(self.is_product)

    def check(self, y: Any, n_documents: int) -> np.ndarray:
        """y as the arrays the other methods take; ValueError in one sentence when it is not such a response."""
        return np.empty((n_documents, 0))

    def speak(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature), each (D, C), at the current E[s] and E[s²] or E[exp s]."""
        return np.zeros((len(y), 0)), np.zeros((len(y), 0))

    def draw(self, y: np.ndarray, score: np.ndarray, seed: int, sweep: int) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature) drawn given the linear predictors: the sampler's augmentation."""
        return np.zeros((len(y), 0)), np.zeros((len(y), 0))

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """(D,) E[log p(y | s)], or its bound, whose slope and curvature `speak` gives."""
        return np.zeros(len(y))

    def predict(self, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """E[y] for linear predictors of documents without a label."""
        raise TypeError(f"a model with response {self.name!r} has nothing to predict")


class NoResponse(Response):
    """The zero case under a name of its own: topics for their own sake."""

    name = "none"


def registry() -> dict[str, type[Response]]:
    """All responses by name."""
    return dict(_REGISTRY)
