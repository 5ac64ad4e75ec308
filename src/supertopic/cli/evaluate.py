"""supertopic evaluate: how well a model fits documents it has not seen; a new figure is one entry in MEASURES."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import typer
from rich.table import Table

from supertopic.cli.documents import Data, Encoding, Jobs, ModelFile, TextColumn, load_model, read_documents
from supertopic.cli.look import Json
from supertopic.cli.show import say_json, show

METHODS = ("completion", "left_to_right", "chib")


def evaluate(
    model: ModelFile,
    data: Data,
    text: TextColumn = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="|".join(METHODS),
            help="How the likelihood is measured: on the second half of each document given the first, or"
            " of whole documents by sampling (slow).",
        ),
    ] = "completion",
    encoding: Encoding = "utf-8",
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Measure a model on documents that it was not fitted on."""
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(METHODS)}.", param_hint="--method")
    fitted = load_model(model, jobs)
    documents, _, _ = read_documents(data, text, encoding=encoding)
    figures = measure(Trial(fitted, documents, method))
    if as_json:
        say_json({"method": method, **figures})
    else:
        show(figures_table(figures))


@dataclass
class Trial:
    """A model and the documents it is measured on."""

    model: Any
    documents: list[str]
    method: str = "completion"

    @cached_property
    def corpus(self) -> Any:
        corpus = self.model._as_corpus(self.documents)
        if corpus.n_tokens == 0:
            raise ValueError(f"none of the {len(corpus):,} documents holds a word that the model knows")
        return corpus

    @cached_property
    def perplexity(self) -> float:
        return float(self.model.perplexity(self.corpus, self.method, n_jobs=self.model.n_jobs))

    def top(self, n: int) -> int:
        """n words per topic, or all where there are fewer."""
        return min(n, self.model.n_features_in_)


def _nats(trial: Trial) -> float:
    import numpy as np

    return float(np.log(trial.perplexity))


def _coherence(trial: Trial) -> float | None:
    from supertopic.metrics import coherence

    if trial.top(10) < 2:
        return None  # one word makes no pair
    return float(coherence(trial.model, trial.documents, "npmi", top_n=trial.top(10)).mean())


def _diversity(trial: Trial) -> float:
    from supertopic.metrics import topic_diversity

    return topic_diversity(trial.model, top_n=trial.top(25))


def _entropy(trial: Trial) -> float:
    from supertopic.corpus import EmptyDocumentWarning
    from supertopic.metrics import doc_topic_entropy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # they are a figure of their own
        return doc_topic_entropy(trial.model, trial.corpus)


@dataclass(frozen=True)
class Measure:
    """A figure: how it is computed, printed and read. `applies` says for which models it makes sense."""

    compute: Callable[[Trial], float | int | None]
    form: str
    about: str
    applies: Callable[[Any], bool] = lambda model: True


MEASURES: dict[str, Measure] = {
    "documents": Measure(lambda t: len(t.corpus), ",d", ""),
    "empty_documents": Measure(lambda t: t.corpus.n_empty, ",d", "without a word that the model knows"),
    "tokens": Measure(lambda t: int(t.corpus.n_tokens), ",d", "words that the model knows"),
    "unknown_words": Measure(lambda t: int(t.corpus.n_unknown), ",d", "words that it does not know, left out"),
    "perplexity": Measure(lambda t: t.perplexity, ",.1f", "lower is better: as hard as guessing among so many words"),
    "nats_per_token": Measure(_nats, ".4f", "its logarithm"),
    "coherence_npmi": Measure(_coherence, ".3f", "higher is better, -1 to 1: top words stand together"),
    "diversity": Measure(_diversity, ".3f", "1 when no two topics share a top word"),
    "doc_topic_entropy": Measure(_entropy, ".3f", "nats: 0 when every document has one topic"),
}


def measure(trial: Trial) -> dict[str, float | int | None]:
    """All figures that make sense for the model."""
    return {name: m.compute(trial) for name, m in MEASURES.items() if m.applies(trial.model)}


def figures_table(figures: dict[str, float | int | None]) -> Table:
    """Name, value, and how to read it."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="bold")
    table.add_column(style="dim")
    for name, value in figures.items():
        shown = "–" if value is None else format(value, MEASURES[name].form)
        table.add_row(name.replace("_", " "), shown, MEASURES[name].about)
    return table
