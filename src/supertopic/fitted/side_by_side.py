"""Fits that are parts of another one and do not depend on each other, side by side: without a fold, of an ensemble.

The steps of a fit are short, and its threads wait for one another at the end of each. Whole fits have nothing to wait
for: two of them, each by one thread, take less time than one after the other, each by two. They hold their documents
and topics at the same time, so that a large corpus has one fit at a time, by all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any

from supertopic.backends.base import Backend
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.spec import Place
from supertopic.inference.task import Stopped, stop_sign

_BUSY = 4  # threads of all fits together, or one for each fit: more wait for Python's lock, which all of them share
_MOST_ENTRIES = 1 << 26  # of the documents of all fits at a time: half a gigabyte


Part = Callable[[int | None], Fitted]  # of the number of its threads


def fit_side_by_side(place: Place, parts: Sequence[Part], n_entries: int) -> Iterator[Fitted]:
    """The fits that `parts` make, in their order. Each is given its number of threads; the result has the place's.

    n_entries : of the documents of one fit
    """
    if place.backend != "threads":
        yield from (part(place.n_jobs) for part in parts)
        return
    with place.open() as backend:
        at_once = max(1, min(backend.n_threads, _MOST_ENTRIES // max(n_entries, 1)))
        for first in range(0, len(parts), at_once):
            for one in _fit_at_once(parts[first : first + at_once], backend):
                yield one.at(place)


def _fit_at_once(parts: Sequence[Part], backend: Backend) -> list[Fitted]:
    """All of them, each by its share of the threads. If one fails, or is interrupted, the others stop after a step."""
    found: list[Any] = [None] * len(parts)
    n_jobs = backend.n_threads if len(parts) == 1 else max(1, min(backend.n_threads, _BUSY) // len(parts))
    errors: list[BaseException] = []
    sign = Event()

    def fit(place: int) -> None:
        before = stop_sign.set(sign)
        try:
            found[place] = parts[place](n_jobs)
        except Stopped:
            pass
        except BaseException as error:
            errors.append(error)
            sign.set()
        finally:
            stop_sign.reset(before)

    try:
        backend.all([(fit, place) for place in range(len(parts))])
    except BaseException:  # of this thread, while it waits for the others
        sign.set()
        raise
    if errors:
        raise errors[0]
    return found
