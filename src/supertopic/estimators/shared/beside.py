"""What is made from a fitted estimator when it is first asked for, and kept beside it.

scikit-learn's rules do not let a prediction change an estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np


class Beside:
    """An array for each estimator, as long as the estimator has the object that the array was made from."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Any, tuple[Any, np.ndarray]] = WeakKeyDictionary()

    def of(self, estimator: Any, source: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        kept = self._kept.get(estimator)
        if kept is None or kept[0] is not source:
            kept = self._kept[estimator] = source, make()
        return kept[1]
