"""Which function of the CPU has which form on the device.

`supertopic.inference.device` holds the forms and registers them here. What has no form is refused, so that no part of a
fit runs on the CPU without anybody's knowledge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

_FORMS: dict[Any, Any] = {}
Form = TypeVar("Form")


def form_of(*originals: Any) -> Callable[[Form], Form]:
    """A decorator: what follows is the form of the originals on the device."""

    def register(form: Form) -> Form:
        for original in originals:
            _FORMS[original] = form
        return form

    return register


def as_they_are(*originals: Any) -> None:
    """These functions run on the device as they are: all they call has a form."""
    for original in originals:
        _FORMS[original] = original


def find_form(original: Any) -> Any:
    """The form of a function or class on the device; a ValueError where it has none."""
    import_module("supertopic.inference.device")  # the arrows of imports run the other way
    if isinstance(original, partial):
        return partial(find_form(original.func), *original.args, **original.keywords)
    if original not in _FORMS:
        raise ValueError(
            f"backend: got 'cuda', but this model or its inference has no form on a GPU ({original.__qualname__}); "
            "expected 'threads'"
        )
    return _FORMS[original]


def no_form(what: str) -> ValueError:
    """The error of what a GPU cannot do."""
    return ValueError(f"backend: got 'cuda', which has no form of {what} on a GPU; expected 'threads'")
