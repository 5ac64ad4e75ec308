"""supertopic demo: topics that predict, on the docstrings of installed packages.

Two questions are learned from the words of a docstring: which package it is from, and how many parameters the function
has. The answers are explained, and measured on docstrings that were held out, beside a linear model on all words.
"""

from __future__ import annotations

import os
import re
import textwrap
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from supertopic.cli import options as opt
from supertopic.cli.documents import check_writable
from supertopic.cli.response import coefficient_columns, contributions
from supertopic.cli.show import note, say, say_commands, say_json, show

if TYPE_CHECKING:
    import numpy as np

MODEL, PAGE = "demo.supertopic", "demo.html"  # what is written, by default
SHARE_HELD_OUT = 0.2
N_WORDS = 6  # in a list of words


def demo(
    topics: Annotated[int, typer.Option("--topics", "-k", min=2, help="How many topics.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same topics.")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The model of packages: demo.supertopic by default.", show_default=False
        ),
    ] = None,
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="The page about it: demo.html by default.", show_default=False)
    ] = None,
    jobs: opt.Jobs = -1,
    force: opt.Force = False,
    as_json: opt.Json = False,
    packages: Annotated[str, typer.Option(hidden=True)] = "numpy,scipy,sklearn",
) -> None:
    """Try it out: topics that predict, on the help texts of numpy, scipy and scikit-learn, in less than a minute."""
    if out is not None:
        check_writable(out, force=force, model=True)
    if page is not None:
        check_writable(page, "--page", force=force)
    if os.path.realpath(out or MODEL) == os.path.realpath(page or PAGE):
        raise ValueError(f"--out: {out or MODEL} is the file of the page: the model needs a file of its own")
    start = time.perf_counter()
    names = packages.split(",")
    _say_wait(names)
    texts = Texts.read(names, seed)
    trials = Trials(texts, topics, seed, jobs)
    if as_json:
        say_json(trials.figures())
        return
    _say_documents(texts)
    _say_packages(trials)
    _say_explained(trials)
    _say_parameters(trials)
    _say_figures(trials)
    _write(trials, out, page)
    note(f"\nAll this took {time.perf_counter() - start:.0f} s.")


# --- the data and the models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """Docstrings with what is to be predicted, and which of them are held out."""

    text: np.ndarray
    name: np.ndarray
    package: np.ndarray
    n_parameters: np.ndarray
    held_out: np.ndarray  # of bool

    @classmethod
    def read(cls, packages: list[str], seed: int) -> Texts:
        import numpy as np

        from supertopic import datasets

        found = datasets.docstrings(packages)
        counts = {name: int((found.package == name).sum()) for name in packages}
        few = [name for name, n in counts.items() if n < 20]
        if few or len(packages) < 2:
            what = f"there are only {counts[few[0]]} docstrings in {few[0]}" if few else f"got {packages[0]} alone"
            raise ValueError(f"packages: {what}, expected two packages or more with 20 docstrings each")
        held_out = np.zeros(len(found.text), dtype=bool)
        chosen = np.random.default_rng(seed).permutation(len(held_out))[: int(SHARE_HELD_OUT * len(held_out))]
        held_out[chosen] = True
        text, name = np.asarray(found.text), np.asarray(found.name)
        return cls(text, name, found.package, found.n_parameters, held_out)

    @cached_property
    def log_length(self) -> np.ndarray:
        """(D, 1) the logarithm of the number of words."""
        import numpy as np

        return np.log([[len(text.split())] for text in self.text])


@dataclass
class Trials:
    """The two models with topics, the two linear models on all words, and their figures."""

    texts: Texts
    n_topics: int
    seed: int
    jobs: int | None

    @cached_property
    def classifier(self) -> Any:
        """Topics that tell the packages apart."""
        import pandas as pd

        from supertopic import MedLDAClassifier

        model = MedLDAClassifier(self.n_topics, vectorizer=self.vectorizer, **self._common())
        return model.fit(self._train(self.texts.text), pd.Series(self._train(self.texts.package), name="package"))

    @cached_property
    def regressor(self) -> Any:
        """Topics that predict a count, beside the length of the text."""
        from supertopic import SLDARegressor

        model = SLDARegressor(
            self.n_topics,
            response="negative_binomial",
            cross_fit=2,  # quicker than five folds, and the intervals hold as often
            vectorizer=self.vectorizer,
            **self._common(),
        )
        given = (self._train(self.texts.text), self._train(self.texts.n_parameters))
        return model.fit(*given, covariates=self._train(self.texts.log_length))

    @cached_property
    def vectorizer(self) -> Any:
        """Counts words, without the usual ones of docstrings and the names of the packages."""
        from supertopic import Vectorizer
        from supertopic.cli.demo_words import DOCSTRING_WORDS
        from supertopic.documents.languages import ENGLISH

        return Vectorizer(stop_words=sorted({*ENGLISH, *DOCSTRING_WORDS.split(), *self.texts.package}))

    def figures(self) -> dict[str, Any]:
        """Return the figures of all models on the documents held out, for JSON."""
        import numpy as np

        truth, counts = self.test(self.texts.package), self.test(self.texts.n_parameters)
        classes, frequent = np.unique(self._train(self.texts.package), return_counts=True)
        constant = classes[frequent.argmax()]
        number, low, high = self.regressor.predict(
            self.test(self.texts.text), 0.9, covariates=self.test(self.texts.log_length)
        )
        linear_class, linear_number = self._linear()
        return {
            "documents": len(self.texts.text),
            "held_out": int(self.texts.held_out.sum()),
            "topics": self.n_topics,
            "words": self.classifier.n_features_in_,
            "accuracy": float((self.guess == truth).mean()),
            "accuracy_of_words": float((linear_class == truth).mean()),
            "accuracy_of_the_largest": float((truth == constant).mean()),
            "error": float(np.abs(number - counts).mean()),
            "error_of_words": float(np.abs(linear_number - counts).mean()),
            "error_of_the_mean": float(np.abs(self._train(self.texts.n_parameters).mean() - counts).mean()),
            "coverage_90": float(((low <= counts) & (counts <= high)).mean()),
        }

    @cached_property
    def guess(self) -> np.ndarray:
        """The package of each docstring held out, by the topics."""
        return self.classifier.predict(self.test(self.texts.text))

    def test(self, values: np.ndarray) -> Any:
        """Return the values of the documents held out; texts as a list."""
        return _texts_or_array(values[self.texts.held_out])

    def _train(self, values: np.ndarray) -> Any:
        return _texts_or_array(values[~self.texts.held_out])

    def _common(self) -> dict[str, Any]:
        return {"n_jobs": self.jobs, "random_state": self.seed, "verbose": 1}

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what linear models on tf-idf of all words predict: the package, and the number of parameters."""
        import scipy.sparse as sp
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression, Ridge

        weigh, count = TfidfTransformer(sublinear_tf=True), self.classifier.vectorizer_.transform
        train = weigh.fit_transform(count(self._train(self.texts.text)))
        test = weigh.transform(count(self.test(self.texts.text)))
        package = LogisticRegression(C=10, max_iter=300).fit(train, self._train(self.texts.package)).predict(test)
        with_length = [
            sp.hstack([features, pick(self.texts.log_length)]).tocsr()
            for features, pick in ((train, self._train), (test, self.test))
        ]
        ridge = Ridge(1.0).fit(with_length[0], self._train(self.texts.n_parameters))
        return package, ridge.predict(with_length[1])


def _texts_or_array(values: np.ndarray) -> Any:
    return values.tolist() if values.dtype.kind == "U" else values


# --- what is said -------------------------------------------------------------------------------------------------


def _say_wait(packages: list[str]) -> None:
    """Say on standard error what takes time before anything can be printed."""
    import supertopic

    cache = os.environ.get("NUMBA_CACHE_DIR") or str(Path(supertopic.__file__).parent / "kernels" / "__pycache__")
    if not any(Path(cache).rglob("*.nbi")):
        note("The first run compiles the numerical code, which takes a minute or two. It is kept for the next runs.")
    note(f"Reading the help texts of {', '.join(packages)} …")


def _say_documents(texts: Texts) -> None:
    _prose(
        "supertopic reads many texts and finds topics in them: groups of words that tend to stand in the same texts. It"
        " finds topics that predict something you want to know, and shows why. Here is what that looks like."
    )
    _head("The texts")
    counts = [f"{int((texts.package == name).sum()):,} of {name}" for name in dict.fromkeys(texts.package)]
    n_held_out = int(texts.held_out.sum())
    _prose(
        f"{len(texts.text):,} help texts of functions, which are already on this machine: {', '.join(counts)}. Two"
        " questions are to be answered from the words of such a text. Which package is it from? How many parameters"
        f" does the function have? {n_held_out:,} texts, one in five, are set aside: the models never see them, so that"
        " the figures at the end are honest. The names of the packages are taken out of all texts."
    )


def _say_packages(trials: Trials) -> None:
    _head("Question 1: which package?")
    _prose(
        f"supertopic finds {trials.n_topics} topics that tell the packages apart. A text is a mixture of a few topics,"
        " and its topics say where it is from. (The model is called MedLDA.)"
    )
    model = trials.classifier
    columns, order = coefficient_columns(model)
    shown = model.topics(N_WORDS)
    package = columns.get("speaks for") or [str(model.classes_[int(c > 0)]) for c in model.coef_.ravel()]
    table = _table("topic", "share", "speaks for", "its most frequent words")
    for topic in order or shown.index:
        table.add_row(str(topic), f"{shown.loc[topic, 'share']:.0%}", package[topic], shown.loc[topic, "words"])
    say()
    show(table)


def _say_explained(trials: Trials) -> None:
    """Print two of the texts that were set aside, one with a right and one with a wrong answer, and the reasons."""
    texts, model = trials.texts, trials.classifier
    text, name, truth = (trials.test(column) for column in (texts.text, texts.name, texts.package))
    known = model.fitted_.corpus(text).lengths
    readable = [i for i in range(len(text)) if 200 <= len(text[i]) <= 700 and known[i] >= 15]
    right = next((i for i in readable if trials.guess[i] == truth[i]), None)
    wrong = next((i for i in readable if trials.guess[i] != truth[i]), None)
    _head("Two texts, explained")
    if right is not None:
        say(f"{name[right]} was set aside. It begins:\n")
        say(textwrap.indent(textwrap.fill(_beginning(text[right]), 84), "    "))
        say()
        _prose(
            f"The model says {trials.guess[right]}, and this is right. Every word gives points for or against a"
            " package, and the package with the most points is the answer. The strongest words:"
        )
        say()
        _say_reasons(model, text[right], trials.guess[right])
    if wrong is not None:
        share = float((trials.guess != truth).mean())
        say()
        _prose(
            f"For {share:.0%} of these texts the answer is wrong. {name[wrong]}, for example, is from {truth[wrong]},"
            f" and the model says {trials.guess[wrong]}. One can see why:"
        )
        say()
        _say_reasons(model, text[wrong], trials.guess[wrong])


def _beginning(text: str) -> str:
    """Return the first sentences of a docstring as plain text, without marks of reStructuredText and parameters."""
    text = re.sub(r":\w+:`([^`<]+)[^`]*`", r"\1", text.split("\nParameters\n")[0])
    text = re.sub(r"^\s*\.\. .*$|`", "", text, flags=re.MULTILINE)
    return textwrap.shorten(text, 300, placeholder=" …")


def _say_reasons(model: Any, text: str, guess: Any) -> None:
    """Print the words that speak for and against a class."""
    frame = model.explain_words(text)
    found = contributions(model, frame, guess)
    assert found is not None
    sign = -1 if len(model.classes_) == 2 and guess == model.classes_[0] else 1  # two classes have one predictor
    ranked = sorted(zip(frame["word"], sign * found[0], strict=True), key=lambda pair: -abs(pair[1]))
    for what, direction in (("for", 1), ("against", -1)):
        words = [f"{word} {by:+.1f}" for word, by in ranked if direction * by >= 0.05][:N_WORDS]
        say(f"    words {what:>7} {guess}:  {', '.join(words) or '–'}")


def _say_parameters(trials: Trials) -> None:
    """Print which topics raise and lower the predicted number of parameters."""
    import numpy as np

    model = trials.regressor
    _head("Question 2: how many parameters does the function have?")
    _prose(
        "Now a number is to be predicted, and other topics are found: those that go with many or with few parameters. A"
        " long text has more parameters, whatever it is about; so the length predicts beside the topics. (The model is"
        " called sLDA, and the length is a covariate.)"
    )
    factor, shown = np.exp(np.ravel(model.coef_)), model.topics(N_WORDS)["words"]
    usual = float(np.exp(np.ravel(model.intercept_)[0]))
    say()
    _prose(
        f"An average text has {usual:.1f} parameters. A text that is all about a single topic has so many times that:"
    )
    say()
    table = _table("", "times", "topic", "its most frequent words")
    order = np.argsort(-factor, kind="stable")
    for topics, what in ((order[:4], "more"), (order[-4:], "fewer")):
        for place, k in enumerate(topics):
            times = f"{factor[k]:.1f}" if factor[k] >= 0.1 else f"{factor[k]:.1g}"
            table.add_row("" if place else what, f"× {times}", str(k), shown.loc[k])
    show(table)


def _say_figures(trials: Trials) -> None:
    f = trials.figures()
    _head("How good is it?")
    say(f"On the {f['held_out']:,} texts that were set aside:\n")
    table = _table("", "package right", "parameters off by, on average")
    table.add_row("always the same answer", f"{f['accuracy_of_the_largest']:.1%}", f"{f['error_of_the_mean']:.2f}")
    table.add_row(f"{f['topics']} topics", f"{f['accuracy']:.1%}", f"{f['error']:.2f}", style="bold")
    table.add_row(
        f"linear model on {f['words']:,} words", f"{f['accuracy_of_words']:.1%}", f"{f['error_of_words']:.2f}"
    )
    show(table)
    worse = f["accuracy"] < f["accuracy_of_words"] and f["error"] > f["error_of_words"]
    compared = (
        "The linear model predicts better: it has a number for every word. The topics lose some of that, and can be"
        if worse
        else "The topics hold their own beside a number for every word, and can be"
    )
    say()
    _prose(
        f"{compared} read on a page. Where you want both, words=True (--words) lets words predict beside the topics. An"
        " interval around each predicted number should hold the truth nine times out of ten; here"
        f" {f['coverage_90']:.1%} do."
    )


def _write(trials: Trials, out: str | None, page: str | None) -> None:
    """Write the model and the page, under their usual names only where that harms nothing; say what to try next."""
    texts = trials.texts
    _head("What to try next")
    saved, shown = out is not None or _may_write(MODEL), page is not None or _may_write(PAGE)
    out, page = out or MODEL, page or PAGE
    if saved:
        trials.classifier.save(out)
    if shown:
        held_out = (trials.test(texts.text), trials.test(texts.package))
        title = "Which package is this docstring from?"
        trials.classifier.report(page, *held_out, names=trials.test(texts.name), title=title)
        say(f"Open {page} in a browser: all topics and texts, with reasons, and predictions as you type.\n")
    say("At the command line:")
    say_commands([
        *([["explain", out, "eigenvalues of a sparse matrix"], ["topics", out]] if saved else []),
        ["fit", "your.csv", "--text", "column_of_texts", "--target", "column_to_predict", "--out", "model.supertopic"],
        ["fit", "--help"],
    ])  # fmt: skip


def _may_write(path: str) -> bool:
    """Whether a file can be written and is not something else of the user's; a sentence says why not."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.access(folder, os.W_OK):
        note(f"{path} is not written: its folder may not be written to.")
        return False
    if os.path.exists(path) and b"supertopic" not in Path(path).read_bytes():
        note(f"{path} is not written: a file of this name is already there.")
        return False
    return True


def _head(text: str) -> None:
    say(f"\n── {text} {'─' * max(84 - len(text), 4)}\n")


def _prose(text: str) -> None:
    """Print a paragraph in lines of a readable length."""
    say(textwrap.fill(" ".join(text.split()), 88))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        words = "words" in name and "share" not in name
        table.add_column(name, justify="left" if words or name in ("", "speaks for") else "right", overflow="fold")
    return table
