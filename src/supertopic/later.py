"""Modules that are imported when they are first used, so that a predictor starts without SciPy or a compiler."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module: `stats = Later("scipy.stats")`, then `stats.norm`."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)
        return found
