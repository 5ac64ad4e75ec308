"""`describe`: a few sentences that are honest about how good a model is, in Python, notebooks, the page and `fit`."""

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from supertopic import HTMM, LDA, FacetedSAGE, SLDAClassifier, SLDARegressor, load
from supertopic.datasets import simulate
from supertopic.fitted.certainty.figures import Figures, held_by_others
from supertopic.fitted.certainty.levels import Unseen, with_levels
from supertopic.fitted.linear_words import score_in_folds
from supertopic.fitted.training import Training
from tests.cli_tools import run
from tests.page_models import KINDS, fitted, labels, reviews


@pytest.fixture(scope="module")
def data():
    return simulate(n_documents=900, n_topics=4, n_words=80, response="gaussian", seed=3)


@pytest.fixture(scope="module")
def model(data):
    return SLDARegressor(4, random_state=0, max_iter=20).fit(data.counts.counts[:600], data.y[:600])


@pytest.fixture(scope="module")
def useless(data):
    noise = np.random.default_rng(1).normal(size=600)
    return SLDARegressor(4, random_state=0, max_iter=20).fit(data.counts.counts[:600], noise)


# --- figures --------------------------------------------------------------------------------------------------------


def test_figures_of_numbers_are_those_of_textbooks():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    mean = y + rng.normal(size=500)
    held = rng.uniform(size=500) < 0.9
    found = Figures.of_numbers(y, mean, held)
    assert found.skill == pytest.approx(r2_score(y, mean))
    assert found.error == pytest.approx(np.sqrt(np.mean((y - mean) ** 2))) and found.guess == pytest.approx(y.std())
    assert found.n == 500 and found.held == held.mean() and np.isnan(found.right)
    again = []
    for _ in range(400):  # the bootstrap knows nothing of the delta method
        rows = rng.integers(0, 500, 500)
        again.append(r2_score(y[rows], mean[rows]))
    assert found.skill_high - found.skill == pytest.approx(1.645 * np.std(again), rel=0.15)


def test_documents_of_a_group_count_as_one():
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    mean, groups = 0.5 * y + rng.normal(size=100) * 0.2, np.arange(100)
    alone = Figures.of_numbers(y, mean, None)
    doubled = [np.tile(one, 4) for one in (y, mean)]
    together = Figures.of_numbers(*doubled, None, np.tile(groups, 4))
    assert together.skill_low == pytest.approx(alone.skill_low)
    assert Figures.of_numbers(*doubled, None).skill_low > alone.skill_low + 0.01


def test_figures_of_classes():
    y = np.repeat([0.0, 1.0, 2.0], [60, 30, 30])
    decided = np.where(y == 2, 0, y).astype(int)  # the last class is never found
    chances = np.eye(3)[decided] * 0.7 + 0.1
    found = Figures.of_classes(y, decided, chances, 3)
    assert (found.right, found.guess, found.weak_at, found.weak_held) == (0.75, 0.5, 2.0, 0.0)
    brier = np.mean(((np.eye(3)[y.astype(int)] - chances) ** 2).sum(axis=1))
    frequencies = np.array([0.5, 0.25, 0.25])
    assert found.skill == pytest.approx(1 - brier / (1 - np.sum(frequencies**2)))
    assert found.right_high - found.right == pytest.approx(1.645 * np.sqrt(0.75 * 0.25 / 119))
    assert Figures.of_classes(y, decided, None, 3).skill == pytest.approx(0.5)  # half of the 60 that a guess misses
    assert np.array_equal(Figures.from_row(found.row()).row(), found.row(), equal_nan=True)


def test_where_intervals_hold_clearly_too_few_is_found():
    rng = np.random.default_rng(0)
    mean = rng.uniform(0, 10, 1000)
    held = rng.uniform(size=1000) < np.where(mean > 9, 0.5, 0.95)
    found = Figures.of_numbers(mean + 1, mean, held)
    assert found.weak_at == pytest.approx(9.5, abs=0.3) and found.weak_held == pytest.approx(0.5, abs=0.12)
    assert np.isnan(Figures.of_numbers(mean + 1, mean, rng.uniform(size=1000) < 0.9).weak_at)
    few = np.arange(199)
    assert np.isnan(Figures.of_numbers(few + 1.0, few + 0.0, few > 100).weak_at)  # too few to say where


def test_a_document_is_held_by_levels_of_others():
    levels = np.array([0.1] * 98 + [0.99] * 2)
    assert held_by_others(levels, None).sum() == 98
    assert held_by_others(np.array([0.5]), None).shape == (1,)


def test_figures_out_of_fold_tell_what_new_documents_show(data, model):
    found = Figures.from_row(model.fitted_.certainty.figures[0])
    new = model.score(data.counts.counts[600:], data.y[600:])
    assert found.skill_low - 0.05 < new < found.skill_high + 0.05 and found.n == 600
    assert 0.85 < found.held < 0.95


def test_a_fit_without_words_replaces_the_figures_of_topics(model):
    rows, fold, y = np.arange(60), np.zeros(60, dtype=int), np.arange(60.0)
    unseen = Unseen(rows, fold, y, np.zeros((60, 1)), np.ones((60, 1)), np.full(60, 9.0))
    assert Figures.from_row(with_levels(model.fitted_, unseen).certainty.figures[0]).n == 60


def test_linear_words_leave_folds_out(data):
    training = Training.unlabelled(data.counts)
    training = Training(training.corpus, data.y, training.weight, training.covariates, training.known)
    good = score_in_folds(training, data.y, 0)
    assert 0.1 < good < 1
    noise = np.random.default_rng(0).normal(size=900)
    assert score_in_folds(training, noise, 0) < 0.05  # in the documents of the fit it would be large
    classes = (data.y > np.median(data.y)).astype(float)
    assert 0.6 < score_in_folds(training, classes, 2) <= 1
    assert np.isnan(score_in_folds(training, np.full(900, 1.0), 2))


# --- sentences ------------------------------------------------------------------------------------------------------


def test_a_useful_model_says_how_good_it_is(data, model):
    found = model.describe()
    figures = Figures.from_row(model.fitted_.certainty.figures[0])
    assert not found.hardly and f"explains {round(100 * figures.skill)} %" in str(found)
    assert "always guessing the mean" in str(found) and "A linear model on all words explains" in str(found)
    effects = model.effects().set_index("topic")["effect"]
    low, high = (model.topics(1)["words"][k] for k in (effects.idxmin(), effects.idxmax()))
    assert "lowest where documents speak of" in str(found) and "Intervals hold" in str(found)
    bold = [text for pieces in found.sentences for text, is_bold in pieces if is_bold]
    assert any(low in text for text in bold) and any(high in text for text in bold)
    assert found.figures["skill"][0] == pytest.approx(figures.skill)


def test_a_useless_model_says_that_it_is_useless(useless):
    found = useless.describe()
    assert found.hardly and str(found).startswith("These topics hardly predict the response; read the rest as hints.")
    assert "#b36b00" in found._repr_html_()


def test_new_documents_speak_for_themselves(data, model, useless):
    X, y = data.counts.counts[600:], data.y[600:]
    found = model.describe(X, y)
    assert found.figures["skill"][0] == pytest.approx(model.score(X, y)) and "On 300 documents it had not" in str(found)
    assert useless.describe(X, y).hardly
    same = model.describe(data.counts.counts[:600], data.y[:600])
    assert str(same) == str(model.describe())  # of the documents of the fit, what folds have found


def test_some_of_the_documents_of_the_fit_are_recognised(tmp_path):
    model, frame = fitted("gaussian"), reviews()
    model.save(tmp_path / "m.supertopic")
    some = frame[:50]
    found = load(tmp_path / "m.supertopic").describe(some["text"].tolist(), some["rating"])
    assert found.sentences[0] == model.describe().sentences[0]  # and not figures of documents that it has seen
    new = reviews(50, 5)
    told = load(tmp_path / "m.supertopic").describe(new["text"].tolist(), new["rating"])
    assert str(told).startswith("On 50 documents it had not seen")


def test_documents_of_the_fit_without_folds_promise_too_much(data):
    model = SLDARegressor(4, cross_fit=0, random_state=0, max_iter=5).fit(data.counts.counts, data.y)
    told = str(model.describe())
    assert told.startswith("How well these topics predict new documents is not known: a fit with cross_fit=5, or ")
    assert "A linear model on all words explains" in told  # what there is to reach
    assert "of the fit, which promise too much" in str(model.describe(data.counts.counts, data.y))


def test_a_file_keeps_the_figures(tmp_path, model):
    model.save(tmp_path / "m.supertopic")
    found = load(tmp_path / "m.supertopic").describe()
    whole = model.describe()
    assert found.figures["skill"][0] == whole.figures["skill"][0] and np.isnan(found.figures["words"][0])
    assert found.sentences[0] == whole.sentences[0] and "linear" not in str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_is_described(kind):
    frame = reviews(60, 5)
    y = labels(frame, KINDS[kind][1])
    found = fitted(kind).describe() if y is None else fitted(kind).describe(frame["text"].tolist(), y)
    assert len(found.sentences) >= 1 and "nan" not in str(found) and str(found).endswith(".")
    if y is not None:
        assert ("explains" in str(found)) or ("right for" in str(found))


def test_classes_and_labels_have_their_names():
    model = fitted("margin_chances")
    assert "bad goes with" in str(model.describe()) and "gets verdict right for" in str(model.describe())
    named = deepcopy(model).set_topic_labels({k: f"theme {k}" for k in range(4)})
    assert "theme" in str(named.describe())


def test_models_of_other_families_are_described():
    texts = [f"{a} {b}. {b} {a} {a}." for a in ("tea", "milk", "war") for b in ("cup", "army", "spoon")] * 6
    assert "largest of 2 topics" in str(HTMM(2, max_iter=3).fit(texts).describe())
    facets = pd.DataFrame({"party": ["a", "b", "c"] * 18})
    assert str(FacetedSAGE(2, max_iter=2).fit(texts, facets).describe()).endswith(".")


def test_what_cannot_be_described_is_refused(data, model):
    with pytest.raises(ValueError, match="expected documents X with their y, or neither"):
        model.describe(data.counts)
    with pytest.raises(ValueError, match="y: got a value, but LDA predicts nothing"):
        LDA(2, max_iter=2).fit(data.counts).describe(data.counts, data.y)


def test_rare_classes_that_are_predicted_by_chance_count():
    """Where one class has nine documents of ten, being right as often as always guessing it is no sign of nothing."""
    data = simulate(n_documents=600, n_topics=3, n_words=60, response="gaussian", seed=5)
    rare = data.y > np.quantile(data.y, 0.9)
    model = SLDAClassifier(3, random_state=0, max_iter=15).fit(data.counts, rare)
    found = model.describe()
    assert not found.hardly and found.figures["guess"][0] == pytest.approx(0.9)


# --- where it is shown ----------------------------------------------------------------------------------------------


def test_notebooks_show_it(model, useless):
    assert "A linear model on all words" in model._repr_html_() and "#b36b00" not in model._repr_html_()
    assert "#b36b00" in useless._repr_html_()


def test_a_fit_on_the_command_line_ends_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reviews().to_csv("reviews.csv", index=False)
    asked = ["fit", "reviews.csv", "--text", "text", "--target", "rating", "--topics", "4", "--iterations", "5"]
    done = run(*asked, "--out", "a.supertopic")
    said, before = " ".join(done.stdout.split()), done.stdout.split("Next:")[0]
    assert "documents, each predicted by a fit without it, the model explains" in said
    assert all(len(line) <= 100 for line in before.splitlines())
    done = run(*asked, "--out", "b.supertopic", "--json")
    assert json.loads(done.stdout)["found"].startswith("On 120 documents, each predicted by a fit without it,")


def test_the_page_begins_with_it(watched, tmp_path):
    frame = reviews()
    fitted("gaussian").report(tmp_path / "r.html", frame["text"].tolist(), frame["rating"])
    page = watched.open(tmp_path / "r.html")
    assert page.inner_text("#strip-text").strip() == str(fitted("gaussian").describe())
    assert page.locator("#strip b").count() >= 3 and page.locator("#strip.hardly").count() == 0
    assert page.locator("#strip").bounding_box()["y"] < page.locator("#tabs").bounding_box()["y"]
    page.click("#strip button")
    assert page.inner_text("#strip button") == "Copied"
    page.fill("input[type=search]", "")
    page.evaluate("document.querySelector('input[type=search]').focus()")
    page.keyboard.press("Control+V")
    assert page.input_value("input[type=search]").strip().startswith("On 120 documents, each predicted by")


def test_the_page_of_a_useless_model_is_amber(watched, tmp_path, data, useless):
    useless.report(tmp_path / "r.html", data.counts.counts[600:], data.y[600:])
    page = watched.open(tmp_path / "r.html")
    assert page.inner_text("#strip").startswith("These topics hardly predict")
    assert page.evaluate("getComputedStyle(document.querySelector('#strip')).borderLeftColor") == "rgb(217, 138, 0)"


def test_models_without_folds_say_what_can_be_said():
    """Of one class against the rest the linear model's share; of topics that are classes, their words."""
    told = str(fitted("sstm").describe())
    assert "not known: describe(X, y) of documents set aside says it. A linear model on all words gets" in told
    assert "of its score from little to much" in str(fitted("hinge").describe())
    model = fitted("sage_classes")
    said = str(model.describe())
    assert all(f"{label} speaks of " in said for label in model.classes_) and "largest of" not in said
