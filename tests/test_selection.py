"""Choice of the number of topics: measures, folds without leakage, and the one-standard-error rule."""

import builtins
import re
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from supertopic import LDA, MixtureOfCategoricals, SLDAClassifier, SLDARegressor, Stream, Vectorizer, select_topics
from supertopic.metrics import coherence, exclusivity, perplexity, predictive_r2, residual_dispersion, stability
from supertopic.selection import TopicSelection, _one_standard_error

WORDS = [f"w{i:02d}" for i in range(12)]


@pytest.fixture(scope="module")
def corpus():
    """Documents of three topics of four words; y is the share of the last topic."""
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.ones(4) / 4) * 0.97 + 0.03 / 12
    shares = rng.dirichlet([0.4] * 3, 90)
    counts = np.stack([rng.multinomial(40, share @ topics) for share in shares])
    texts = [" ".join(np.repeat(WORDS, row)) for row in counts]
    return texts, sp.csr_matrix(counts), 4 * shares[:, 2] + 0.1 * rng.normal(size=90)


def naive_stability(a, b):
    """The best mean cosine over all matchings, by enumeration."""
    cosine = (a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return max(np.mean([cosine[k, order[k]] for k in range(len(a))]) for order in permutations(range(len(a))))


def test_stability_is_the_best_matching():
    rng = np.random.default_rng(0)
    models = [rng.dirichlet(np.full(9, 0.2), 4) for _ in range(3)]
    expected = [naive_stability(models[i], models[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(stability(models), expected)
    assert stability([models[0], models[0][[2, 0, 3, 1]]]) == pytest.approx([1])
    assert stability([np.eye(4)[:2], np.eye(4)[2:]]) == pytest.approx([0])
    with pytest.raises(ValueError, match="two or more"):
        stability(models[:1])
    with pytest.raises(ValueError, match="as many topics, got 4, 3"):
        stability([models[0], models[1][:3]])


def test_covariates_go_into_every_fit_and_score(corpus):
    _, counts, y = corpus
    frame = pd.DataFrame({"age": np.arange(90.0), "town": ["Rome"] + ["Bonn", "Oslo"] * 44 + ["Bonn"]})
    moved = y + 0.3 * frame["age"] + 5 * (frame["town"] == "Oslo")
    options = {"n_topics": [2], "cv": 3, "measures": ["prediction"], "verbose": 0}
    model = SLDARegressor(max_iter=3, cross_fit=0)
    found = select_topics(model, counts, moved, covariates=frame, **options)
    alone = select_topics(model, counts, moved, **options)
    assert found.table.loc[2, "prediction"] > 0.95 and alone.table.loc[2, "prediction"] < 0.5
    with pytest.raises(ValueError, match="covariates: LDA does not take them"):
        select_topics(LDA(), counts, n_topics=[2], covariates=frame)
    with pytest.raises(ValueError, match="covariates: got 3 rows, expected one for each of the 90 documents"):
        select_topics(model, counts, moved, covariates=frame[:3], **options)


def naive_dispersion(counts, shares, topics):
    """By word and document."""
    total, cells = 0.0, 0
    for d in range(len(counts)):
        for v in range(counts.shape[1]):
            q = sum(shares[d, k] * topics[k, v] for k in range(len(topics)))
            expected = counts[d].sum() * q
            if expected > 0.01:
                total += (counts[d, v] - expected) ** 2 / (expected * (1 - q))
                cells += 1
    return total / (cells - np.count_nonzero(counts.sum(axis=1)) * (len(topics) - 1))


def test_residuals_scatter_more_where_topics_are_missing(corpus, monkeypatch):
    _, counts, _ = corpus
    models = [LDA(k, max_iter=60, random_state=0).fit(counts) for k in (1, 3)]
    few, enough = (residual_dispersion(model, counts) for model in models)
    assert few > 3 and 0.8 < enough < 1.2
    some = counts[:20].toarray().astype(float)
    expected = naive_dispersion(some, models[1].transform(some).astype(float), models[1].components_.astype(float))
    assert residual_dispersion(models[1], some) == pytest.approx(expected, rel=1e-6)
    monkeypatch.setattr("supertopic.metrics.dispersion._ENTRIES", 30)
    assert residual_dispersion(models[1], counts) == pytest.approx(enough, rel=1e-9)
    with pytest.raises(ValueError, match="too few words"):
        residual_dispersion(LDA(14, max_iter=2).fit(counts), counts[:2])


def test_metadata_and_groups_go_into_every_fit_and_groups_are_never_cut(corpus, tmp_path):
    pytest.importorskip("formulaic")
    _, counts, _ = corpus
    frame = pd.DataFrame({"age": np.arange(90.0), "author": np.repeat(np.arange(15), 6)})
    taken = []

    class Watching(LDA):
        def fit(self, X, y=None, *, metadata=None, groups=None, times=None):
            taken.append((frozenset(metadata.author), tuple(groups)))
            return super().fit(X, y, metadata=metadata, groups=groups)

    options = {"n_topics": [2, 3], "cv": 3, "measures": ["nats_per_token", "dispersion"], "verbose": 0}
    model = Watching(max_iter=5, prevalence="~ age")
    found = select_topics(model, counts, metadata=frame, groups="author", **options)
    assert found.table.dispersion.iloc[1] < found.table.dispersion.iloc[0] and found.matches is None
    assert len(taken) == 6 and {len(authors) for authors, _ in taken} == {10}
    assert all(len(groups) == 60 for _, groups in taken)
    found.plot(tmp_path / "k.pdf")
    with pytest.raises(ValueError, match="groups: got 2, expected cv=3 at least"):
        select_topics(LDA(), counts, groups=frame.age > 40, **options)
    with pytest.raises(ValueError, match="no column of metadata"):
        select_topics(LDA(prevalence="~ age"), counts, metadata=frame[["author"]], **options)


def test_topics_of_one_number_are_matched_with_those_of_the_next(corpus):
    texts, _, _ = corpus
    options = {"n_topics": [2, 3], "measures": ["stability"], "n_seeds": 2, "verbose": 0}
    estimator = LDA(max_iter=30, vectorizer=Vectorizer(min_df=1))
    matches = select_topics(estimator, texts, **options).matches
    assert matches[["n_topics", "topic", "next_n_topics"]].to_numpy().tolist() == [[2, 0, 3], [2, 1, 3]]
    small, large = (clone(estimator).set_params(n_topics=k, random_state=0).fit(texts) for k in (2, 3))
    for row in matches.itertuples():
        a, b = small.components_[row.topic], large.components_[row.next_topic]
        assert row.similarity == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        assert set(row.words.split()) == {WORDS[v] for v in np.argsort(-a, kind="stable")[:5]}
        assert set(row.next_words.split()) == {WORDS[v] for v in np.argsort(-b, kind="stable")[:5]}
    assert matches.next_topic.nunique() == 2 and matches.similarity.max() > 0.9


def test_the_table_is_what_one_would_compute_by_hand(corpus):
    texts, _, y = corpus
    estimator = SLDARegressor(max_iter=4, cross_fit=0, vectorizer=Vectorizer(min_df=1))
    rows = np.arange(90)
    splits = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    found = select_topics(estimator, texts, y, [2], cv=splits, n_seeds=3, random_state=5)
    figures = []
    for train, test in splits:
        model = clone(estimator).set_params(n_topics=2, random_state=5).fit([texts[i] for i in train], y[train])
        held_out = [texts[i] for i in test]
        r2 = predictive_r2(y[test], model.predict(held_out))
        nats = np.log(perplexity(model, held_out, random_state=5))
        figures.append([r2, nats, coherence(model, held_out, "npmi").mean()])
    names = ["prediction", "nats_per_token", "coherence"]
    np.testing.assert_allclose(found.table.loc[2, names].astype(float), np.mean(figures, axis=0))
    errors = np.std(figures, axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(found.table.loc[2, [f"{name}_se" for name in names]].astype(float), errors)
    models = [clone(estimator).set_params(n_topics=2, random_state=seed).fit(texts, y) for seed in (5, 6, 7)]
    pairs = [naive_stability(models[i].components_, models[j].components_) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert found.table.loc[2, "stability"] == pytest.approx(np.mean(pairs))
    assert found.table.loc[2, "seconds"] > 0


def test_nothing_of_a_fold_is_seen(corpus):
    """A word that occurs only in held-out documents is in no vocabulary, and every row is held out once."""
    texts, _, y = corpus
    seen, left_out = [], []

    class Watching(SLDARegressor):
        def fit(self, X, y=None):
            super().fit(X, y)
            seen.append((set(X), set(self.feature_names_in_)))
            return self

        def score(self, X, y=None):
            left_out.append(len(y))
            return super().score(X, y)

    texts = [f"{text} only{i}x" for i, text in enumerate(texts)]
    select_topics(
        Watching(max_iter=1, cross_fit=0, vectorizer=Vectorizer(min_df=1)), texts, y, [2], cv=4, measures=["prediction"]
    )
    assert sum(left_out) == 90 and len(seen) == 4
    for documents, words in seen:
        inside = {f"only{i}x" for i, text in enumerate(texts) if text in documents}
        assert {word for word in words if word.startswith("only")} == inside and 60 < len(inside) < 90
        rows = sorted(int(word[4:-1]) for word in inside)
        assert np.count_nonzero(np.diff(rows) > 1) > 5  # shuffled, since data are often sorted


def test_the_right_number_of_topics_is_found(corpus):
    _, counts, y = corpus
    found = select_topics(SLDARegressor(max_iter=15, supervision=5, cross_fit=0), counts, y, [6, 1, 3], cv=3, n_seeds=2)
    assert found.table.index.tolist() == [1, 3, 6] and found.criterion == "prediction" and found.scoring == "R²"
    assert found.best == 3 and found.table.loc[3, "prediction"] > 0.8 > 0.1 > found.table.loc[1, "prediction"]
    assert found.table.loc[3, "stability"] > 0.99
    plain = select_topics(LDA(max_iter=30), counts, n_topics=[1, 3], cv=3, n_seeds=1)
    assert plain.best == 3 and plain.criterion == "nats_per_token" and "stability" not in plain.table
    assert "prediction" not in plain.table and plain.scoring == ""
    again = select_topics(LDA(max_iter=30), counts, n_topics=[1, 3], cv=3, n_seeds=1)
    pd.testing.assert_frame_equal(plain.table.drop(columns="seconds"), again.table.drop(columns="seconds"))


def test_labels_may_be_missing(corpus):
    texts, counts, y = corpus
    some = y.copy()
    some[::4] = np.nan
    found = select_topics(
        SLDARegressor(max_iter=3, cross_fit=0), counts, pd.Series(some), [3], cv=3, measures="prediction"
    )
    assert list(found.table) == ["prediction", "prediction_se", "seconds"] and found.table.notna().all(axis=None)
    labels = np.where(y > np.median(y), "high", "low").astype(object)
    labels[::5] = None
    ids = pd.Series(np.where(y > np.median(y), 1, 0)).astype("Int64")
    ids[::5] = pd.NA
    accuracy = [
        select_topics(SLDAClassifier(max_iter=5, cross_fit=0), texts, given, [3], cv=splits, measures=["prediction"])
        for splits in [[(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]]
        for given in (labels, labels.tolist(), [np.nan if label is None else label for label in labels], ids)
    ]
    assert accuracy[0].scoring == "accuracy" and accuracy[0].table.loc[3, "prediction"] > 0.7
    assert len({each.table.loc[3, "prediction"] for each in accuracy[:3]}) == 1
    assert accuracy[3].table.loc[3, "prediction"] == pytest.approx(accuracy[0].table.loc[3, "prediction"], abs=0.05)


def test_folds_hold_even_parts(corpus):
    _, counts, _ = corpus
    shares = []

    class Watching(SLDAClassifier):
        def fit(self, X, y=None):
            shares.append(np.mean(np.asarray(y) == "a"))
            return super().fit(X, y)

    select_topics(
        Watching(max_iter=1, cross_fit=0), counts, np.array(["a"] * 10 + ["b"] * 80), [2], cv=5, measures=["prediction"]
    )
    assert shares == [pytest.approx(8 / 72)] * 5


@pytest.mark.parametrize(
    ("mean", "error", "name", "best"),
    [
        ([0.1, 0.5, 0.52, 0.55], [0.1, 0.1, 0.1, 0.04], "prediction", 20),
        ([0.1, 0.5, 0.52, 0.55], [0.0, 0.0, 0.0, 0.06], "prediction", 10),
        ([0.1, 0.5, 0.52, 0.55], [9.0, 9.0, 9.0, np.nan], "prediction", 40),
        ([7.4, 7.2, 7.0, 7.1], [0, 0, 0.15, 0], "nats_per_token", 20),
        ([7.4, 7.2, 7.0, 7.1], [0, 0, 0.25, 0], "nats_per_token", 10),
        ([7.0, 7.2, 7.1, 7.1], [0.5, 0, 0, 0], "nats_per_token", 5),
    ],
)
def test_the_fewest_topics_within_one_standard_error(mean, error, name, best):
    table = pd.DataFrame({name: mean, f"{name}_se": error}, index=pd.Index([5, 10, 20, 40], name="n_topics"))
    assert _one_standard_error(table, name) == best
    found = TopicSelection(table, best, name, "R²")
    assert found.reason.startswith(f"{best} topics: ") and found.reason in repr(found)
    assert found.reason in found._repr_html_() and "<table" in found._repr_html_()
    top = table[name].idxmax() if name == "prediction" else table[name].idxmin()
    assert (f"({top} topics)" in found.reason) == (top != best)
    assert ("more topics may do better still" in found.reason) == (top == best == 40)
    assert ("the fewest that were tried" in found.reason) == (top == best == 5)


def test_exclusivity_is_measured_on_request_and_a_plot_is_written_to_a_path(corpus, tmp_path):
    names = ["nats_per_token", "coherence", "stability", "exclusivity"]
    rows = np.arange(90)
    splits = [(rows[rows % 2 != k], rows[rows % 2 == k]) for k in range(2)]
    found = select_topics(LDA(max_iter=2), corpus[1], n_topics=[2], cv=splits, n_seeds=2, measures=names)
    models = [LDA(2, max_iter=2, random_state=0).fit(corpus[1][train]) for train, _ in splits]
    by_hand = np.mean([exclusivity(model, min(10, model.n_features_in_)).mean() for model in models])
    assert found.table.loc[2, "exclusivity"] == pytest.approx(by_hand)
    found.plot(tmp_path / "k.pdf")
    assert (tmp_path / "k.pdf").stat().st_size > 1000
    assert "exclusivity" not in select_topics(LDA(max_iter=1), corpus[1], n_topics=[2], cv=2, n_seeds=1).table


def test_a_plot_has_a_panel_per_measure(monkeypatch, corpus):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = select_topics(LDA(max_iter=2), corpus[1], n_topics=[1, 2, 16], cv=2, n_seeds=2)
    axes = found.plot()
    assert axes.shape == (2, 2) and not axes[1, 1].get_visible()
    assert [axis.get_title(loc="left") for axis in axes.ravel()[:3]] == [
        "held-out nats per token ↓",
        "NPMI coherence ↑",
        "stability over seeds ↑",
    ]
    for axis, name in zip(axes.ravel(), ("nats_per_token", "coherence", "stability"), strict=False):
        assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "16"]
        marked = [line for line in axis.lines if line.get_markersize() == 5]
        assert marked[0].get_xdata().tolist() == [found.best] and axis.get_xscale() == "log"
        curve = next(line for line in axis.lines if line.get_markersize() == 2.5)
        assert curve.get_ydata().tolist() == found.table[name].tolist()
    plt.close("all")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=re.escape("pip install 'supertopic[plots]'")):
        found.plot()


REFUSED = {
    "no y": ({"y": None}, "y is missing: SLDARegressor learns from a response"),
    "y of an unsupervised model": ({"estimator": LDA()}, "y was given, but LDA has no response"),
    "no topics": ({"n_topics": []}, "n_topics is empty"),
    "half a topic": ({"n_topics": [2, 2.5]}, "n_topics: got 2.5, expected whole numbers >= 1"),
    "text for topics": ({"n_topics": "5,10"}, "n_topics: got '5,10', expected whole numbers >= 1"),
    "one fold": ({"cv": 1}, "cv: got 1, expected 2 folds at least and at most the 90 documents"),
    "another length": ({"y": [1.0]}, "y has shape (1,); expected one value for each of the 90 documents"),
    "no seed": ({"n_seeds": 0}, "n_seeds: got 0, expected a whole number >= 1"),
    "seeds without an end": ({"n_seeds": 101}, "n_seeds: got 101, expected at most 100"),
    "no random state": ({"random_state": None}, "random_state: got None, expected a whole number >= 0"),
    "an unknown measure": ({"measures": ["beauty"]}, "measures: got 'beauty', expected some of 'prediction', "),
    "no measure": ({"measures": []}, "measures: got None, expected some of"),
    "a model without topics": (
        {"estimator": LogisticRegression()},
        "got a LogisticRegression, expected one with the parameter n_topics",
    ),
    "a rare class": (
        {"estimator": SLDAClassifier(), "y": ["a"] * 88 + ["b"] * 2},
        "y: the class 'b' has 2 documents, fewer than cv=5",
    ),
    "an unlabelled fold": (
        {"y": [1.0, 2.5] + [np.nan] * 88, "cv": [(np.arange(2), np.arange(2, 4))]},
        "y: a fold has no document with a label; take fewer folds",
    ),
    "a stream": (
        {"X": Stream.from_callable(lambda: iter([["a cat"]]))},
        "X is a Stream; select_topics needs documents that are held",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(corpus, name):
    given = {
        "estimator": SLDARegressor(max_iter=1, cross_fit=0),
        "X": corpus[1],
        "y": corpus[2],
        "n_topics": [2],
    } | REFUSED[name][0]
    with pytest.raises(ValueError, match=re.escape(REFUSED[name][1])) as caught:
        select_topics(**given)
    assert "\n" not in str(caught.value)


def test_a_line_per_fit_and_other_models(capsys, corpus):
    select_topics(
        MixtureOfCategoricals(max_iter=2), corpus[1], n_topics=[1, 2], cv=2, measures=["coherence"], verbose=2
    )
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[:3] for line in lines if line.startswith("select")] == [
        ["select", f"{done}/4", f"topics {k}"] for done, k in enumerate((1, 1, 2, 2), 1)
    ]
