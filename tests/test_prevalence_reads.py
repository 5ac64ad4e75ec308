"""New documents are predicted with the metadata that the prior on topic shares reads: in commands and on the page."""

import json

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, SLDARegressor, Vectorizer
from supertopic.explore.page.payload import collect
from tests.cli_tools import run

pytestmark = pytest.mark.filterwarnings("ignore:Documents without a word")
WORDS = [f"w{first}{second}" for first in "abcdef" for second in "abcdef"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Short texts of two parties, of which one writes about the last topic; tables with and without the party."""
    folder, rng = tmp_path_factory.mktemp("prevalence"), np.random.default_rng(0)
    party = rng.choice(["left", "right"], 200)
    topics = rng.dirichlet(np.full(36, 0.1), 3)
    shares = np.stack([rng.dirichlet([3, 0.5, 0.5] if one == "left" else [0.5, 0.5, 3]) for one in party])
    texts = [" ".join(rng.choice(WORDS, 8, p=share @ topics)) for share in shares]
    y = shares @ np.array([0.0, 1.0, 2.0]) + 0.2 * rng.normal(size=200)
    frame = pd.DataFrame({"text": texts, "y": y.round(3), "party": party})
    frame.to_csv(folder / "with.csv", index=False)
    frame.drop(columns="party").to_csv(folder / "without.csv", index=False)
    model = SLDARegressor(3, prevalence="~ party", cross_fit=0, inference="vb", vectorizer=Vectorizer(min_df=1))
    model.fit(frame["text"], frame["y"], metadata=frame[["party"]]).save(folder / "model.supertopic")
    return folder, frame, model


def test_the_page_predicts_as_python_does(folder):
    _, frame, model = folder
    own = {"metadata": frame[["party"]]}
    known, average = model.predict(frame["text"], **own), model.predict(frame["text"])
    assert np.abs(known - average).max() > 0.1
    for given, expected in ((own, known), ({}, average), ({"metadata": frame[["y"]]}, average)):
        found = collect(model, frame["text"], frame["y"], **given).arrays
        np.testing.assert_allclose(found["predicted_0"], expected, atol=1e-6)
    said = model.describe(frame["text"], frame["y"], **own).figures, model.describe(frame["text"], frame["y"]).figures
    assert not said[0].equals(said[1])


def test_the_page_infers_shares_of_topics_alone_with_metadata(folder):
    _, frame, _ = folder
    vectorizer = Vectorizer(min_df=1)
    model = LDA(3, prevalence="~ party", inference="vb", vectorizer=vectorizer)
    model.fit(frame["text"], metadata=frame[["party"]])
    found = collect(model, frame["text"], metadata=frame).arrays["shares"]
    own, average = model.transform(frame["text"], metadata=frame), model.transform(frame["text"])
    assert np.abs(own - average).max() > 0.1
    assert np.abs(found.reshape(own.shape) / 65535 - own).max() < 1e-4


def test_commands_read_the_columns_where_the_table_has_them(folder, tmp_path):
    path, frame, model = folder
    for name, given in (("with", {"metadata": frame[["party"]]}), ("without", {})):
        out = tmp_path / f"{name}.csv"
        done = run("predict", path / "model.supertopic", path / f"{name}.csv", "--text", "text", "--out", out)
        assert done.exit_code == 0, done.output
        table = pd.read_csv(out)
        np.testing.assert_allclose(table["prediction"], model.predict(frame["text"], **given), atol=1e-5)
        np.testing.assert_allclose(table["topic_2"], model.transform(frame["text"], **given)[:, 2], atol=1e-5)
        assert "party" not in table
        asked = [path / "model.supertopic", path / f"{name}.csv", "--text", "text", "--target", "y", "--json"]
        measured = json.loads(run("evaluate", *asked).stdout)
        assert measured["r2"] == pytest.approx(model.score(frame["text"], frame["y"], **given), abs=1e-3)
