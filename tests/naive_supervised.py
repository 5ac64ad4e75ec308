"""Slow and obvious: y drawn from a response, log p(y | s) by scipy, a sweep in Python, posteriors by enumeration."""

from itertools import product

import numpy as np
from scipy import stats
from scipy.special import gammaln

from supertopic.responses.base import registry
from tests.naive_gibbs import documents_of, epochs

DISPERSION = {
    "gaussian": [0.3, 0.0, 1.0],
    "negative_binomial": [2.0],
    "gamma": [1.5, 1.0],
    "weibull": [1.3, 1.0],
    "ordinal": [-0.5, 0.6],
    "inverse_gaussian": [1.6, 1.0],
}
N_CLASSES = {"softmax": 3, "ordinal": 3}


def sampled_names():
    return [name for name, kind in registry().items() if kind.sampled]


def make(name):
    kind = registry()[name]
    n_classes = N_CLASSES.get(name, 2 if kind.kind == "class" else 0)
    return kind(n_classes), np.array(DISPERSION.get(name, []))


def draw_y(name, s, dispersion, rng):
    """y of documents with the linear predictors s (D, C)."""
    one = s[:, 0]
    if name == "gaussian":
        return dispersion[1] + dispersion[2] * (one + np.sqrt(dispersion[0]) * rng.normal(size=len(s)))
    if name == "logit":
        return (rng.random(len(s)) < 1 / (1 + np.exp(-one))).astype(float)
    if name == "probit":
        return (one + rng.normal(size=len(s)) > 0).astype(float)
    if name == "ordinal":
        return np.searchsorted(dispersion, one + rng.normal(size=len(s))).astype(float)
    if name == "softmax":
        return np.argmax(s + rng.gumbel(size=s.shape), axis=1).astype(float)
    if name == "poisson":
        return rng.poisson(np.exp(one)).astype(float)
    if name == "negative_binomial":
        return rng.poisson(np.exp(one) * rng.gamma(dispersion[0], size=len(s))).astype(float)
    shape, scale = dispersion
    if name == "gamma":  # its column holds -log mean
        return scale * rng.gamma(shape, size=len(s)) * np.exp(-one) / shape
    if name == "inverse_gaussian":
        return scale * rng.wald(np.exp(one), shape)
    assert name == "weibull"  # its column holds -shape log scale
    return scale * (rng.exponential(size=len(s)) * np.exp(-one)) ** (1 / shape)


def log_density(name, y, s, dispersion):
    """log p(y | s) of one document, s (C,)."""
    one = s[0]
    if name == "gaussian":
        return stats.norm.logpdf(y, one, np.sqrt(dispersion[0]))
    if name == "logit":
        return y * one - np.logaddexp(0, one)
    if name == "probit":
        return stats.norm.logcdf((2 * y - 1) * one)
    if name == "ordinal":
        cuts = [-np.inf, *dispersion, np.inf]
        return np.log(stats.norm.cdf(cuts[int(y) + 1] - one) - stats.norm.cdf(cuts[int(y)] - one))
    if name == "softmax":
        return s[int(y)] - np.logaddexp.reduce(s)
    if name == "poisson":
        return stats.poisson.logpmf(y, np.exp(one))
    if name == "negative_binomial":
        return stats.nbinom.logpmf(y, dispersion[0], 1 / (1 + np.exp(one)))
    if name == "gamma":
        return stats.gamma.logpdf(y, dispersion[0], scale=np.exp(-one) / dispersion[0])
    if name == "inverse_gaussian":
        return stats.invgauss.logpdf(y, np.exp(one) / dispersion[0], scale=dispersion[0])
    return stats.weibull_min.logpdf(y, dispersion[0], scale=np.exp(-one / dispersion[0]))


def lasso(gram, cross, penalty, coef, sweeps=3000):
    """argmax cross·coef - ½ coef' gram coef - sum_k penalty_k |coef_k|, one coordinate after the other."""
    coef = np.array(coef, dtype=float)
    for _ in range(sweeps):
        for k in range(len(coef)):
            coef[k] = 0.0
            pull = cross[k] - gram[k] @ coef
            if abs(pull) > penalty[k] and gram[k, k] > 0:
                coef[k] = (pull - np.sign(pull) * penalty[k]) / gram[k, k]
    return coef


def enumerate_topics(counts, alpha, beta, log_response):
    """(states, probabilities): p(z | w, y) of a tiny corpus; log_response(d, shares) is the documents' log p(y | z)."""
    documents = [[w for w, n in enumerate(row) for _ in range(int(n))] for row in counts]
    lengths = [len(words) for words in documents]
    states = np.array(list(product(range(len(alpha)), repeat=sum(lengths))))
    logs = []
    for z in states:
        word_topic, value, place = np.zeros((counts.shape[1], len(alpha))), 0.0, 0
        for d, words in enumerate(documents):
            own = z[place : place + len(words)]
            place += len(words)
            n = np.bincount(own, minlength=len(alpha))
            np.add.at(word_topic, (words, own), 1)
            value += gammaln(n + alpha).sum() + log_response(d, n / len(words))
        value += gammaln(word_topic + beta).sum() - gammaln(word_topic.sum(0) + beta * len(word_topic)).sum()
        logs.append(value)
    weights = np.exp(np.array(logs) - max(logs))
    return states, weights / weights.sum()


def uniform(key, token):
    mask = (1 << 64) - 1
    x = (int(key) + token * 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return ((x ^ (x >> 31)) >> 11) * 2.0**-53


def sweep(tokens, topic, function, coef, alpha, beta, n_words, seed, number):
    """The sweep of `gibbs_likelihood`: function(d, c, s) is f of column c of document d; topic (N,) changes.

    Each task of an epoch has its own copy of n_k. alpha : (D, K)
    """
    mask = (1 << 64) - 1
    key = (seed * 0xD1342543DE82EF95 + number * 0x2545F4914F6CDD1D) & mask
    key = ((key ^ (key >> 32)) * 0xDABA0B6EB09322E3) & mask
    docs, lengths = documents_of(tokens), tokens.doc_length
    word_topic, doc_topic = np.zeros((n_words, alpha.shape[1])), np.zeros((len(lengths), alpha.shape[1]))
    np.add.at(word_topic, (tokens.word, topic), 1)
    np.add.at(doc_topic, (docs, topic), 1)
    for tasks in epochs(tokens):
        before = word_topic.sum(0)
        for task in tasks:
            count = before.copy()
            for token in task:
                d, word, n = docs[token], tokens.word[token], doc_topic[docs[token]]
                for counts in (n, word_topic[word], count):
                    counts[topic[token]] -= 1
                weights = np.empty(alpha.shape[1])
                for k in range(alpha.shape[1]):
                    n[k] += 1
                    weights[k] = sum(function(d, c, coef[c] @ n / lengths[d]) for c in range(len(coef)))
                    n[k] -= 1
                weights = np.exp(weights - weights.max()) * (n + alpha[d])
                weights *= (word_topic[word] + beta) / (count + beta * n_words)
                new = int(np.searchsorted(np.cumsum(weights), weights.sum() * uniform(key, token), side="right"))
                topic[token] = min(new, alpha.shape[1] - 1)
                for counts in (n, word_topic[word], count):
                    counts[topic[token]] += 1
    return topic


def jackknife_widening(coef, shares, std, again=None):
    """What errors are multiplied with, from the coefficients (G, K) of fits without one group of documents each.

    shares : (K,) of the average document; std : (K,) errors given the topics; again : topics that are compared
    """
    n_folds, n_topics = coef.shape
    again = range(n_topics) if again is None else again
    apart = [[coef[g][k] - coef[g] @ shares for k in range(n_topics)] for g in range(n_folds)]
    ratios = []
    for k in again:
        mean = sum(apart[g][k] for g in range(n_folds)) / n_folds
        variance = (n_folds - 1) / n_folds * sum((apart[g][k] - mean) ** 2 for g in range(n_folds))
        ratios.append(variance / std[k] ** 2)
    freedom = (n_folds - 1) * (len(ratios) - 1)
    return max(1.0, (sum(ratios) / len(ratios) * freedom / (freedom - 2)) ** 0.5)
