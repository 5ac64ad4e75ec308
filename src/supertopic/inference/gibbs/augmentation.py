"""Random numbers of one sweep for responses and priors: arrays of draws from `supertopic.kernels.draws`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, pdtr, pdtrik

from supertopic.backends.base import Backend
from supertopic.kernels import draws as kernels

_COUNTABLE = 1e7  # the largest rate of a Poisson distribution that is drawn by inversion
_WORTH_THREADS = 2000  # draws; fewer take less time than to start threads
_STEPS_OUT = 100  # the most steps of a slice, each of length 1: enough for the logarithm of any number


class SweepDraws:
    """Draws of one sweep. Each call has its own streams, so that the order of the calls decides the numbers.

    Each item has its own stream, too, so that arrays are drawn in parts, on the threads of `backend` where it is given.
    """

    def __init__(self, seed: int, sweep: int, backend: Backend | None = None) -> None:
        self.seed, self.sweep, self.backend, self._purpose = seed, sweep, backend, 0

    def purpose(self) -> int:
        """A number that no other call in this sweep has."""
        self._purpose += 1
        return self._purpose

    def _fill(self, kernel: Callable[..., None], *parameters: np.ndarray) -> np.ndarray:
        given = np.broadcast_arrays(*parameters)
        flat = [np.ascontiguousarray(values, dtype=np.float64).ravel() for values in given]
        out, purpose = np.empty(flat[0].size), self.purpose()

        def fill(start: int, stop: int) -> None:
            kernel(start, stop, self.seed, self.sweep, purpose, *flat, out)

        if self.backend is None or len(out) < _WORTH_THREADS:
            fill(0, len(out))
        else:
            self.backend.over_range(len(out), fill)
        return out.reshape(given[0].shape)

    def polya_gamma(self, shape: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """PG(shape, tilt); 0 for a shape of 0."""
        return self._fill(kernels.draw_polya_gamma, shape, tilt)

    def truncated_normal(self, location: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """N(location, 1) between lower and upper."""
        return self._fill(kernels.draw_truncated_normal, location, np.ones_like(location), lower, upper)

    def gamma(self, shape: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Gamma draws with mean shape/rate."""
        return self._fill(kernels.draw_gamma, shape, rate)

    def poisson(self, rate: np.ndarray) -> np.ndarray:
        """Poisson counts, by inversion of the distribution function; a rounded normal for rates above 1e7."""
        u = self.uniform(rate.size).reshape(rate.shape)
        counted = np.ceil(np.maximum(pdtrik(u, np.clip(rate, 1e-300, _COUNTABLE)), 0.0))
        counted -= (counted > 0) & (pdtr(counted - 1, np.clip(rate, 1e-300, _COUNTABLE)) >= u)
        many = np.round(rate + np.sqrt(rate) * ndtri(u))
        return np.where(rate > _COUNTABLE, many, np.where(u <= np.exp(-np.minimum(rate, 700.0)), 0.0, counted))

    def inverse_gaussian(self, mean: np.ndarray, shape: np.ndarray) -> np.ndarray:
        """Inverse Gaussian draws with variance mean³/shape."""
        return self._fill(kernels.draw_inverse_gaussian, mean, shape)

    def normal(self, size: int) -> np.ndarray:
        """Standard normal numbers."""
        out = np.empty(size)
        kernels.draw_normal(0, size, self.seed, self.sweep, self.purpose(), out)
        return out

    def uniform(self, size: int) -> np.ndarray:
        """Uniform numbers in (0, 1)."""
        return np.exp(-self._fill(kernels.draw_exponential, np.ones(size)))

    def slice(self, log_density: Callable[[float], float], start: float) -> float:
        """One step of a slice sampler (Neal 2003), which steps out by 1 and then shrinks the slice."""
        height, place, share = self.uniform(3)
        level = log_density(start) + np.log(height)
        low = start - place
        high = low + 1.0
        left = int(share * _STEPS_OUT)  # a random split of the steps keeps the move reversible
        for _ in range(left):
            if not log_density(low) > level:
                break
            low -= 1.0
        for _ in range(_STEPS_OUT - 1 - left):
            if not log_density(high) > level:
                break
            high += 1.0
        while high - low > 1e-12:
            there = low + (high - low) * float(self.uniform(1)[0])
            if log_density(there) > level:
                return there
            low, high = (there, high) if there < start else (low, there)
        return start
