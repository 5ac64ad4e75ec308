"""The prior on the coefficients eta, and the solve that every M-step ends with:

argmax  cross·eta - ½ eta' gram eta + log p(eta),     p flat, normal(0, scale²) or Laplace(0, scale)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from supertopic.kernels.lasso import descend

_NAMES = ("flat", "normal", "laplace")
_MAX_SWEEPS = 1000  # of coordinate descent for a Laplace prior
_TOL = 1e-9  # where it stops: the largest change of a slope, relative to the largest of cross


@dataclass(frozen=True)
class CoefPrior:
    """flat, normal or laplace, with a scale (standard deviation, or mean absolute value)."""

    name: str = "flat"
    scale: float = 1.0

    @classmethod
    def parse(cls, name: str, scale: float) -> CoefPrior:
        """The prior of these parameters of an estimator; raises ValueError for a wrong name or scale."""
        if name not in _NAMES:
            raise ValueError(f"coef_prior: got {name!r}, expected one of {', '.join(map(repr, _NAMES))}")
        if not isinstance(scale, Real) or not 0 < float(scale) < np.inf:
            raise ValueError(f"coef_scale: got {scale!r}, expected a number > 0")
        return cls(name, float(scale))

    def solve(self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The posterior mode (K,) of the coefficients of one column; the search for it (laplace) begins at `start`."""
        gram = self._regular(gram)
        if self.name != "laplace":
            return np.linalg.solve(gram, cross)
        coef, penalty = start.astype(np.float64), np.full(len(gram), 1.0 / self.scale)
        descend(gram, cross.astype(np.float64), penalty, coef, np.empty(len(coef)), _MAX_SWEEPS, _TOL)
        return coef

    def deviation(self, gram: np.ndarray) -> np.ndarray:
        """Standard errors: square roots of the diagonal of the inverse curvature (for laplace, that of the data)."""
        return np.sqrt(np.diag(np.linalg.inv(self._regular(gram))))

    def _regular(self, gram: np.ndarray) -> np.ndarray:
        """gram plus the prior's precision, and a tiny ridge: it keeps topics that no document uses solvable."""
        ridge = 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-12)
        if self.name == "normal":
            ridge += self.scale**-2
        return gram + ridge * np.eye(len(gram))

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        """The gradient of log p(eta), for flat and normal priors."""
        return -coef / self.scale**2 if self.name == "normal" else np.zeros_like(coef)

    def log_density(self, coef: np.ndarray) -> float:
        """log p(eta) up to a constant."""
        if self.name == "normal":
            return float(-0.5 * (coef**2).sum() / self.scale**2)
        return float(-np.abs(coef).sum() / self.scale) if self.name == "laplace" else 0.0

    def spread_evidence(self, coef_cov: np.ndarray) -> float:
        """What the covariances (C, K, K) of a normal q(eta) add to E[log p(eta) - log q(eta)] under a normal prior.

        ½ sum_c log|cov_c| - tr(cov_c)/scale² + K - K log scale²
        """
        if not len(coef_cov):
            return 0.0
        cov, n_coef = coef_cov.astype(np.float64), coef_cov.shape[1]
        spread = np.linalg.slogdet(cov)[1] - np.trace(cov, axis1=1, axis2=2) / self.scale**2
        return float(0.5 * (spread + n_coef * (1.0 - np.log(self.scale**2))).sum())
