"""The prior on the coefficients eta, and the solve that every M-step ends with:

argmax  cross·eta - ½ eta' gram eta + log p(eta),     p flat, normal(level, scale²) or Laplace(level, scale)

The shares of a document's topics sum to one, so that a common level of the topics' coefficients is the intercept, the
base rate of y. The prior is about the differences between topics: the level has a prior of its own, N(0, 100²), which
does not shrink it. With precisions p_k (1/scale²), and the level integrated out,

    eta ~ N(0, P^-1),     P = diag(p) - p p' / (sum p + 100^-2)

Coefficients of covariates have no level. `n_level` is the number of coefficients that share one: all topics, or none
(max-margin models, and SSTM, which has an intercept of its own).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from supertopic.kernels.lasso import descend

_NAMES = ("flat", "normal", "laplace")
_MAX_SWEEPS = 1000  # of coordinate descent for a Laplace prior
_LEVEL = 1e-4  # precision of the prior on the level
_TOL = 1e-9  # where it stops: the largest change of a slope, relative to the largest of cross
_ROUNDING = 2e-6  # of coefficients in single precision, relative to the largest


@dataclass(frozen=True)
class CoefPrior:
    """flat, normal or laplace, with a scale (standard deviation, or mean absolute value)."""

    name: str = "flat"
    scale: float = 1.0
    n_level: int = 0

    @classmethod
    def parse(cls, name: str, scale: float, n_level: int = 0) -> CoefPrior:
        """The prior of these parameters of an estimator; raises ValueError for a wrong name or scale."""
        if name not in _NAMES:
            raise ValueError(f"coef_prior: got {name!r}, expected one of {', '.join(map(repr, _NAMES))}")
        if not isinstance(scale, Real) or not 0 < float(scale) < np.inf:
            raise ValueError(f"coef_scale: got {scale!r}, expected a number > 0")
        return cls(name, float(scale), n_level)

    def solve(self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The posterior mode (K,) of the coefficients of one column; the search for it (laplace) begins at `start`."""
        if not self.sparse:
            return _solve_symmetric(self.regular(gram), cross)
        gram = self.regular(gram)
        coef, one = self.differences(gram, cross, start, _MAX_SWEEPS, _TOL), self._ones(len(gram))
        across = gram @ one
        return coef + one * (one @ cross - across @ coef) / (one @ across + _LEVEL)

    def differences(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, max_sweeps: int, tol: float
    ) -> np.ndarray:
        """The posterior mode of the differences to the level under a Laplace prior; the level is eliminated."""
        coef, cross = start.astype(np.float64), cross.astype(np.float64)
        if self.n_level:
            one = self._ones(len(gram))
            across = gram @ one
            curvature = one @ across + _LEVEL
            gram, cross = gram - np.outer(across, across) / curvature, cross - across * (one @ cross) / curvature
            coef -= one * np.median(coef[: self.n_level])
        descend(gram, cross, np.full(len(gram), 1.0 / self.scale), coef, np.empty(len(coef)), max_sweeps, tol)
        return coef

    def _ones(self, n_coef: int) -> np.ndarray:
        """(n,) 1 for coefficients that share the level, 0 for others."""
        return (np.arange(n_coef) < self.n_level).astype(np.float64)

    def precision(self, own: np.ndarray) -> np.ndarray:
        """(n, n) P, from the coefficients' own precisions (n,); the level is integrated out."""
        shared = own * self._ones(len(own))
        return np.diag(own) - np.outer(shared, shared) / (shared.sum() + _LEVEL)

    @property
    def own(self) -> float:
        """The precision that a coefficient has of a normal prior, whatever the others are; 0 of the other priors."""
        return self.scale**-2.0 if self.name == "normal" else 0.0

    @property
    def sparse(self) -> bool:
        """Whether coefficients may be exactly at the level."""
        return self.name == "laplace"

    def origin(self, topics: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """(C,) what the topics' coefficients (C, K) are told relative to.

        It is the value for the average document, with topic shares (K,). Under a sparse prior it is the level: zero,
        or where the level is free, the median, which has the highest prior density. Of two values in the middle, any
        level between them is as good; the one with more of the documents is taken.
        """
        if not self.sparse:
            return topics @ shares
        if not self.n_level:
            return np.zeros(len(topics))
        ordered, middle = np.sort(topics, axis=1), topics.shape[1] // 2
        ends = ordered[:, [(topics.shape[1] - 1) // 2, middle]]
        common = [_same(topics, one[:, None]) @ shares for one in ends.T]
        return np.where(common[1] > common[0], ends[:, 1], ends[:, 0])

    def apart(self, topics: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """(C, K) the differences of the topics' coefficients from the origin; under a sparse prior, zeros are exact."""
        found = topics - origin[:, None]
        return np.where(_same(topics, origin[:, None]), 0.0, found) if self.sparse else found

    def covariance(self, gram: np.ndarray) -> np.ndarray:
        """The inverse curvature (for laplace, that of the data)."""
        return np.linalg.inv(self.regular(gram))

    def deviation(self, gram: np.ndarray) -> np.ndarray:
        """Standard errors: square roots of the diagonal of the covariance."""
        return np.sqrt(np.diag(self.covariance(gram)))

    def regular(self, gram: np.ndarray) -> np.ndarray:
        """gram plus the prior's precision, and a tiny ridge: it keeps topics that no document uses solvable."""
        ridge = 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-12) + self.own
        return gram + self.precision(np.full(len(gram), ridge))

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        """The gradient of log p(eta), for flat and normal priors."""
        if not self.own:
            return np.zeros_like(coef)
        own = np.full(coef.shape[1], self.own)  # -P coef, without the matrix P of `precision`
        shared = own * self._ones(len(own))
        return np.outer(coef @ shared, shared) / (shared.sum() + _LEVEL) - own * coef

    def log_density(self, coef: np.ndarray) -> float:
        """log p(eta) of all columns (C, n) up to a constant; laplace: at the best level."""
        coef = np.atleast_2d(coef)
        if self.own:
            return float(0.5 * (self.gradient(coef) * coef).sum())
        if not self.sparse:
            return 0.0
        level = np.median(coef[:, : self.n_level], axis=1) if self.n_level else np.zeros(len(coef))
        apart = coef - np.outer(level, self._ones(coef.shape[1]))
        return float(-np.abs(apart).sum() / self.scale - 0.5 * _LEVEL * (level**2).sum())

    def spread_evidence(self, coef_cov: np.ndarray) -> float:
        """What the covariances (C, K, K) of a normal q(eta) add to E[log p(eta) - log q(eta)] under a normal prior.

        ½ sum_c log|cov_c| - tr(cov_c)/scale² + K - K log scale²
        """
        if not len(coef_cov):
            return 0.0
        cov, n_coef = coef_cov.astype(np.float64), coef_cov.shape[1]
        spread = np.linalg.slogdet(cov)[1] - np.trace(cov, axis1=1, axis2=2) / self.scale**2
        return float(0.5 * (spread + n_coef * (1.0 - np.log(self.scale**2))).sum())


def _solve_symmetric(matrix: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """By Cholesky's factor, half the work, wherever there is one; some laws' curvature may be negative."""
    try:
        return cho_solve(cho_factor(matrix, lower=True), cross)
    except LinAlgError:
        return np.linalg.solve(matrix, cross)


def _same(coef: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Which coefficients (C, K) are a value (C, 1), up to rounding."""
    return np.abs(coef - value) <= _ROUNDING * np.abs(coef).max(axis=1, keepdims=True, initial=0.0)
