"""Refusals in one sentence that names the parameter, what came and what was expected."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_text(value: str) -> bool:
    """Whether it can be written: half of a surrogate pair is no character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole_text(value: str) -> str:
    """The text with U+FFFD for halves of surrogate pairs, which emoji leave where they are cut."""
    return value if is_text(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_whole(name: str, value: object, *, least: int = 1, or_none: bool = False) -> None:
    """A whole number, no smaller than `least`; or None, where that means a default."""
    if value is None and or_none:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name}: got {value!r}, expected a whole number >= {least}")


def check_number(name: str, value: Any, *, above_zero: bool = False) -> None:
    """A finite number, zero or more; or more than zero."""
    real = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not real or value < 0 or (above_zero and value == 0):
        raise ValueError(f"{name}: got {value!r}, expected a number {'> 0' if above_zero else '>= 0'}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name}: got {value!r}, expected {' or '.join(map(repr, choices))}")
