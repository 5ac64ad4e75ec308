"""Refusals of an estimator's parameters, by their names."""

from __future__ import annotations

from typing import Any

from supertopic.checks import check_number, check_whole


def require_whole(estimator: object, *names: str, least: int = 1, or_none: bool = False) -> None:
    """Each parameter has to be a whole number (`check_whole`)."""
    for name in names:
        check_whole(name, getattr(estimator, name), least=least, or_none=or_none)


def require_number(estimator: object, *names: str, above_zero: bool = False) -> None:
    """Each parameter has to be a number (`check_number`)."""
    for name in names:
        check_number(name, getattr(estimator, name), above_zero=above_zero)


def check_folds(value: Any) -> int:
    """The number of folds of `cross_fit`: none, or two and more."""
    check_whole("cross_fit", value, least=0)
    if value == 1:
        raise ValueError("cross_fit: got 1, expected 0, or 2 and more folds")
    return int(value)
