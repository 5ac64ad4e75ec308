"""Topics under labels, slowly: what the kernels and the engine of facets are held against."""

from itertools import product

import numpy as np
from scipy.special import gammaln, log_softmax


def cell_logs(background, eta, components):
    """log p(word | cell): `components` lists, for each cell, the rows of eta that are parts of it."""
    return np.stack([log_softmax(background + sum(eta[i] for i in rows)) for rows in components])


def likelihood(counts, background, eta, components):
    """sum over cells of c'log p."""
    return sum(c @ logs for c, logs in zip(counts, cell_logs(background, eta, components), strict=True))


def log_evidence(words, topics, alpha):
    """log p(words) of one document, every assignment of its tokens to topics summed; topics (K, V)."""
    values = []
    for z in product(range(len(alpha)), repeat=len(words)):
        n = np.bincount(z, minlength=len(alpha))
        prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(words)) + np.sum(gammaln(alpha + n) - gammaln(alpha))
        values.append(prior + sum(np.log(topics[k, w]) for k, w in zip(z, words, strict=True)))
    return np.logaddexp.reduce(values)
