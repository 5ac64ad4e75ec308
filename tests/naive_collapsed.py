"""Slow versions of collapsed inference (CVB0); the counts include the token itself."""

import numpy as np
from scipy.stats import dirichlet


def infer_document(words, counts, weights, alpha, passes):
    """EM for the mode of theta under Dirichlet(alpha + 1), from uniform theta; returns (gamma, last phi)."""
    gamma = alpha + np.sum(counts) / len(alpha)
    for _ in range(passes + 1):
        phi = weights[words] * gamma
        phi /= phi.sum(axis=1, keepdims=True)
        gamma = alpha + np.asarray(counts) @ phi
    return gamma, phi


def log_posterior(words, counts, weights, alpha, theta):
    """log p(words, theta), theta ~ Dirichlet(alpha + 1)."""
    return counts @ np.log(weights[words] @ theta) + dirichlet(alpha + 1).logpdf(theta)


def bound(words, counts, weights, alpha, phi):
    """sum_j c_j E_phi[log theta + log w - log phi] + log p(theta), at the theta that is optimal given phi."""
    gamma = alpha + counts @ phi
    theta = gamma / gamma.sum()
    per_word = (phi * (np.log(theta) + np.log(weights[words]) - np.log(phi))).sum(axis=1)
    return counts @ per_word + dirichlet(alpha + 1).logpdf(theta)
