"""Dates among the values that users give: texts such as "2008-01-31", timestamps, Python's dates."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.later import Later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = Later("pandas")

_ISO = re.compile(r"[12]\d{3}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?")
_DAYS_OF_A_YEAR = 365.2425


def today() -> str:
    """The day, in UTC; that of SOURCE_DATE_EPOCH, where files are to be made again byte by byte."""
    return time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())))


def is_date(value: object) -> bool:
    """Whether a value is a date, or a text that says one from the year on."""
    return isinstance(value, (date, np.datetime64)) or (isinstance(value, str) and _ISO.fullmatch(value) is not None)


def are_dates(values: Iterable[Any]) -> bool:
    """Whether all values are dates; not if there are none."""
    found = False
    for value in values:
        if not is_date(value):
            return False
        found = True
    return found


def days_of(values: object, where: str) -> np.ndarray:
    """Days since 1970 of dates without missing ones; times of a zone are those of UTC."""
    try:
        found = pd.to_datetime(pd.Series(values), utc=True, format="ISO8601")
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{where} holds a date that does not exist: {' '.join(str(error).split())[:80]}") from None
    return (found - pd.Timestamp("1970-01-01", tz="UTC")).dt.total_seconds().to_numpy() / 86400.0


def years_of(values: object, where: str) -> np.ndarray:
    """Dates as years, such as 2008.25 for the first of April: the numbers that a regression takes."""
    return 1970.0 + days_of(values, where) / _DAYS_OF_A_YEAR


def day_of(year: float) -> str:
    """A date as text, of what `years_of` gives."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(round((year - 1970.0) * _DAYS_OF_A_YEAR), "D"))
