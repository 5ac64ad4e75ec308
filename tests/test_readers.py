"""Files, folders, standard input and streams: the same rows from each, and one-sentence errors."""

import gzip
import io
import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic.documents.corpus import EmptyDocumentWarning
from supertopic.documents.known import Known
from supertopic.documents.readers import read_batches, read_table, text_column
from supertopic.documents.streams import Stream
from supertopic.documents.vectorizer import Vectorizer

FRAME = pd.DataFrame(
    {
        "text": [
            "a cat, a dog",
            'quoted "words"',
            "two\nlines",
            "na\u00efve \u0442\u0435\u043c\u0430",
            "last one",
        ],
        "rating": [0.5, 1.0, 2.0, 3.0, 4.0],
    }
)


def write(frame, path):
    name = path.name.removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    elif name.endswith(".json"):
        frame.to_json(path, orient="records")
    elif name.endswith((".parquet", ".pq")):
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


NAMES = [
    "d.csv",
    "d.tsv",
    "d.jsonl",
    "d.ndjson",
    "d.json",
    "d.parquet",
    "d.pq",
    "d.csv.gz",
    "d.jsonl.gz",
    "D.CSV",
]


@pytest.mark.parametrize("name", NAMES)
def test_formats(tmp_path, name):
    path = tmp_path / name
    if name == "D.CSV":
        FRAME.to_csv(path, index=False)
    else:
        write(FRAME, path)
    pd.testing.assert_frame_equal(read_table(path), FRAME, check_dtype=False)
    assert list(read_table(str(path), columns=["rating"]).columns) == ["rating"]
    batches = list(read_batches(path, batch_size=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), FRAME, check_dtype=False)


def test_globs_lists_and_folders(tmp_path):
    write(FRAME[:2], tmp_path / "b.csv")
    write(FRAME[2:], tmp_path / "c.csv")
    for source in (tmp_path / "*.csv", [tmp_path / "b.csv", str(tmp_path / "c.csv")], tmp_path):
        pd.testing.assert_frame_equal(read_table(source), FRAME)
    assert [len(batch) for batch in read_batches(str(tmp_path / "*.csv"), batch_size=2)] == [2, 2, 1]


def test_a_folder_of_texts(tmp_path):
    for name, text in {"b.txt": "second", "a.txt": "first", "sub/c.txt": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "notes.csv").write_text("x\n1\n")
    frame = read_table(tmp_path)
    assert frame["text"].tolist() == ["first", "second", ""]
    assert [file.replace("\\", "/") for file in frame["file"]] == ["a.txt", "b.txt", "sub/c.txt"]
    assert read_table(tmp_path / "*.txt")["text"].tolist() == ["first", "second"]
    assert read_table(tmp_path / "a.txt")["file"].tolist() == ["a.txt"]
    assert [len(batch) for batch in read_batches(tmp_path, batch_size=2)] == [2, 1]
    (tmp_path / "z.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"z.txt' is not encoded in utf-8 \(byte 3\); save it as UTF-8 or pass"):
        read_table(tmp_path)
    assert read_table(tmp_path, encoding="latin-1")["text"].iloc[-1] == "caf\u00e9"


def set_stdin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(
    "content",
    [
        b"text,y\na b,1\nc d,2\n",
        b'{"text": "a b", "y": 1}\n\n{"text": "c d", "y": 2}\n',
        b"\xef\xbb\xbftext,y\na b,1\nc d,2",
        b' [{"text": "a b", "y": 1},\n {"text": "c d", "y": 2}]',
    ],
)
def test_standard_input(monkeypatch, content):
    expected = pd.DataFrame({"text": ["a b", "c d"], "y": [1, 2]})
    set_stdin(monkeypatch, content)
    pd.testing.assert_frame_equal(read_table("-"), expected)
    assert not sys.stdin.buffer.closed
    set_stdin(monkeypatch, content)
    assert [len(batch) for batch in read_batches("-", batch_size=1)] == [1, 1]


def test_batches_leave_the_warning_filters_of_the_caller_alone(tmp_path):
    write(FRAME, tmp_path / "d.csv")
    before = list(warnings.filters)
    batches = read_batches(tmp_path / "d.csv", batch_size=1)
    next(batches)
    assert list(warnings.filters) == before


BROKEN = [
    ("empty.csv", b"", "empty.csv' is empty"),
    ("blank.csv", b"\n\n", "blank.csv' is empty"),
    ("blank.jsonl", b"\n \n", "blank.jsonl' is empty"),
    ("header.csv", b"text,y\n", "header.csv' has no rows"),
    ("x.docx", b"PK", r"x.docx' has an unknown extension '.docx'; expected one of .csv"),
    ("noext", b"a", "has an unknown extension ''"),
    ("broken.jsonl", b'{"text": "a"}\n\n{"text": \n', "broken.jsonl' is broken JSON in line 3"),
    ("later.jsonl", b'\n\n{"text": "a"}\n{"text"}\n', "later.jsonl' is broken JSON in line 4"),
    ("list.jsonl", b'{"text": "a"}\n3\n', "list.jsonl' holds no JSON object in line 2"),
    ("broken.json", b'[{"text": "a"},\n{"text": ]', "broken.json' is broken JSON in line 2"),
    ("numbers.json", b"[1, 2]", "array of other things than JSON objects"),
    ("broken.parquet", b"PAR1 nothing of the kind", "broken.parquet' is no valid Parquet file"),
    (
        "latin.csv",
        "text\ncaf\u00e9\n".encode("latin-1"),
        r"latin.csv' is not encoded in utf-8.*encoding='latin-1'",
    ),
    ("latin.jsonl", '{"text": "caf\u00e9"}'.encode("latin-1"), "is not encoded in utf-8"),
    (
        "fields.csv",
        b"text,y\na,1\nb,2,3\n",
        "rows that do not fit its header: Expected 2 fields in line 3, saw 3",
    ),
    ("all.csv", b"text,y\na,1,2\nb,2,3\n", "all.csv' has rows that do not fit its header"),
    ("quote.csv", b'text,y\n"a,1\n', "rows that do not fit its header: EOF inside string"),
    ("cut.csv.gz", gzip.compress(b"text\n" + b"a b c\n" * 999, mtime=0)[:40], "cut.csv.gz' cannot be read"),
    ("no.csv.gz", b"text\na\n", "no.csv.gz' cannot be read: Not a gzipped file"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
@pytest.mark.parametrize("read", [read_table, lambda source: list(read_batches(source))])
def test_broken_files(tmp_path, name, content, message, read):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)


def test_wrong_sources_fail_before_the_first_batch(tmp_path):
    with pytest.raises(ValueError, match=r"The file '.*nothing.csv' does not exist"):
        read_batches(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match=r"No file matches '.*\*.csv'"):
        read_batches(tmp_path / "*.csv")
    with pytest.raises(ValueError, match="holds no file that can be read"):
        read_batches(tmp_path)
    with pytest.raises(ValueError, match="list of files is empty"):
        read_batches([])
    with pytest.raises(ValueError, match="The source is a int"):
        read_batches(3)
    path = write(FRAME, tmp_path / "d.csv")
    with pytest.raises(ValueError, match="batch_size is 0"):
        read_batches(path, batch_size=0)
    with pytest.raises(ValueError, match="encoding is 'utf-9', which Python does not know"):
        read_batches(path, encoding="utf-9")


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.jsonl"])
def test_missing_columns_name_the_nearest(tmp_path, name):
    path = write(FRAME, tmp_path / name)
    with pytest.raises(ValueError, match=r"no column 'txet'; did you mean 'text'\? Its columns are 'text', 'rating'"):
        read_table(path, columns=["txet"])
    with pytest.raises(ValueError, match=r"no column 'zzz'\. Its columns are"):
        read_table(path, columns=["zzz"])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = write(FRAME, tmp_path / "d.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"need pyarrow: pip install 'supertopic\[parquet\]'"):
        read_table(path)


def test_text_column():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text_column(FRAME, "text") == FRAME["text"].tolist()
    for missing in (None, np.nan, pd.NA):
        with pytest.warns(EmptyDocumentWarning, match="empty documents: 1 of 2"):
            assert text_column(pd.DataFrame({"t": pd.Series(["a", missing], dtype=object)}), "t") == ["a", ""]
    with pytest.warns(EmptyDocumentWarning, match="2 of 2"):
        assert text_column(pd.DataFrame({"t": [np.nan, np.nan]}), "t") == ["", ""]
    with pytest.raises(ValueError, match=r"Column 'rating' holds float64 values, 0.5 in row 0; expected text"):
        text_column(FRAME, "rating")
    with pytest.raises(ValueError, match="Column 't' holds object values, 3 in row 1"):
        text_column(pd.DataFrame({"t": ["a", 3]}), "t")
    with pytest.raises(ValueError, match="no column 'Text'; did you mean 'text'"):
        text_column(FRAME, "Text")


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_stream_of_files_is_the_corpus(tmp_path, name):
    stream = Stream(write(FRAME, tmp_path / name), text="text", target="rating", batch_size=2)
    assert stream.n_documents is None
    vectorizer = Vectorizer().fit_stream(stream.texts())
    assert stream.n_documents == 5
    assert vectorizer.to_dict() == Vectorizer().fit(FRAME["text"]).to_dict()
    parts = list(stream.parts(vectorizer))
    counts = sp.vstack([part.corpus.counts for part in parts])
    np.testing.assert_array_equal(counts.toarray(), vectorizer.transform(FRAME["text"]).toarray())
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), FRAME["rating"])
    assert [len(corpus) for corpus in stream.batches(vectorizer)] == [2, 2, 1]


def test_stream_warns_once_of_missing_texts(tmp_path):
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in ["a", None, "b", None]))
    with pytest.warns(EmptyDocumentWarning, match="2 of 4") as caught:
        assert list(Stream(tmp_path / "d.jsonl", batch_size=1).texts()) == [["a"], [""], ["b"], [""]]
    assert len(caught) == 1


def test_streams_of_callables_and_iterables():
    blocks = [["a cat", "a dog"], ["two cats"]]
    vectorizer = Vectorizer().fit(blocks[0] + blocks[1])
    counts = [sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.ones((1, 2)))]
    for stream in (Stream.from_callable(lambda: iter(blocks)), Stream.from_iterable(blocks)):
        for _ in range(2):
            assert list(stream.texts()) == blocks
            assert [len(corpus) for corpus in stream.batches(vectorizer)] == [2, 1]
    stream = Stream.from_iterable([(block, np.arange(block.shape[0])) for block in counts], n_documents=3)
    assert repr(stream) == "Stream(3 documents)"
    assert [part.y.tolist() for part in stream.parts()] == [[0, 1], [0]]
    with pytest.raises(ValueError, match="only a stream of strings has texts"):
        list(stream.texts())
    with pytest.raises(ValueError, match="The batch has 2 features, but model is expecting 3 features"):
        list(stream.batches(n_features=3))
    with pytest.raises(ValueError, match="2 documents came with 1 responses"):
        list(Stream.from_iterable([(counts[0], [1])]).parts())


@pytest.mark.parametrize("name", ["docs.csv", "docs.parquet", "docs.jsonl"])
def test_a_stream_hands_columns_on(tmp_path, name):
    frame = pd.DataFrame({
        "text": ["a cat", "a dog", "one cow"], "y": [1.0, 2.0, 3.0], "age": [3, 4, 5], "party": ["x", "y", "x"],
        "date": ["2008-01-01", "2008-01-02", "2008-02-01"], "weight": [1.0, 0.5, 2.0],
    })  # fmt: skip
    write(frame, tmp_path / name)
    asked = {"covariates": ["party", "age"], "metadata": ["age", "date"], "groups": "party", "times": "date"}
    stream = Stream(tmp_path / name, "text", "y", 2, sample_weight="weight", **asked)
    parts = list(stream.parts(Vectorizer(min_df=1).fit(frame["text"])))
    assert [len(part.corpus) for part in parts] == [2, 1] and [list(part.y) for part in parts] == [[1, 2], [3]]
    covariates = pd.concat([part.covariates for part in parts])
    assert covariates.to_numpy().tolist() == frame[["party", "age"]].to_numpy().tolist()
    known = Known.join(part.known for part in parts)
    assert known.frame()["age"].tolist() == [3, 4, 5] and known.times.kind == known.column("date").kind == "date"
    assert known.groups.values.tolist() == [0, 1, 0] and known.weight.tolist() == [1.0, 0.5, 2.0]


def test_streams_of_callables_hand_on_what_they_are_given():
    batches = [(["a"], [1], {"covariates": np.ones((1, 2))}), (["b"], None, {"covariates": None}), (["c"], [1])]
    parts = Stream.from_iterable(batches[:2]).parts(Vectorizer(min_df=1).fit(["cat cow dog"]))
    assert next(parts).covariates.shape == (1, 2)
    with pytest.raises(ValueError, match="covariates: got with some batches only, expected with all or none"):
        next(parts)
    with pytest.raises(ValueError, match=r"A batch came with \['colours'\]; expected a dict of some of covariates, "):
        list(Stream.from_iterable([(["a"], [1], {"colours": [2]})]).texts())
    with pytest.raises(ValueError, match="A batch came with a list; expected a dict of some of covariates, "):
        list(Stream.from_iterable([(["a"], [1], [2])]).texts())


def test_columns_of_a_stream_are_checked_at_once(tmp_path):
    path = write(pd.DataFrame({"text": ["a"], "age": [1]}), tmp_path / "d.csv")
    with pytest.raises(ValueError, match="covariates: got 'age', expected a list of names of columns"):
        Stream(path, covariates="age")
    with pytest.raises(ValueError, match="has no column 'ages'; did you mean 'age'"):
        list(Stream(path, covariates=["ages"]).texts())


def test_one_pass_sources_say_so(monkeypatch):
    stream = Stream.from_iterable(block for block in [["a cat"]])
    list(stream.texts())
    with pytest.raises(ValueError, match="can be read only once"):
        list(stream.texts())
    set_stdin(monkeypatch, b"text\na b\n")
    stream = Stream("-")
    assert list(stream.texts()) == [["a b"]]
    with pytest.raises(ValueError, match="can be read only once"):
        list(stream.texts())


def test_wrong_streams():
    with pytest.raises(ValueError, match="expected a function"):
        Stream.from_callable([["a"]])
    with pytest.raises(ValueError, match="expected an iterable of batches"):
        Stream.from_iterable("text")
    with pytest.raises(ValueError, match="does not exist"):
        Stream("nothing.csv")


@pytest.mark.data
def test_streams_of_a_real_corpus(data_dir):
    path = data_dir / "ted_talks" / "data.parquet"
    stream = Stream(path, text="text", target="num_comments", batch_size=300)
    vectorizer = Vectorizer().fit_stream(stream.texts())
    frame = read_table(path, columns=["text", "num_comments"])
    assert vectorizer.vocabulary_ == Vectorizer().fit(text_column(frame, "text")).vocabulary_
    assert sum(len(corpus) for corpus in stream.batches(vectorizer)) == stream.n_documents == len(frame) == 2550


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_may_have_semicolons_or_tabs(tmp_path, separator):
    (tmp_path / "t.csv").write_text(f"text{separator}y\na cat, a dog{separator}1\n", encoding="utf-8")
    frame = read_table(tmp_path / "t.csv")
    assert frame.to_dict("records") == [{"text": "a cat, a dog", "y": 1}]
    (tmp_path / "one.csv").write_text("text\na; b\n", encoding="utf-8")
    assert read_table(tmp_path / "one.csv")["text"].tolist() == ["a; b"]


@pytest.mark.parametrize("content", ['{"text": "%s", "more": ["%s"]}\n', '[{"text": "%s", "more": ["%s"]}]'])
def test_half_an_emoji_in_json_is_a_replacement_character(tmp_path, content):
    """Tools that cut texts leave half of a surrogate pair, as an escape in a file of plain ASCII."""
    file = tmp_path / "cut.json"
    file.write_text(content % (r"good \ud83d film \ud83d\ude00", r"\udc00"), encoding="ascii")
    frame = read_table(file)
    assert frame["text"].tolist() == ["good \ufffd film \U0001f600"] and frame["more"][0] == ["\ufffd"]
    assert next(iter(read_batches(file, columns=["text"])))["text"][0].startswith("good \ufffd")
