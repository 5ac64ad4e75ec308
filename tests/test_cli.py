"""The command line: a round trip, machine-readable output, and one sentence for every error."""

import errno
import io
import json
import os
import tempfile

import numpy as np
import pandas as pd
import pytest

import supertopic
from supertopic.persistence import write_model
from tests.cli_tools import ANIMALS, MONEY, fails, misused, run, write_corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The small corpus and a model of it."""
    folder = tmp_path_factory.mktemp("cli")
    write_corpus(folder / "data.csv")
    options = ["--text", "body", "-k", 2, "--stop-words", "english"]
    done = run("fit", folder / "data.csv", *options, "--out", folder / "model.supertopic")
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.stdout, encoding="utf-8")
    (folder / "noted.txt").write_text(done.stderr, encoding="utf-8")
    return folder


@pytest.fixture
def data(folder):
    return folder / "data.csv"


@pytest.fixture
def model(folder):
    return folder / "model.supertopic"


# --- the round trip ---------------------------------------------------------------------------------------------


def test_fit_says_what_it_did_and_commands_that_work(folder, data, model):
    said = (folder / "said.txt").read_text(encoding="utf-8")
    fitted = supertopic.load(model)
    pairs = dict(line.split(maxsplit=1) for line in said.splitlines()[2:8])
    assert pairs["documents"] == "80, 2 empty"
    assert pairs["vocabulary"] == "16 words, English stop words left out (--stop-words none keeps them)"
    assert int(pairs["tokens"]) == 78 * 12
    assert pairs["iterations"] == f"{fitted.n_iter_} until converged"
    assert pairs["bound"] == f"{fitted.bound_[-1]:.4f} nats per token of the fit (higher is better; not held out)"
    commands = [line.split()[1:] for line in said.split("Next:")[1].splitlines() if "explain" not in line and line]
    assert [command[0] for command in commands] == ["topics", "predict", "report"]
    commands[1][-1], commands[2][-1] = str(folder / "next.csv"), str(folder / "next.html")
    for command in commands:
        assert run(*command).exit_code == 0
    noted = (folder / "noted.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in noted if line.startswith("Warning: Missing values in column 'body'") and "2 of 80" in line]
    assert all(line.startswith("Warning: ") and "test_cli" not in line for line in noted)


def test_topics_as_a_table_json_and_csv(model):
    fitted = supertopic.load(model)
    lines = run("topics", model, "--words", 3).stdout.splitlines()
    assert lines[0].split() == ["topic", "share", "words"]
    shares = [float(line.split()[1].rstrip("%")) for line in lines[2:]]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(100, abs=0.2)
    topics = json.loads(run("topics", model, "--words", 3, "--json").stdout)
    assert [topic["topic"] for topic in topics] == [0, 1]
    for k, topic in enumerate(topics):
        assert topic["share"] == pytest.approx(fitted.doc_topic_[:, k].mean())
        assert [entry["word"] for entry in topic["words"]] == fitted.top_words(3).query("topic == @k")["word"].tolist()
        assert set(entry["word"] for entry in topic["words"]) <= {*ANIMALS.split()} or (
            set(entry["word"] for entry in topic["words"]) <= {*MONEY.split()}
        )
    tidy = pd.read_csv(io.StringIO(run("topics", model, "--words", 3, "--csv").stdout))
    assert list(tidy) == ["topic", "share", "rank", "word", "probability"] and len(tidy) == 6


@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.parametrize("extension", ["csv", "tsv", "jsonl", "parquet"])
def test_predictions_keep_every_row(tmp_path, data, model, extension):
    out = tmp_path / f"p.{extension}"
    done = run("predict", model, data, "--text", "body", "--keep", "id,label", "--out", out)
    assert done.exit_code == 0 and done.stdout == ""
    assert "Wrote 80 rows" in done.stderr and "mean shares for 2 documents without a known word" in done.stderr
    read = {"csv": pd.read_csv, "tsv": lambda p: pd.read_csv(p, sep="\t"), "parquet": pd.read_parquet}
    frame = read.get(extension, lambda p: pd.read_json(p, lines=True))(out)
    table, fitted = pd.read_csv(data), supertopic.load(model)
    assert list(frame) == ["id", "label", "topic", "tokens", "topic_0", "topic_1"]
    assert frame["id"].tolist() == table["id"].tolist() and frame["label"].tolist() == table["label"].tolist()
    shares = frame[["topic_0", "topic_1"]].to_numpy()
    np.testing.assert_allclose(shares, fitted.transform(fitted.fitted_.corpus(table["body"].fillna(""))), atol=1e-6)
    assert frame["tokens"].tolist() == [0 if i in (10, 11) else 12 for i in range(80)]
    assert (frame["topic"] == shares.argmax(axis=1)).all()
    assert frame["topic"].groupby(frame["label"]).agg(lambda t: t[frame["tokens"] > 0].nunique()).tolist() == [1, 1]


def test_predictions_are_the_same_in_small_batches_and_through_pipes(monkeypatch, data, model):
    whole = run("predict", model, data, "--text", "body").stdout
    monkeypatch.setattr("supertopic.cli.documents.BATCH", 7)
    assert run("predict", model, data, "--text", "body").stdout == whole
    assert run("predict", model, "-", "--text", "body", stdin=data.read_text(encoding="utf-8")).stdout == whole


def test_unknown_words_are_counted(tmp_path, model):
    (tmp_path / "new.jsonl").write_text('{"text": "cat zebra okapi"}\n{"text": "okapi"}\n', encoding="utf-8")
    done = run("predict", model, tmp_path / "new.jsonl")
    assert "3 of 4 words are unknown" in done.stderr and "for 1 document without a known word" in done.stderr
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_evaluate_agrees_with_the_library(data, model):
    figures = json.loads(run("evaluate", model, data, "--text", "body", "--json").stdout)
    fitted = supertopic.load(model)
    corpus = fitted.fitted_.corpus(pd.read_csv(data)["body"].fillna(""))
    assert figures["documents"] == 80 and figures["empty_documents"] == 2 and figures["tokens"] == 936
    assert figures["perplexity"] == pytest.approx(fitted.perplexity(corpus))
    assert figures["nats_per_token"] == pytest.approx(np.log(figures["perplexity"]))
    assert figures["diversity"] == supertopic.metrics.topic_diversity(fitted, 16)
    texts = pd.read_csv(data)["body"].fillna("").tolist()
    assert figures["coherence_npmi"] == pytest.approx(supertopic.metrics.coherence(fitted, texts, "npmi").mean())
    assert figures["doc_topic_entropy"] == pytest.approx(supertopic.metrics.doc_topic_entropy(fitted, corpus))
    table = run("evaluate", model, data, "--text", "body").stdout
    assert f"{figures['perplexity']:,.1f}" in table
    other = json.loads(run("evaluate", model, data, "--text", "body", "--json", "--method", "chib").stdout)
    assert other["method"] == "chib" and other["perplexity"] != figures["perplexity"]


def test_explain_puts_words_to_topics(tmp_path, model):
    text = "A cat and a dog, a cat; and money? The okapi!"
    told = json.loads(run("explain", model, text, "--json").stdout)
    words = {entry["word"]: entry for entry in told["words"]}
    assert words["cat"]["count"] == 2 and words["cat"]["topic"] == words["dog"]["topic"] != words["money"]["topic"]
    assert sum(words["cat"]["shares"]) == pytest.approx(1)
    assert told["topics"][0]["topic"] == words["cat"]["topic"] and told["unknown_words"] == 1
    assert sum(topic["share"] for topic in told["topics"]) == pytest.approx(1)
    shown = run("explain", model, text).stdout
    assert shown.splitlines()[1].split()[0] == str(words["cat"]["topic"])
    assert "cat, dog" in shown and "\x1b" not in shown and shown.endswith("\nUnknown to the model: okapi\n")
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert run("explain", model, "--file", tmp_path / "text.txt").stdout == shown
    assert run("explain", model, "-", stdin=text).stdout == shown


def test_fit_of_a_stream_a_mixture_and_samples(tmp_path, data):
    for options in (["--stream"], ["--model", "mixture"], ["--model", "mixture", "--inference", "gibbs"],
                    ["--inference", "gibbs", "--iterations", 20, "--seed", 3]):  # fmt: skip
        done = run("fit", data, "--text", "body", "-k", 2, *options, "--force", "-o", tmp_path / "m.supertopic")
        assert done.exit_code == 0, done.output
        assert "80, 2 empty" in done.stdout and " 936" in done.stdout
        assert len(json.loads(run("topics", tmp_path / "m.supertopic", "--json").stdout)) == 2


def test_stop_words_are_left_out_as_in_python(tmp_path):
    english = [f"the {word} of the zoo and that is all" for word in ANIMALS.split()]
    german = [f"{word} in der Stadt, am Abend so schnell wie die anderen" for word in MONEY.split()]
    for texts, language in ((english, "English"), (german, "German")):
        pd.DataFrame({"text": texts}).to_csv(tmp_path / "data.csv", index=False)
        done = run("fit", tmp_path / "data.csv", "-k", 2, "--iterations", 2, "-o", tmp_path / f"{language}.supertopic")
        assert f"{language} stop words left out (--stop-words none keeps them)" in done.stdout
        mine = supertopic.LDA(2, max_iter=2).fit(texts)
        fitted = supertopic.load(tmp_path / f"{language}.supertopic")
        assert fitted.feature_names_in_.tolist() == mine.feature_names_in_.tolist()
        assert {"English": "the", "German": "der"}[language] in mine.vectorizer_.stop_words_
        assert "without stop words" in mine._repr_html_()


def test_options_reach_the_model(tmp_path, data):
    (tmp_path / "stop.txt").write_text("Cat\nbank\n", encoding="utf-8")
    done = run("fit", data, "--text", "body", "-k", 3, "--stop-words", tmp_path / "stop.txt", "--min-df", 2,
               "--max-df", 0.9, "--max-features", 9, "--iterations", 4, "--seed", 7, "--doc-topic-prior", "0.1,0.2,0.3",
               "--topic-word-prior", 0.01, "-o", tmp_path / "m.supertopic")  # fmt: skip
    assert done.exit_code == 0 and "not yet converged: more with --iterations" in done.stdout
    fitted = supertopic.load(tmp_path / "m.supertopic")
    assert fitted.n_features_in_ == 9 and not {"cat", "bank"} & set(fitted.feature_names_in_)
    assert (fitted.max_iter, fitted.random_state, fitted.topic_word_prior) == (4, 7, 0.01)
    assert fitted.alpha_.tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert (fitted.vectorizer_.min_df, fitted.vectorizer_.max_df) == (2, 0.9)


def test_words_are_found_as_in_python(tmp_path):
    rows = [f"the front desk of {word} and the {word} desks" for word in ANIMALS.split()] * 5
    pd.DataFrame({"text": rows}).to_csv(tmp_path / "data.csv", index=False)
    options = ("--tokenizer", "tests.test_languages:cut_at_spaces", "--phrases", "--stem", "--max-df", "1.0")
    fit = ("fit", tmp_path / "data.csv", "-k", 2, "--iterations", 2, "-o", tmp_path / "m.supertopic")
    done = run(*fit, *options)
    assert done.exit_code == 0, done.output
    words = supertopic.Vectorizer(tokenizer=options[1], phrases=True, stem=True, max_df=1.0)
    assert f"{len(rows):,}" in done.stdout and f"{words.fit_transform(rows).sum():,.0f}" in done.stdout
    fitted = supertopic.load(tmp_path / "m.supertopic")
    assert fitted.feature_names_in_.tolist() == list(words.vocabulary_) and "front desk" in words.vocabulary_
    failed = run(*fit, "--tokenizer", "klingon", "--force")
    assert failed.exit_code == 1 and "tokenizer: got 'klingon', expected 'unicode'" in failed.output


def test_one_topic_is_a_model_too(tmp_path, data):
    assert run("fit", data, "--text", "body", "-k", 1, "-o", tmp_path / "m.supertopic").exit_code == 0
    assert np.isfinite(supertopic.load(tmp_path / "m.supertopic").components_).all()


# --- which column -------------------------------------------------------------------------------------------------


def test_the_only_column_of_text_is_chosen_and_said(tmp_path, data, model):
    done = run("predict", model, data)
    assert done.exit_code == 0 and "Reading the documents from column 'body'." in done.stderr
    pd.DataFrame({"a": ["two words here now"], "b": ["and four words here"]}).to_csv(tmp_path / "two.csv", index=False)
    assert "('a', 'b'): say which one with --text" in fails("predict", model, tmp_path / "two.csv")
    pd.DataFrame({"a": [1], "b": [2]}).to_csv(tmp_path / "none.csv", index=False)
    assert "none that holds text" in fails("predict", model, tmp_path / "none.csv")


def test_words_of_too_many_documents_are_named(tmp_path):
    texts = [f"room {'dirty awful' if d % 2 else 'lovely clean'} word{d % 5}" for d in range(60)]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "data.csv", index=False)
    model = tmp_path / "m.supertopic"
    said = run("fit", tmp_path / "data.csv", "-k", 2, "--iterations", 2, "--out", model).stdout
    assert "and 1 word that too many documents have (--max-df 1.0 keeps it)" in " ".join(said.split())
    shown = run("explain", model, "a dirty room").stdout
    assert "(--max-df), since too many documents have them: room" in " ".join(shown.split())
    kept = run("fit", tmp_path / "data.csv", "-k", 2, "--iterations", 2, "--max-df", 1.0, "--out", model, "--force")
    assert "too many documents" not in kept.stdout


def test_standard_input_is_a_text_in_every_line_or_a_table(model):
    def tokens(stdin, *options):
        done = run("predict", model, "-", *options, stdin=stdin)
        return pd.read_csv(io.StringIO(done.stdout))["tokens"].tolist()

    assert tokens("a cat\n\nThe dog, the horse, a bird\nno word\n") == [1, 0, 3, 0]
    assert tokens("zoo\ncat\n") == [1, 1]
    assert tokens("zoo\ncat\n", "--text", "zoo") == tokens("text\ncat\n") == tokens("My text,stars\ncat,5\n") == [1]
    refused = fails("predict", model, "-", "--text", "text", stdin="text\n")
    assert "expected CSV or TSV whose first line names the columns" in refused


# --- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (None, [], "does not exist"),
        ("", [], "is empty"),
        ("text\n", [], "has no rows"),
        ('text\n""\n" "\n', [], "are all empty"),
        ("text\n1\n2\n", [], "Column 'text' holds int64 values"),
        ("text\na cat\na dog\n", ["--text", "txet"], "did you mean 'text'?"),
        ("text\na cat\na dog\n", ["--min-df", "3"], "lower min_df"),
        ("text\na cat\na dog\n", ["--min-df", "-1"], "min_df is -1"),
        ("text\nthe\nand\n", [], "hold no word"),
        ("text\na cat\na dog\n", ["--doc-topic-prior", "nan"], "doc_topic_prior: got nan"),
        ("text\na cat\na dog\n", ["--doc-topic-prior", "-1"], "doc_topic_prior: got -1"),
        ("text\na cat\na dog\n", ["--model", "mixture", "--doc-topic-prior", "auto"], "doc_topic_prior: got 'auto'"),
    ],
)
def test_documents_that_make_no_model(tmp_path, table, options, sentence):
    if table is not None:
        (tmp_path / "data.csv").write_text(table, encoding="utf-8")
    assert sentence in fails("fit", tmp_path / "data.csv", *options, "-k", 2, "--out", tmp_path / "m.supertopic")
    assert not (tmp_path / "m.supertopic").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", "0"], "--topics"),
        (["--topics", "many"], "--topics"),
        (["--topcs", "3"], "--topics"),
        (["--seed", "-1"], "--seed"),
        (["--topic-word-prior", "-1"], "--topic-word-prior"),
        (["--topic-word-prior", "nan"], "--topic-word-prior"),
        (["--model", "ldaa"], "Did you mean 'lda'?"),
        (["--inference", "gibs"], "Did you mean 'gibbs'?"),
        (["--model", "mixture", "--sampler", "partial"], "the model mixture does not take it; lda does."),
        (["--model", "lda", "--target", "label"], "the model lda has no response"),
        (["--response", "logit"], "the model lda has no response"),
        (["--supervision", "2"], "the model lda does not take it; slda, sstm do."),
        (["--model", "slda"], "the model slda learns from a response: say which column with --target."),
        (["--min-df", "few"], "'few' is neither a number nor 'auto'"),
        (["--stop-words", "klingon"], "neither auto, none nor a language such as german"),
        (["--stream", "--inference", "gibbs"], "a stream is fitted with svi"),
    ],
)
def test_wrong_options(tmp_path, data, options, sentence):
    assert sentence in misused("fit", data, "--text", "body", "--out", tmp_path / "m.supertopic", *options)


def test_wrong_usage_elsewhere(data, model):
    assert "Did you mean 'topics'?" in misused("topcs", model)
    assert "--out" in misused("fit", data)
    assert "choose one" in misused("topics", model, "--json", "--csv")
    assert "give either a TEXT" in misused("explain", model)
    assert "'guess' is not one of completion" in misused("evaluate", model, data, "--method", "guess")
    assert "unknown extension" in misused("predict", model, data, "--out", "p.xlsx")
    assert "'topic' is the name" in misused("predict", model, data, "--keep", "topic")
    assert "read only once" in misused("fit", "-", "--stream", "--out", "m.supertopic")


def test_files_that_are_no_models(tmp_path, data, model):
    whole = model.read_bytes()
    cut, flipped = tmp_path / "cut.supertopic", tmp_path / "flipped.supertopic"
    cut.write_bytes(whole[: len(whole) // 2])
    flipped.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    newer, foreign = tmp_path / "newer.supertopic", tmp_path / "foreign.supertopic"
    newer.write_bytes(whole.replace(b'\\"format_version\\":1', b'\\"format_version\\":9', 1))
    write_model(foreign, {"estimator": "Oracle"}, {"a": np.zeros(2)})
    assert "damaged or cut short" in fails("topics", cut)
    assert "damaged or cut short" in fails("explain", flipped, "a cat")
    assert "upgrade supertopic" in fails("predict", newer, data)
    assert "kind 'Oracle'" in fails("evaluate", foreign, data)
    assert "was not saved by supertopic" in fails("topics", data)
    assert "does not exist" in fails("topics", tmp_path / "none.supertopic")
    assert "is a folder" in fails("topics", tmp_path)


def test_outputs_that_cannot_be_written(monkeypatch, tmp_path, data, model):
    fit = ["fit", data, "--text", "body", "-k", 2, "--out"]
    assert "does not exist: create it first" in fails(*fit, tmp_path / "none" / "m.supertopic")
    assert "is a folder" in fails(*fit, tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a device or a pipe" in fails(*fit, tmp_path / "pipe.csv")
    assert "is a device or a pipe" in fails("predict", model, data, "--out", tmp_path / "pipe.csv")
    with pytest.raises(OSError, match="a device or a pipe"):
        write_model(tmp_path / "pipe.csv", {}, {})
    old = tmp_path / "m.supertopic"
    old.write_bytes(b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in fails(*fit, old, "--force")
    assert "No space left on device" in fails("predict", model, data, "--out", tmp_path / "p.csv")
    assert old.read_bytes() == b"old" and sorted(p.name for p in tmp_path.iterdir()) == ["m.supertopic", "pipe.csv"]


def test_a_model_that_cannot_be_saved_is_kept_elsewhere(monkeypatch, tmp_path, data):
    real, there, elsewhere = os.fsync, tmp_path / "full", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))

    def full_once(descriptor):
        monkeypatch.setattr(os, "fsync", real)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_once)
    said = fails("fit", data, "--text", "body", "-k", 2, "--out", there / "m.supertopic")
    (kept,) = elsewhere.rglob("m.supertopic")
    assert f"No space left on device; what was there before is unchanged. The model is kept in {kept}: " in said
    assert supertopic.load(kept).n_topics == 2 and not list(there.iterdir())


def test_nothing_to_explain_or_to_measure(tmp_path, model):
    assert "no word that the model knows" in fails("explain", model, "zebra")
    assert "cannot be read" in fails("explain", model, "--file", tmp_path / "none.txt")
    (tmp_path / "new.csv").write_text("text\nzebra\nokapi\n", encoding="utf-8")
    assert "none of the 2 documents" in fails("evaluate", model, tmp_path / "new.csv")


def test_a_text_that_names_a_file_is_pointed_out(data, model):
    assert "--file" in run("explain", model, data).stderr


def test_unexpected_errors_are_a_sentence_too(monkeypatch, model):
    def broken(*args, **kwargs):
        raise KeyError("inner")

    monkeypatch.setattr("supertopic.estimators.load", broken)
    monkeypatch.setattr("supertopic.load", broken, raising=False)
    assert "unexpected KeyError: 'inner'" in fails("topics", model)
    monkeypatch.setenv("SUPERTOPIC_DEBUG", "1")
    assert isinstance(run("topics", model).exception, KeyError)


def test_a_system_without_threads_is_one_sentence(monkeypatch, data, model):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    given = ["evaluate", model, data, "--text", "body", "--jobs", 2]
    assert "the system starts no more threads here; give a smaller --jobs" in fails(*given)
    monkeypatch.undo()
    assert run(*given).exit_code == 0
