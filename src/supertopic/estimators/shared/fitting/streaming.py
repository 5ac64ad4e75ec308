"""Fits of streams, which are read again and again and never held whole.

A first pass chooses the vocabulary where documents are text, a second one counts documents and surveys labels; then
come the epochs of stochastic inference or of prediction-constrained training, and for a response one more pass that
infers topics without y, for the refit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from supertopic.checkpoint import fingerprint_data
from supertopic.documents.corpus import Corpus
from supertopic.documents.covariates import Columns, Scaling
from supertopic.documents.labels import LabelSurvey, Target, as_table
from supertopic.documents.streams import Stream
from supertopic.estimators.shared.fitting.ensemble import n_members
from supertopic.estimators.shared.fitting.priors import look_at
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.refit import SpilledDocuments
from supertopic.inference.batches import Batch
from supertopic.inference.task import Fit, run
from supertopic.inference.variational.climb import Climb
from supertopic.inference.variational.prediction_stream import fit_partial, fit_prediction_stream
from supertopic.inference.variational.stochastic import fit_epochs
from supertopic.model import Model


@dataclass(frozen=True)
class Survey:
    """What one pass over a stream tells."""

    sample: Corpus  # the first batch
    n_documents: int
    n_tokens: float
    data: str  # a hash of all batches, for a checkpoint


def unlabelled(corpus: Corpus, n_topics: int) -> Batch:
    """A batch of documents without responses."""
    return Batch(corpus.counts, np.full(len(corpus), np.nan), np.ones(len(corpus)), n_topics)


def fit_stream(estimator: Any, stream: Stream, settings: Any) -> Any:
    """Fit an estimator without a response."""
    found = _survey(estimator, stream)
    model = estimator._check_model(found.sample, batch=True)

    def epoch(number: int) -> Iterator[Batch]:
        for corpus in stream.batches(estimator.vectorizer_, n_features=estimator.n_features_in_):
            yield unlabelled(corpus, model.n_topics)

    _run(estimator, model, unlabelled(found.sample, model.n_topics), settings, epoch, found)
    return estimator


def fit_labelled_stream(estimator: Any, stream: Stream, settings: Any, beside: dict[str, Any]) -> Any:
    """Fit an estimator with a response, whose labels come with the stream.

    beside : further arguments of `fit`, which have to be None
    """
    for name, value in beside.items():
        if value is not None:
            raise ValueError(f"{name}: got a value beside a Stream, which brings its own; expected None")
    labels = LabelSurvey()
    found = _survey(estimator, stream, labels)
    estimator._n_covariates, estimator._columns, estimator._scaling = 0, Columns(), Scaling()
    estimator.supervision_ = float(estimator._supervision())
    look_at(estimator, found.sample, found.n_documents)
    _, estimator._targets = estimator._read_targets(*labels.table())
    estimator._forget_words()
    model = estimator._check_model(found.sample, batch=True)
    first, summary = None, None
    for training in _labelled(estimator, stream):
        first = first or training
        described = model.response.describe(training.y, estimator.supervision_ * training.weight)
        summary = described if summary is None else summary + described
    assert first is not None

    def epoch(number: int) -> Iterator[Batch]:
        for training in _labelled(estimator, stream):
            yield training.batch(model.n_topics, estimator.supervision_, estimator.counts_)

    sample = first.batch(model.n_topics, estimator.supervision_, estimator.counts_)
    _run(estimator, model, sample, settings, epoch, found, labels=summary)
    if estimator.refit:
        _refit(estimator, stream)
    return estimator


def _labelled(estimator: Any, stream: Stream) -> Iterator[Training]:
    """The batches of a stream, their labels as numbers."""
    for corpus, y in stream.pairs(estimator.vectorizer_, n_features=estimator.n_features_in_):
        numbers = estimator._new_labels(y, len(corpus))
        estimator._response().check(numbers)
        yield Training(corpus, numbers, estimator._label_weight(numbers), np.zeros((len(corpus), 0)))


def learns_nothing(estimator: Any, corpus: Corpus, first: bool) -> bool:
    """Whether a later batch holds words, none of which is in the vocabulary; the first time, a warning says so."""
    if first or corpus.n_tokens or not corpus.n_unknown:
        return False
    if not getattr(estimator, "_said_unknown", False):
        estimator._said_unknown = True
        warnings.warn(
            f"partial_fit: none of the {corpus.n_unknown:,} words of this batch is in the vocabulary of "
            f"{estimator.n_features_in_:,} words, which the first batch decided; nothing is learned from it",
            UserWarning,
            stacklevel=3,
        )
    return True


def check_batches(estimator: Any) -> None:
    """Refuse what needs all documents at once."""
    if isinstance(estimator._supervision(), str):
        raise ValueError("supervision: got 'auto', which needs all documents at once; expected a number")
    if estimator._has_words():
        raise ValueError("words: got True, which needs all documents at once; expected False")
    if share := estimator._honest_share():
        raise ValueError(f"honest: got {share:g}, which needs all documents at once; expected 0")
    if n_members(estimator) > 1:
        raise ValueError("ensemble: got more than one fit, which needs all documents at once; expected 1")


def first_targets(estimator: Any, y: Any, n_documents: int, classes: Any) -> list[Target]:
    """What y is, from a first batch and the classes there will be."""
    table, names = as_table(y, n_documents, type(estimator).__name__)
    if classes is not None:
        more = np.empty((len(classes), table.shape[1]), dtype=object)
        more[:] = np.asarray(list(classes), dtype=object)[:, None]
        table = np.concatenate([table, more])
    return estimator._read_targets(table, names)[1]


def _survey(estimator: Any, stream: Stream, labels: LabelSurvey | None = None) -> Survey:
    """One pass: the first batch, the number of documents and tokens, and what the labels are."""
    inference, name = estimator._inference(), type(estimator).__name__
    if inference not in ("svi", "pc"):
        which = "'svi' or 'pc'" if "pc" in estimator.engines else "'svi'"
        raise ValueError(f"inference: got {inference!r}, but a Stream is fitted with inference={which} only")
    texts = stream.holds_text()
    estimator.vectorizer_ = clone(estimator._vectorizer()).fit_stream(stream.texts()) if texts else None
    n_documents, n_tokens, sample, data = 0, 0.0, None, ""
    for corpus, y in stream.pairs(estimator.vectorizer_):
        sample = sample or corpus
        n_documents, n_tokens = n_documents + len(corpus), n_tokens + corpus.n_tokens
        if estimator.checkpoint is not None:
            data = fingerprint_data(corpus.counts, y, data)
        if labels is None:
            continue
        if y is None:
            raise ValueError("X is a stream without responses; give Stream(..., target=) or pairs of documents and y")
        labels.add(*as_table(y, len(corpus), name))
    if sample is None or n_tokens == 0:
        raise ValueError("X is a stream without a word")
    estimator._remember_words(sample)
    estimator._n_seen = n_documents
    return Survey(sample, n_documents, n_tokens, data)


def _run(
    estimator: Any, model: Model, sample: Batch, settings: Any, epoch: Callable[[int], Iterator[Batch]], found: Survey,
    labels: Any = None,
) -> None:  # fmt: skip
    """The epochs, and what they found."""
    task = estimator._task(model, sample, settings, data=found.data)
    task = replace(task, n_documents=found.n_documents, labels=labels)
    fit = fit_prediction_stream if estimator._engine().at_mode else fit_epochs
    engine = partial(fit, epoch=epoch, n_documents=found.n_documents, n_tokens=found.n_tokens)
    with task.backend:
        estimator._keep(model, run(engine, task, type(estimator).__name__))
    estimator._forget_shares()
    estimator._derive(model)


def _refit(estimator: Any, stream: Stream) -> None:
    """The coefficients once more, on topic shares that one pass infers without y and writes to a temporary file."""
    model, total = estimator._model(), np.zeros(estimator.n_topics)
    spilled = SpilledDocuments(model.n_topics, 0, len(estimator._targets))
    try:
        for training in _labelled(estimator, stream):
            shares = estimator._shares_without_y(training)
            total += shares.sum(axis=0)
            spilled.append(shares, training.covariates, training.y, training.weight)
        with estimator._backend(1):
            refit = model.coef_step.refit
            estimator._state, _ = refit(model, estimator._state, estimator._terms, spilled.total)
    finally:
        spilled.close()
    estimator._average = total / total.sum()
    estimator._derive(model)


def fit_partial_prediction(estimator: Any, model: Model, batch: Batch, first: bool) -> Any:
    """`partial_fit` of an estimator with inference="pc"; `_climb` and `_climb_steps` keep the optimiser's state."""
    task = estimator._task(model, batch, estimator._engine().read(estimator))
    learning = estimator.engines["svi"].read(estimator).learning
    estimator._n_seen += len(batch)
    n_documents = max(estimator.total_documents or estimator._n_seen, len(batch))
    state = None if first else estimator._state
    climb = None
    if hasattr(estimator, "_climb"):
        climb = Climb(*estimator._climb.copy())
        climb.steps = int(estimator._climb_steps[0])
    with task.backend:
        relative = partial(_relative, learning)
        state, climb, value = fit_partial(task, state, climb, n_documents, relative)
    estimator._climb = np.stack(list(climb.arrays().values()))
    estimator._climb_steps = np.array([climb.steps])
    trace = [value] if first else [*estimator.bound_, value]
    estimator._keep(model, Fit(state, trace, len(trace)))
    estimator._derive(model)
    return estimator


def _relative(learning: Any, step: int) -> float:
    return float(learning.rate(step) / learning.rate(0))
