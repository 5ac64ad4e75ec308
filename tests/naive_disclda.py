"""DiscLDA by slow, obvious code: every document has a list of the topics it may have, and tokens are written out."""

import itertools

import numpy as np
from scipy.special import digamma, gammaln

from tests.naive import dirichlet_topics, tokens_of, word_bound


def allowed_topics(place, n_classes, n_own, n_shared):
    """The topics of a class: those whose owner it is, and those without one."""
    owner = [k // n_own for k in range(n_classes * n_own)] + [None] * n_shared
    return [k for k, who in enumerate(owner) if who in (place, None)]


def log_likelihood(words, counts, topics, alpha):
    """log p(words | class): the sum over all assignments of tokens to the topics (V, K) of the class."""
    tokens = np.asarray(words)[tokens_of(words, counts)]
    total = []
    for z in itertools.product(range(len(alpha)), repeat=len(tokens)):
        n = np.bincount(z, minlength=len(alpha))
        prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + n.sum()) + (gammaln(alpha + n) - gammaln(alpha)).sum()
        total.append(prior + sum(np.log(topics[w, k]) for w, k in zip(tokens, z, strict=True)))
    return np.logaddexp.reduce(total)


def em_step(documents, places, word_topic, alpha, prior, shape):
    """(bound before, word_topic after) a step of variational EM over documents (words, counts), inferred afresh."""
    n_classes, n_own, n_shared = shape
    log_beta, bound = dirichlet_topics(word_topic, prior)
    after = np.full_like(word_topic, prior)
    for (words, counts), place in zip(documents, places, strict=True):
        mine = allowed_topics(place, n_classes, n_own, n_shared)
        weights = np.exp(log_beta[:, mine])
        gamma = alpha + np.sum(counts) / len(mine)
        for _ in range(2000):
            phi = weights[words] * np.exp(digamma(gamma))
            phi /= phi.sum(axis=1, keepdims=True)
            gamma = alpha + np.asarray(counts) @ phi
        bound += word_bound(words, counts, weights, alpha, gamma, phi)
        for j, word in enumerate(words):
            after[word, mine] += counts[j] * phi[j]
    return bound, after
