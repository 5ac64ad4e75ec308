"""A fit: a Spec and documents become a Fitted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from supertopic.checkpoint import Checkpoint, fingerprint_data, fingerprint_value
from supertopic.fitted.coefficients import users_draws
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.spec import Spec
from supertopic.fitted.training import Training
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.chains import fit_chains
from supertopic.inference.task import Fit, Task, run


def fit(
    spec: Spec, training: Training, seed: int, vocabulary: Vocabulary | None = None, start: Fitted | None = None
) -> Fitted:
    """Topics, the topic shares of all documents, and what follows (`Spec.finish`).

    vocabulary : the names of the words, where somebody will ask for them; start : an earlier fit to go on from
    """
    seen = spec.finish.seen(training, seed)
    task = task_of(spec, seen.batch(spec), seed, start)
    vocabulary = vocabulary or Vocabulary(training.corpus.n_words)
    engine = spec.engine.fit
    if spec.n_chains > 1:
        engine = partial(fit_chains, engine=engine, n_chains=spec.n_chains)
    with task.backend:
        found = run(engine, task, f"{spec.name} {spec.inference}", more_follows=True)
        fitted = kept(spec, vocabulary, found, n_seen=len(training.corpus))
        own = training.covariates[:, : len(spec.schema.scaling.mean)].astype(np.float32)
        shares = fitted.infer(training.corpus, task.backend)
        fitted = users_draws(replace(fitted, doc_topic=shares, doc_covariates=own if own.size else None))
    fitted = spec.finish(fitted, training, seed)
    if task.checkpoint is not None:
        task.checkpoint.finish()
    return replace(fitted, training=training)


def kept(spec: Spec, vocabulary: Vocabulary, found: Fit, **more: Any) -> Fitted:
    """What an engine has found."""
    draws = dict(found.draws)
    sampled = draws.pop("shares", None)
    given: dict[str, Any] = {"n_iter": found.n_iter, "draws": draws, "terms": found.terms, "sampled": sampled, **more}
    return Fitted(spec, vocabulary, found.state, np.asarray(found.trace), **given)


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
        "data": data or fingerprint_data(batch.counts, batch.y, batch.weight, batch.extra),
        "start_from": fingerprint_data(topics),
        "classes": fingerprint_value([targets, spec.schema.classes]),
    }
