"""Models with an engine of their own: a killed fit goes on from its checkpoint, and ends with the same model."""

import numpy as np
import pytest

from supertopic import HTMM, DiscLDAClassifier, FacetedSAGE, GeoSAGE
from supertopic.checkpoint import Checkpoint
from supertopic.fitted.files import arrays_of
from tests.test_facets import simulate
from tests.test_geo import CENTRES


class Stop(Exception):
    pass


def labelled(missing):
    counts, party, _, _ = simulate(n_documents=120, n_words=60, length=30)
    labels = np.array(["left", "right"], dtype=object)[party.astype(int)]
    labels[np.random.default_rng(1).random(120) < missing] = None
    return counts, labels


def faceted():
    return labelled(0.4)


def classes():
    return labelled(0.0)


def places():
    counts, party, _, _ = simulate(n_documents=120, n_words=60, length=30)
    place = CENTRES[party.astype(int)] + np.random.default_rng(2).normal(0, 0.7, (120, 2))
    place[:15] = np.nan
    return counts, place


def sentences():
    counts, _, _, _ = simulate(n_documents=120, n_words=60, length=30)
    return counts, None, np.repeat(np.arange(30), 4)


FITS = {
    "faceted": (FacetedSAGE, faceted, {"n_topics": 3, "max_iter": 8, "tol": 0}),
    "faceted-converged": (FacetedSAGE, faceted, {"n_topics": 3, "max_iter": 60, "tol": 1e-3}),
    "geo": (GeoSAGE, places, {"n_topics": 2, "n_regions": 3, "max_iter": 8, "tol": 0}),
    "disclda": (DiscLDAClassifier, classes, {"n_class_topics": 2, "max_iter": 8, "tol": 0}),
    "disclda-converged": (DiscLDAClassifier, classes, {"n_class_topics": 2, "max_iter": 60, "tol": 1e-3}),
    "htmm": (HTMM, sentences, {"n_topics": 3, "max_iter": 8, "tol": 0}),
    "htmm-converged": (HTMM, sentences, {"n_topics": 3, "max_iter": 60, "tol": 1e-3}),
}


def stop_after(n_saves, monkeypatch):
    """Every step is saved, and the process "dies" right after a save."""
    save, saves = Checkpoint.save, []

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == n_saves:
            raise Stop

    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    monkeypatch.setattr(Checkpoint, "save", save_and_stop)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("n_saves", [1, 4, "last"])
def test_a_killed_fit_ends_with_the_same_model(name, n_saves, tmp_path, monkeypatch):
    kind, data, params = FITS[name]
    given, path = data(), tmp_path / "fit.checkpoint"
    whole = kind(**params).fit(*given)
    assert 4 < whole.n_iter_ == len(whole.bound_) < 60
    with monkeypatch.context() as patch:
        stop_after(whole.n_iter_ if n_saves == "last" else n_saves, patch)
        with pytest.raises(Stop):
            kind(checkpoint=path, **params).fit(*given)
    assert path.exists()
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        kind(checkpoint=path, **{**params, "random_state": 9}).fit(*given)
    resumed = kind(checkpoint=path, n_jobs=2, **params).fit(*given)
    assert not path.exists()
    found, expected = arrays_of(resumed.fitted_), arrays_of(whole.fitted_)
    assert found.keys() == expected.keys() and len(found) >= 5
    for array in found:
        np.testing.assert_array_equal(found[array], expected[array], err_msg=array)


def test_documents_that_go_on_from_where_they_were_are_in_the_checkpoint(tmp_path, monkeypatch):
    """Once a fresh start has let the bound fall, gamma of the last E-step is part of what a fit goes on from."""
    from supertopic.estimators.beyond.facet_engine import Documents

    infer, given, params = Documents.infer, faceted(), FITS["faceted"][2]
    calls = []

    def falling(self, tables, alpha, logs, fresh, backend):
        calls.append(fresh)
        return infer(self, tables, alpha, logs, fresh, backend) - 1e6 * (len(calls) == 4)

    def fit(**more):
        calls.clear()
        return FacetedSAGE(**params, **more).fit(*given)

    monkeypatch.setattr(Documents, "infer", falling)
    whole = fit()
    assert calls == [True] * 4 + [False] * 6
    with monkeypatch.context() as patch:
        stop_after(5, patch)
        with pytest.raises(Stop):
            fit(checkpoint=tmp_path / "fit")
    resumed = fit(checkpoint=tmp_path / "fit")
    assert calls == [False] * 3
    np.testing.assert_array_equal(resumed.bound_, whole.bound_)
    np.testing.assert_array_equal(resumed.fitted_.more["eta_data"], whole.fitted_.more["eta_data"])


@pytest.mark.parametrize("kind, data", [(FacetedSAGE, faceted), (GeoSAGE, places)])
def test_the_checkpoint_of_other_labels_is_refused(kind, data, tmp_path, monkeypatch):
    counts, y = data()
    with monkeypatch.context() as patch:
        stop_after(1, patch)
        with pytest.raises(Stop):
            kind(2, max_iter=3, checkpoint=tmp_path / "fit").fit(counts, y)
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        kind(2, max_iter=3, checkpoint=tmp_path / "fit").fit(counts, y[::-1])


@pytest.mark.parametrize("name", ["faceted", "geo", "disclda", "htmm"])
def test_progress_and_backend(name, capsys):
    kind, data, params = FITS[name]
    kind(verbose=2, **params).fit(*data())
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 8 and lines[-1].startswith(f"{kind.__name__}  8/8  per_token -")
    with pytest.raises(ValueError, match="backend: got 'cluster', expected 'threads'"):
        kind(backend="cluster", **params).fit(*data())
