"""First topics from anchor words, without any seed (Arora et al. 2013, as R's stm starts).

With Q_vw the chance that two tokens of a document are the words v and w, row v of Q over its sum is

    Qbar_v = sum_k p(topic k | word v) Qbar_(anchor of k)

where each topic has an anchor, a word of that topic alone. Anchors are therefore the corners of the rows of Qbar: the
farthest row from zero, and then again and again the farthest from the span of those before. The weights of a word are
not negative and sum to one; they are found by exponentiated gradient steps, and p(word | topic) follows by Bayes' rule.

Q itself is never made: of many words, it is multiplied by a matrix of signs that are always the same, which keeps
distances (Johnson & Lindenstrauss).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

_DIMENSIONS = 1000  # of rows of Q, where there are more words
_LEAST = 0.005  # share of the documents that an anchor stands in: rare words are corners by chance
_STEPS, _TOL = 500, 1e-7


def spectral_counts(counts: sp.csr_matrix, n_topics: int) -> np.ndarray:
    """Expected counts of words by topic, (V, K) float32."""
    by_word = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    rows = word_rows(counts)
    known = np.bincount(counts.indices, minlength=counts.shape[1]) >= max(2.0, _LEAST * counts.shape[0])
    known &= np.abs(rows).sum(axis=1) > 0
    if known.sum() < n_topics:
        raise ValueError(
            f"init: 'spectral' found {known.sum()} words that stand in enough documents, expected {n_topics} at least"
        )
    weights = convex_weights(rows, anchor_words(rows, known, n_topics))
    return (weights * by_word[:, None]).astype(np.float32)


def word_rows(counts: sp.csr_matrix) -> np.ndarray:
    """(V, r) rows of Qbar, of many words multiplied by signs; zeros where a word stands beside no other."""
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    pairs = np.where(lengths > 1, lengths * (lengths - 1), np.inf)
    own = counts.astype(np.float64)
    beside = sp.diags(1.0 / pairs) @ own
    alone = np.asarray(beside.sum(axis=0)).ravel()  # of a token with itself
    n_words = counts.shape[1]
    signs = np.eye(n_words)
    if n_words > _DIMENSIONS:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_words, _DIMENSIONS)) / np.sqrt(_DIMENSIONS)
    found = own.T @ (beside @ signs) - alone[:, None] * signs
    total = own.T @ np.asarray(beside.sum(axis=1)).ravel() - alone
    return np.divide(found, total[:, None], out=np.zeros_like(found), where=total[:, None] > 1e-12)


def anchor_words(rows: np.ndarray, known: np.ndarray, n_topics: int) -> np.ndarray:
    """(K,) the word of each topic, among those that are `known` well."""
    found: list[int] = []
    left = np.where(known[:, None], rows, 0.0)
    for _ in range(n_topics):
        size = (left**2).sum(axis=1)
        size[found] = -1.0
        size[~known] = -1.0
        found.append(int(size.argmax()))
        direction = left[found[-1]] / max(np.sqrt(size[found[-1]]), 1e-150)
        left -= np.outer(left @ direction, direction)
    return np.array(found)


def convex_weights(rows: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """(V, K) weights, on the simplex, of the anchors' rows whose sum is nearest to each row."""
    corners = rows[anchors]
    gram, cross = corners @ corners.T, rows @ corners.T
    rate = 1.0 / max(float(np.abs(gram).max()), 1e-300)
    logs = np.zeros_like(cross)
    weights = np.full_like(cross, 1.0 / len(anchors))
    for _ in range(_STEPS):
        logs -= rate * (weights @ gram - cross)
        logs -= logs.max(axis=1, keepdims=True)
        after = np.exp(logs)
        after /= after.sum(axis=1, keepdims=True)
        moved, weights = float(np.abs(after - weights).max()), after
        if moved < _TOL:
            break
    return weights
