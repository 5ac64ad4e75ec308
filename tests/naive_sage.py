"""Sparse deviations by slow, obvious code: the kernels of SAGE have to agree with it."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp


def likelihood(counts, background, eta):
    """c'eta - C log Z."""
    return counts @ eta - counts.sum() * logsumexp(background + eta)


def penalised(counts, background, eta, weight):
    """c'eta - C log Z - sum weight eta² / 2: what one Newton step raises."""
    return likelihood(counts, background, eta) - 0.5 * np.sum(weight * eta**2)


def mixed_words(background, eta, share):
    """share exp(m) + (1 - share) exp(m + eta) / Z, with m as it is given."""
    own = np.exp(background + eta - logsumexp(background + eta))
    return share * np.exp(background) + (1 - share) * own


def differences(function, x, step=1e-4):
    """(gradient, Hessian) of a function by central differences."""
    n = len(x)
    axes = step * np.eye(n)
    gradient = np.array([(function(x + a) - function(x - a)) / (2 * step) for a in axes])
    hessian = np.array(
        [
            [
                (function(x + a + b) - function(x + a - b) - function(x - a + b) + function(x - a - b)) / (4 * step**2)
                for b in axes
            ]
            for a in axes
        ]
    )
    return gradient, hessian


def variance_bound(a, b, eta, gamma):
    """E[log N(eta | 0, tau)] + E[log Exp(tau | gamma)] + H(q) under q = Gamma(a, b); log(2 pi) / 2 dropped."""
    mean_log = digamma(a) + np.log(b)
    entropy = a + np.log(b) + gammaln(a) + (1 - a) * digamma(a)
    return -0.5 * mean_log - 0.5 * eta**2 / ((a - 1) * b) + np.log(gamma) - gamma * a * b + entropy


def best_variance(eta, gamma):
    """(E[1/tau], bound) at the best a and b."""

    def loss(t):
        return -variance_bound(1 + np.exp(t[0]), np.exp(t[1]), eta, gamma)

    start = [np.log(np.sqrt(2 * gamma) * abs(eta)), -np.log(2 * gamma)]
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
    return np.exp(-found.x.sum()), -found.fun
