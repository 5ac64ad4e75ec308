"""Topic shares of documents that lean on no prior: what a regression of shares on metadata takes.

A posterior pulls the shares of each document toward those of the average one, the shorter the document, the more.
Differences between groups of documents shrink with it, and no number of draws from the posterior brings them back.
With B (K, V) the topics, theta the average shares, p = theta B, and w_d a document of N words (counts),

    y_d = (B P^-1 B')^-1 B P^-1 w_d / N,      P = diag(p)

has E[y_d | theta_d] = theta_d, whatever theta_d is: it is the weighted least squares of w_d / N on the topics. Its
rows sum to one, since theta B P^-1 = 1'. Its noise, that of N words, is part of the scatter that a regression finds.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from supertopic.documents.corpus import lengths_of

_ALIKE = 1e-6  # eigenvalue relative to the largest, below which no document tells topics apart
_LEAST = 1e-9  # of an average share


def free_shares(topics: np.ndarray, average: np.ndarray, counts: sp.csr_matrix) -> np.ndarray:
    """(D, K) shares, which may be negative; NaN for documents without words.

    topics : (K, V) p(word | topic);  average : (K,) shares of the average document
    Topics that are the same have equal shares.
    """
    topics = topics.astype(np.float64)
    average = np.maximum(average, _LEAST) / np.maximum(average, _LEAST).sum()
    mean = average @ topics
    by_mean = np.divide(topics, mean, out=np.zeros_like(topics), where=mean > 0)
    root = np.sqrt(average)
    values, vectors = np.linalg.eigh(root[:, None] * (by_mean @ topics.T) * root)
    kept = values > _ALIKE * values.max()
    inverse = root[:, None] * ((vectors[:, kept] / values[kept]) @ vectors[:, kept].T) * root
    lengths = lengths_of(counts).astype(np.float64)
    found = np.asarray(counts @ (inverse @ by_mean).T, dtype=np.float64)
    return found / np.where(lengths > 0, lengths, np.nan)[:, None]
