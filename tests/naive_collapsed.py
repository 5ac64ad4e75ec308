"""Slow versions of collapsed inference (CVB0); the counts include the token itself."""

import numpy as np
from scipy.stats import dirichlet

from tests.naive import leap


def infer_document(words, counts, weights, alpha, passes):
    """EM for the mode of theta under Dirichlet(alpha + 1), from uniform theta; returns (gamma, last phi).

    After every two steps but the last, gamma leaps ahead.
    """
    gamma = [alpha + np.sum(counts) / len(alpha)]
    for done in range(1, passes + 2):
        phi = weights[words] * gamma[-1]
        phi /= phi.sum(axis=1, keepdims=True)
        gamma.append(alpha + np.asarray(counts) @ phi)
        if done % 2 == 0 and done < passes:
            gamma.append(leap(alpha, *gamma[-3:]))
    return gamma[-1], phi


def log_posterior(words, counts, weights, alpha, theta):
    """log p(words, theta), theta ~ Dirichlet(alpha + 1)."""
    return counts @ np.log(weights[words] @ theta) + dirichlet(alpha + 1).logpdf(theta)


def bound(words, counts, weights, alpha, phi):
    """sum_j c_j E_phi[log theta + log w - log phi] + log p(theta), at the theta that is optimal given phi."""
    gamma = alpha + counts @ phi
    theta = gamma / gamma.sum()
    per_word = (phi * (np.log(theta) + np.log(weights[words]) - np.log(phi))).sum(axis=1)
    return counts @ per_word + dirichlet(alpha + 1).logpdf(theta)
