"""Collapsed Gibbs sampling of LDA: topic shares integrated out, and the topics too, or drawn once per sweep.

The state is the topic of every token. A sweep draws each of them given all others, word by word
(`supertopic.kernels.gibbs` has the conditional); topics are then averaged over sweeps, which is what makes the
estimate better than any single sample.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from supertopic.backends.threads import Threads
from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.engines import Fit, Task, Watch, require_whole_counts
from supertopic.inference.online import online_counts
from supertopic.inference.variational import start_state
from supertopic.kernels import gibbs_layout as layout
from supertopic.kernels.gibbs import sweep_task
from supertopic.kernels.gibbs_topics import draw_log_gammas, exponentiate, normalise

_SWEEPS_BETWEEN_LOOKS = 10  # at the likelihood, and at alpha
_FIRST_ALPHA = 10  # sweeps before alpha is learned: before that it would learn the start
_MOST_FOUND_AT_ONCE = 250  # topics; more are found as groups and split
_BEFORE_ALL_SWEEPS = 1 << 40  # numbers of the first two sweeps, whose random numbers no other sweep uses
_SPLIT_SEED = 1_000_003


def fit_gibbs(task: Task, watch: Watch) -> Fit:
    """`max_iter` sweeps; topics averaged over every `thin`-th sweep after `burn_in`, the last one always among them."""
    model, settings = task.model, task.settings
    sampler = Sampler.of(task)
    first = n_samples = 0
    sums = np.zeros(sampler.word_topic.shape, dtype=np.float32)
    alphas: list[list[float]] = []
    found = watch.resume()
    if found is not None:
        first, n_samples, alphas = found[0]["done"], found[0]["n_samples"], found[0]["alphas"]
        sums, sampler.alpha = found[1]["sums"], found[1]["alpha"]
        sampler.take(found[1]["topic"])
    else:
        sampler.start(task)
    for sweep in range(first, settings.max_iter):
        sampler.sweep(sweep, None if settings.collapsed else sampler.draw_topics(sweep))
        left = settings.max_iter - 1 - sweep
        if left % _SWEEPS_BETWEEN_LOOKS == 0:
            histogram = sampler.topic_histogram()
            if sweep >= _FIRST_ALPHA:
                lengths = sampler.tokens.doc_length
                sampler.alpha = model.doc_topic_prior.update_from_counts(sampler.alpha, histogram, lengths)
            watch.trace.append(sampler.log_joint(histogram) / max(len(sampler.topic), 1))
            alphas.append(sampler.alpha.tolist())
        if sweep >= settings.burn_in and left % settings.thin == 0:
            sampler.add_words(sums)
            n_samples += 1
        watch.step(
            sweep + 1, partial(dict, topic=sampler.topic, sums=sums, alpha=sampler.alpha),
            n_samples=n_samples, alphas=alphas,
        )  # fmt: skip
    sums /= np.float32(n_samples)
    sums += np.float32(sampler.prior)
    state = start_state(model, sums)
    state.alpha = sampler.alpha
    draws = {"log_joint": np.asarray(watch.trace), "alpha": np.asarray(alphas)}
    return Fit(state, watch.trace, settings.max_iter, draws)


class Sampler:
    """Tokens, their topics, and all counts, which follow from them."""

    def __init__(
        self, tokens: layout.Tokens, n_topics: int, alpha: np.ndarray, prior: float, seed: int, backend: Threads
    ) -> None:
        self.tokens, self.n_topics, self.alpha, self.prior = tokens, n_topics, alpha, prior
        self.seed, self.backend = seed, backend
        self.word_topic = np.zeros((tokens.word_ptr.shape[1] - 1, n_topics), dtype=np.int32)
        self._scratch = [layout.make_scratch(n_topics) for _ in range(len(tokens.word_ptr))]

    @classmethod
    def of(cls, task: Task) -> Sampler:
        """The sampler of a task, before its tokens have topics."""
        require_whole_counts(task.counts)
        prior, counts = integrable_prior(task.model.emission), task.counts
        tokens = layout.lay_out(counts.indptr, counts.indices, counts.data, counts.shape[1])
        alpha = task.model.doc_topic_prior.start.copy()
        return cls(tokens, task.model.n_topics, alpha, prior, task.seed, task.backend)

    def start(self, task: Task) -> None:
        """First topics of the tokens: drawn from soft topics found quickly, or from those of an earlier fit.

        More than a few hundred topics are first looked for as groups of several, which are then split at random.
        """
        if task.start is not None:
            self._draw_given(task.start.word_topic.copy())
            return
        parts = -(-self.n_topics // _MOST_FOUND_AT_ONCE)
        n_found = -(-self.n_topics // parts)
        alpha = np.full(n_found, self.alpha.mean())
        found = online_counts(task.counts, n_found, alpha, self.seed, self.backend)
        if parts == 1:
            self._draw_given(found)
            return
        few = Sampler(self.tokens, n_found, alpha, self.prior, self.seed, self.backend)
        few._draw_given(found)
        part = np.empty(len(few.topic), dtype=np.uint16)
        layout.random_topics(self.seed + _SPLIT_SEED, parts, 0, len(part), part)
        split = few.topic + part * np.uint16(n_found)
        self.take(np.where(split < self.n_topics, split, few.topic))

    def _draw_given(self, topics: np.ndarray) -> None:
        """Topics of the tokens from pseudo-counts (V, K) that stay as they are for two sweeps from a random start."""
        topics += np.float32(self.prior)
        topics /= topics.sum(axis=0, dtype=np.float64).astype(np.float32)
        topic = np.empty(len(self.tokens.doc), dtype=np.uint16)
        layout.random_topics(self.seed, self.n_topics, 0, len(topic), topic)
        self.take(topic)
        for number in range(2):
            self.sweep(_BEFORE_ALL_SWEEPS + number, topics)

    def take(self, topic: np.ndarray) -> None:
        """Take these topics of the tokens, and count."""
        self.topic = topic
        layout.count_words(self.tokens.word_ptr, topic, 0, len(self.word_topic), self.word_topic)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        self.documents = layout.count_topics(self.tokens, topic, self.n_topics)

    def sweep(self, number: int, topics: np.ndarray | None = None) -> None:
        """Every token once, the topics integrated out, or given as distributions over words (V, K).

        Groups of documents and of words meet in turn, so that what runs at once shares no count but n_k. Each task has
        its own copy of n_k, and what they changed is added up when all are done: n_k lags by a part of a sweep (not at
        all in small corpora, which are one task, nor when the topics are given).
        """
        if len(self.documents.doc_topic) == 0:
            layout.sort_lists(*self.documents[1:], 0, len(self.documents.start))
        collapsed = topics is None
        topics = np.zeros((0, 0), dtype=np.float32) if topics is None else topics
        alpha = np.zeros(layout.padded(self.n_topics), dtype=np.float32)
        alpha[: self.n_topics] = self.alpha
        beta, beta_sum = np.float32(self.prior), np.float32(self.prior * len(self.word_topic))
        groups = len(self.tokens.word_ptr)
        for epoch in range(groups):
            copies = [self.topic_count.copy() for _ in range(groups)]
            calls = []
            for i in range(groups):
                j = (i + epoch) % groups
                words = (int(self.tokens.word_bounds[j]), int(self.tokens.word_bounds[j + 1]))
                calls.append((
                    sweep_task, words, self.tokens.word_ptr[i], self.tokens.doc, self.topic, self.documents,
                    self.word_topic, copies[i], topics, alpha, beta, beta_sum, collapsed,
                    self.seed, number, self._scratch[i],
                ))  # fmt: skip
            self.backend.all(calls)
            self.topic_count = self.topic_count + sum(copy - self.topic_count for copy in copies)

    def draw_topics(self, number: int) -> np.ndarray:
        """phi_k ~ Dirichlet(prior + n_.k), (V, K): gamma draws over fixed ranges of words, so that sums do not vary."""
        topics = np.empty(self.word_topic.shape, dtype=np.float32)
        ranges = _fixed_ranges(len(topics))
        peaks = np.empty((len(ranges), self.n_topics), dtype=np.float32)
        totals = np.empty((len(ranges), self.n_topics))
        self.backend.all([
            (draw_log_gammas, self.word_topic, self.topic_count, self.prior, self.seed, number, *ends, topics, peaks[i])
            for i, ends in enumerate(ranges)
        ])  # fmt: skip
        peak = peaks.max(axis=0)
        self.backend.all([(exponentiate, topics, peak, *ends, totals[i]) for i, ends in enumerate(ranges)])
        total = totals.sum(axis=0)
        self.backend.all([(normalise, topics, total, *ends) for ends in ranges])
        return topics

    def add_words(self, sums: np.ndarray) -> None:
        """Add the counts of words by topic to `sums` (V, K)."""

        def add(start: int, stop: int) -> None:
            sums[start:stop] += self.word_topic[start:stop]

        self.backend.over_range(len(sums), add)

    def topic_histogram(self) -> np.ndarray:
        """(K, L): documents that hold topic k exactly n times."""
        n_documents, doc_topic = len(self.tokens.doc_length), self.documents.doc_topic
        if len(doc_topic):
            size = int(doc_topic.max(initial=0)) + 1
            return np.stack([np.bincount(doc_topic[:, k], minlength=size) for k in range(self.n_topics)])
        shift, mask = self.documents.shift, np.uint32((1 << int(self.documents.shift)) - 1)
        size = int(self.documents.entries.max(initial=0) >> shift) + 1
        histogram = np.zeros((self.n_topics, size), dtype=np.int32)
        for part in np.array_split(self.documents.entries, max(1, len(self.documents.entries) >> 18)):
            kept = part[part > mask]
            np.add.at(histogram, (kept & mask, kept >> shift), 1)
        histogram[:, 0] = n_documents - histogram.sum(axis=1)
        return histogram

    def log_joint(self, histogram: np.ndarray) -> float:
        """log p(words, topics of the tokens), topic shares and topics integrated out."""
        total = self.prior * len(self.word_topic)
        words = (gammaln(total) - gammaln(self.topic_count + total)).sum()
        starts = range(0, len(self.word_topic), 256)
        by_part = np.zeros(len(starts))  # added up in a fixed order

        def add(i: int, start: int) -> None:
            part = self.word_topic[start : start + 256]
            met = part[part > 0]
            by_part[i] = (gammaln(met + self.prior) - gammaln(self.prior)).sum()

        self.backend.all([(add, i, start) for i, start in enumerate(starts)])
        words += by_part.sum()
        sizes = np.arange(histogram.shape[1])
        documents = 0.0
        for counts, alpha in zip(histogram, self.alpha, strict=True):
            documents += counts @ (gammaln(sizes + alpha) - gammaln(alpha))
        lengths = self.tokens.doc_length
        documents += (gammaln(self.alpha.sum()) - gammaln(lengths + self.alpha.sum())).sum()
        return float(words + documents)


def _fixed_ranges(n: int, parts: int = 32) -> list[tuple[int, int]]:
    cuts = np.linspace(0, n, min(parts, max(n, 1)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
