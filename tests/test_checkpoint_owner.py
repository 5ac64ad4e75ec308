"""A checkpoint knows which fit it belongs to: another fit refuses it, and the same fit ends with the same model."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import supertopic
from supertopic import (
    LDA,
    PC,
    VB,
    Checkpoint,
    DiscLDAClassifier,
    GeoSAGE,
    Gibbs,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
    Stream,
)

RNG = np.random.default_rng(0)
X = sp.csr_matrix(RNG.poisson(1.0, size=(30, 10)).astype(np.float32))
Y, LABELS, EXTRA = RNG.normal(size=30), np.array(["a", "b", "c"])[np.arange(30) % 3], RNG.normal(size=(30, 2))


class Killed(Exception):
    pass


def kill_at(monkeypatch, n):
    """The n-th save is the last thing a fit does."""
    save, seen = Checkpoint.save, []

    def save_and_die(self, *args):
        save(self, *args)
        seen.append(self.path)
        if len(seen) == n:
            raise Killed

    monkeypatch.setattr(Checkpoint, "save", save_and_die)
    return seen


def killed(model, monkeypatch, *args, at=2, **more):
    with monkeypatch.context() as patch:
        seen = kill_at(patch, at)
        with pytest.raises(Killed):
            model.fit(*args, **more)
    return seen


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "c", every_seconds=0)


def test_the_interval_is_a_parameter(tmp_path, monkeypatch):
    assert Checkpoint in vars(supertopic).values() or supertopic.Checkpoint is Checkpoint
    rarely = LDA(2, max_iter=5, tol=0.0, checkpoint=Checkpoint(tmp_path / "c", every_seconds=1e6))
    seen = kill_at(monkeypatch, 1)
    rarely.fit(X)
    assert seen == []
    LDA(2, max_iter=5, tol=0.0, checkpoint=tmp_path / "c").fit(X)  # 30 seconds
    assert seen == []
    with pytest.raises(Killed):
        LDA(2, max_iter=5, tol=0.0, checkpoint=Checkpoint(tmp_path / "c", 0)).fit(X)
    assert seen == [str(tmp_path / "c")]
    assert repr(Checkpoint(tmp_path / "c", 5)).endswith("every_seconds=5)")
    with pytest.raises(ValueError, match=r"checkpoint: got 3, expected a path or a supertopic\.Checkpoint"):
        LDA(2, checkpoint=3).fit(X)
    with pytest.raises(ValueError, match="every_seconds: got 'x'"):
        Checkpoint(tmp_path / "c", "x")


def test_the_interval_holds_for_the_chains_as_well(checkpoint, monkeypatch):
    model = SSTMRegressor(2, max_iter=10, inference=Gibbs(n_chains=2), checkpoint=checkpoint)
    assert any(path.endswith((".0", ".1")) for path in killed(model, monkeypatch, X, Y, at=1))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"covariates": None}, "data differs"),
        ({"covariates": EXTRA[::-1]}, "data differs"),
        ({"y": Y + 1}, "data differs"),
        ({"sample_weight": np.arange(30.0)}, "data differs"),
        ({"X": X[::-1]}, "data differs"),
        ({"groups": np.arange(30) % 7}, "data differs"),
        ({"times": np.arange(30)[::-1]}, "data differs"),
        ({"random_state": 4}, "seed was 3 and is 4"),
        ({"random_state": np.random.RandomState(3)}, "seed was 3 and is"),
        ({"doc_topic_prior": 0.2}, "doc_topic_prior was"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(checkpoint, monkeypatch, other, said):
    given = {"X": X, "y": Y, "covariates": EXTRA, "groups": np.arange(30) % 6}
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "checkpoint": checkpoint, "random_state": 3}
    killed(SLDARegressor(**params), monkeypatch, **given)
    params |= {name: value for name, value in other.items() if name in params or name == "doc_topic_prior"}
    given |= {name: value for name, value in other.items() if name not in params}
    with pytest.raises(ValueError, match=f"checkpoint of another fit .*{said}"):
        SLDARegressor(**params).fit(**given)


@pytest.mark.parametrize("kind", [SLDAClassifier, DiscLDAClassifier])
def test_other_names_of_the_classes_are_another_fit(checkpoint, monkeypatch, kind):
    params = {"max_iter": 6, "tol": 0.0, "checkpoint": checkpoint}
    killed(kind(**params), monkeypatch, X, LABELS)
    with pytest.raises(ValueError, match=r"another fit .*classes differs"):
        kind(**params).fit(X, np.char.add(LABELS, "x"))
    kind(**params).fit(X, LABELS)


def test_long_arrays_are_told_apart(checkpoint, monkeypatch):
    """The printed form of a long array leaves out its middle."""
    prior = np.full(1500, 0.1)
    other = prior.copy()
    other[700] = 0.2
    params = {"n_topics": 1500, "max_iter": 3, "tol": 0.0, "checkpoint": checkpoint}
    with pytest.warns(UserWarning, match="more than the 30 documents"):
        killed(LDA(doc_topic_prior=prior, **params), monkeypatch, X, at=1)
    with (
        pytest.warns(UserWarning, match="more than the 30 documents"),
        pytest.raises(ValueError, match=r"another fit .*doc_topic_prior differs"),
    ):
        LDA(doc_topic_prior=other, **params).fit(X)


@pytest.mark.parametrize("at", [2, 7, 12, 17])
def test_a_fit_killed_in_any_start_ends_with_the_same_model(checkpoint, monkeypatch, tmp_path, at):
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "inference": VB(n_init=3)}
    whole = SLDARegressor(**params).fit(X, Y)
    seen = killed(SLDARegressor(checkpoint=checkpoint, **params), monkeypatch, X, Y, at=at)
    assert seen[-1].endswith(f".{(at - 1) // 6}")
    resumed = SLDARegressor(checkpoint=checkpoint, **params).fit(X, Y)
    assert np.array_equal(resumed.components_, whole.components_) and np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.bound_, whole.bound_)
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_of_one_start_is_not_that_of_another(checkpoint, monkeypatch, tmp_path):
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "inference": PC(n_init=3), "checkpoint": checkpoint}
    killed(SLDARegressor(**params), monkeypatch, X, Y, at=10)
    (tmp_path / "c.1").rename(tmp_path / "c.0")
    with pytest.raises(ValueError, match=r"another fit .*start was 1 and is 0"):
        SLDARegressor(**params).fit(X, Y)


def test_a_fit_without_a_seed_goes_on_with_the_seed_that_it_drew(checkpoint, monkeypatch):
    drawn = []
    seed = LDA._seed

    def remember(self):
        drawn.append(seed(self))
        return drawn[-1]

    monkeypatch.setattr(LDA, "_seed", remember)
    params = {"n_topics": 2, "inference": "gibbs", "max_iter": 12}
    killed(LDA(random_state=None, checkpoint=checkpoint, **params), monkeypatch, X, at=5)
    resumed = LDA(random_state=None, checkpoint=checkpoint, **params).fit(X)
    assert len(drawn) == 1  # no other seed is drawn
    assert np.array_equal(resumed.components_, LDA(random_state=drawn[0], **params).fit(X).components_)


def test_the_same_random_state_finds_its_checkpoint(checkpoint, monkeypatch):
    params = {"n_topics": 2, "inference": "gibbs", "max_iter": 12}
    whole = LDA(random_state=np.random.RandomState(5), **params).fit(X)
    killed(LDA(random_state=np.random.RandomState(5), checkpoint=checkpoint, **params), monkeypatch, X, at=5)
    resumed = LDA(random_state=np.random.RandomState(5), checkpoint=checkpoint, **params).fit(X)
    assert np.array_equal(resumed.components_, whole.components_)


def test_a_warm_start_is_another_fit(checkpoint, monkeypatch):
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "warm_start": True}
    warm = LDA(**params).fit(X).set_params(checkpoint=checkpoint)
    killed(warm, monkeypatch, X)
    with pytest.raises(ValueError, match=r"another fit .*start_from differs"):
        LDA(checkpoint=checkpoint, **params).fit(X)


def test_several_responses_have_their_names_in_it(checkpoint, monkeypatch):
    frame = pd.DataFrame({"one": Y, "two": Y**2})
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "checkpoint": checkpoint}
    killed(SLDARegressor(**params), monkeypatch, X, frame)
    with pytest.raises(ValueError, match=r"another fit .*classes differs"):
        SLDARegressor(**params).fit(X, frame.rename(columns={"two": "three"}))


def batches(counts, y):
    return Stream.from_callable(lambda: ((counts[i : i + 10], y[i : i + 10]) for i in range(0, 30, 10)))


@pytest.mark.parametrize("part", ["documents", "responses", "unlabelled"])
def test_a_stream_that_differs_in_its_last_batch_is_another_fit(checkpoint, monkeypatch, part):
    later, y = sp.vstack([X[:29], X[:1]], format="csr"), Y.copy()
    y[29] += 1
    params = {"n_topics": 2, "inference": "svi", "max_iter": 3, "checkpoint": checkpoint}
    if part == "unlabelled":
        first, other = (Stream.from_iterable([part[i : i + 10] for i in (0, 10, 20)]) for part in (X, later))
        make = LDA
    else:
        first, other = batches(X, Y), batches(later, Y) if part == "documents" else batches(X, y)
        make = SLDARegressor
    killed(make(**params), monkeypatch, first)
    with pytest.raises(ValueError, match=r"another fit .*data differs"):
        make(**params).fit(other)
    make(**params).fit(first)


def test_regions_without_a_seed_go_on_with_the_seed_that_was_drawn(checkpoint, monkeypatch):
    place = np.column_stack([40 + Y, RNG.normal(size=30)])
    drawn = []
    seed = GeoSAGE._seed

    def remember(self):
        drawn.append(seed(self))
        return drawn[-1]

    monkeypatch.setattr(GeoSAGE, "_seed", remember)
    params = {"n_topics": 2, "max_regions": 4, "max_iter": 5, "tol": 0.0}
    killed(GeoSAGE(random_state=None, checkpoint=checkpoint, **params), monkeypatch, X, place, at=3)
    resumed = GeoSAGE(random_state=None, checkpoint=checkpoint, **params).fit(X, place)
    assert len(drawn) == 1  # the regions, the topics and the fit that goes on have one seed
    whole = GeoSAGE(random_state=drawn[0], **params).fit(X, place)
    for name in ("eta_data", "shares", "region_mean"):
        assert np.array_equal(resumed.fitted_.more[name], whole.fitted_.more[name])
    state = [GeoSAGE(random_state=np.random.RandomState(5), **params).fit(X, place) for _ in range(2)]
    assert np.array_equal(state[0].fitted_.more["eta_data"], state[1].fitted_.more["eta_data"])


def test_labels_set_aside_without_a_seed_are_the_same_when_a_fit_goes_on(checkpoint, monkeypatch):
    params = {"n_topics": 2, "max_iter": 6, "tol": 0.0, "honest": 0.5, "random_state": None, "checkpoint": checkpoint}
    given = sp.vstack([X, X], format="csr"), np.tile(Y, 2)
    killed(SLDARegressor(**params), monkeypatch, *given)
    SLDARegressor(**params).fit(*given)
