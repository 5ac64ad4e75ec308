"""Which function of the CPU has which form on the device.

Whoever has forms gives them (`give_forms`), to be loaded once a fit asks for one. What has no form is refused, so that
no part of a fit runs on the CPU without anybody's knowledge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

_FORMS: dict[Any, Any] = {}
_LOADERS: list[Callable[[], None]] = []
Form = TypeVar("Form")


def form_of(*originals: Any) -> Callable[[Form], Form]:
    """A decorator: what follows is the form of the originals on the device."""

    def register(form: Form) -> Form:
        for original in originals:
            _FORMS[original] = form
        return form

    return register


def give_forms(load: Callable[[], None]) -> None:
    """Have forms registered by `load`, which is called once, when the first of them is asked for."""
    _LOADERS.append(load)


def find_form(original: Any) -> Any:
    """The form of a function or class on the device; a ValueError where it has none."""
    while _LOADERS:
        _LOADERS.pop()()
    if isinstance(original, partial):
        return partial(find_form(original.func), *original.args, **original.keywords)
    if original not in _FORMS:
        what = f"this model or its inference has no form on a GPU ({original.__qualname__})"
        raise ValueError(f"backend: got 'cuda', but {what}; expected 'threads'")
    return _FORMS[original]


def no_form(what: str) -> ValueError:
    """The error of what a GPU cannot do."""
    return ValueError(f"backend: got 'cuda', which has no form of {what} on a GPU; expected 'threads'")
