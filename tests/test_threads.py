"""Threads: every call runs once, errors are raised, and cuts cover the range."""

import threading
import time
import weakref

import numpy as np
import pytest

from supertopic.backends.threads import Threads
from supertopic.cores import most_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
@pytest.mark.parametrize("n_calls", [0, 1, 2, 50])
def test_each_call_runs_once(n_jobs, n_calls):
    done = np.zeros(n_calls, dtype=int)

    def call(i, by):
        done[i] += by

    with Threads(n_jobs) as backend:
        backend.all([(call, i, i + 1) for i in range(n_calls)])
    np.testing.assert_array_equal(done, np.arange(1, n_calls + 1))


def test_the_calling_thread_takes_its_share():
    meet = threading.Barrier(2, timeout=60)
    with Threads(2) as backend:
        backend.all([(meet.wait,), (meet.wait,)])  # two at once, though the pool has one thread


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, IndexError])
@pytest.mark.parametrize("bad", [0, 7, 19])
def test_an_error_is_raised_where_the_calls_were_made(n_jobs, error, bad):
    def call(i):
        if i == bad:
            raise error("here")

    with Threads(n_jobs) as backend:
        with pytest.raises(error, match="here"):
            backend.all([(call, i) for i in range(20)])
        backend.all([(call, i) for i in range(20) if i != bad])  # and the pool still works


def test_helpers_end_with_their_backend_and_hold_on_to_nothing():
    class Result:
        pass

    before = set(threading.enumerate())
    backend, result, meet = Threads(3), Result(), threading.Barrier(3, timeout=60)
    held = weakref.ref(result)
    with backend:
        backend.all([(lambda kept: meet.wait(), result)] * 3)
        helpers = set(threading.enumerate()) - before
        assert len(helpers) == 2
        del result
        _until(lambda: held() is None)
    _until(lambda: not any(helper.is_alive() for helper in helpers))
    backend.all([(meet.wait,)] * 3)  # new ones
    helpers = set(threading.enumerate()) - before
    del backend  # nobody has left it
    _until(lambda: not any(helper.is_alive() for helper in helpers))


def _until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_after_an_interruption_nobody_begins_another_call():
    """Ctrl-C comes to the thread that called; a helper ends what it does."""
    helper, go, done = threading.Event(), threading.Event(), []

    def call():
        if threading.current_thread() is threading.main_thread():
            assert helper.wait(10)
            threading.Timer(0.1, go.set).start()
            raise KeyboardInterrupt
        helper.set()
        assert go.wait(10)
        done.append(1)

    with Threads(2) as backend:
        with pytest.raises(KeyboardInterrupt):
            backend.all([(call,)] * 9)
        assert done == [1]


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("weights", [[], [3.0], [0, 0, 0], [1, 90, 1, 1, 1, 1], [2] * 300])
def test_ranges_cover_all_items_in_order(n_jobs, weights):
    with Threads(n_jobs) as backend:
        ends = backend.cut(np.concatenate([[0], np.cumsum(weights)]))
    assert [i for start, stop in ends for i in range(start, stop)] == list(range(len(weights)))
    assert all(start < stop for start, stop in ends)


def test_ranges_get_smaller_so_that_nobody_waits_long():
    with Threads(2) as backend:
        work = [stop - start for start, stop in backend.cut(np.arange(10_001))]
        assert work == sorted(work, reverse=True)
        assert work[0] < 10_000 / 4 and work[-1] < 10_000 / 100
        assert backend.cut(np.array([0, 1, 2])) == [(0, 1), (1, 2)]  # one item each


def test_nobody_is_woken_for_little_work(monkeypatch):
    """Of calls that took long, everybody takes some; of a few short ones, this thread takes all."""
    monkeypatch.setattr("supertopic.backends.threads._FEW_THREADS", 2)
    with Threads(3) as backend:
        woken, call_helpers = [], backend._helpers.call
        monkeypatch.setattr(backend._helpers, "call", lambda work, n: woken.append(n) or call_helpers(work, n))
        for work, n_helpers in ((0.002, 2), (0.0, 0), (0.002, 2)):

            def call(work=work):
                end = time.thread_time() + work
                while time.thread_time() < end:
                    pass

            for _ in range(20):  # what the calls take is learned
                woken.clear()
                backend.all([(call,)] * 6)
            assert woken == [n_helpers]


def test_scratch_belongs_to_one_thread():
    meet, found = threading.Barrier(2, timeout=60), []

    def call():
        found.append(backend.scratch(3, 4))
        meet.wait()

    with Threads(2) as backend:
        backend.all([(call,), (call,)])
        assert found[0].shape == (3, 4) and not np.shares_memory(*found)
        assert np.shares_memory(backend.scratch(2, 5), backend.scratch(4, 3))
        assert backend.scratch(7, 9).shape == (7, 9)


def test_there_are_never_many_more_threads_than_cores():
    with Threads(10**20) as backend:
        assert backend.n_threads == most_threads() < 10**6
