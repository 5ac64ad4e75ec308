"""HTMM by slow, obvious code: it lists every path of topics and fresh draws of a document."""

import itertools

import numpy as np


def paths(sentences, theta, topics, epsilon):
    """(topics z, fresh, p(z, fresh, words)) of all paths; sentences are lists of words, topics is (V, K)."""
    n_sentences = len(sentences)
    for z in itertools.product(range(len(theta)), repeat=n_sentences):
        for fresh in itertools.product((False, True), repeat=n_sentences):
            if n_sentences and not fresh[0]:
                continue
            chance = 1.0
            for s in range(n_sentences):
                if s > 0:
                    chance *= epsilon if fresh[s] else 1 - epsilon
                if fresh[s]:
                    chance *= theta[z[s]]
                elif z[s] != z[s - 1]:
                    chance = 0.0
                for word in sentences[s]:
                    chance *= topics[word, z[s]]
            yield z, fresh, chance


def likelihood(sentences, theta, topics, epsilon):
    return sum(chance for _, _, chance in paths(sentences, theta, topics, epsilon))


def posteriors(sentences, theta, topics, epsilon):
    """p(z_s = k | words) and p(z_s = k, fresh_s | words), both (S, K), and log p(words)."""
    all_, fresh_ = np.zeros((2, len(sentences), len(theta)))
    for z, fresh, chance in paths(sentences, theta, topics, epsilon):
        for s, k in enumerate(z):
            all_[s, k] += chance
            fresh_[s, k] += chance * fresh[s]
    total = all_[0].sum()
    return all_ / total, fresh_ / total, np.log(total)


def em_step(documents, theta, topics, epsilon, doc_prior, word_prior):
    """(objective before, theta, topics, epsilon after) one EM step over documents, which are lists of sentences."""
    objective = word_prior * np.log(topics).sum()
    new_theta, counts, renewed, could = np.empty_like(theta), np.full_like(topics, word_prior), 0.0, 0
    for d, sentences in enumerate(documents):
        posterior, fresh, log_p = posteriors(sentences, theta[d], topics, epsilon)
        objective += log_p + (doc_prior * np.log(theta[d])).sum()
        new_theta[d] = doc_prior + fresh.sum(axis=0)
        renewed, could = renewed + fresh[1:].sum(), could + len(sentences) - 1
        for s, words in enumerate(sentences):
            for word in words:
                counts[word] += posterior[s]
    new_theta /= new_theta.sum(axis=1, keepdims=True)
    return objective, new_theta, counts / counts.sum(axis=0), renewed / could
