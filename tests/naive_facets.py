"""Topics under labels by slow, obvious code: the kernels and the engine of facets have to agree with it."""

from itertools import product

import numpy as np
from scipy.special import gammaln, log_softmax

from supertopic.emissions.deviations import penalties


def cell_logs(background, eta, components):
    """log p(word | cell): `components` lists, for each cell, the rows of eta that are parts of it."""
    return np.stack([log_softmax(background + sum(eta[i] for i in rows)) for rows in components])


def likelihood(counts, background, eta, components):
    """sum over cells of c'log p."""
    return sum(c @ logs for c, logs in zip(counts, cell_logs(background, eta, components), strict=True))


def log_penalty(eta, design, prior):
    """Minus the log prior, row by row: topics and labels have one rate, interactions have theirs."""
    total, first = 0.0, 0
    for group in design.groups:
        own = prior.interaction_gamma if len(group.factors) > 1 else None
        for row in eta[first : first + group.n_components]:
            total += penalties(row, prior.rate if own is None else own)
        first += group.n_components
    return total


def log_evidence(words, topics, alpha):
    """log p(words) of one document, every assignment of its tokens to topics summed; topics (K, V)."""
    values = []
    for z in product(range(len(alpha)), repeat=len(words)):
        n = np.bincount(z, minlength=len(alpha))
        prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(words)) + np.sum(gammaln(alpha + n) - gammaln(alpha))
        values.append(prior + sum(np.log(topics[k, w]) for k, w in zip(z, words, strict=True)))
    return np.logaddexp.reduce(values)
