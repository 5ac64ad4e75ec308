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
from supertopic.cli.explain import show_explanation
from supertopic.cli.response import unit_of
from supertopic.cli.show import is_quiet, note, prose, say, say_commands, say_json, show, topics_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MODEL, PAGE = "demo.supertopic", "demo.html"  # what is written, by default
N_WORDS = 6  # in a list of words


def demo(
    topics: Annotated[int, typer.Option("--topics", "-k", min=2, help="How many topics.")] = 20,
    seed: opt.Seed = 0,
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
    """Try it out: topics that predict, on the help texts of numpy, scipy and scikit-learn, in about a minute."""
    if out is not None:
        check_writable(out, force=force)
    if page is not None:
        check_writable(page, "--page", force=force)
    if os.path.realpath(out or MODEL) == os.path.realpath(page or PAGE):
        raise ValueError(f"--out: {out or MODEL} is the file of the page: the model needs a file of its own")
    start, names = time.perf_counter(), packages.split(",")
    _say_wait(names)
    trials = Trials.of(names, topics, seed, jobs)
    figures = trials.figures  # all fits come first, so that no bar of theirs stands between paragraphs
    if as_json:
        say_json(figures)
        return
    _say_texts(trials, names)
    saved = _write(trials, out, page)
    _say_topics(trials)
    _say_explained(trials)
    _say_figures(figures)
    _say_next(saved)
    note(f"\nAll this took {time.perf_counter() - start:.0f} s.")


@dataclass
class Trials:
    """Two models with topics, and the texts: text, name, package, n_parameters, log_length."""

    train: pd.DataFrame
    new: pd.DataFrame  # held out
    n_topics: int
    seed: int
    jobs: int | None

    @classmethod
    def of(cls, packages: list[str], n_topics: int, seed: int, jobs: int | None) -> Trials:
        """Read the docstrings, and hold one in five out."""
        import numpy as np
        import pandas as pd

        from supertopic import datasets

        texts = pd.DataFrame(dict(datasets.docstrings(packages)))
        counts = {name: int((texts["package"] == name).sum()) for name in packages}
        few = [name for name, n in counts.items() if n < 20]
        if few or len(packages) < 2:
            what = f"there are only {counts[few[0]]} docstrings in {few[0]}" if few else f"got {packages[0]} alone"
            raise ValueError(f"packages: {what}, expected two packages or more with 20 docstrings each")
        texts["log_length"] = np.log(texts["text"].str.split().str.len())
        new = np.sort(np.random.default_rng(seed).permutation(len(texts))[: len(texts) // 5])
        return cls(texts.drop(index=new), texts.iloc[new].reset_index(drop=True), n_topics, seed, jobs)

    @cached_property
    def classifier(self) -> Any:
        """Topics that tell the packages apart."""
        from supertopic import MedLDAClassifier

        model = MedLDAClassifier(self.n_topics, **self._common())
        return model.fit(self.train["text"], self.train["package"])

    @cached_property
    def regressor(self) -> Any:
        """Topics that predict a count, beside the length of the text."""
        from supertopic import SLDARegressor

        # two folds are quicker than five, and the intervals hold as often
        model = SLDARegressor(self.n_topics, response="negative_binomial", cross_fit=2, **self._common())
        return model.fit(self.train["text"], self.train["n_parameters"], covariates=self.train[["log_length"]])

    @cached_property
    def guess(self) -> np.ndarray:
        """The package of each docstring held out, by the topics."""
        return self.classifier.predict(self.new["text"])

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of all models on the documents held out."""
        train, new = self.train, self.new
        number, low, high = self.regressor.predict(new["text"], return_interval=0.9, covariates=new[["log_length"]])
        linear_class, linear_number = self._linear()
        truth = new["n_parameters"]
        return {
            "documents": len(train) + len(new),
            "held_out": len(new),
            "topics": self.n_topics,
            "words": self.classifier.n_features_in_,
            "accuracy": float((self.guess == new["package"]).mean()),
            "accuracy_of_words": float((linear_class == new["package"]).mean()),
            "accuracy_of_the_largest": float((new["package"] == train["package"].mode()[0]).mean()),
            "error": float((number - truth).abs().mean()),
            "error_of_words": float((linear_number - truth).abs().mean()),
            "error_of_the_mean": float((train["n_parameters"].mean() - truth).abs().mean()),
            "coverage_90": float(((low <= truth) & (truth <= high)).mean()),
        }

    def _common(self) -> dict[str, Any]:
        """Parameters of both models; words of any docstring and the names of the packages are left out."""
        from supertopic import Vectorizer
        from supertopic.cli.demo_words import DOCSTRING_WORDS
        from supertopic.documents.stop_words import ENGLISH

        left_out = sorted({*ENGLISH, *DOCSTRING_WORDS.split(), *self.train["package"]})
        shown = {"n_jobs": self.jobs, "verbose": int(not is_quiet())}
        return {"vectorizer": Vectorizer(stop_words=left_out), "random_state": self.seed, **shown}

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what linear models on tf-idf of all words predict: the package, and the number of parameters."""
        import scipy.sparse as sp
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression, Ridge

        weigh, count = TfidfTransformer(sublinear_tf=True), self.classifier.vectorizer_.transform
        train, new = weigh.fit_transform(count(self.train["text"])), weigh.transform(count(self.new["text"]))
        package = LogisticRegression(C=10, max_iter=300).fit(train, self.train["package"]).predict(new)
        train = sp.hstack([train, self.train[["log_length"]]]).tocsr()
        number = Ridge(1.0).fit(train, self.train["n_parameters"])
        return package, number.predict(sp.hstack([new, self.new[["log_length"]]]).tocsr())


def _say_wait(packages: list[str]) -> None:
    """Say on standard error what takes time before anything can be printed."""
    import supertopic

    cache = os.environ.get("NUMBA_CACHE_DIR") or str(Path(supertopic.__file__).parent / "kernels" / "__pycache__")
    if not any(Path(cache).rglob("*.nbi")):
        note("The first run compiles the numerical code, which takes a minute or two. It is kept for the next runs.")
    note(f"Reading the help texts of {', '.join(packages)} …")


def _say_texts(trials: Trials, packages: list[str]) -> None:
    prose(
        "supertopic reads many texts and finds topics in them: groups of words that tend to stand in the same texts. It"
        " finds topics that predict something you want to know, and shows why. Here is what that looks like."
    )
    _head("The texts")
    found = [*trials.train["package"], *trials.new["package"]]
    counts = ", ".join(f"{found.count(name):,} of {name}" for name in packages)
    prose(
        f"{len(found):,} help texts of functions, which are already on this machine: {counts}. Two questions are to be"
        " answered from the words of such a text. Which package is it from? How many parameters does the function"
        f" have? {len(trials.new):,} texts, one in five, are set aside: the models never see them, so that the figures"
        " at the end are honest. The names of the packages are taken out of all texts."
    )


def _say_topics(trials: Trials) -> None:
    _head("Question 1: which package?")
    prose(
        f"supertopic finds {trials.n_topics} topics that tell the packages apart. A text is a mixture of a few topics,"
        " and its topics say where it is from. (The model is called MedLDA.)"
    )
    say()
    show(topics_table(trials.classifier, N_WORDS))
    say()
    prose(unit_of(trials.classifier))
    _head("Question 2: how many parameters does the function have?")
    prose(
        "Now a number is to be predicted, and other topics are found: those that go with many or with few parameters. A"
        " long text has more parameters, whatever it is about; so the length predicts beside the topics. (The model is"
        " called sLDA, and the length is a covariate.)"
    )
    say()
    show(topics_table(trials.regressor, N_WORDS))
    say()
    prose(unit_of(trials.regressor))
    say()
    length = trials.new[["log_length"]]
    prose(str(trials.regressor.describe(trials.new["text"], trials.new["n_parameters"], covariates=length)))


def _say_explained(trials: Trials) -> None:
    """Print two of the texts that were set aside, one with a right and one with a wrong answer, and the reasons."""
    new, model = trials.new, trials.classifier
    right = new["package"] == trials.guess
    readable = new["text"].str.len().between(200, 700) & (model.fitted_.corpus(new["text"]).lengths >= 15)
    _head("Two texts, explained")
    for these, what in ((right, "and this is right"), (~right, "and this is wrong, as for {share:.0%} of these texts")):
        for place in new.index[these & readable][:1]:
            text, name, truth = new.loc[place, ["text", "name", "package"]]
            prose(f"{name} of {truth} was set aside. It begins:")
            say()
            say(textwrap.indent(textwrap.fill(_beginning(text), 74), "    "))
            say()
            prose(
                f"The model says {trials.guess[place]}, {what.format(share=1 - right.mean())}. Every word gives points"
                " for or against a package, and the package with the most points is the answer."
            )
            say()
            show_explanation(model, text, n_topics=3)


def _beginning(text: str) -> str:
    """Return the first sentences of a docstring as plain text, without marks of reStructuredText and parameters."""
    text = re.sub(r":\w+:`([^`<]+)[^`]*`", r"\1", text.split("\nParameters\n")[0])
    text = re.sub(r"^\s*\.\. .*$|`", "", text, flags=re.MULTILINE)
    return textwrap.shorten(text, 300, placeholder=" …")


def _say_figures(f: dict[str, Any]) -> None:
    _head("How good is it?")
    say(f"On the {f['held_out']:,} texts that were set aside:\n")
    table = Table("", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("package right", "parameters off by, on average"):
        table.add_column(name, justify="right")
    for name, accuracy, error, style in (
        ("always the same answer", "accuracy_of_the_largest", "error_of_the_mean", ""),
        (f"{f['topics']} topics", "accuracy", "error", "bold"),
        (f"linear model on {f['words']:,} words", "accuracy_of_words", "error_of_words", ""),
    ):
        table.add_row(name, f"{f[accuracy]:.1%}", f"{f[error]:.2f}", style=style)
    show(table)
    worse = f["accuracy"] < f["accuracy_of_words"] and f["error"] > f["error_of_words"]
    compared = (
        "The linear model predicts better: it has a number for every word. The topics lose some of that, and can be"
        if worse
        else "The topics hold their own beside a number for every word, and can be"
    )
    say()
    prose(
        f"{compared} read on a page. Where you want both, words=True (--words) lets words predict beside the topics. An"
        " interval around each predicted number should hold the truth nine times out of ten; here"
        f" {f['coverage_90']:.1%} do."
    )


def _write(trials: Trials, out: str | None, page: str | None) -> str | None:
    """Write the model and the page, under their usual names only where that harms nothing; where the model is."""
    saved, shown = out is not None or _may_write(MODEL), page is not None or _may_write(PAGE)
    out, page, new = out or MODEL, page or PAGE, trials.new
    _head("The page")
    if saved:
        trials.classifier.save(out)
    if shown:
        title = "Which package is this docstring from?"
        trials.classifier.report(page, new["text"].tolist(), new["package"], names=new["name"].tolist(), title=title)
        prose(f"Open {page} in a browser: all topics and texts, with reasons, and predictions as you type. It begins:")
        say()
    prose(str(trials.classifier.describe(new["text"], new["package"])))
    return out if saved else None


def _say_next(saved: str | None) -> None:
    _head("What to try next")
    say_commands([
        *([["explain", saved, "eigenvalues of a sparse matrix"], ["topics", saved]] if saved else []),
        ["fit", "your.csv", "--text", "column_of_texts", "--target", "column_to_predict", "--out", "model.supertopic"],
        ["fit", "--help"],
    ])  # fmt: skip


def _may_write(path: str) -> bool:
    """Whether a file can be written and is not something else of the user's; a sentence says why not."""
    why = ""
    if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
        why = "its folder may not be written to"
    elif os.path.exists(path) and b"supertopic" not in Path(path).read_bytes():
        why = "a file of this name is already there"
    if why:
        note(f"{path} is not written: {why}.")
    return not why


def _head(text: str) -> None:
    say(f"\n── {text} {'─' * max(72 - len(text), 4)}\n")
