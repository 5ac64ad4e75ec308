"""Kernels that score held-out documents with the topics fixed.

Each works on a range of documents and allocates nothing per document. Its uniform numbers come from a counter keyed
by (seed, document), so the score of a document does not depend on the range it was in.
"""

import math

import numpy as np
from numba import njit

_MANY = 1 << 16  # counts above it are split by a formula and not token by token
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOG2_E = np.float32(1.4426950408889634)
# Taylor coefficients of 2^f, ln(2)^n / n!, good to 2e-7 for |f| <= 1/2
_E1, _E2, _E3 = np.float32(0.69314718056), np.float32(0.24022650696), np.float32(0.05550410866)
_E4, _E5, _E6 = np.float32(0.00961812911), np.float32(0.00133335581), np.float32(0.00015403530)

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, forceinline=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, forceinline=True)
def _document_key(seed, document):
    return _mix(_mix(np.uint64(seed) + _GOLDEN) + np.uint64(document) * _GOLDEN)


@njit(cache=True, nogil=True, forceinline=True)
def _uniform(key, counter):
    """The counter-th uniform on [0, 1) of a document."""
    bits = _mix(key + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, forceinline=True)
def _take_many(count, wanted, to_come, key, counter):
    """How many of `count` tokens are among the `wanted` of those `to_come`: hypergeometric, by its normal limit."""
    share = wanted / to_come
    spread = math.sqrt(count * share * (1.0 - share) * max(to_come - count, 0) / max(to_come - 1, 1))
    radius = math.sqrt(-2.0 * math.log(1.0 - _uniform(key, counter)))
    normal = radius * math.cos(2.0 * math.pi * _uniform(key, counter + 1))
    taken = round(count * share + spread * normal)
    return min(max(taken, 0, wanted - (to_come - count)), count, wanted)


@njit(cache=True, nogil=True)
def split_range(start, stop, indptr, data, seed, observed):
    """Put half of each document's tokens (rounded down), drawn without replacement, into ``observed``.

    A token is taken with probability (still wanted) / (still to come), which makes every half equally likely.
    A fractional count c is floor(c) tokens and one of weight c - floor(c). A count above `_MANY` is drawn at once: a
    token at a time takes minutes for a count of 1e9, and is less exact than float32 can tell.
    """
    for d in range(start, stop):
        key = _document_key(seed, d)
        to_come = 0
        for j in range(indptr[d], indptr[d + 1]):
            to_come += int(np.ceil(data[j]))
        wanted = to_come // 2
        counter = 0
        for j in range(indptr[d], indptr[d + 1]):
            if data[j] > _MANY:
                many = int(np.ceil(data[j]))
                drawn = _take_many(many, wanted, to_come, key, counter)
                counter += 2
                wanted -= drawn
                to_come -= many
                observed[j] = min(np.float32(drawn), data[j])
                continue
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


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def exp_digamma(x, out, bits):
    """out = exp(psi(x)) for float32 x > 0, relative error about 1e-5; ``bits`` is int32 scratch.

    psi(x) = psi(x + 6) - sum_{i<6} 1/(x + i), and exp(psi(y + 1/2)) = y + 1/(24 y) - 37/(5760 y^3) + ..., so
    one exponential is left. It is computed by a polynomial and by setting the exponent bits, because a call of
    libm would prevent vectorisation.
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
    """log p(held-out half | theta), where theta is the variational posterior mean given the observed half.

    gamma_k = alpha_k + sum_w c_w phi_wk, phi_wk proportional to word_topic[w, k] exp(psi(gamma_k)), repeated
    until the absolute changes of gamma sum to less than tol * tokens; then log_lik = sum_w c_w log sum_k gamma_k
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
                # a word of probability zero in every topic carries no information about theta
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


@njit(cache=True, nogil=True, forceinline=True)
def _expand(first, last, indices, data, word_topic, rows, token_row):
    """Fill ``rows`` (p(word | k) of each distinct word) and ``token_row`` (the row of each token).

    Returns the number of tokens, or -1 if some word has probability zero in every topic.
    """
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


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _joint(prior_count, row, joint):
    """joint_k = (alpha_k + n_k) p(w | k); returns its sum."""
    total = 0.0
    for k in range(joint.shape[0]):
        joint[k] = prior_count[k] * row[k]
        total += joint[k]
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _draw(joint, target):
    """The topic at which the running sum of ``joint`` passes ``target``."""
    running = 0.0
    for k in range(joint.shape[0] - 1):
        running += joint[k]
        if running > target:
            return k
    return joint.shape[0] - 1


@njit(cache=True, nogil=True, forceinline=True)
def _sweep(first, last, step, z, prior_count, rows, token_row, joint, key, counter):
    """Draw z_n from p(z_n | the others, w) for n = first, first + step, ..., excluding ``last``."""
    for n in range(first, last, step):
        row = rows[token_row[n]]
        prior_count[z[n]] -= 1.0
        total = _joint(prior_count, row, joint)
        z[n] = _draw(joint, _uniform(key, counter) * total)
        prior_count[z[n]] += 1.0
        counter += 1
    return counter


@njit(cache=True, nogil=True, forceinline=True)
def _resample(particle_weight, total, offset, offspring, z, prior_count, n_done):
    """Systematic resampling in place: particle r gets about R weight_r / total copies."""
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
    w_<n) invariant). It gets the weight p(w_n | z_<n) = sum_k (alpha_k + n_k) p(w_n | k) / (sum alpha + n).
    The particles are then resampled by these weights, and each draws z_n. The estimate is the product of the
    mean weights. Without the resampling (Wallach et al. 2009, algorithm 3) the product of means is biased.
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


@njit(cache=True, nogil=True, forceinline=True)
def _log_joint(n_tokens, alpha, z, prior_count, rows, token_row):
    """log p(w, z) = log B(alpha + n) / B(alpha) + sum_n log p(w_n | z_n), prior_count being alpha + n."""
    value = math.lgamma(alpha.sum()) - math.lgamma(alpha.sum() + n_tokens)
    for k in range(alpha.shape[0]):
        value += math.lgamma(prior_count[k]) - math.lgamma(alpha[k])
    for n in range(n_tokens):
        value += np.log(rows[token_row[n], z[n]])
    return value


@njit(cache=True, nogil=True, forceinline=True)
def _find_assignment(n_tokens, alpha, best_z, z, prior_count, rows, token_row, joint, key, counter, n_starts, n_burn):
    """Put the z of largest p(w, z) in n_starts runs of n_burn Gibbs sweeps each into ``best_z``.

    With a small alpha the sweeps hardly leave the topics they start with. So each run is preceded by n_burn annealed
    sweeps, in which an additional prior count of one per topic decreases to zero.
    """
    best = -np.inf
    for _ in range(n_starts):
        warmth = 1.0
        for k in range(alpha.shape[0]):
            prior_count[k] = alpha[k] + warmth
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
            value = _log_joint(n_tokens, alpha, z, prior_count, rows, token_row) if sweep >= n_burn else -np.inf
            if value > best:
                best, best_z[:n_tokens] = value, z[:n_tokens]
    return counter


@njit(cache=True, nogil=True, forceinline=True)
def _log_block(first, last, z, fixed_z, prior_count, rows, token_row, joint):
    """log probability that tokens first, ..., last - 1, drawn in order, become ``fixed_z``; the state is unchanged."""
    value = 0.0
    for n in range(first, last):
        prior_count[z[n]] -= 1.0
        total = _joint(prior_count, rows[token_row[n]], joint)
        value += np.log(joint[fixed_z[n]] / total)
        prior_count[fixed_z[n]] += 1.0
    for n in range(first, last):
        prior_count[fixed_z[n]] -= 1.0
        prior_count[z[n]] += 1.0
    return value


@njit(cache=True, nogil=True, forceinline=True)
def _reduced_run(
    first, last, n_tokens, z, fixed_z, middle, prior_count, middle_count, rows, token_row, joint, log_p, key, counter
):
    """log of the mean of exp(_log_block) over a chain of z[first:] as in ``chib_range``; z ends in its last state."""
    place = int(_uniform(key, counter) * log_p.shape[0])
    counter = _sweep(last - 1, first - 1, -1, z, prior_count, rows, token_row, joint, key, counter + 1)
    log_p[place] = _log_block(first, last, z, fixed_z, prior_count, rows, token_row, joint)
    middle[first:n_tokens] = z[first:n_tokens]
    middle_count[:] = prior_count
    for s in range(place - 1, -1, -1):
        counter = _sweep(n_tokens - 1, first - 1, -1, z, prior_count, rows, token_row, joint, key, counter)
        log_p[s] = _log_block(first, last, z, fixed_z, prior_count, rows, token_row, joint)
    z[first:n_tokens] = middle[first:n_tokens]
    prior_count[:] = middle_count
    for s in range(place + 1, log_p.shape[0]):
        counter = _sweep(first, n_tokens, 1, z, prior_count, rows, token_row, joint, key, counter)
        log_p[s] = _log_block(first, last, z, fixed_z, prior_count, rows, token_row, joint)
    largest = log_p.max()
    log_p -= largest
    return largest + np.log(np.exp(log_p, log_p).mean()), counter


@njit(cache=True, nogil=True, forceinline=True)
def through_assignment(
    n_tokens, alpha, block, fixed_z, z, middle, prior_count, middle_count, rows, token_row, joint, log_p, key, counter
):
    """log of the estimate of ``chib_range`` for one document and its z*, ``fixed_z``."""
    prior_count[:] = alpha
    for n in range(n_tokens):
        z[n] = fixed_z[n]
        prior_count[z[n]] += 1.0
    score = _log_joint(n_tokens, alpha, z, prior_count, rows, token_row)
    for last in range(n_tokens, 0, -block):
        log_factor, counter = _reduced_run(
            max(last - block, 0), last, n_tokens, z, fixed_z, middle, prior_count, middle_count, rows, token_row,
            joint, log_p, key, counter,
        )  # fmt: skip
        score -= log_factor
    return score


@njit(cache=True, nogil=True)
def chib_range(
    start, stop, indptr, indices, data, word_topic, alpha, block, n_starts, n_burn, seed, rows, token_row,
    fixed_z, z, middle, prior_count, middle_count, joint, log_p, log_lik,
):  # fmt: skip
    """log of an unbiased estimate of p(w) = p(w, z*) / prod_b f_b, f_b = p(z*_b | z*_<b, w), by a run per block b.

    The tokens are cut into blocks (Chib 1995). In run b z*_<b is held fixed; the state x = (z_b, z_>b) has law
    pi(x) = p(x | z*_<b, w). Let A draw the block's tokens one by one in order, each given all others, and h(x) =
    A(z*_b | x), the product of these conditionals. A leaves pi alone, so E_pi h = f_b.

    A place s is drawn uniformly from 1..S. There z_>b comes from p(z_>b | z*_<=b, w) and z_b from A's reversal, the
    same steps in reverse order from z*_b. The chain continues by sweeps in order to S and in reverse order to 1. As
    pi(x) A(z*_b | x) = pi(z*_b, z_>b) A_reversed(z_b | z*_b, z_>b), it has density P(chain) (1/f_b) (1/S) sum_s h(x_s),
    P the density of the stationary chain (Murray and Salakhutdinov 2009). Weighted by one over the mean of h this is
    P / f_b: the weight has mean 1/f_b, and under it the state at S has law pi, which is the law that run b - 1 has to
    start from. So the runs go from the last block to the first, and each starts where the one before ended (a start at
    z* would be biased). The product of the weights has mean prod_b 1/f_b, for any z* independent of the runs.
    """
    for d in range(start, stop):
        n_tokens = _expand(indptr[d], indptr[d + 1], indices, data, word_topic, rows, token_row)
        if n_tokens < 0:
            log_lik[d] = -np.inf
            continue
        key = _document_key(seed, d)
        counter = _find_assignment(
            n_tokens, alpha, fixed_z, z, prior_count, rows, token_row, joint, key, 0, n_starts, n_burn
        )
        log_lik[d] = through_assignment(
            n_tokens, alpha, block, fixed_z, z, middle, prior_count, middle_count, rows, token_row, joint, log_p, key,
            counter,
        )  # fmt: skip
