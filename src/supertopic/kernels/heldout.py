"""Kernels that score held-out documents with the topics fixed.

Each works on a range of documents, allocates nothing per document and draws its uniforms from a counter keyed
by (seed, document), so a document's figure does not depend on the range it was in.
"""

import math

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOG2_E = np.float32(1.4426950408889634)
# Taylor coefficients of 2^f, ln(2)^n / n!, good to 2e-7 for |f| <= 1/2
_E1, _E2, _E3 = np.float32(0.69314718056), np.float32(0.24022650696), np.float32(0.05550410866)
_E4, _E5, _E6 = np.float32(0.00961812911), np.float32(0.00133335581), np.float32(0.00015403530)

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def _mix(x):
    """splitmix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _document_key(seed, document):
    return _mix(_mix(np.uint64(seed) + _GOLDEN) + np.uint64(document) * _GOLDEN)


@njit(cache=True, nogil=True)
def _uniform(key, counter):
    """The counter-th uniform on [0, 1) of a document."""
    bits = _mix(key + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def split_range(start, stop, indptr, data, seed, observed):
    """Put floor(half) of each document's tokens, drawn without replacement, into ``observed``.

    A token is taken with probability (still wanted) / (still to come), which gives every half the same
    chance. A fractional count c is floor(c) tokens and one of weight c - floor(c).
    """
    for d in range(start, stop):
        key = _document_key(seed, d)
        to_come = 0
        for j in range(indptr[d], indptr[d + 1]):
            to_come += int(np.ceil(data[j]))
        wanted = to_come // 2
        counter = 0
        for j in range(indptr[d], indptr[d + 1]):
            left = data[j]
            taken = np.float32(0.0)
            while left > 0:
                weight = min(left, np.float32(1.0))
                if _uniform(key, counter) * to_come < wanted:
                    taken += weight
                    wanted -= 1
                to_come -= 1
                counter += 1
                left -= weight
            observed[j] = taken


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def exp_digamma(x, out, bits):
    """out = exp(psi(x)) for float32 x > 0, relative error about 1e-5; ``bits`` is int32 scratch.

    psi(x) = psi(x + 6) - sum_{i<6} 1/(x + i), and exp(psi(y + 1/2)) = y + 1/(24 y) - 37/(5760 y^3) + ..., so
    one exponential is left. It is a polynomial with the exponent put into the bits, because a call of libm
    would stop the loop from vectorising.
    """
    for k in range(x.shape[0]):
        v = x[k]
        one = np.float32(1.0)
        total = one / v + one / (v + one) + one / (v + np.float32(2.0)) + one / (v + np.float32(3.0))
        total += one / (v + np.float32(4.0)) + one / (v + np.float32(5.0))
        y = v + np.float32(5.5)
        inverse = one / y
        base = y + inverse * (np.float32(1.0 / 24.0) - np.float32(37.0 / 5760.0) * inverse * inverse)
        power = max(-total * _LOG2_E, np.float32(-120.0))
        whole = np.int32(power - np.float32(0.5))
        f = power - np.float32(whole)
        series = one + f * (_E1 + f * (_E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * _E6)))))
        bits[k] = (whole + np.int32(127)) << np.int32(23)
        out[k] = base * series
    scale = bits.view(np.float32)
    for k in range(x.shape[0]):
        out[k] *= scale[k]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def completion_range(
    start, stop, seen_indptr, seen_indices, seen_data, held_indptr, held_indices, held_data, word_topic,
    alpha, max_iter, tol, rows, gamma, weight, update, bits, log_lik,
):  # fmt: skip
    """log p(held-out half | theta), theta the variational posterior mean given the observed half.

    gamma_k = alpha_k + sum_w c_w phi_wk, phi_wk proportional to word_topic[w, k] exp(psi(gamma_k)), repeated
    until gamma moves by less than tol * tokens in all; then log_lik = sum_w c_w log sum_k gamma_k
    word_topic[w, k] / sum gamma.
    """
    n_topics = alpha.shape[0]
    for d in range(start, stop):
        first, last = seen_indptr[d], seen_indptr[d + 1]
        n_tokens = np.float32(0.0)
        for j in range(first, last):
            n_tokens += seen_data[j]
            rows[j - first, :] = word_topic[seen_indices[j], :]
        for k in range(n_topics):
            gamma[k] = alpha[k] + n_tokens / np.float32(n_topics)
        n_iter = max_iter if n_tokens > 0 else 0
        for _ in range(n_iter):
            exp_digamma(gamma, weight, bits)
            update[:] = np.float32(0.0)
            for i in range(last - first):
                row = rows[i]
                mass = np.float32(0.0)
                for k in range(n_topics):
                    mass += weight[k] * row[k]
                # a word no topic can make says nothing about the topics
                share = seen_data[first + i] / mass if mass > np.float32(1e-37) else np.float32(0.0)
                for k in range(n_topics):
                    update[k] += share * row[k]
            moved = np.float32(0.0)
            for k in range(n_topics):
                new = alpha[k] + weight[k] * update[k]
                moved += abs(new - gamma[k])
                gamma[k] = new
            if moved < tol * n_tokens:
                break
        total = np.float64(0.0)
        for k in range(n_topics):
            total += np.float64(gamma[k])
        score = 0.0
        for j in range(held_indptr[d], held_indptr[d + 1]):
            if held_data[j] > 0:
                row = word_topic[held_indices[j]]
                mass = np.float32(0.0)
                for k in range(n_topics):
                    mass += gamma[k] * row[k]
                score += held_data[j] * np.log(np.float64(mass) / total)
        log_lik[d] = score


@njit(cache=True, nogil=True)
def _expand(first, last, indices, data, word_topic, rows, token_row):
    """Topics of each distinct word in ``rows``, the row of each token; -1 if no topic can make some word."""
    n_tokens = 0
    for j in range(first, last):
        mass = 0.0
        for k in range(word_topic.shape[1]):
            rows[j - first, k] = word_topic[indices[j], k]
            mass += rows[j - first, k]
        if mass <= 0.0 and data[j] > 0:
            return -1
        for _ in range(int(data[j])):
            token_row[n_tokens] = j - first
            n_tokens += 1
    return n_tokens


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _joint(prior_count, row, joint):
    """joint_k = (alpha_k + n_k) p(w | k); returns its sum."""
    total = 0.0
    for k in range(joint.shape[0]):
        joint[k] = prior_count[k] * row[k]
        total += joint[k]
    return total


@njit(cache=True, nogil=True)
def _draw(joint, target):
    """The topic at which the running sum of ``joint`` passes ``target``."""
    running = 0.0
    for k in range(joint.shape[0] - 1):
        running += joint[k]
        if running > target:
            return k
    return joint.shape[0] - 1


@njit(cache=True, nogil=True)
def _sweep(first, last, step, z, prior_count, rows, token_row, joint, key, counter):
    """Draw z_n from p(z_n | the others, w) for n = first, first + step, ... up to but not ``last``."""
    for n in range(first, last, step):
        row = rows[token_row[n]]
        prior_count[z[n]] -= 1.0
        total = _joint(prior_count, row, joint)
        z[n] = _draw(joint, _uniform(key, counter) * total)
        prior_count[z[n]] += 1.0
        counter += 1
    return counter


@njit(cache=True, nogil=True)
def _resample(particle_weight, total, offset, offspring, z, prior_count, n_done):
    """Systematic resampling in place: particle r lives on as about R weight_r / total copies."""
    n_particles = particle_weight.shape[0]
    running, teeth = 0.0, 0
    for r in range(n_particles):
        running += particle_weight[r] * n_particles / total
        offspring[r] = 0
        while teeth < n_particles and (teeth + offset < running or r == n_particles - 1):
            offspring[r] += 1
            teeth += 1
    donor = 0
    for r in range(n_particles):
        if offspring[r] == 0:
            while offspring[donor] < 2:
                donor += 1
            offspring[donor] -= 1
            offspring[r] = 1
            prior_count[r, :] = prior_count[donor, :]
            z[r, :n_done] = z[donor, :n_done]


@njit(cache=True, nogil=True)
def left_to_right_range(
    start, stop, indptr, indices, data, word_topic, alpha, seed, rows, token_row, z, prior_count,
    particle_weight, offspring, joint, log_lik,
):  # fmt: skip
    """log of an unbiased estimate of p(w) = prod_n p(w_n | w_<n), by a particle filter.

    At position n every particle first draws all its earlier z again (a Gibbs sweep, which leaves p(z_<n |
    w_<n) alone), is weighted by p(w_n | z_<n) = sum_k (alpha_k + n_k) p(w_n | k) / (sum alpha + n), the
    particles are resampled by these weights, and each draws z_n. The product of the mean weights is the
    estimate. Without the resampling of particles (Wallach et al. 2009, algorithm 3) the product of means is
    biased.
    """
    n_particles = prior_count.shape[0]
    alpha_sum = alpha.sum()
    for d in range(start, stop):
        n_tokens = _expand(indptr[d], indptr[d + 1], indices, data, word_topic, rows, token_row)
        if n_tokens < 0:
            log_lik[d] = -np.inf
            continue
        key = _document_key(seed, d)
        counter = 0
        score = 0.0
        for r in range(n_particles):
            prior_count[r, :] = alpha
        for n in range(n_tokens):
            row = rows[token_row[n]]
            total = 0.0
            for r in range(n_particles):
                counter = _sweep(0, n, 1, z[r], prior_count[r], rows, token_row, joint, key, counter)
                particle_weight[r] = _joint(prior_count[r], row, joint)
                total += particle_weight[r]
            score += np.log(total / (n_particles * (alpha_sum + n)))
            _resample(particle_weight, total, _uniform(key, counter), offspring, z, prior_count, n)
            counter += 1
            for r in range(n_particles):
                mass = _joint(prior_count[r], row, joint)
                z[r, n] = _draw(joint, _uniform(key, counter) * mass)
                prior_count[r, z[r, n]] += 1.0
                counter += 1
        log_lik[d] = score


@njit(cache=True, nogil=True)
def _settle(n_tokens, alpha, z, prior_count, mean, rows, token_row, joint, key, counter, n_burn):
    """Mean of alpha + n over n_burn Gibbs sweeps, after as many in which a prior of one more per topic melts away.

    With a small alpha a document's sweeps stay with the topics that they begin with; a warm start lets them choose.
    """
    warmth = 1.0
    for k in range(alpha.shape[0]):
        prior_count[k] = alpha[k] + warmth
        mean[k] = 0.0
    for n in range(n_tokens):
        total = _joint(prior_count, rows[token_row[n]], joint)
        z[n] = _draw(joint, _uniform(key, counter) * total)
        prior_count[z[n]] += 1.0
        counter += 1
    for sweep in range(2 * n_burn):
        cooler = (1.0 - (sweep + 1) / n_burn) ** 2 if sweep < n_burn else 0.0
        prior_count += cooler - warmth
        warmth = cooler
        counter = _sweep(0, n_tokens, 1, z, prior_count, rows, token_row, joint, key, counter)
        if sweep >= n_burn:
            mean += prior_count
    mean /= n_burn
    return counter


@njit(cache=True, nogil=True)
def _log_dirichlet(parameter, log_shares):
    """Log density of a Dirichlet."""
    total, value = 0.0, 0.0
    for k in range(parameter.shape[0]):
        total += parameter[k]
        value += (parameter[k] - 1.0) * log_shares[k] - math.lgamma(parameter[k])
    return value + math.lgamma(total)


@njit(cache=True, nogil=True)
def _log_words(n_tokens, shares, rows, token_row, joint):
    """sum_n log sum_k shares_k p(w_n | k)."""
    value = 0.0
    for n in range(n_tokens):
        value += np.log(_joint(shares, rows[token_row[n]], joint))
    return value


@njit(cache=True, nogil=True)
def _find_shares(
    n_tokens, alpha, z, prior_count, mean, rows, token_row, joint, key, n_starts, n_burn, shares, log_shares
):
    """Topic shares of high posterior density, normalised: the best of n_starts, by about how probable w is around them.

    Around shares with E[n] = mean - alpha the words have about the probability p(w | shares) B(mean) / [B(alpha)
    prod_k shares_k^E[n_k]]; any choice is right as long as it does not look at the chain.
    """
    counter, best = 0, -np.inf
    for _ in range(n_starts):
        counter = _settle(n_tokens, alpha, z, prior_count, mean, rows, token_row, joint, key, counter, n_burn)
        total = mean.sum()
        for k in range(alpha.shape[0]):
            prior_count[k] = mean[k] / total
        value = _log_words(n_tokens, prior_count, rows, token_row, joint)
        for k in range(alpha.shape[0]):
            value += math.lgamma(mean[k]) - (mean[k] - alpha[k]) * np.log(prior_count[k])
        if value > best:
            best = value
            shares[:] = prior_count
    for k in range(alpha.shape[0]):
        log_shares[k] = np.log(shares[k])
    return counter


@njit(cache=True, nogil=True)
def chib_range(
    start, stop, indptr, indices, data, word_topic, alpha, n_samples, n_starts, n_burn, seed, rows, token_row,
    middle, z, prior_count, middle_count, shares, log_shares, joint, log_p, log_lik,
):  # fmt: skip
    """log of p(w, theta*) / [(1/S) sum_s p(theta* | z_s)], unbiased for p(w) (Murray and Salakhutdinov 2009).

    p(theta* | z) is Dirichlet(alpha + n), z run by Gibbs sweeps. A place s is drawn uniformly from 1..S, z_s given
    theta* and w; the chain runs on from z_s by forward sweeps to S and by reverse sweeps to 1. Such a chain has density
    P(chain) (1/S) sum_s p(theta* | z_s) / p(theta* | w), P the stationary chain's, so the mean of one over the average
    is 1 / p(theta* | w) exactly. Wallach et al. (2009) do the same with a fixed z* for theta*: a sweep has to hit all
    N tokens of z* then, not K shares, and the estimate varies far more.
    """
    for d in range(start, stop):
        n_tokens = _expand(indptr[d], indptr[d + 1], indices, data, word_topic, rows, token_row)
        if n_tokens <= 0:
            log_lik[d] = -np.inf if n_tokens < 0 else 0.0
            continue
        key = _document_key(seed, d)
        counter = _find_shares(
            n_tokens, alpha, z, prior_count, middle_count, rows, token_row, joint, key, n_starts, n_burn, shares,
            log_shares,
        )  # fmt: skip
        place = int(_uniform(key, counter) * n_samples)
        counter += 1
        middle_count[:] = alpha
        for n in range(n_tokens):
            total = _joint(shares, rows[token_row[n]], joint)
            middle[n] = _draw(joint, _uniform(key, counter) * total)
            middle_count[middle[n]] += 1.0
            counter += 1
        z[:n_tokens] = middle[:n_tokens]
        prior_count[:] = middle_count
        log_p[place] = _log_dirichlet(prior_count, log_shares)
        for s in range(place + 1, n_samples):
            counter = _sweep(0, n_tokens, 1, z, prior_count, rows, token_row, joint, key, counter)
            log_p[s] = _log_dirichlet(prior_count, log_shares)
        z[:n_tokens] = middle[:n_tokens]
        prior_count[:] = middle_count
        for s in range(place - 1, -1, -1):
            counter = _sweep(n_tokens - 1, -1, -1, z, prior_count, rows, token_row, joint, key, counter)
            log_p[s] = _log_dirichlet(prior_count, log_shares)
        largest = log_p.max()
        mean_p = 0.0
        for s in range(n_samples):
            mean_p += np.exp(log_p[s] - largest) / n_samples
        log_joint = _log_dirichlet(alpha, log_shares) + _log_words(n_tokens, shares, rows, token_row, joint)
        log_lik[d] = log_joint - largest - np.log(mean_p)
