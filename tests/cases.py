"""The cases of a test: `make test` runs a few, one for each path through the code, and `make test-all` runs all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def cases(names: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """The names, or tuples of values, those that are not in the short run marked `release`."""
    return [name if name in short else marked(name) for name in names]


def marked(name: Any) -> Any:
    """A case for `make test-all` alone."""
    return pytest.param(*(name if isinstance(name, tuple) else (name,)), marks=pytest.mark.release)
