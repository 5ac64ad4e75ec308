"""Slow, obvious versions of the Gibbs kernels, and the exact posterior of tiny corpora."""

from itertools import product
from math import lgamma

import numpy as np

MASK = (1 << 64) - 1


def splitmix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def sweep_uniform(seed, sweep, token):
    """The uniform of a token, 24 bits."""
    key = (seed * 0xD1342543DE82EF95 + sweep * 0x2545F4914F6CDD1D) & MASK
    key = ((key ^ (key >> 32)) * 0xDABA0B6EB09322E3) & MASK
    return (splitmix((key + token * 0x9E3779B97F4A7C15) & MASK) >> 40) / 2**24


def pick(weights, target):
    """The first index whose running sum exceeds `target`."""
    total = 0.0
    for i, weight in enumerate(weights):
        total += weight
        if total > target:
            return i
    return len(weights) - 1


def of_document(alpha, doc):
    """alpha (K,) of a document, of all documents' one or of each (D, K)."""
    return alpha if alpha.ndim == 1 else alpha[doc]


def by_lanes(n):
    """0 .. n - 1 in the order in which 16 lanes hold them."""
    return sorted(range(n), key=lambda i: (i % 16, i // 16))


def gibbs_sweep(tokens, topic, n_topics, alpha, beta, seed, sweep, dense, topics=None):
    """One sweep of a single group (P = 1), token by token, every conditional from counts made afresh."""
    n_words = tokens.word_ptr.shape[1] - 1
    words = np.repeat(np.arange(n_words), np.diff(tokens.word_ptr[0]))
    lists = {}
    for doc in range(len(tokens.doc_length)):
        lists[doc] = sorted({int(k) for k in topic[tokens.doc == doc]})
    for token, (doc, word) in enumerate(zip(tokens.doc, words, strict=True)):
        others, own = np.arange(len(topic)) != token, of_document(alpha, doc)
        doc_topic = np.bincount(topic[others & (tokens.doc == doc)], minlength=n_topics)
        q = (np.bincount(topic[others & (words == word)], minlength=n_topics) + beta) / (
            np.bincount(topic[others], minlength=n_topics) + beta * n_words
        )
        if topics is not None:
            q = topics[word].astype(float)
        u = sweep_uniform(seed, sweep, token)
        target = u * ((doc_topic + own) * q).sum()
        old = int(topic[token])
        if dense:
            order = by_lanes(n_topics)
            new = order[pick(((doc_topic + own) * q)[order], target)]
        else:
            present = lists[doc]
            own_topics = [present[i] for i in by_lanes(len(present))]
            weights = (doc_topic * q)[own_topics]
            if target < weights.sum():
                new = own_topics[pick(weights, target)]
            else:
                order = sorted(range(n_topics), key=lambda k: (k // 256, k % 16, k))
                new = order[pick((own * q)[order], target - weights.sum())]
            if new != old:
                if doc_topic[old] == 0:
                    present[present.index(old)] = present[-1]
                    present.pop()
                if new not in present:
                    present.append(new)
        topic[token] = new


def log_joint(docs, words, topic, n_docs, n_words, alpha, beta):
    """log p(w, z) up to a constant, theta and phi integrated out."""
    n_topics = len(alpha)
    doc_topic, word_topic = np.zeros((n_docs, n_topics)), np.zeros((n_words, n_topics))
    np.add.at(doc_topic, (docs, topic), 1)
    np.add.at(word_topic, (words, topic), 1)
    value = sum(lgamma(n + a) for row in doc_topic for n, a in zip(row, alpha, strict=True))
    value += sum(lgamma(n + beta) for n in word_topic.ravel())
    return value - sum(lgamma(n + n_words * beta) for n in word_topic.sum(0))


def exact_posterior(docs, words, n_docs, n_words, alpha, beta, log_response=None):
    """p(z | w) of every z, over their index in base K; log_response(doc_topic) is added when given."""
    n_topics = len(alpha)
    values = []
    for topic in product(range(n_topics), repeat=len(docs)):
        value = log_joint(docs, words, list(topic), n_docs, n_words, alpha, beta)
        if log_response is not None:
            doc_topic = np.zeros((n_docs, n_topics))
            np.add.at(doc_topic, (docs, list(topic)), 1)
            value += log_response(doc_topic)
        values.append(value)
    values = np.exp(np.array(values) - max(values))
    return values / values.sum()


def state_index(topic, n_topics):
    """The index of z in `exact_posterior`."""
    index = 0
    for k in topic:
        index = index * n_topics + int(k)
    return index


def total_variation(visits, probability):
    return 0.5 * np.abs(visits / visits.sum() - probability).sum()


def epochs(tokens):
    """[epoch][task] -> its tokens: in epoch e, document group i meets word group (i + e) mod P."""
    groups = len(tokens.doc_ptr)
    tasks = {}
    for i in range(groups):
        for j in range(groups):
            documents = range(tokens.doc_bounds[i], tokens.doc_bounds[i + 1])
            tasks[i, j] = [t for d in documents for t in range(tokens.doc_ptr[j, d], tokens.doc_ptr[j, d + 1])]
    return [[tasks[i, (i + epoch) % groups] for i in range(groups)] for epoch in range(groups)]


def documents_of(tokens):
    """(N,): the document of every token."""
    docs = np.empty(len(tokens.word), int)
    for row in tokens.doc_ptr:
        for d in range(len(row) - 1):
            docs[row[d] : row[d + 1]] = d
    return docs


def documents_conditional(
    docs, token_word, topic, token, b, omega, coef, n_words, alpha, beta, topics=None, topic_count=None
):
    """p(z = k | all other topics) of a token, up to a constant, with a response, from counts made afresh.

    topic_count : (K,), n_k without the token, where it is not that of all other tokens
    """
    n_topics, doc = alpha.shape[-1], docs[token]
    length, others = (docs == doc).sum(), np.arange(len(topic)) != token
    doc_topic = np.bincount(topic[others & (docs == doc)], minlength=n_topics)
    if topic_count is None:
        topic_count = np.bincount(topic[others], minlength=n_topics)
    word_topic = np.bincount(topic[others & (token_word == token_word[token])], minlength=n_topics)
    q = (word_topic + beta) / (topic_count + beta * n_words)
    if topics is not None:
        q = topics[token_word[token]]
    power = np.zeros(n_topics)
    for c in range(coef.shape[0]):
        score = coef[c] @ doc_topic / length
        power += coef[c] / length * (b[doc, c] - omega[doc, c] * score)
        power -= 0.5 * omega[doc, c] * coef[c] ** 2 / length**2
    return (doc_topic + of_document(alpha, doc)) * q * np.exp(power - power.max())


def documents_sweep(tokens, topic, b, omega, coef, n_words, alpha, beta, seed, sweep, topics=None, lag=True):
    """One document-major sweep with a response; with `lag` each task of an epoch has its own copy of n_k."""
    order, docs = by_lanes(alpha.shape[-1]), documents_of(tokens)
    for tasks in epochs(tokens):
        before = np.bincount(topic, minlength=alpha.shape[-1])
        for task in tasks:
            count = before.copy() if lag else np.bincount(topic, minlength=alpha.shape[-1])
            for token in task:
                count[topic[token]] -= 1
                weights = documents_conditional(
                    docs, tokens.word, topic, token, b, omega, coef, n_words, alpha, beta, topics, count
                )
                topic[token] = order[pick(weights[order], sweep_uniform(seed, sweep, token) * weights.sum())]
                count[topic[token]] += 1
