"""A fit: a Spec and documents become a Fitted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from supertopic.checkpoint import Checkpoint, fingerprint_data, fingerprint_value
from supertopic.dates import today
from supertopic.fitted.coefficients import users_draws
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.seen import Seen, notes_of
from supertopic.fitted.spec import Spec
from supertopic.fitted.training import Training
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.chains import fit_chains
from supertopic.inference.task import Fit, Task, run
from supertopic.priors.regression import RegressionPrior


def fit(
    spec: Spec, training: Training, seed: int, vocabulary: Vocabulary | None = None, start: Fitted | None = None
) -> Fitted:
    """Topics, the topic shares of all documents, and what follows (`Spec.finish`).

    vocabulary : the names of the words, where somebody will ask for them; start : an earlier fit to go on from
    """
    seen = seen_by_topics(spec, spec.finish.seen(training, seed), spec.finish.refits)
    task = task_of(spec, seen.batch(spec), seed, start)
    words = vocabulary or Vocabulary(training.corpus.n_words)
    engine = spec.engine.fit
    if spec.n_chains > 1:
        engine = partial(fit_chains, engine=engine, n_chains=spec.n_chains)
    with task.backend:
        found = run(engine, task, f"{spec.name} {spec.inference}", more_follows=True)
        fitted = kept(spec, words, found, n_seen=len(training.corpus))
        own = training.covariates[:, : len(spec.schema.scaling.mean)].astype(np.float32)
        shares = fitted.infer(training.corpus, task.backend, training.known)
        fitted = users_draws(replace(fitted, doc_topic=shares, doc_covariates=own if own.size else None))
    if vocabulary is not None:
        fitted = with_prior_errors(fitted, [(training, shares)])
        fitted = replace(fitted, seen=Seen.of(training.corpus), notes=notes_of(training.known))
        fitted = replace(fitted, data=training.fingerprint)
    fitted = spec.finish(fitted, training, seed)
    if task.checkpoint is not None:
        task.checkpoint.finish()
    return replace(fitted, training=training)


def seen_by_topics(spec: Spec, training: Training, refits: bool) -> Training:
    """The documents without the numbers that embeddings stand for, where coefficients are regressed afterwards.

    Embeddings tell much of what topics tell: topics that were fitted to what they leave are poorer, and the whole
    predicts less than topics without embeddings, with the embeddings beside them.
    """
    block = spec.schema.block_columns
    if not refits or block.start == block.stop:
        return training
    covariates = training.covariates.copy()
    covariates[:, block] = 0.0
    return replace(training, covariates=covariates)


def kept(spec: Spec, vocabulary: Vocabulary, found: Fit, **more: Any) -> Fitted:
    """What an engine has found."""
    draws = dict(found.draws)
    sampled = draws.pop("shares", None)
    given: dict[str, Any] = {"n_iter": found.n_iter, "draws": draws, "terms": found.terms, "sampled": sampled}
    given["date"] = today()
    given |= {"stayed": found.stayed, **more}
    if spec.schema.seeds is not None:
        given.setdefault("labels", spec.schema.seeds.labels(spec.model.n_topics))
    return Fitted(spec, vocabulary, found.state, np.asarray(found.trace), **given)


def with_prior_errors(fitted: Fitted, documents: Iterable[tuple[Training, np.ndarray]]) -> Fitted:
    """With standard errors of the parameters of the prior on shares, where these are coefficients.

    documents : those of the fit, with their topic shares
    """
    prior, alpha = fitted.spec.model.doc_topic_prior, fitted.state.alpha
    if not isinstance(prior, RegressionPrior):
        return fitted
    total: Any = 0.0
    for training, shares in documents:
        batch = training.batch(fitted.spec)
        own = prior.rows(alpha, batch)
        lengths = np.where(np.isfinite(batch.lengths), batch.lengths, 0.0)
        size = lengths + own.by_document(own.alpha.sum(axis=1))
        counts = np.maximum(shares * size[:, None] - own.by_document(own.alpha), 0.0)
        total = total + prior.information(alpha, batch, counts)
    return replace(fitted, prior_error=prior.errors(total))


def task_of(spec: Spec, batch: Batch, seed: int, start: Fitted | None = None, data: str = "") -> Task:
    """The topics of a fit, with its checkpoint; data : a hash of a stream that `batch` is a part of."""
    warm = start if start is not None and start.can_start(spec, batch.counts.shape[1]) else None
    checkpoint = None
    if spec.place.checkpoint is not None:
        topics = np.zeros(0) if warm is None else warm.state.word_topic
        checkpoint = Checkpoint.of(spec.place.checkpoint, fingerprint(spec, batch, seed, topics, data))
    return Task(
        model=spec.model,
        batch=batch,
        settings=spec.settings,
        seed=seed,
        backend=spec.place.open(),
        start=None if warm is None else warm.state,
        start_terms=None if warm is None else warm.terms.again(len(batch)),
        checkpoint=checkpoint,
    )


def fingerprint(spec: Spec, batch: Batch, seed: int, topics: np.ndarray, data: str = "") -> dict[str, Any]:
    """What a checkpoint belongs to: parameters, seed, classes, documents, responses, covariates, a warm start."""
    targets = [(target.name, target.response, target.classes) for target in spec.schema.targets]
    return {
        **spec.identity,
        "estimator": spec.name,
        "seed": seed,
        "data": data or fingerprint_data(batch.counts, batch.y, batch.weight, batch.extra, *_known(batch)),
        "start_from": fingerprint_data(topics),
        "classes": fingerprint_value([targets, spec.schema.classes]),
    }


def _known(batch: Batch) -> list[np.ndarray]:
    """What the prior on topic shares reads of the documents, and which of them belong together."""
    found = [] if batch.known is None else [one.values for one in batch.known.metadata.values()]
    belonging = () if batch.belonging is None else (batch.belonging.together, batch.belonging.moment)
    return found + [one for one in belonging if one is not None]
