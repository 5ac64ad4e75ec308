"""Slow, simple versions of the algorithms, which the kernels are compared with. One document, token by token."""

import itertools

import numpy as np
from scipy.special import digamma, gammaln


def tokens_of(words, counts):
    """Positions into `words`, one per occurrence."""
    return np.repeat(np.arange(len(words)), np.asarray(counts, dtype=int))


def word_bound(words, counts, weights, alpha, gamma, phi):
    """E_q[log p(theta) + log p(z | theta) + log w - log q(theta) - log q(z)]; occurrences of a word share phi."""
    log_theta = digamma(gamma) - digamma(gamma.sum())
    bound = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * log_theta).sum()
    bound -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * log_theta).sum()
    for j, count in enumerate(counts):
        for k in range(len(alpha)):
            if phi[j, k] > 0:
                bound += count * phi[j, k] * (log_theta[k] + np.log(weights[words[j], k]) - np.log(phi[j, k]))
    return bound


def score_moments(counts, phi, coef, is_product):
    """E[s] and E[s²] or E[exp s], s = coef·Zbar, by enumerating the topic of every token."""
    tokens = tokens_of(np.arange(len(counts)), counts)
    mean, moment = 0.0, 0.0
    for z in itertools.product(range(len(coef)), repeat=len(tokens)):
        probability = np.prod([phi[j, k] for j, k in zip(tokens, z, strict=True)])
        s = np.mean(coef[list(z)])
        mean += probability * s
        moment += probability * (np.exp(s) if is_product else s * s)
    return mean, moment


def response_bound(counts, phi, slope, curvature, coef, is_product):
    """sum_c slope E[s] - curvature/2 E[s²], or - curvature E[exp s] for product columns."""
    total = 0.0
    for c in range(len(coef)):
        mean, moment = score_moments(counts, phi, coef[c], is_product[c])
        total += slope[c] * mean - curvature[c] * moment * (1.0 if is_product[c] else 0.5)
    return total


def infer_document(words, counts, weights, alpha, passes, leaps=True, start=None):
    """Coordinate ascent for LDA from gamma = alpha + N/K, or `start`; phi belongs to the gamma before the last update.

    After every two passes from the fourth on, but the last, gamma leaps ahead.
    """
    gamma = [alpha + np.sum(counts) / len(alpha) if start is None else start]
    for done in range(1, passes + 2):
        phi = weights[words] * np.exp(digamma(gamma[-1]))
        phi /= phi.sum(axis=1, keepdims=True)
        gamma.append(alpha + np.asarray(counts) @ phi)
        if leaps and done % 2 == 0 and 4 <= done < passes:
            gamma.append(leap(alpha, *gamma[-3:]))
    return gamma[-1], phi


def leap(alpha, before, between, gamma):
    """Where two such steps lead (Varadhan and Roland 2008, SQUAREM); a topic keeps a tenth of its tokens at least."""
    r, v = between - before, gamma - 2 * between + before
    s = np.clip(np.linalg.norm(r) / np.linalg.norm(v), 1.0, 16.0) if v.any() else 16.0
    return np.maximum(before + 2 * s * r + s**2 * v, alpha + 0.1 * (gamma - alpha))


def dirichlet_topics(word_topic, prior):
    """E[log beta] and E[log p(beta) - log q(beta)] of topics with q(beta_k) = Dirichlet(word_topic[:, k])."""
    n_words = len(word_topic)
    log_beta = digamma(word_topic) - digamma(word_topic.sum(axis=0))
    evidence = 0.0
    for k in range(word_topic.shape[1]):
        lam = word_topic[:, k]
        evidence += gammaln(n_words * prior) - n_words * gammaln(prior) + ((prior - 1) * log_beta[:, k]).sum()
        evidence -= gammaln(lam.sum()) - gammaln(lam).sum() + ((lam - 1) * log_beta[:, k]).sum()
    return log_beta, evidence


def mixture_log_joint(topics, documents, n_topics, n_words, alpha, prior):
    """log p(z, w) of a mixture of categoricals with shares and topics integrated out; documents are lists of words."""
    shares = np.bincount(topics, minlength=n_topics)
    total = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(topics)) + (gammaln(alpha + shares) - gammaln(alpha)).sum()
    for k in range(n_topics):
        words = [w for z, document in zip(topics, documents, strict=True) if z == k for w in document]
        counts = np.bincount(np.asarray(words, dtype=int), minlength=n_words)
        total += gammaln(n_words * prior) - gammaln(n_words * prior + counts.sum())
        total += (gammaln(prior + counts) - gammaln(prior)).sum()
    return total
