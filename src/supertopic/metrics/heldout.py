"""Held-out likelihood of documents: document completion, left-to-right and Chib-style estimators."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from supertopic.cores import most_threads
from supertopic.html_tables import number, table_html
from supertopic.kernels import heldout as kernels
from supertopic.metrics.summaries import components_of

METHODS = ("completion", "left_to_right", "chib")
# Largest number of fixed-point iterations of the completion scorer, and its tolerance (change of gamma per token).
MAX_PASSES, TOLERANCE = 200, 1e-3
# The Chib-style estimator uses the best assignment of STARTS runs of SWEEPS Gibbs sweeps each (after SWEEPS annealed
# ones), and blocks of BLOCK tokens. On training documents, at equal cost, blocks of 40 tokens were as good, and blocks
# of 5, 10, 80 or all tokens were worse.
STARTS, SWEEPS, BLOCK = 10, 30, 20
# The time of left-to-right and Chib-style estimators grows with the square of a document's tokens: this many take
# minutes.
LONGEST = 50_000


class HeldOut(NamedTuple):
    """Log-likelihood in nats and number of scored tokens of each document."""

    log_likelihood: np.ndarray
    n_tokens: np.ndarray

    def _repr_html_(self) -> str:
        nats = _nats_per_token(self)
        facts = {
            "documents": number(len(self.n_tokens)),
            "scored tokens": number(int(self.n_tokens.sum())),
            "nats per token": number(nats),
            "perplexity": number(float(np.exp(nats))),
        }
        return table_html({name: [value] for name, value in facts.items()})


def perplexity(
    model: object, X: object, method: str = "completion", *, n_particles: int = 20, n_samples: int = 100,
    random_state: int | None = 0, n_jobs: int | None = 1,
) -> float:  # fmt: skip
    """Perplexity, exp( - sum_d log p(w_d) / sum_d N_d ); lower is better.

    Parameters
    ----------
    model : fitted estimator
        Its topics and prior are held fixed.
    X : documents
        Whatever the model's ``transform`` takes.
    method : {"completion", "left_to_right", "chib"}
        ``"completion"``: theta is inferred from a random half of each document's tokens, and the other half is
        scored. This is fast, and the topics of any library can be scored in the same way. ``"left_to_right"`` and
        ``"chib"``: unbiased estimates of p(w) with theta integrated out. Their logarithms are too low by about half
        the relative variance of the estimate. They need integer counts.
    n_particles : int
        Particles of left-to-right; its cost is n_particles * K * N^2 / 2 per document.
    n_samples : int
        Chain length of the Chib-style estimator, for each 20 tokens of a document; its cost is
        (n_samples * N / 40 + 600) * K * N per document.
    random_state : int or None
        Seed of the split and of the samplers.
    n_jobs : int or None
        Threads (-1: all cores); the result is the same for any number.

    Returns
    -------
    float
        From 1; V for topics that know nothing.

    Examples
    --------
    >>> from supertopic import LDA, datasets, metrics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> model = LDA(2).fit(data.counts)
    >>> metrics.perplexity(model, data.counts) < 30
    True
    """
    options: dict[str, Any] = {"n_particles": n_particles, "n_samples": n_samples, "n_jobs": n_jobs}
    options["random_state"] = _seed(random_state)
    if hasattr(model, "held_out"):  # a model whose words depend on labels, too
        return float(np.exp(_nats_per_token(model.held_out(X, method, **options))))
    word_topic, alpha, counts = _parts(model, X)
    membership = getattr(model, "membership_", "mixed")
    scored = log_likelihood(word_topic, alpha, counts, method, membership=membership, **options)
    return float(np.exp(_nats_per_token(scored)))


def log_likelihood(
    word_topic: np.ndarray, alpha: np.ndarray | float, counts: Any, method: str = "completion", *,
    membership: str = "mixed", n_particles: int = 20, n_samples: int = 100, random_state: int | None = 0,
    n_jobs: int | None = 1,
) -> HeldOut:  # fmt: skip
    """log p(w_d | topics, alpha) of each document's token sequence (no multinomial coefficient), in nats.

    Parameters
    ----------
    word_topic : array (V, K)
        p(word | topic); columns sum to one.
    alpha : array (K,) or float
        Dirichlet prior of theta; with ``membership="single"``, topic probabilities up to a factor.
    counts : sparse or dense array (D, V)
        The documents.
    method : {"completion", "left_to_right", "chib"}
        As in :func:`perplexity`.
    membership : {"mixed", "single"}
        Whether there is one topic per token or one topic per document (a mixture of categoricals).
    n_particles, n_samples : int
        As in :func:`perplexity`.
    random_state, n_jobs : int or None
        As in :func:`perplexity`.

    Returns
    -------
    HeldOut
        ``log_likelihood`` (D,) float64 and ``n_tokens`` (D,), the number of scored tokens (completion: those of
        the second half).

    Examples
    --------
    >>> from supertopic import LDA, datasets, metrics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> model = LDA(2).fit(data.counts)
    >>> found = metrics.log_likelihood(model.components_.T, model.alpha_, data.counts.counts)
    >>> found.log_likelihood.shape
    (60,)
    """
    word_topic, alpha = _check_topics(word_topic, alpha)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
    if membership not in ("mixed", "single"):
        raise ValueError(f"membership must be 'mixed' or 'single', got {membership!r}.")
    counts = _check_counts(counts, word_topic.shape[0])
    seed = _seed(random_state)
    if method == "completion":
        observed, heldout = completion_split(counts, seed)
        if membership == "single":
            return _single_topic(word_topic, alpha, heldout, given=observed)
        return _completion(word_topic, alpha, observed, heldout, n_jobs)
    if membership == "single":
        return _single_topic(word_topic, alpha, counts)
    if np.any(counts.data != np.floor(counts.data)):
        raise ValueError(f"method={method!r} needs whole counts; X has fractional ones, use method='completion'.")
    longest = _row_sums(counts).max()
    if longest > LONGEST:
        raise ValueError(f"method={method!r}: X has a document of {longest:,.0f} tokens, and the time grows with the "
                         f"square of this; expected at most {LONGEST:,}, use method='completion'.")  # fmt: skip
    if method == "left_to_right":
        return _left_to_right(word_topic, alpha, counts, _positive("n_particles", n_particles), seed, n_jobs)
    return _chib(word_topic, alpha, counts, _positive("n_samples", n_samples), seed, n_jobs)


def completion_split(counts: Any, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Split each document's tokens at random into floor(N/2) observed and ceil(N/2) held-out ones.

    The split is by token, so two occurrences of a word may be separated. It depends on (seed, document) only.
    The token of a document of one token is held out.

    Parameters
    ----------
    counts : sparse or dense array (D, V)
        The documents.
    seed : int
        Of the split.

    Returns
    -------
    observed, heldout : csr_matrix (D, V), float32
        They add up to ``counts``.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> observed, heldout = metrics.completion_split(np.array([[2, 2], [4, 0]]))
    >>> (observed + heldout).toarray().tolist()
    [[2.0, 2.0], [4.0, 0.0]]
    """
    counts = _check_counts(counts, None)
    observed = np.empty_like(counts.data)
    kernels.split_range(0, counts.shape[0], counts.indptr, counts.data, seed, observed)
    halves = []
    for data in (observed, counts.data - observed):
        half = sp.csr_matrix((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        half.eliminate_zeros()
        halves.append(half)
    return halves[0], halves[1]


def score_completion(
    word_topic: np.ndarray, alpha: np.ndarray | float, observed: Any, heldout: Any, *, n_jobs: int | None = 1
) -> float:
    """- sum_d log p(heldout_d | E[theta | observed_d]) / held-out tokens, in nats per token; lower is better.

    The topics and alpha may come from any library, so that all libraries are scored with the same inference of theta.

    Parameters
    ----------
    word_topic : array (V, K)
        p(word | topic); columns sum to one.
    alpha : array (K,) or float
        Dirichlet prior of theta.
    observed : sparse array (D, V)
        The halves that theta is inferred from.
    heldout : sparse array (D, V)
        The halves that are scored.
    n_jobs : int or None
        Threads.

    Returns
    -------
    float
        Nats per token.

    Examples
    --------
    >>> from supertopic import LDA, datasets, metrics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> model = LDA(2).fit(data.counts)
    >>> halves = metrics.completion_split(data.counts.counts)
    >>> metrics.score_completion(model.components_.T, model.alpha_, *halves) < 3.4  # log 30
    True
    """
    word_topic, alpha = _check_topics(word_topic, alpha)
    observed = _check_counts(observed, word_topic.shape[0])
    heldout = _check_counts(heldout, word_topic.shape[0])
    if observed.shape[0] != heldout.shape[0]:
        raise ValueError(
            f"observed and heldout must hold the same documents, got {observed.shape[0]} and {heldout.shape[0]}."
        )
    return _nats_per_token(_completion(word_topic, alpha, observed, heldout, n_jobs))


def _nats_per_token(scored: HeldOut) -> float:
    """Minus the log-likelihood per token."""
    n_tokens = float(scored.n_tokens.sum())
    if n_tokens == 0:
        raise ValueError("X has no tokens of the model's vocabulary to score.")
    return -float(scored.log_likelihood.sum()) / n_tokens


def _single_topic(
    word_topic: np.ndarray, alpha: np.ndarray, counts: sp.csr_matrix, given: sp.csr_matrix | None = None
) -> HeldOut:
    """Exact log sum_k pi_k prod_w p(w|k)^c; with ``given``, log p(given and counts) - log p(given)."""
    with np.errstate(divide="ignore"):
        log_word, log_weight = np.log(word_topic.astype(np.float64)), np.log(alpha / alpha.sum())
    log_joint = log_weight + counts @ log_word
    if given is None:
        score = logsumexp(log_joint, axis=1)
    else:
        log_given = given @ log_word
        before, after = logsumexp(log_weight + log_given, axis=1), logsumexp(log_joint + log_given, axis=1)
        # where the observed half has probability zero, so has the whole document
        score = np.where(np.isfinite(before), after - np.where(np.isfinite(before), before, 0.0), -np.inf)
    return HeldOut(score, _row_sums(counts))


def _completion(
    word_topic: np.ndarray, alpha: np.ndarray, observed: sp.csr_matrix, heldout: sp.csr_matrix, n_jobs: int | None,
) -> HeldOut:  # fmt: skip
    n_topics, widest = len(alpha), int(np.diff(observed.indptr).max(initial=0))
    log_lik = np.zeros(observed.shape[0])

    def score(start: int, stop: int) -> None:
        gamma, weight, update = np.empty((3, n_topics), np.float32)
        kernels.completion_range(
            start, stop, observed.indptr, observed.indices, observed.data, heldout.indptr, heldout.indices,
            heldout.data, word_topic, alpha.astype(np.float32), MAX_PASSES, np.float32(TOLERANCE),
            np.empty((widest, n_topics), np.float32), gamma, weight, update, np.empty(n_topics, np.int32),
            log_lik,
        )  # fmt: skip

    _over_ranges(score, observed.indptr.astype(np.int64) + heldout.indptr, n_jobs)
    return HeldOut(log_lik, _row_sums(heldout))


def _left_to_right(
    word_topic: np.ndarray, alpha: np.ndarray, counts: sp.csr_matrix, n_particles: int, seed: int, n_jobs: int | None,
) -> HeldOut:  # fmt: skip
    n_topics, (widest, longest) = len(alpha), _extent(counts)
    log_lik = np.zeros(counts.shape[0])

    def score(start: int, stop: int) -> None:
        kernels.left_to_right_range(
            start, stop, counts.indptr, counts.indices, counts.data, word_topic, alpha, seed,
            np.empty((widest, n_topics)), np.empty(longest, np.int64),
            np.empty((n_particles, longest), np.int64),
            np.empty((n_particles, n_topics)), np.empty(n_particles), np.empty(n_particles, np.int64),
            np.empty(n_topics), log_lik,
        )  # fmt: skip

    n_tokens = _row_sums(counts)
    _over_ranges(score, np.append(0, np.cumsum(n_tokens**2)), n_jobs)
    return HeldOut(log_lik, n_tokens)


def _chib(
    word_topic: np.ndarray, alpha: np.ndarray, counts: sp.csr_matrix, n_samples: int, seed: int, n_jobs: int | None,
) -> HeldOut:  # fmt: skip
    n_topics, (widest, longest) = len(alpha), _extent(counts)
    log_lik = np.zeros(counts.shape[0])

    def score(start: int, stop: int) -> None:
        fixed_z, z, middle = np.empty((3, longest), np.int64)
        prior_count, middle_count, joint = np.empty((3, n_topics))
        kernels.chib_range(
            start, stop, counts.indptr, counts.indices, counts.data, word_topic, alpha, BLOCK, STARTS, SWEEPS,
            seed, np.empty((widest, n_topics)), np.empty(longest, np.int64), fixed_z, z, middle, prior_count,
            middle_count, joint, np.empty(n_samples), log_lik,
        )  # fmt: skip

    n_tokens = _row_sums(counts)
    n_sweeps = 2 * STARTS * SWEEPS + n_samples * n_tokens / (2 * BLOCK)
    _over_ranges(score, np.append(0, np.cumsum(n_tokens * n_sweeps)), n_jobs)
    return HeldOut(log_lik, n_tokens)


def _over_ranges(score: Callable[[int, int], None], cost_so_far: np.ndarray, n_jobs: int | None) -> None:
    """Call score(start, stop) on ranges of documents of about equal cost, in threads."""
    n_docs = len(cost_so_far) - 1
    n_threads = (os.cpu_count() or 1) if n_jobs == -1 else _positive("n_jobs", 1 if n_jobs is None else n_jobs)
    n_threads = min(n_threads, most_threads())
    if n_threads == 1 or n_docs < 2:
        score(0, n_docs)
        return
    # several ranges per thread, to balance the load
    goals = np.linspace(0, cost_so_far[-1], 4 * n_threads + 1)
    cuts = np.unique(np.searchsorted(cost_so_far, goals).clip(0, n_docs))
    cuts[0], cuts[-1] = 0, n_docs
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(score, cuts[:-1], cuts[1:]))


def _parts(model: Any, X: object) -> tuple[np.ndarray, Any, sp.csr_matrix]:
    """(word_topic, alpha, counts) of a fitted model and documents."""
    return components_of(model).T, model.alpha_, model.fitted_.corpus(X).counts


def _check_topics(word_topic: object, alpha: object) -> tuple[np.ndarray, np.ndarray]:
    word_topic = np.ascontiguousarray(word_topic, dtype=np.float32)
    if word_topic.ndim != 2 or 0 in word_topic.shape:
        raise ValueError(f"word_topic must be a (words, topics) array, got shape {word_topic.shape}.")
    if not np.all(np.isfinite(word_topic)) or word_topic.min() < 0:
        raise ValueError("word_topic must hold probabilities; it has NaN, infinite or negative entries.")
    sums = word_topic.sum(axis=0, dtype=np.float64)
    if np.abs(sums - 1).max() > 1e-3:
        raise ValueError(f"each topic of word_topic must sum to 1 over the words, got {sums.min():.4g} "
                         f"to {sums.max():.4g}.")  # fmt: skip
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.ndim == 0:
        alpha = np.full(word_topic.shape[1], float(alpha))
    if alpha.shape != (word_topic.shape[1],):
        raise ValueError(f"alpha must be a number or have one entry per topic ({word_topic.shape[1]}), "
                         f"got shape {alpha.shape}.")  # fmt: skip
    if not np.all(np.isfinite(alpha)) or alpha.min() <= 0:
        raise ValueError("alpha must be finite and positive.")
    return word_topic, alpha


def _check_counts(counts: Any, n_words: int | None) -> sp.csr_matrix:
    counts = sp.csr_matrix(counts, dtype=np.float32)
    if n_words is not None and counts.shape[1] != n_words:
        raise ValueError(f"X has {counts.shape[1]} words, the topics have {n_words}.")
    if counts.shape[0] == 0:
        raise ValueError("X is empty: it has no documents.")
    if not np.all(np.isfinite(counts.data)):
        raise ValueError("X must hold counts; it has NaN or infinite entries.")
    if counts.nnz and counts.data.min() < 0:
        raise ValueError(f"X must hold counts; it has negative entries (smallest {counts.data.min():g}).")
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def _row_sums(counts: sp.csr_matrix) -> np.ndarray:
    return np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()


def _extent(counts: sp.csr_matrix) -> tuple[int, int]:
    """Largest number of distinct words and of tokens in a document."""
    return int(np.diff(counts.indptr).max(initial=0)), int(_row_sums(counts).max(initial=0))


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def _seed(random_state: object) -> int:
    if random_state is None:
        return int(np.random.default_rng().integers(2**62))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state must be a non-negative integer or None, got {random_state!r}.")
