"""Figures of SAGE models: the words shown, and variation by word frequency."""

import re
import sys

import matplotlib
import numpy as np
import pytest

from supertopic import LDA, FacetedSAGE, SAGEClassifier, SAGETopics
from supertopic.explore import plot_deviations, plot_variation, variation_by_decile
from tests.test_faceted import FRAME, TEXTS
from tests.test_facets import simulate

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def faceted():
    return FacetedSAGE(2, facets=["party"], prior="exponential").fit(TEXTS, FRAME)


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]


def bars(figure, title):
    """Words and lengths of a panel."""
    axis = figure.axes[titles(figure).index(title)]
    return {label.get_text(): bar.get_width() for label, bar in zip(axis.get_yticklabels(), axis.patches, strict=True)}


def test_a_panel_for_every_component_of_a_topic(faceted, tmp_path):
    figure = plot_deviations(faceted, topic=1, n=6)
    assert titles(figure) == [
        "background (probability)",
        "topic 1",
        "left",
        "right",
        "topic 1 × left",
        "topic 1 × right",
    ]
    shown, words = bars(figure, "left"), list(faceted.feature_names_in_)
    frame = faceted.deviations_["party"]["left"]
    assert 0 < len(shown) <= 6 and min(shown.values()) < 0 < max(shown.values())
    for word, length in shown.items():
        assert length == pytest.approx(frame[word])
    change = np.abs(np.exp(faceted.background_) * np.expm1(frame.to_numpy()))
    assert set(shown) == {words[w] for w in np.argsort(-change, kind="stable")[:6] if frame.iloc[w] != 0}
    assert list(bars(figure, "background (probability)").values()) == sorted(np.exp(faceted.background_))[::-1][:6]
    figure.savefig(tmp_path / "deviations.png")
    assert (tmp_path / "deviations.png").stat().st_size > 5000
    assert titles(plot_deviations(faceted))[1] == f"topic {faceted.doc_topic_.mean(axis=0).argmax()}"


def test_topics_and_classes_have_panels_too():
    labels = FRAME["party"].to_numpy()
    assert titles(plot_deviations(SAGEClassifier(prior="exponential").fit(TEXTS, labels)))[1:] == ["left", "right"]
    model = SAGETopics(3, max_iter=3).fit(TEXTS)
    assert titles(plot_deviations(model, topic=2))[1:] == ["topic 2"]


def test_variation_by_frequency():
    counts, _, _, _ = simulate(n_documents=200)
    sage, lda = SAGETopics(3, max_iter=10).fit(counts), LDA(3, max_iter=10).fit(counts)
    found = variation_by_decile(sage, counts)
    assert list(found.index) == list(range(1, 11)) and found.sum() == pytest.approx(1)
    order = np.argsort(np.asarray(counts.sum(axis=0)).ravel(), kind="stable")
    variation = np.abs(sage.deviations_.toarray()).sum(axis=0)
    assert found[1] == pytest.approx(variation[order[:15]].sum() / variation.sum())
    logs = np.log(lda.components_)
    variation = np.abs(logs - logs.mean(axis=0)).sum(axis=0)
    assert variation_by_decile(lda, counts)[10] == pytest.approx(
        variation[order[-15:]].sum() / variation.sum(), rel=1e-4
    )
    figure = plot_variation({"SAGE": sage, "LDA": lda}, counts)
    assert len(figure.axes[0].patches) == 20
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["SAGE", "LDA"]


@pytest.mark.parametrize(
    "given, message",
    [
        ({"topic": 2}, "topic: got 2, expected a whole number from 0 to 1"),
        ({"topic": -1}, "topic: got -1, expected a whole number from 0 to 1"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(given, message, faceted):
    with pytest.raises(ValueError, match=re.escape(message)):
        plot_deviations(faceted, **given)


def test_other_models_and_missing_matplotlib(faceted, monkeypatch):
    with pytest.raises(ValueError, match="model: got LDA, expected a SAGE model, which has deviations"):
        plot_deviations(LDA(2, max_iter=2).fit(TEXTS))
    with pytest.raises(ValueError, match="n_bins: got 0, expected a whole number >= 1"):
        variation_by_decile(faceted, TEXTS, 0)
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=re.escape("pip install 'supertopic[plots]'")):
        plot_deviations(faceted)
