"""Fits that are parts of another one: as many at a time as there are threads, and the same whatever that is."""

import threading
from functools import partial

import numpy as np
import pytest

from supertopic import SLDARegressor
from supertopic.datasets import simulate
from supertopic.fitted import side_by_side
from supertopic.fitted.files import arrays_of
from supertopic.fitted.side_by_side import fit_side_by_side
from supertopic.fitted.spec import Place
from supertopic.inference.task import Watch


class Found:
    """What a part has found, and where it is used."""

    def __init__(self, place):
        self.place = place

    def at(self, place):
        return Found(place)


def parts_that_count(n_parts):
    """Parts, and what is counted while they run: (number, threads) of each, and how many ran at a time at most."""
    begun, running, most, lock = [], [0], [0], threading.Lock()

    def fit(number, n_jobs):
        with lock:
            begun.append((number, n_jobs))
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.05)
        with lock:
            running[0] -= 1
        return Found(Place(n_jobs=n_jobs)) if number != "broken" else 1 / 0

    return [lambda n_jobs, number=number: fit(number, n_jobs) for number in range(n_parts)], begun, most, fit


@pytest.mark.parametrize(
    ("n_jobs", "n_parts", "threads", "at_once"),
    [(1, 3, [1, 1, 1], 1), (2, 5, [1, 1, 1, 1, 2], 2), (4, 3, [1, 1, 1], 3), (7, 2, [2, 2], 2)],
)
def test_every_fit_has_its_share_of_the_threads(n_jobs, n_parts, threads, at_once):
    parts, begun, most, _ = parts_that_count(n_parts)
    place = Place(n_jobs=n_jobs)
    found = list(fit_side_by_side(place, parts, n_entries=10))
    assert sorted(begun) == list(enumerate(threads)) and most == [at_once]
    assert [fit.place for fit in found] == [place] * n_parts


def test_large_documents_and_other_backends_have_one_fit_at_a_time():
    for place, n_entries in ((Place(n_jobs=3), side_by_side._MOST_ENTRIES), (Place("cuda", 2), 1)):
        parts, begun, most, _ = parts_that_count(2)
        list(fit_side_by_side(place, parts, n_entries))
        assert begun == [(0, place.n_jobs), (1, place.n_jobs)] and most == [1]


def test_an_error_in_one_is_raised():
    parts, _, _, fit = parts_that_count(2)
    with pytest.raises(ZeroDivisionError):
        list(fit_side_by_side(Place(n_jobs=3), [*parts, lambda n_jobs: fit("broken", n_jobs)], 10))


def test_when_one_fails_the_others_stop_after_a_step():
    """The first error counts, an interruption too; a fit that goes on afterwards is not stopped."""
    watch, steps = Watch(lambda *_, **__: None, None), []

    def long(n_jobs):
        for done in range(10_000):
            steps.append(done)
            watch.step(done, dict)
            threading.Event().wait(0.005)

    def broken(n_jobs, error):
        threading.Event().wait(0.05)
        raise error

    for error in (ValueError("y"), KeyboardInterrupt()):
        for parts in ([long, partial(broken, error=error)], [partial(broken, error=error), long]):
            with pytest.raises(type(error)):
                list(fit_side_by_side(Place(n_jobs=2), parts, 10))
    assert 4 <= len(steps) < 400
    watch.step(1, dict)


def test_folds_and_members_are_the_same_side_by_side():
    data = simulate(n_documents=90, n_topics=3, n_words=40, mean_length=30, response="gaussian", seed=4)

    def fit(n_jobs):
        return SLDARegressor(3, ensemble=3, max_iter=3, random_state=0, n_jobs=n_jobs).fit(data.counts, data.y)

    one, two = (arrays_of(fit(n_jobs).fitted_) for n_jobs in (1, 2))
    assert {"members.topics", "members.coef", "certainty.levels", "certainty.topic_error"} <= set(one)
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)
