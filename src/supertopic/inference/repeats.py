"""How often documents repeat words, beside what topics make of it.

To a topic model, a document's words are drawn one by one, given its topics. Writers repeat themselves more than that: a
word that has been used once comes again. The tenth use of a word then tells less of a document's topics than ten words
would, and the logarithm of its count predicts better (`counts="log"`). Where documents are as the model has them, which
simulated ones are, logarithms would bend the topic shares, and coefficients with them. So the documents are asked.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from supertopic.backends.threads import Threads
from supertopic.documents.corpus import lengths_of
from supertopic.inference.after.prediction import PointModel, infer_shares
from supertopic.inference.first_topics import online_counts

_ENTRIES = 200_000  # of the counts that are looked at: a thousand reviews, or more documents if they are short
_TOPICS, _ALPHA = 30, 0.1
_AT_FIRST = 10.0  # repeats that are taken to be as expected, before documents are seen: a few may be chance
_SELDOM = 0.3  # tokens of a word that are expected in a document, up to which a second one is a surprise


def repeats_beyond_topics(counts: sp.csr_matrix) -> float:
    """How many times as often as topics explain documents use a word again, of the words that they seldom use.

    Half of the documents (or of some of them) give topics of LDA, and the other half is asked. Of a word of which m
    tokens are expected in a document, given its topics, a document that has it has another one with probability
    P(c > 1 | c > 0) = 1 - m / (e^m - 1), since counts are nearly Poisson.
    """
    n_asked = _ENTRIES * counts.shape[0] // max(counts.nnz, 1)
    rows = np.random.default_rng(0).permutation(counts.shape[0])[: max(n_asked, 2)]
    ours, theirs = (sp.csr_matrix(counts[np.sort(half)]) for half in (rows[::2], rows[1::2]))
    alpha = np.full(_TOPICS, _ALPHA)
    with Threads(1) as backend:
        topics = online_counts(ours, _TOPICS, alpha, 0, backend) + np.float32(0.01)
        topics /= topics.sum(axis=0)
        shares = infer_shares(PointModel(alpha, collapsed=True), topics, theirs, backend)[0]
    tokens = lengths_of(theirs)
    again = expected = _AT_FIRST
    for document, (first, last) in enumerate(zip(theirs.indptr[:-1], theirs.indptr[1:], strict=True)):
        mean = tokens[document] * (topics[theirs.indices[first:last]] @ shares[document]).astype(np.float64)
        seldom = (mean > 0) & (mean < _SELDOM)
        again += np.count_nonzero(theirs.data[first:last][seldom] > 1)
        expected += float(np.sum(1.0 - mean[seldom] / np.expm1(mean[seldom])))
    return float(again / expected)
