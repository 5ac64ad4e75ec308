"""Refusals that estimators share: one sentence that names the parameter, what came and what was expected."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def require_whole(estimator: Any, *names: str, least: int = 1, or_none: bool = False) -> None:
    """Each parameter has to be a whole number, no smaller than `least`; or None, where that means a default."""
    for name in names:
        value = getattr(estimator, name)
        if value is None and or_none:
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
            raise ValueError(f"{name}: got {value!r}, expected a whole number >= {least}")


def require_number(estimator: Any, *names: str, above_zero: bool = False) -> None:
    """Each parameter has to be a finite number, zero or more; or more than zero."""
    for name in names:
        value = getattr(estimator, name)
        real = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
        if not real or value < 0 or (above_zero and value == 0):
            raise ValueError(f"{name}: got {value!r}, expected a number {'> 0' if above_zero else '>= 0'}")
