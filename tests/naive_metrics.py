"""Slow, simple versions of the metrics."""

from itertools import combinations, product

import numpy as np
from scipy.special import digamma


def document_probability(word_topic, alpha, tokens):
    """p(w) = sum over all z of prod_n (alpha + earlier counts)_{z_n} / (sum alpha + n) * p(w_n | z_n)."""
    every = product(range(len(alpha)), repeat=len(tokens))
    return sum(_assignment_probability(word_topic, alpha, tokens, z) for z in every)


def _assignment_probability(word_topic, alpha, tokens, z):
    """p(w, z)."""
    count, p = np.array(alpha, dtype=float), 1.0
    for word, k in zip(tokens, z, strict=True):
        p *= count[k] / count.sum() * float(word_topic[word, k])
        count[k] += 1
    return p


def chib_moments(word_topic, alpha, tokens, fixed_z, block, n_samples):
    """Mean and mean square of Chib's estimate in blocks given z*, by enumeration of all chains.

    ``weights`` holds, for each possible last state of a run, E[prod_b (1/f_b)^power; that state], power 1 and 2.
    """
    weights, last = {tuple(fixed_z): np.ones(2)}, len(tokens)
    while last > 0:
        first, found = max(last - block, 0), {}
        ahead, back, inside = range(first, len(tokens)), range(len(tokens) - 1, first - 1, -1), range(first, last)
        for begin, weight in weights.items():
            for place in range(n_samples):
                # a chain: the probabilities of z*_b so far, its state, the probability of the chain
                for middle, p in _gibbs(word_topic, alpha, tokens, begin, inside[::-1]).items():
                    chains = [([_hit(word_topic, alpha, tokens, middle, fixed_z, inside)], middle, p / n_samples)]
                    for order, n_steps in ((back, place), (ahead, n_samples - 1 - place)):
                        chains = [(hits, middle, p) for hits, _, p in chains]
                        for _ in range(n_steps):
                            chains = [
                                ([*hits, _hit(word_topic, alpha, tokens, z, fixed_z, inside)], z, p * q)
                                for hits, state, p in chains
                                for z, q in _gibbs(word_topic, alpha, tokens, state, order).items()
                            ]
                    for hits, z, p in chains:
                        found[z] = found.get(z, 0) + weight * p / np.mean(hits) ** np.array([1, 2])
        weights, last = found, first
    return sum(weights.values()) * _assignment_probability(word_topic, alpha, tokens, fixed_z) ** np.array([1, 2])


def _conditional(word_topic, alpha, tokens, z, n):
    """p(z_n | the others, w)."""
    count = np.bincount(np.delete(z, n), minlength=len(alpha)) + alpha
    return count * word_topic[tokens[n]] / (count @ word_topic[tokens[n]])


def _gibbs(word_topic, alpha, tokens, z, order):
    """The possible states after a visit to the tokens in this order, with their probabilities."""
    found = {tuple(z): 1.0}
    for n in order:
        before, found = found, {}
        for state, p in before.items():
            for k, q in enumerate(_conditional(word_topic, alpha, tokens, state, n)):
                to = (*state[:n], k, *state[n + 1 :])
                found[to] = found.get(to, 0) + p * q
    return found


def _hit(word_topic, alpha, tokens, z, fixed_z, inside):
    """Probability that a visit to the block sets its tokens to ``fixed_z``."""
    aim = (*z[: inside[0]], *fixed_z[inside[0] : inside[-1] + 1], *z[inside[-1] + 1 :])
    return _gibbs(word_topic, alpha, tokens, z, inside)[aim]


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


def word_lift(topics: np.ndarray, average: np.ndarray) -> np.ndarray:
    """p(word | topic) / p(word)."""
    found = np.zeros_like(topics)
    for k, v in np.ndindex(*topics.shape):
        found[k, v] = topics[k, v] / sum(average * topics[:, v])
    return found


def word_relevance(topics: np.ndarray, average: np.ndarray) -> np.ndarray:
    """Sievert and Shirley's, with weight 0.6."""
    return 0.6 * np.log(topics) + 0.4 * np.log(word_lift(topics, average))


def word_score(topics: np.ndarray, average: np.ndarray) -> np.ndarray:
    """p (log p - mean log p)."""
    found = np.zeros_like(topics)
    for v in range(topics.shape[1]):
        logs = [np.log(topics[k, v]) for k in range(len(topics))]
        for k in range(len(topics)):
            found[k, v] = topics[k, v] * (logs[k] - sum(logs) / len(logs))
    return found


def clr_correlation(theta: np.ndarray) -> np.ndarray:
    """Correlations of log theta less its mean in the document."""
    rows = [[np.log(x) - np.mean(np.log(row)) for x in row] for row in theta]
    return np.corrcoef(np.array(rows).T)
