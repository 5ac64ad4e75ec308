"""Labels beside linear predictors that are known: log-density, slope and dispersion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.responses.base import Response


@dataclass(frozen=True)
class KnownScores:
    """A response, labels and their weights; its functions take linear predictors s (D, C)."""

    response: Response
    y: np.ndarray
    weight: np.ndarray  # (D,)
    dispersion: np.ndarray

    def moments(self, score: np.ndarray, doubt: np.ndarray | float = 0.0) -> np.ndarray:
        """(D, C) E[s²] or E[exp s] of normal s; doubt : their variances (D, C)."""
        return np.where(self.response.is_product, np.exp(np.clip(score + doubt / 2, -300.0, 300.0)), score**2 + doubt)

    def log_density(self, score: np.ndarray, dispersion: np.ndarray) -> float:
        """sum_d weight log p(y | s)."""
        return float(self.weight @ self.response.log_density(self.y, score, self.moments(score), dispersion))

    def log_densities(self, score: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D,) weight log p(y | s)."""
        return self.weight * self.response.log_density(self.y, score, self.moments(score), dispersion)

    def slope(self, score: np.ndarray) -> np.ndarray:
        """(D, C) d/ds of it: a bound that is tight where it stands has the slope of what it bounds."""
        moment = self.moments(score)
        slope, curvature = self.response.slope_and_curvature(self.y, score, moment, self.dispersion)
        return self.weight[:, None] * (slope - curvature * np.where(self.response.is_product, moment, score))

    def information(self, score: np.ndarray) -> np.ndarray:
        """(D, C) -d²/ds² of a document's log-density."""
        return self.response.information(self.y, score, self.moments(score), self.dispersion)

    def mean_information(self, score: np.ndarray) -> np.ndarray:
        """(C,) > 0."""
        return self._mean(self.information(score))

    def _mean(self, information: np.ndarray) -> np.ndarray:
        known = self.weight > 0
        return np.maximum(np.average(information[known], axis=0, weights=self.weight[known]), 1e-6)

    def curvature(self, score: np.ndarray) -> np.ndarray:
        """(D, C) >= 0, of a quadratic in one column that is close to the weighted log-density."""
        found = self.information(score)
        return self.weight[:, None] * np.maximum(found, 1e-3 * self._mean(found))

    def dispersion_at(self, score: np.ndarray) -> np.ndarray:
        """The dispersion that fits best."""
        return self.response.fit_dispersion(self.y, score, self.moments(score), self.weight, self.dispersion)

    def dispersion_at_mean(self, score: np.ndarray, doubt: np.ndarray | float = 0.0) -> np.ndarray:
        """The dispersion that fits best at the means of these linear predictors, which then move by its `level`."""
        given = (self.y, score, self.moments(score, doubt), self.weight, self.dispersion)
        return self.response.fit_dispersion_at_mean(*given)
