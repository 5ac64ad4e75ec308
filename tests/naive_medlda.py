"""Slow versions of MedLDA's objectives: the Lagrangian of one document, and the objective of the M-step."""

import numpy as np
from scipy.special import digamma, gammaln


def document_lagrangian(phi, counts, log_words, alpha, coef, cov, slope, curvature):
    """Evidence bound of one document at the optimal q(theta), plus sum_c slope_c E[s_c] - curvature_c/2 E[s_c²].

    phi : (words, K); tokens are drawn from their mean, as in `kernels.e_step_mean`; cov : (C, K, K) of the coefficients
    """
    gamma = alpha + counts @ phi
    log_theta = digamma(gamma) - digamma(gamma.sum())
    bound = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * log_theta).sum()
    bound -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * log_theta).sum()
    bound += counts @ (phi * (log_theta + log_words - np.log(phi))).sum(axis=1)
    mean, n = counts @ phi / counts.sum(), counts.sum()
    second = expected_outer(mean, n)
    for c in range(len(coef)):
        eta_second = np.outer(coef[c], coef[c]) + cov[c]
        bound += slope[c] * coef[c] @ mean - 0.5 * curvature[c] * (eta_second * second).sum()
    return bound


def expected_outer(mean, n):
    """E[Zbar Zbar'] of n tokens drawn from `mean`, over all pairs of tokens."""
    pairs = np.outer(mean, mean) * (n * n - n) + np.diag(mean) * n
    return pairs / n**2


def regression_objective(coef, cov, variance, mean, lengths, u, weight, C, epsilon, scale):
    """E[log p0(eta)] + H(q) + sum_d w_d E[log N(u_d | eta·Zbar_d, variance)] - C sum_d w_d loss_d, q = N(coef, cov)."""
    n_topics = len(coef)
    value = -0.5 * (coef @ coef + np.trace(cov)) / scale**2 - n_topics * np.log(scale)
    value += 0.5 * np.linalg.slogdet(cov)[1] + 0.5 * n_topics
    for d in range(len(u)):
        if np.isnan(u[d]):
            continue
        s = coef @ mean[d]
        second = ((np.outer(coef, coef) + cov) * expected_outer(mean[d], lengths[d])).sum()
        likelihood = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (u[d] ** 2 - 2 * u[d] * s + second) / variance
        value += weight[d] * (likelihood - C * max(0.0, abs(u[d] - s) - epsilon))
    return value
