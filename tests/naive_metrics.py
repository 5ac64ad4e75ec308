"""Slow, obvious versions of the metrics."""

from itertools import combinations, product

import numpy as np
from scipy.special import digamma


def document_probability(word_topic, alpha, tokens):
    """p(w) = sum over all z of prod_n (alpha + earlier counts)_{z_n} / (sum alpha + n) * p(w_n | z_n)."""
    total = 0.0
    for z in product(range(len(alpha)), repeat=len(tokens)):
        count, p = np.array(alpha, dtype=float), 1.0
        for word, k in zip(tokens, z, strict=True):
            p *= count[k] / count.sum() * float(word_topic[word, k])
            count[k] += 1
        total += p
    return total


def completion(word_topic, alpha, observed, heldout):
    """log p(heldout | theta) of one document (dense counts), theta by 5,000 variational passes in float64."""
    gamma = alpha + observed.sum() / len(alpha)
    for _ in range(5000 if observed.sum() > 0 else 0):
        phi = word_topic * np.exp(digamma(gamma))
        gamma = alpha + observed @ (phi / phi.sum(axis=1, keepdims=True))
    theta = gamma / gamma.sum()
    return float(heldout @ np.log(word_topic @ theta))


def mixture_probability(word_topic, weight, counts):
    """sum_k pi_k prod_w p(w | k)^c."""
    return sum(weight[k] * np.prod(word_topic[:, k] ** counts) for k in range(len(weight)))


def windows(tokens, width):
    """The set of words of each sliding window; a short document is one window."""
    return [set(tokens[i : i + width]) for i in range(max(len(tokens) - width + 1, 1))]


def npmi(contexts, a, b):
    """NPMI of two words over a list of sets of words."""
    p_a, p_b, p_ab = (np.mean([need <= context for context in contexts]) for need in ({a}, {b}, {a, b}))
    return np.log((p_ab + 1e-12) / (p_a * p_b)) / -np.log(p_ab + 1e-12)


def mean_npmi(contexts, top):
    return np.mean([npmi(contexts, a, b) for a, b in combinations(top, 2)])


def cv(contexts, top):
    vectors = np.array([[npmi(contexts, a, b) for b in top] for a in top])
    whole = vectors.sum(axis=0)
    return np.mean([v @ whole / np.linalg.norm(v) / np.linalg.norm(whole) for v in vectors])


def umass(contexts, top):
    score = 0.0
    for m in range(1, len(top)):
        for earlier in range(m):
            both = sum({top[m], top[earlier]} <= context for context in contexts)
            score += np.log((both + 1) / sum(top[earlier] in context for context in contexts))
    return score
