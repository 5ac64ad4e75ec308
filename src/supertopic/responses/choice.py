"""Which response a column of y is taken for: `response="auto"` in Python, and no --response on the command line.

Text and booleans are classes. Whole numbers may be many things: ratings (1 to 5), counts, days, ids of classes. What
they are taken for is a guess, which is why a `Choice` says in words what was found, what it is taken for, and what else
it might be. Only responses in the registry are chosen or offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from supertopic.dates import are_dates
from supertopic.responses import base
from supertopic.responses.base import LARGEST_LABEL

FEW = 20  # up to this number of distinct whole numbers may be ids of classes
LONGEST_SCALE = 11  # largest number of values of a rating scale: 0 to 10


@dataclass(frozen=True)
class Choice:
    """A response, its kind ("number" or "class"), and why it was chosen."""

    response: str
    kind: str
    what: str = ""  # what the column holds, and what it is taken for: "holds …: taken as …"
    others: tuple[tuple[str, str], ...] = ()  # other responses, and what they would take the column for
    guessed: bool = False  # whether the values might as well be something else


def choose_response(values: Iterable[Any], kinds: Sequence[str] = ("number", "class")) -> Choice:
    """The response that fits the values of a column; None and NaN are missing values.

    kinds : what the model has responses for, numbers or classes or both
    """
    known, times = _known_values(values)
    if not known:
        raise ValueError("holds no value at all, expected some labels")
    distinct = set(known)
    if are_dates(distinct) and ("number" in kinds or len(distinct) > FEW):
        if "number" not in kinds:
            raise ValueError(f"holds {len(distinct):,} different dates, which are no classes")
        return Choice("gaussian", "number", "holds dates: taken as years, such as 2008.25 (gaussian)", guessed=True)
    if any(isinstance(value, str) for value in known):
        return _classes(len(distinct), f"holds {len({str(value) for value in distinct}):,} distinct texts")
    if all(isinstance(value, bool) for value in known):
        return _classes(len(distinct), "holds true and false")
    if all(isinstance(value, int) for value in known):
        return _of_whole(known, times, kinds)
    if "number" not in kinds:
        return _classes(len(distinct), f"holds {len(distinct):,} distinct numbers")
    return _plain_numbers(min(distinct), max(distinct))


def _known_values(values: Iterable[Any]) -> tuple[list[Any], np.ndarray]:
    """(plain values, how often each occurs); those of an array of numbers once each, since there may be millions."""
    if isinstance(values, np.ndarray) and set(map(type, values.tolist())) == {float}:
        numbers = np.asarray(values, dtype=np.float64)
        found, times = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        return [int(value) if value.is_integer() else value for value in found.tolist()], times
    plain = [_plain(value) for value in values if value is not None and value == value]
    return plain, np.ones(len(plain), dtype=int)


def _of_whole(values: list[int], times: np.ndarray, kinds: Sequence[str]) -> Choice:
    """The choice for whole numbers."""
    n, low, high, n_known = len(set(values)), min(values), max(values), times.sum()
    # ids of classes usually start at 0; rating scales start at 1, run from 0 to 10, or are centred at 0
    rating = 2 < n <= LONGEST_SCALE and high - low == n - 1 and (low != 0 or n == LONGEST_SCALE)
    repeated = n == 2 or (n <= FEW and n_known >= 2 * n)
    if "class" in kinds and (repeated or "number" not in kinds):
        numbers = {"gaussian": "numbers"} if "number" in kinds else {}
        if rating and repeated and _known("ordinal"):
            what = f"holds {n} consecutive whole numbers, {low} to {high}: taken as an ordered rating (ordinal)"
            return _guess("ordinal", "class", what, softmax="classes", **numbers)
        return _classes(n, f"holds {n:,} distinct whole numbers", **numbers)
    classes = {"softmax": "classes"} if "class" in kinds else {}
    if n > 2 and not (rating and repeated) and 0 <= low <= high - low and _known("negative_binomial"):
        if high > LARGEST_LABEL or _lean_like_counts(np.array(values, dtype=np.float64), times):
            what = f"holds {n:,} distinct whole numbers from {low:,} on: taken as counts (negative_binomial)"
            prices = {"gamma": "prices"} if low > 0 else {}
            return _guess("negative_binomial", "number", what, **prices, gaussian="plain numbers", **classes)
        what = f"holds {n:,} distinct whole numbers, {low:,} to {high:,}, few of them far above the others"
        others = {"negative_binomial": "counts", **classes}
        return _guess("gaussian", "number", f"{what}: taken as plain numbers (gaussian)", **others)
    if repeated:
        what = f"holds {n:,} distinct whole numbers, {low} to {high}: taken as plain numbers (gaussian)"
        return _guess("gaussian", "number", what)
    return _plain_numbers(low, high)


def _lean_like_counts(values: np.ndarray, times: np.ndarray) -> bool:
    """Whether the values lean to the right, as counts do, and days of a year or points of an exam do not.

    They do unless their skewness is nearer to zero than to that of a negative binomial law of their mean and variance,
    by two standard errors. The latter is bounded, since few values seldom show how far such a law can lean.
    """
    mean = np.average(values, weights=times)
    deviation = np.sqrt(np.average((values - mean) ** 2, weights=times))
    skewness = np.average(((values - mean) / deviation) ** 3, weights=times)
    of_counts = (2.0 * max(deviation**2 / mean, 1.0) - 1.0) / deviation
    return bool(skewness > 0.5 * min(of_counts, 1.0) - 2.0 * np.sqrt(6.0 / times.sum()))


def _plain_numbers(low: float, high: float) -> Choice:
    if not -LARGEST_LABEL <= low <= high <= LARGEST_LABEL:
        raise ValueError(f"y holds a number beyond {LARGEST_LABEL:g}; give y in another unit")
    return Choice("gaussian", "number", f"holds numbers from {low:g} to {high:g}: taken as plain numbers (gaussian)")


def _classes(n: int, what: str, **others: str) -> Choice:
    """The choice of a response for n classes."""
    response = usual_of_classes(n)
    if response is None:
        raise ValueError(f"{what}: taken as classes, and no response is for more than two")
    return _guess(response, "class", f"{what}: taken as classes ({response})", **others)


def _guess(response: str, kind: str, what: str, **others: str) -> Choice:
    known = tuple((name, use) for name, use in others.items() if _known(name))
    return Choice(response, kind, what, known, guessed=bool(others) or response == "gaussian")


def usual_of_classes(n: int) -> str | None:
    """The usual response for n classes; None where none is registered."""
    name = "logit" if n <= 2 else "softmax"
    return name if _known(name) else None


def _known(response: str) -> bool:
    return response in base.registry()


def _plain(value: object) -> Any:
    """A text, True or False, a whole number as int, or another number as float."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, float):  # most labels are; asking for abstract numbers takes ten times as long
        return int(value) if value.is_integer() else float(value)
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        number = float(value)
        return int(number) if number.is_integer() else number
    return str(value)
