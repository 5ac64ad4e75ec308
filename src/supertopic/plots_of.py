"""`model.plot`: the plots of one model as its methods.

Plots stand above the models, which therefore do not import them: `supertopic/__init__.py` says what draws.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any

_PREFIX = "plot_"
_NOT_OF_A_MODEL = ("plot_select", "plot_variation")  # these take a selection, and several models


class Plots:
    """The plots of a fitted model: `model.plot.topics()` is `supertopic.explore.plot_topics(model)`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.__dir__():
            raise AttributeError(f"plot has no {name!r}; expected one of {', '.join(self.__dir__())}")
        return MethodType(getattr(_explore(), _PREFIX + name), self._model)

    def __dir__(self) -> list[str]:
        found = _explore().__all__
        return [
            name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX) and name not in _NOT_OF_A_MODEL
        ]

    def __repr__(self) -> str:
        return f"plots of {type(self._model).__name__}: {', '.join(self.__dir__())}"


def draw(name: str, thing: Any, **options: Any) -> Any:
    """Draw a result by the plot of this name."""
    return getattr(_explore(), _PREFIX + name)(thing, **options)


def drawn_by(find: Callable[[], ModuleType]) -> None:
    """Take the plots from the module that `find` gives when the first of them is asked for."""
    global _explore
    _explore = find


_explore: Callable[[], ModuleType]
