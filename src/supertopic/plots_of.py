"""`model.plot`: the plots of one model as its methods.

Plots stand above the models, which therefore do not import them: `supertopic/__init__.py` says what draws.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from types import MethodType, ModuleType
from typing import Any

_PREFIX = "plot_"
# these take a selection, several models, and effects of metadata
_NOT_OF_A_MODEL = ("plot_select", "plot_variation", "plot_topic_effects", "plot_topic_curves")


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


def draw(name: str, thing: object, *, ax: Any = None, **options: Any) -> Any:
    """Draw a result by the plot of this name; ax : Axes, or the path of a figure, which is written and returned."""
    plot = getattr(_explore(), _PREFIX + name)
    if not isinstance(ax, (str, PathLike)):
        return plot(thing, ax=ax, **options)
    found = plot(thing, **options)
    figure = (found.flat[0] if hasattr(found, "flat") else found).figure
    figure.savefig(ax)
    return figure


def drawn_by(find: Callable[[], ModuleType]) -> None:
    """Take the plots from the module that `find` gives when the first of them is asked for."""
    global _explore
    _explore = find


_explore: Callable[[], ModuleType]
