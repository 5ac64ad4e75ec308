"""When and to what a model was fitted, and how good it was: in its file, its card, and `supertopic info`."""

import json

import numpy as np
import pytest

from supertopic import LDA, FacetedSAGE, SAGEClassifier, SLDAClassifier, Stream, load
from supertopic.dates import today
from supertopic.persistence import read_model
from tests.cli_tools import run

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(np.where(np.arange(120)[:, None] < 60, [3, 3, 0.1, 0.1], [0.1, 0.1, 3, 3]))
LABELS = np.repeat(["good", "bad"], 60)
TEXTS = ["cat dog bird", "stock bond fund"] * 10


@pytest.fixture
def day(monkeypatch):
    def on(seconds):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(seconds))

    on(86_400 * 365)
    return on


def test_the_date_stands_outside_of_the_checksum(day, tmp_path):
    """The same fit on another day differs in nothing else; a file that is saved again keeps its day."""
    assert today() == "1971-01-01"
    contents = []
    for number in (365, 366):
        day(86_400 * number)
        LDA(2, max_iter=3).fit(COUNTS).save(tmp_path / "m")
        day(86_400 * 999)
        load(tmp_path / "m").save(tmp_path / "again")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
        contents.append((tmp_path / "m").read_bytes())
    assert contents[0] != contents[1] == contents[0].replace(b"1971-01-01", b"1971-01-02")
    assert "Fitted on 1971-01-02." in load(tmp_path / "m").card()


@pytest.mark.parametrize("wrong", [b"1971-13-0x", b"yesterday!"])
def test_a_date_that_is_none_is_refused(day, tmp_path, wrong):
    LDA(2, max_iter=3).fit(COUNTS).save(tmp_path / "m")
    (tmp_path / "m").write_bytes((tmp_path / "m").read_bytes().replace(b"1971-01-01", wrong))
    with pytest.raises(ValueError, match="date: got"):
        load(tmp_path / "m")


def test_a_fingerprint_tells_data_apart(tmp_path):
    fits = {
        "one": LDA(2, max_iter=2).fit(COUNTS),
        "other parameters": LDA(3, max_iter=3, random_state=1).fit(COUNTS),
        "other data": LDA(2, max_iter=2).fit(COUNTS[::-1]),
        "labels": SLDAClassifier(2, inference="vb", max_iter=2, cross_fit=0).fit(COUNTS, LABELS),
        "other labels": SLDAClassifier(2, inference="vb", max_iter=2, cross_fit=0).fit(COUNTS, np.sort(LABELS)),
        "words of classes": SAGEClassifier(max_iter=2).fit(COUNTS, LABELS),
        "facets": FacetedSAGE(2, max_iter=2).fit(COUNTS, LABELS),
        "a batch": LDA(2).partial_fit(COUNTS[:60]),
        "two batches": LDA(2).partial_fit(COUNTS[:60]).partial_fit(COUNTS[60:]),
        "a stream": LDA(2, inference="svi", max_iter=1).fit(Stream.from_callable(lambda: iter([TEXTS]))),
    }
    found = {name: model.fitted_.data for name, model in fits.items()}
    assert found.pop("one") == found["other parameters"] and all(len(one) == 32 for one in found.values())
    assert len(set(found.values())) == len(found)
    fits["one"].save(tmp_path / "m")
    assert read_model(tmp_path / "m")[0]["data"] == load(tmp_path / "m").fitted_.data == fits["one"].fitted_.data


def test_info_says_how_good_it_was(day, tmp_path):
    SLDAClassifier(2, inference="vb", max_iter=10, cross_fit=2).fit(COUNTS, LABELS).save(tmp_path / "m")
    told = json.loads(run("info", tmp_path / "m", "--json").stdout)
    right = told["scores"]["y"]["right"]
    assert told["fitted"] == "1971-01-01" and told["documents"] == 120 and 0.9 < right <= 1
    shown = run("info", tmp_path / "m").stdout
    assert "1971-01-01" in shown and told["data"] in shown and f"{right:.0%} right" in shown
    assert (
        f"On 120 documents, each predicted by a fit without it, it got {right:.0%} right" in load(tmp_path / "m").card()
    )
    LDA(2, max_iter=2).fit(COUNTS).save(tmp_path / "m")
    assert json.loads(run("info", tmp_path / "m", "--json").stdout)["scores"] == {}
