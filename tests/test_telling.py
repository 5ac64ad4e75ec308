"""`methods` and `card` say what the fit did, and no more."""

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, FacetedSAGE, SLDAClassifier, SLDARegressor, load

TEXTS = ["superb funny film", "dull boring plot", "funny warm superb story", "boring dull waste"] * 15
STARS = np.array([4.5, 1.5, 4.0, 1.0] * 15) + np.linspace(0, 0.3, 60)


@pytest.fixture(scope="module")
def honest():
    return SLDARegressor(2, honest=0.5, cross_fit=3, random_state=7).fit(TEXTS, STARS, groups=np.arange(60))


def test_a_paragraph_has_the_settings_and_the_certainty(honest):
    said = honest.methods()
    for part in ("SLDARegressor (Blei & McAuliffe 2007)", "gaussian", "2 topics", "60 training documents", "seed 7",
                 "50% of the labels", "30 groups", "prediction-constrained", "3-fold"):  # fmt: skip
        assert part in said, part
    assert "too narrow" not in said


def test_without_folds_it_says_that_errors_are_too_narrow():
    said = SLDARegressor(2, cross_fit=0, inference="vb").fit(TEXTS, STARS).methods()
    assert "too narrow" in said and "variational EM" in said and "cross-fitting" not in said


def test_topics_alone_have_no_word_on_errors(tmp_path):
    model = LDA(2, inference="gibbs", max_iter=20).fit(TEXTS)
    said = model.methods()
    assert "Gibbs sampling" in said and "Intervals" not in said and "response" not in said
    model.save(tmp_path / "m.supertopic")
    assert load(tmp_path / "m.supertopic").methods() == said


def test_a_card_names_what_the_file_holds(honest):
    page = honest.card()
    assert page.startswith("# Model card: SLDARegressor, 2 topics") and honest.methods() in page
    assert "documents, each predicted by a fit without it, it explained" in page
    assert page.count("\n| ") == 3 and "topic shares" in page and "names of classes" not in page
    classes = SLDAClassifier(2, cross_fit=0).fit(TEXTS, np.where(STARS > 3, "good", "bad"))
    assert "names of classes" in classes.card()


def test_models_of_labels_have_a_card_too():
    model = FacetedSAGE(2, max_iter=5).fit(TEXTS, pd.DataFrame({"side": np.where(STARS > 3, "good", "bad")}))
    assert "Eisenstein" in model.methods() and "## Topics" in model.card()
