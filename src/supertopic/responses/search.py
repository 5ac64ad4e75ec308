"""The best value of one positive parameter, from sums over documents.

A search runs in the logarithm x of the parameter, at most one unit to either side of where it stands: `REACH`. Where
the objective is no function of a few sums, its values at the Chebyshev points of that interval are sums over
documents as well, and the polynomial through them stands for it. It is as good as exact for a function that is
analytic well beyond the interval: n points leave an error of rho⁻ⁿ, where rho = d + sqrt(d² + 1) for a singularity at
distance d off the middle of the real line (rho = 6.4 for d = pi).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from supertopic.later import Later

optimize = Later("scipy.optimize")

REACH = 1.0
N_POINTS = 25  # an odd number, so that the parameter as it stands is one of them
_POINTS = -np.cos(np.pi * np.arange(N_POINTS) / (N_POINTS - 1))
_TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_POINTS, N_POINTS - 1))


def points_around(now: float) -> np.ndarray:
    """(N_POINTS,) values of the parameter at which an objective is to be known, in ascending order."""
    return now * np.exp(REACH * _POINTS)


def polynomial(values: np.ndarray) -> Callable[[float], float]:
    """The polynomial that has these values at the points; a function of (x - log now) / REACH, from -1 to 1."""
    coefficients = _TO_COEFFICIENTS @ values
    return lambda place: float(chebyshev.chebval(place, coefficients))


def highest(value: Callable[[float], float], now: float) -> float:
    """The logarithm of the parameter, within reach, at which `value` (of the parameter itself) is highest."""
    log_now = np.log(now)
    found = optimize.minimize_scalar(
        lambda x: -value(float(np.exp(x))),
        bounds=(log_now - REACH, log_now + REACH),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return float(found.x)


def highest_of_values(values: np.ndarray, now: float) -> float:
    """The same, for an objective that is known at the points only."""
    through = polynomial(values)
    found = optimize.minimize_scalar(
        lambda place: -through(place), bounds=(-1, 1), method="bounded", options={"xatol": 1e-7}
    )
    return float(np.log(now) + REACH * found.x)


def zero_of_values(values: np.ndarray, now: float) -> float:
    """The logarithm of the parameter at which a rising function, known at the points only, passes through zero.

    The nearer end where it does not. The zero lies between the same two points as that of the function itself,
    whatever the polynomial does there. A zero at the parameter as it stands is found exactly.
    """
    if values[0] >= 0 or values[-1] <= 0:
        return float(np.log(now) + (-REACH if values[0] >= 0 else REACH))
    after = int(np.searchsorted(values > 0, True))
    if values[after - 1] == 0:
        return float(np.log(now) + REACH * _POINTS[after - 1])
    through = polynomial(values)
    ends = _POINTS[after - 1], _POINTS[after]
    if through(ends[0]) >= 0 or through(ends[1]) <= 0:  # rounding, where values differ by many orders of magnitude
        slope = (ends[1] - ends[0]) / (values[after] - values[after - 1])
        return float(np.log(now) + REACH * (ends[0] - values[after - 1] * slope))
    return float(np.log(now) + REACH * optimize.brentq(through, *ends, xtol=1e-12))


def part_of_the_way(now: float, log_best: float, rate: float, least: float, most: float) -> float:
    """From `now` towards exp(log_best), kept between `least` and `most`; along the logarithm."""
    log_now = float(np.log(now))
    return float(np.exp(log_now + rate * (np.clip(log_best, np.log(least), np.log(most)) - log_now)))
