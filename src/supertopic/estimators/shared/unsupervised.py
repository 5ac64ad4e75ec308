"""What estimators without a response share: they learn from batches as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from supertopic.backends.threads import Threads
from supertopic.estimators.shared.base import TopicEstimator, unlabelled
from supertopic.inference.first_topics import first_state
from supertopic.inference.task import Fit
from supertopic.inference.variational.step import take_step


class UnsupervisedEstimator(TopicEstimator):
    """Base of estimators without a response."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One stochastic step on a batch of documents; the first batch decides the vocabulary."""
        _, settings = self._settings()
        first = not hasattr(self, "_state")
        corpus = self._read(X) if first else self._as_corpus(X)
        model = self._check_model(corpus, batch=True)
        self._n_seen = getattr(self, "_n_seen", 0) + len(corpus)
        total = max(self.total_documents or 0, self._n_seen)
        if first:
            task = self._task(model, corpus, settings)
            self._state, self.bound_ = first_state(replace(task, n_documents=total)), np.zeros(0)
        with Threads(self.n_jobs) as backend:
            batch = unlabelled(corpus, model)
            rate = settings.learning.rate(len(self.bound_))
            step = take_step(model, self._state, batch, backend, settings.limits, n_documents=total, rate=rate)
            bound = step.bound(model, backend) * len(corpus) / total
        trace = [*self.bound_, bound / max(corpus.n_tokens, 1.0)]
        self._keep(model, Fit(step.state, trace, len(trace)))
        return self
