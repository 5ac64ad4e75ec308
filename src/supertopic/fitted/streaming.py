"""Fits of streams, which are read again and again and never held whole, and of batches as they come.

A first pass chooses the vocabulary where documents are text, a second one counts documents and surveys labels; then
come the epochs of stochastic inference or of prediction-constrained training, and for a response one more pass that
infers topics without y, for the refit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from supertopic.checkpoint import fingerprint_data
from supertopic.documents.corpus import Corpus
from supertopic.documents.covariates import Columns, CovariateSurvey, Scaling
from supertopic.documents.labels import LabelSurvey, as_table
from supertopic.documents.streams import Stream
from supertopic.fitted.fit import kept, seen_by_topics, task_of, with_prior_errors
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.predict import shares_without_y
from supertopic.fitted.spec import Spec
from supertopic.fitted.training import Training
from supertopic.inference.after.refit import SpilledDocuments
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import first_state
from supertopic.inference.settings import StochasticSettings
from supertopic.inference.task import Fit, run
from supertopic.inference.variational.prediction_stream import fit_partial, fit_prediction_stream
from supertopic.inference.variational.step import Schedule, take_step
from supertopic.inference.variational.stochastic import fit_epochs


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a stream tells."""

    vocabulary: Vocabulary
    sample: Corpus  # the first batch
    n_documents: int
    n_tokens: float
    data: str  # a hash of all batches
    labels: LabelSurvey | None  # of a stream with responses
    embedded: bool  # whether documents have embeddings
    columns: Columns  # of the covariates
    scaling: Scaling


def survey(stream: Stream, vectorizer: Any, who: str, labelled: bool) -> Survey:
    """One pass: the first batch, the number of documents and tokens, and what the labels are."""
    labels, covariates, embedded = LabelSurvey() if labelled else None, CovariateSurvey(), False
    counter = clone(vectorizer).fit_stream(stream.texts()) if stream.holds_text() else None
    n_documents, n_tokens, sample, data = 0, 0.0, None, ""
    for corpus, y, given, known in stream.parts(counter):
        sample = sample or corpus
        n_documents, n_tokens = n_documents + len(corpus), n_tokens + corpus.n_tokens
        if labels is None and (given is not None or known.weight is not None or known.embeddings is not None):
            name = "covariates" if given is not None else "sample_weight" if known.weight is not None else "embeddings"
            raise ValueError(f"{name}: got columns of a Stream, but {who} has no response that they could predict")
        given, known = known.widened(given)
        embedded = known.embeddings is not None
        numbers = covariates.add(given, len(corpus))
        data = fingerprint_data(corpus.counts, y, numbers, *known.arrays().values(), data)
        if labels is None:
            continue
        if y is None:
            raise ValueError("X is a stream without responses; give Stream(..., target=) or pairs of documents and y")
        labels.add(*as_table(y, len(corpus), who))
    if sample is None or n_tokens == 0:
        raise ValueError("X is a stream without a word")
    names = None if sample.vocabulary is None else np.asarray(sample.vocabulary, dtype=object)
    return Survey(
        Vocabulary(sample.n_words, names, counter),
        sample,
        n_documents,
        n_tokens,
        data,
        labels,
        embedded,
        *covariates.found(),
    )


def fit_stream(
    spec: Spec, found: Survey, batches: Callable[[], Iterator[Training]], seed: int, start: Fitted | None, refit: bool
) -> Fitted:
    """The epochs, and one more pass for coefficients on topics that have not seen y (`refit`).

    batches : the documents of one pass
    """
    schema, labels = spec.schema, None
    if found.labels is not None:
        first = None
        for training in batches():
            first = first or training
            described = spec.response.describe(training.y, schema.supervision * training.weight)
            labels = described if labels is None else labels + described
        assert first is not None
        sample = seen_by_topics(spec, first, refit).batch(spec)
    else:
        sample = seen_by_topics(spec, next(batches()), refit).batch(spec)

    def epoch(number: int) -> Iterator[Batch]:
        for training in batches():
            yield seen_by_topics(spec, training, refit).batch(spec)

    task = task_of(spec, sample, seed, start, data=found.data)
    task = replace(task, n_documents=found.n_documents, labels=labels)
    engine = fit_prediction_stream if spec.engine.at_mode else fit_epochs
    with task.backend:
        epochs = partial(engine, epoch=epoch, n_documents=found.n_documents, n_tokens=found.n_tokens)
        of_stream = {"n_seen": found.n_documents, "data": found.data}
        fitted = kept(spec, found.vocabulary, run(epochs, task, spec.name), **of_stream)
    fitted = _refitted(fitted, batches) if refit else fitted
    with spec.place.open() as backend:
        shares = ((one, fitted.infer(one.corpus, backend, one.known)) for one in batches())
        return with_prior_errors(fitted, shares)


def _refitted(fitted: Fitted, batches: Callable[[], Iterator[Training]]) -> Fitted:
    """The coefficients once more, on topic shares that one pass infers without y and writes to a temporary file."""
    spec, total = fitted.spec, np.zeros(fitted.n_topics)
    spilled = SpilledDocuments(spec.model.n_topics, spec.schema.n_covariates, len(spec.parts))
    try:
        for training in batches():
            shares = shares_without_y(fitted, training)
            total += shares.sum(axis=0)
            spilled.append(shares, training.covariates, training.y, training.weight)
        with spec.place.open(1):
            state, _ = spec.model.coef_step.refit(spec.model, fitted.state, fitted.terms, spilled.total)
    finally:
        spilled.close()
    return replace(fitted, state=state, average=total / total.sum())


def fit_batch(
    spec: Spec, training: Training, vocabulary: Vocabulary, seed: int, before: Fitted | None,
    batches: StochasticSettings,
) -> Fitted:  # fmt: skip
    """One step on a batch of documents as they come (`partial_fit`).

    batches : how steps shrink, and how many documents there are in all
    """
    n_seen = len(training.corpus) + (0 if before is None else before.n_seen)
    # a number that was given stands: more documents than announced are second passes over the same ones
    total = max(batches.total_documents or n_seen, len(training.corpus))
    step = _prediction_step if spec.engine.at_mode else _stochastic_step
    fitted = step(spec, training.batch(spec), vocabulary, seed, before, batches, total, n_seen)
    data = training.fingerprint if before is None else fingerprint_data(np.zeros(0), before.data, training.fingerprint)
    return replace(fitted, data=data)


def _stochastic_step(
    spec: Spec, batch: Batch, vocabulary: Vocabulary, seed: int, before: Fitted | None, batches: StochasticSettings,
    total: int, n_seen: int,
) -> Fitted:  # fmt: skip
    task = replace(task_of(replace(spec, settings=batches), batch, seed), n_documents=total)
    state = first_state(task) if before is None else before.state
    seen = [] if before is None else before.trace.tolist()
    with task.backend as backend:
        rate = batches.learning.rate(len(seen))
        step = take_step(spec.model, state, batch, backend, batches.limits, n_documents=total, rate=rate)
        bound = step.bound(spec.model, backend) * len(batch) / total
    trace = [*seen, bound / max(float(batch.counts.sum(dtype=np.float64)), 1.0)]
    return kept(spec, vocabulary, Fit(step.state, trace, len(trace)), n_seen=n_seen)


def _prediction_step(
    spec: Spec, batch: Batch, vocabulary: Vocabulary, seed: int, before: Fitted | None, batches: StochasticSettings,
    total: int, n_seen: int,
) -> Fitted:  # fmt: skip
    """With inference="pc"; `Fitted.climb` is the optimiser's state."""
    task = task_of(spec, batch, seed)
    state = None if before is None else before.state
    climb = None if before is None else deepcopy(before.climb)
    with task.backend:
        rate = partial(_relative, batches.learning)
        state, climb, value = fit_partial(task, state, climb, total, rate)
    trace = [*([] if before is None else before.trace.tolist()), value]
    return kept(spec, vocabulary, Fit(state, trace, len(trace)), n_seen=n_seen, climb=climb)


def _relative(learning: Schedule, step: int) -> float:
    return float(learning.rate(step) / learning.rate(0))


def warned_unknown(fitted: Fitted, corpus: Corpus) -> Fitted | None:
    """A fitted model that learns nothing from a later batch, since none of its words is in the vocabulary; or None.

    The first time, a warning says so.
    """
    if corpus.n_tokens or not corpus.n_unknown:
        return None
    if not fitted.said_unknown:
        warnings.warn(
            f"partial_fit: none of the {corpus.n_unknown:,} words of this batch is in the vocabulary of "
            f"{fitted.vocabulary.n_words:,} words, which the first batch decided; nothing is learned from it",
            UserWarning,
            stacklevel=3,
        )
    return replace(fitted, said_unknown=True)
