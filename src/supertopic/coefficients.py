"""The prior on the coefficients eta, and the one solve that every M-step ends in:

argmax  cross·eta - ½ eta' gram eta + log p(eta),     p flat, normal(0, scale²) or Laplace(0, scale)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

_NAMES = ("flat", "normal", "laplace")


@dataclass(frozen=True)
class CoefPrior:
    """flat, normal or laplace, with a scale (standard deviation, or mean absolute value)."""

    name: str = "flat"
    scale: float = 1.0

    @classmethod
    def parse(cls, name: str, scale: float) -> CoefPrior:
        """From what the user wrote; refuses what is neither."""
        if name not in _NAMES:
            raise ValueError(f"coef_prior: got {name!r}, expected one of {', '.join(map(repr, _NAMES))}")
        if not isinstance(scale, Real) or not 0 < float(scale) < np.inf:
            raise ValueError(f"coef_scale: got {scale!r}, expected a number > 0")
        return cls(name, float(scale))

    def solve(self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The best coefficients of one column: (K,)."""
        gram = self._regular(gram)
        return _lasso(gram, cross, 1.0 / self.scale, start) if self.name == "laplace" else np.linalg.solve(gram, cross)

    def deviation(self, gram: np.ndarray) -> np.ndarray:
        """Standard errors: the root of the inverse curvature's diagonal (of the data's alone, for laplace)."""
        return np.sqrt(np.diag(np.linalg.inv(self._regular(gram))))

    def _regular(self, gram: np.ndarray) -> np.ndarray:
        """gram plus the prior's precision; a flat prior gets just enough to place a topic that no document uses."""
        ridge = 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-12)
        if self.name == "normal":
            ridge += self.scale**-2
        return gram + ridge * np.eye(len(gram))

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        """Of log p(eta), where it has one: flat and normal."""
        return -coef / self.scale**2 if self.name == "normal" else np.zeros_like(coef)

    def log_density(self, coef: np.ndarray) -> float:
        """log p(eta), without its constant."""
        if self.name == "normal":
            return float(-0.5 * (coef**2).sum() / self.scale**2)
        return float(-np.abs(coef).sum() / self.scale) if self.name == "laplace" else 0.0


def _lasso(gram: np.ndarray, cross: np.ndarray, penalty: float, start: np.ndarray) -> np.ndarray:
    """Coordinate descent with exact zeros; K is small, so that plain loops over K² numbers are enough."""
    coef = start.astype(np.float64).copy()
    slope = cross - gram @ coef
    scale = np.abs(cross).max() + 1e-300
    for _ in range(1000):
        moved = 0.0
        for k in range(len(coef)):
            pull = slope[k] + gram[k, k] * coef[k]
            new = np.sign(pull) * max(abs(pull) - penalty, 0.0) / gram[k, k]
            if new != coef[k]:
                slope -= gram[:, k] * (new - coef[k])
                moved = max(moved, gram[k, k] * abs(new - coef[k]))
                coef[k] = new
        if moved < 1e-9 * scale:
            break
    return coef
