"""Dual coordinate descent for max-margin problems: each step solves the subproblem of one document exactly.

Document d has features x_d and dual variables. The coefficients eta are a sum over the documents, and every step
updates them.

box         min ½|eta|² + sum_d loss_d,  dual b_d in [low_d, high_d],  eta = sum_d b_d x_d

            b_d <- the minimiser of ½|x_d|² (b - b_d)² + (eta·x_d - target_d)(b - b_d) + epsilon |b| in the box

classes     dual row m_d >= 0 of sum bound_d (the entry of the true class y_d is the unused part of the bound),
            eta_c = v_c ∘ sum_d (bound_d 1(c = y_d) - m_dc) x_d,  v the prior variances,  a_dc = sum_k v_ck x_dk²

            r_c = cost 1(c != y_d) + eta_c·x_d;   m_dc <- max(0, r_c + a_dc m_dc - level) / a_dc,
            level such that the row still sums to bound_d

Every document adds a term >= 0 to the duality gap: bound (loss) - dual · (slope). A sweep returns the sum of these
terms, each computed before the document's step. Documents whose variables are at a bound and do not move are inactive
(shrinking); the sweep moves them behind the active ones. The sparse sweeps take features as CSR arrays and v = 1.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract"}


@njit(cache=True, nogil=True, inline="always")
def _hash(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, forceinline=True)
def _shuffle(items, n, seed, epoch):
    """Permute items[:n]; the swaps are hashes of (seed, epoch, place)."""
    key = _hash(np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(epoch) * np.uint64(0x2545F4914F6CDD1D))
    for i in range(n - 1, 0, -1):
        bits = _hash(key + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)
        j = int(np.float64(bits) * 2.0**-53 * (i + 1))
        items[i], items[j] = items[j], items[i]


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST)
def _dot(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _best_in_box(old, slope, norm, epsilon, low, high):
    """Return (the document's optimal dual variable, its term of the gap before the step)."""
    excess = max(abs(slope) - epsilon, 0.0)
    # the sign of the residual decides which end of the box is optimal
    gap = (high if slope < 0.0 else -low) * excess + old * slope + epsilon * abs(old)
    free = old - slope / norm
    shift = epsilon / norm
    new = free - shift if free > shift else (free + shift if free < -shift else 0.0)
    return min(max(new, low), high), gap


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def sweep_box(x, norm, target, epsilon, low, high, seed, epoch, coef, dual, order, n):
    """Visit the documents order[:n] once in random order; return (number of active documents, sum of the gap terms).

    Parameters
    ----------
    x : (D, K)
    norm, target, low, high : (D,)
        norm is |x_d|², not 0 in the documents visited.
    coef, dual : (K,), (D,)
        Changed in place.
    order : (D,) int
        Changed in place: the active documents are moved to the front of order[:n].
    """
    _shuffle(order, n, seed, epoch)
    busy = 0
    gap = 0.0
    for i in range(n):
        d = order[i]
        row = x[d]
        old = dual[d]
        new, term = _best_in_box(old, _dot(row, coef) - target[d], norm[d], epsilon, low[d], high[d])
        gap += term
        if new != old:
            dual[d] = new
            step = new - old
            for k in range(row.shape[0]):
                coef[k] += step * row[k]
        if new != old or (new != 0.0 and new != low[d] and new != high[d]):
            order[i] = order[busy]
            order[busy] = d
            busy += 1
    return busy, gap


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def sweep_box_sparse(indptr, indices, data, norm, target, epsilon, low, high, seed, epoch, coef, dual, order, n):
    """`sweep_box` with x as CSR arrays."""
    _shuffle(order, n, seed, epoch)
    busy = 0
    gap = 0.0
    for i in range(n):
        d = order[i]
        old = dual[d]
        slope = -target[d]
        for j in range(indptr[d], indptr[d + 1]):
            slope += data[j] * coef[indices[j]]
        new, term = _best_in_box(old, slope, norm[d], epsilon, low[d], high[d])
        gap += term
        if new != old:
            dual[d] = new
            step = new - old
            for j in range(indptr[d], indptr[d + 1]):
                coef[indices[j]] += step * data[j]
        if new != old or (new != 0.0 and new != low[d] and new != high[d]):
            order[i] = order[busy]
            order[busy] = d
            busy += 1
    return busy, gap


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _project(value, weight, bound, out):
    """out_c = max(0, value_c - level) weight_c, level such that sum out = bound > 0; exact, at most M iterations."""
    n_classes = value.shape[0]
    top = 0
    for c in range(1, n_classes):
        if value[c] > value[top]:
            top = c
    level = value[top] - bound / weight[top]
    # Each iteration averages over the values above a lower bound of the level. This raises the bound, and the values
    # that fall below it stay out.
    kept = n_classes + 1
    while True:
        total = -bound
        mass = 0.0
        count = 0
        for c in range(n_classes):
            if value[c] > level or c == top:
                total += weight[c] * value[c]
                mass += weight[c]
                count += 1
        if count >= kept:
            break
        kept = count
        level = total / mass
        if count == 1:
            break
    if kept == 1:
        for c in range(n_classes):
            out[c] = 0.0
        out[top] = bound  # exactly, so that a document at a corner becomes inactive
        return
    total = 0.0
    for c in range(n_classes):
        out[c] = max(value[c] - level, 0.0) * weight[c]
        total += out[c]
    for c in range(n_classes):
        out[c] *= bound / total  # value - level has lost digits where a document is nearly empty


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _best_row(slope, old, weight, bound, new):
    """Put the document's optimal dual row into `new`; return (its term of the gap before, whether it stays active).

    slope : (M,) r, changed in place
    """
    n_classes = slope.shape[0]
    worst = -np.inf
    used = 0.0
    for c in range(n_classes):
        worst = max(worst, slope[c])
    for c in range(n_classes):
        used += old[c] * (worst - slope[c])
    if used <= 0.0:
        # all weight lies on the worst classes: optimal. The document stays active only if two of them share it.
        torn = False
        for c in range(n_classes):
            new[c] = old[c]
            torn = torn or 0.0 < old[c] < bound
        return used, torn
    for c in range(n_classes):
        slope[c] += old[c] / weight[c]
    _project(slope, weight, bound, new)
    moved = False
    for c in range(n_classes):
        moved = moved or new[c] != old[c]
    return used, moved


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def sweep_classes(x, weight, variance, label, cost, bound, seed, epoch, coef, dual, order, n, slope, new):
    """Visit the documents order[:n] once in random order; return (number of active documents, sum of the gap terms).

    Parameters
    ----------
    x, weight, variance : (D, K), (D, M), (M, K)
        weight is 1 / sum_k variance_ck x_dk², finite in the documents visited.
    label, bound : (D,)
    coef, dual : (M, K), (D, M)
        Changed in place.
    order : (D,) int
        Changed in place: the active documents are moved to the front of order[:n].
    slope, new : (M,)
        Scratch.
    """
    n_classes, n_features = coef.shape
    _shuffle(order, n, seed, epoch)
    busy = 0
    gap = 0.0
    for i in range(n):
        d = order[i]
        row = x[d]
        old = dual[d]
        for c in range(n_classes):
            slope[c] = _dot(row, coef[c]) + (0.0 if c == label[d] else cost)
        used, moved = _best_row(slope, old, weight[d], bound[d], new)
        gap += used
        for c in range(n_classes):
            step = new[c] - old[c]
            if step != 0.0:
                old[c] = new[c]
                for k in range(n_features):
                    coef[c, k] -= step * variance[c, k] * row[k]
        if moved:
            order[i] = order[busy]
            order[busy] = d
            busy += 1
    return busy, gap


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def sweep_classes_sparse(
    indptr, indices, data, weight, label, cost, bound, seed, epoch, coef, dual, order, n, slope, new
):
    """`sweep_classes` with x as CSR arrays, variances of one, and coef (K, M): the row of a feature is contiguous."""
    n_classes = coef.shape[1]
    _shuffle(order, n, seed, epoch)
    busy = 0
    gap = 0.0
    for i in range(n):
        d = order[i]
        old = dual[d]
        for c in range(n_classes):
            slope[c] = 0.0 if c == label[d] else cost
        for j in range(indptr[d], indptr[d + 1]):
            value = data[j]
            of_feature = coef[indices[j]]
            for c in range(n_classes):
                slope[c] += value * of_feature[c]
        used, moved = _best_row(slope, old, weight[d], bound[d], new)
        gap += used
        if used > 0.0 and moved:
            for c in range(n_classes):
                slope[c] = old[c] - new[c]
                old[c] = new[c]
            for j in range(indptr[d], indptr[d + 1]):
                value = data[j]
                of_feature = coef[indices[j]]
                for c in range(n_classes):
                    of_feature[c] += slope[c] * value
        if moved:
            order[i] = order[busy]
            order[busy] = d
            busy += 1
    return busy, gap


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_planes(gram, offset, weight, slack, tol, max_steps):
    """max_w offset·w - ½ w' gram w over the simplex, by moving weight between two planes at a time.

    Parameters
    ----------
    gram, offset : (J, J), (J,)
    weight : (J,)
        Changed in place; sums to one before and after.
    slack : (J,)
        Becomes offset - gram weight.
    tol : float
        Stops when max slack - weight·slack, a bound on the distance to the optimum, is at most tol.

    Returns
    -------
    bool : whether it converged.
    """
    n = weight.shape[0]
    for i in range(n):
        slack[i] = offset[i]
        for j in range(n):
            slack[i] -= gram[i, j] * weight[j]
    for _ in range(max_steps):
        best = 0
        level = 0.0
        for i in range(n):
            level += weight[i] * slack[i]
            if slack[i] > slack[best]:
                best = i
        if slack[best] - level <= tol:
            return True
        # among the planes with weight, the one whose exchange with the best raises the objective most
        gain = -1.0
        give = best
        step = 0.0
        for j in range(n):
            push = slack[best] - slack[j]
            if weight[j] > 0.0 and push > 0.0:
                bend = max(gram[best, best] + gram[j, j] - 2.0 * gram[best, j], 1e-300)
                amount = min(push / bend, weight[j])
                if amount * (push - 0.5 * amount * bend) > gain:
                    gain = amount * (push - 0.5 * amount * bend)
                    give = j
                    step = amount
        if give == best:
            break
        weight[best] += step
        weight[give] = weight[give] - step
        for i in range(n):
            slack[i] -= step * (gram[i, best] - gram[i, give])
    return False


@njit(cache=True, nogil=True)
def sum_by_class(x, bound, label, sums):
    """sums_c = sum of bound_d x_d over the documents labelled c."""
    sums[:] = 0.0
    for d in range(x.shape[0]):
        total = sums[label[d]]
        for k in range(x.shape[1]):
            total[k] += bound[d] * x[d, k]


@njit(cache=True, nogil=True, fastmath=_FAST)
def worst_classes(x, score, label, cost, bound, worst, sums):
    """worst_d = argmax_c score_dc + cost 1(c != label_d), the first in case of ties; returns the sum of the losses.

    sums : (M, K), out: as from `sum_by_class`, with the worst classes as labels
    """
    sums[:] = 0.0
    loss = 0.0
    for d in range(x.shape[0]):
        own, row, top, most = label[d], score[d], 0, -np.inf
        for c in range(row.shape[0]):
            slope = row[c] if c == own else row[c] + cost
            if slope > most:
                top, most = c, slope
        worst[d] = top
        loss += bound[d] * (most - row[own])
        total = sums[top]
        for k in range(x.shape[1]):
            total[k] += bound[d] * x[d, k]
    return loss
