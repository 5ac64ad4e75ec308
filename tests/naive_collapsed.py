"""Slow versions of collapsed inference (CVB0); the counts include the token itself."""

import numpy as np
from scipy.stats import dirichlet


def infer_document(words, counts, weights, alpha, passes):
    """EM for the mode of theta under Dirichlet(alpha + 1), from uniform theta; returns (gamma, last phi).

    After every two steps but the last, a leap to where two such steps lead (Varadhan and Roland 2008, SQUAREM).
    """
    steps = [alpha + np.sum(counts) / len(alpha)]
    for done in range(1, passes + 2):
        phi = weights[words] * steps[-1]
        phi /= phi.sum(axis=1, keepdims=True)
        steps.append(alpha + np.asarray(counts) @ phi)
        if done % 2 == 0 and done <= passes:
            r, v = steps[-2] - steps[-3], steps[-1] - 2 * steps[-2] + steps[-3]
            s = np.clip(np.linalg.norm(r) / np.linalg.norm(v), 1.0, 16.0) if v.any() else 16.0
            steps.append(np.maximum(steps[-3] + 2 * s * r + s**2 * v, 0.1 * steps[-1]))
    return steps[-1], phi


def log_posterior(words, counts, weights, alpha, theta):
    """log p(words, theta), theta ~ Dirichlet(alpha + 1)."""
    return counts @ np.log(weights[words] @ theta) + dirichlet(alpha + 1).logpdf(theta)


def bound(words, counts, weights, alpha, phi):
    """sum_j c_j E_phi[log theta + log w - log phi] + log p(theta), at the theta that is optimal given phi."""
    gamma = alpha + counts @ phi
    theta = gamma / gamma.sum()
    per_word = (phi * (np.log(theta) + np.log(weights[words]) - np.log(phi))).sum(axis=1)
    return counts @ per_word + dirichlet(alpha + 1).logpdf(theta)
