"""Odd inputs: each gets one sentence that names what came, and no process waits for ever."""

import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from supertopic import LDA, SLDAClassifier, SLDARegressor
from supertopic.checkpoint import Checkpoint
from supertopic.documents.corpus import as_corpus
from supertopic.documents.known import Known
from supertopic.documents.labels import as_table, guess_response
from supertopic.documents.readers import read_table

X = sp.csr_matrix(np.random.default_rng(0).poisson(1.0, (20, 8)))
LETTERS = ["a", "b"] * 10


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("deep.jsonl", '{"text": "a"}\n{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply in line 2"),
        ("deep.json", "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("digits.jsonl", '{"y": ' + "9" * 5_000 + "}", "a number of thousands of digits in line 1"),
        ("wide.csv", "text,y\na,1\n", "save it as UTF-8 or pass encoding='utf-16'"),
        ("accents.csv", "text,y\ncafé,1\n", "save it as UTF-8 or pass encoding='latin-1'"),
    ],
)
def test_files(tmp_path, name, content, sentence):
    file = tmp_path / name
    file.write_bytes(content.encode({"wide.csv": "utf-16", "accents.csv": "latin-1"}.get(name, "utf-8")))
    with pytest.raises(ValueError, match=f"^The file '.*{name}' .*{sentence}\\.$") as refused:
        read_table(file)
    assert len(str(refused.value)) < 300


def test_named_pipes_are_refused_without_waiting(tmp_path):
    """In another process, which is killed if it waits."""
    pipe = tmp_path / "data.csv"
    os.mkfifo(pipe)
    asked = (
        "from supertopic import LDA, load; from supertopic.documents.readers import read_table; import sys\n"
        "for ask in (read_table, load, lambda path: LDA(2, checkpoint=path).fit([[1, 2], [2, 1]])):\n"
        "    try: ask(sys.argv[1])\n"
        "    except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", asked, str(pipe)], capture_output=True, text=True, timeout=60)
    said = done.stdout.splitlines()
    assert len(said) == 3 and all("pipe" in line and str(pipe) in line for line in said), done


def test_a_checkpoint_follows_a_link(tmp_path):
    """The link stays, the file it leads to is made and removed."""
    target, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(target)
    LDA(2, max_iter=3, checkpoint=Checkpoint(link, 0)).fit(X)
    assert link.is_symlink() and not target.exists()
    own = Checkpoint(link, 0, fingerprint={"a": 1})
    own.save({"step": 3}, {"x": np.ones(2)})
    assert link.is_symlink() and target.is_file() and Checkpoint(link, fingerprint={"a": 1}).load()[0] == {"step": 3}
    with pytest.raises(ValueError, match=r"checkpoint: .* is a folder, a pipe or a device, expected a file"):
        Checkpoint(tmp_path)


def test_a_sparse_array_of_one_dimension():
    with pytest.raises(ValueError, match=r"X is a sparse array of 1 dimension\(s\); expected documents by words"):
        as_corpus(sp.coo_array(np.arange(5)))


@pytest.mark.parametrize("kind", [lambda y: y, lambda y: y.dictionary_encode(), lambda y: pa.chunked_array([y])])
def test_labels_of_arrow(kind):
    table, _ = as_table(kind(pa.array([*LETTERS[:-1], None])), 20, "SLDAClassifier")
    assert table[:, 0].tolist() == [*LETTERS[:-1], None]
    assert as_table(kind(pa.array(range(20))), 20, "SLDARegressor")[0][:, 0].tolist() == list(range(20))


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (
            [True, False] * 10,
            r"y holds true and false: taken as classes \(logit\); for these use SLDAClassifier instead",
        ),
        (LETTERS, r"y holds 'a', which is no number; for labels use SLDAClassifier instead of SLDARegressor"),
        (["x" * 5_000] * 20, "y holds 'x{40,60}, which is no number"),
    ],
)
def test_labels_that_are_no_numbers(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        SLDARegressor(2).fit(X, y)


def test_decimals_are_numbers():
    y = np.array([Decimal(i) / 10 for i in range(20)], dtype=object)
    assert guess_response(y, "y", "SLDARegressor", ("number",)) == "gaussian"
    with pytest.warns(UserWarning, match="consecutive whole numbers"):
        assert guess_response(np.array([Decimal(1 + i % 5) for i in range(40)]), "y", "M", ("class",)) == "ordinal"


def test_weights_beyond_what_sums_hold():
    with pytest.raises(ValueError, match=r"sample_weight: got 1e\+300, expected numbers of at most 1e\+09"):
        Known.of(20, sample_weight=np.full(20, 1e300))


@pytest.mark.filterwarnings("ignore")
def test_every_plot_says_that_matplotlib_is_missing(monkeypatch):
    for name in ["matplotlib", *(name for name in sys.modules if name.startswith("matplotlib."))]:
        monkeypatch.setitem(sys.modules, name, None)
    X, y = np.arange(60).reshape(12, 5) % 4, np.arange(12) % 3
    model = SLDAClassifier(2, cross_fit=0, max_iter=2).fit(X, y)
    plots = {"calibration": (X, y), "residuals": (X, y), "class_profiles": (y,), "document": (X[:1],)}
    for name in ("topics", "words", "trace", "map", *plots):
        with pytest.raises(ValueError, match=r"^plots need matplotlib: pip install 'supertopic\[plots\]'$"):
            getattr(model.plot, name)(*plots.get(name, ()))
