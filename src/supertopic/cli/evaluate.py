"""supertopic evaluate: measures of a model on documents it was not fitted on.

A new measure is one entry in MEASURES; the measures of the response are in `answers`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from supertopic.cli import options as opt
from supertopic.cli.answers import Answers, answers_of
from supertopic.cli.documents import load_model, read_documents
from supertopic.cli.learning import covariates_for, covariates_of, metadata_from, split_names
from supertopic.cli.outcomes import outcomes_of, takes_texts
from supertopic.cli.show import note, say, say_json, show

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

METHODS = ("completion", "left_to_right", "chib")


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    text: opt.TextColumn = None,
    target: opt.TargetColumn = None,
    covariates: opt.Covariates = "",
    method: Annotated[
        str,
        typer.Option(
            metavar="|".join(METHODS),
            help="How the likelihood is measured: on the second half of each document given the first, or"
            " of whole documents by sampling (slow).",
        ),
    ] = "completion",
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = None,
    as_json: opt.Json = False,
) -> None:
    """Measure a model on documents that it was not fitted on: its topics, and with --target its predictions."""
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(METHODS)}.", param_hint="--method")
    fitted = load_model(model, jobs)
    targets, beside = split_names(target), covariates_for(fitted, covariates)
    if targets and not outcomes_of(fitted):
        raise typer.BadParameter(f"a model of kind {type(fitted).__name__} has no response.", param_hint="--target")
    columns, more = [*targets, *(beside if targets else ())], fitted.fitted_.prior_columns
    documents, cells, _ = read_documents(data, text, columns, more, encoding=encoding)
    trial = Trial(fitted, documents, method)
    if targets:
        given = covariates_of(fitted, cells, beside)
        trial.answers = answers_of(fitted, trial.readable, cells, targets, given, metadata_from(cells, fitted))
    elif outcomes_of(fitted):
        note("The predictions are not measured: say with --target which column holds the truth.")
    if as_json:
        say_json({"method": method, **_as_json(trial)})
        return
    show(figures_table(measure(trial)))
    for name, answers in trial.answers.items():
        say(f"\nPredictions of {name}:\n")
        show(figures_table(measure_answers(answers)))
        confusion = answers.confusion()
        if confusion is not None:
            say("\nDocuments of a class (rows) by the class predicted (columns):\n")
            show(_confusion_table(confusion))


def _as_json(trial: Trial) -> dict[str, Any]:
    """Return all figures; those of several targets by target."""
    told = {}
    for name, answers in trial.answers.items():
        confusion = answers.confusion()
        more = {} if confusion is None else {"classes": list(confusion), "confusion": confusion.to_numpy().tolist()}
        told[name] = {**measure_answers(answers), **more}
    single = next(iter(told.values())) if len(told) == 1 else {"targets": told} if told else {}
    return {**measure(trial), **single}


@dataclass
class Trial:
    """A model, the documents it is measured on, and the true values of its predictions if they are known."""

    model: TopicEstimator
    documents: list[str]
    method: str = "completion"
    answers: dict[str, Answers] = field(default_factory=dict)  # by target

    @cached_property
    def corpus(self) -> Any:
        corpus = self.model.fitted_.corpus(self.documents)
        if corpus.n_tokens == 0:
            raise ValueError(f"none of the {len(corpus):,} documents holds a word that the model knows")
        return corpus

    @cached_property
    def readable(self) -> Any:
        """The documents as the model takes them."""
        return self.documents if takes_texts(self.model) else self.corpus

    @cached_property
    def perplexity(self) -> float:
        if takes_texts(self.model):  # a model of sentences completes documents by whole sentences
            if self.method != "completion":
                raise ValueError("--method: a model of sentences is measured by completion only")
            return float(self.model.perplexity(self.documents))
        return float(self.model.perplexity(self.corpus, self.method, n_jobs=self.model.n_jobs))

    def top(self, n: int) -> int:
        """Return n, or the number of words if that is smaller."""
        return min(n, self.model.n_features_in_)


def _nats(trial: Trial) -> float:
    import numpy as np

    return float(np.log(trial.perplexity))


def _coherence(trial: Trial) -> float | None:
    from supertopic.metrics import coherence

    if trial.top(10) < 2:
        return None  # a single word has no pairs
    return float(coherence(trial.model, trial.documents, "npmi", top_n=trial.top(10)).mean())


def _diversity(trial: Trial) -> float:
    from supertopic.metrics import topic_diversity

    return topic_diversity(trial.model, top_n=trial.top(25))


def _entropy(trial: Trial) -> float:
    from supertopic.documents.corpus import EmptyDocumentWarning
    from supertopic.metrics import doc_topic_entropy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # they are reported as a separate figure
        return doc_topic_entropy(trial.model, trial.readable)


def _r2(answers: Answers) -> float | None:
    """Predictive R²; None if all true values are equal."""
    from supertopic.metrics import predictive_r2

    return predictive_r2(answers.truth, answers.prediction) if answers.truth.std() > 0 else None


def _correlation(answers: Answers) -> float | None:
    """Pearson's; None if all true values or all predictions are equal."""
    import numpy as np

    constant = min(answers.truth.std(), answers.prediction.std()) == 0
    return None if constant else float(np.corrcoef(answers.truth, answers.prediction)[0, 1])


def _accuracy(answers: Answers) -> float:
    return float((answers.truth == answers.prediction).mean())


def _largest(answers: Answers) -> float:
    import numpy as np

    return float(np.unique(answers.truth, return_counts=True)[1].max() / len(answers.truth))


def _macro_f1(answers: Answers) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(answers.truth, answers.prediction, average="macro", zero_division=0))


def _median_km(answers: Answers) -> float:
    import numpy as np

    return float(np.median(answers.km))


@dataclass(frozen=True)
class Measure:
    """A measure: how to compute, print and read it. `kind` is the kind of response it needs, "" for none."""

    compute: Callable[[Any], float | int | None]
    form: str
    about: str
    kind: str = ""
    missing: str = "not to be had for this model and these documents"


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
    "labelled_documents": Measure(lambda a: len(a.truth), ",d", "those the predictions are measured on", "any"),
    "r2": Measure(_r2, ".4f", "share of the variance that is predicted; 1 is perfect", "number"),
    "mae": Measure(lambda a: float(abs(a.error).mean()), ".4g", "mean absolute error", "number"),
    "rmse": Measure(lambda a: float((a.error**2).mean() ** 0.5), ".4g", "root of the mean squared error", "number"),
    "correlation": Measure(_correlation, ".4f", "of prediction and truth", "number"),
    "coverage_90": Measure(lambda a: a.coverage, ".3f", "of intervals that should hold nine of ten", "number"),
    "accuracy": Measure(_accuracy, ".4f", "share of documents whose class is predicted", "class"),
    "largest_class": Measure(_largest, ".4f", "accuracy of always saying the most frequent one", "class"),
    "macro_f1": Measure(_macro_f1, ".4f", "mean over classes of the F1 measure", "class"),
    "log_loss": Measure(lambda a: a.log_loss, ".4f", "nats: lower is better", "class", "needs probabilities"),
    "mean_km": Measure(lambda a: float(a.km.mean()), ",.0f", "mean distance to the true place, in kilometres", "place"),
    "median_km": Measure(_median_km, ",.0f", "half of the documents are nearer than this", "place"),
}


def measure(trial: Trial) -> dict[str, float | int | None]:
    """Return the measures of the topics."""
    return {name: m.compute(trial) for name, m in MEASURES.items() if not m.kind}


def measure_answers(answers: Answers) -> dict[str, float | int | None]:
    """Return the measures of the predictions of one outcome."""
    return {name: m.compute(answers) for name, m in MEASURES.items() if m.kind in ("any", answers.kind)}


def _confusion_table(confusion: Any) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", style="dim")
    for label in confusion.columns:
        table.add_column(str(label), justify="right", overflow="fold")
    for label, row in confusion.iterrows():
        table.add_row(str(label), *(f"{count:,}" if count else "·" for count in row))
    return table


def figures_table(figures: dict[str, float | int | None]) -> Table:
    """A table with the name and value of each measure, and how to read it."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="bold")
    table.add_column(style="dim")
    for name, value in figures.items():
        measure = MEASURES[name]
        told = ("–", measure.missing) if value is None else (format(value, measure.form), measure.about)
        table.add_row(name.replace("_", " "), *told)
    return table
