"""Model files of earlier versions still load and give the same results. Never rewrite a file in tests/golden.

`python -m tests.test_golden VERSION` writes the files of a new format version.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from supertopic import LDA, MixtureOfCategoricals, Vectorizer, load

GOLDEN = Path(__file__).parent / "golden"
TEXTS = [
    "the cat sat on the mat with another cat",
    "dogs and cats are animals people keep",
    "stocks fell as markets closed lower",
    "investors sold stocks in falling markets",
    "a dog chased the cat over the mat",
    "markets and investors fear falling stocks",
]
NEW = ["a cat on a mat", "stocks and a dog", "nothing known here"]


def write(version: str) -> None:
    for model in (LDA(2, inference="gibbs", max_iter=50), LDA(2), MixtureOfCategoricals(2)):
        model.set_params(vectorizer=Vectorizer(min_df=1, stop_words="english"))
        model.fit(TEXTS)
        name = f"{version}-{type(model).__name__}-{model.inference}"
        model.save(GOLDEN / f"{name}.supertopic")
        expected = {"transform": model.transform(NEW).tolist(), "words": model.top_words(3)["word"].tolist()}
        (GOLDEN / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.supertopic")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_golden_files_load_for_ever(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    np.testing.assert_allclose(model.transform(NEW), expected["transform"], rtol=1e-3, atol=1e-5)
    assert model.top_words(3)["word"].tolist() == expected["words"]


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("1-*.supertopic"))) == 3


if __name__ == "__main__":
    write(sys.argv[1])
