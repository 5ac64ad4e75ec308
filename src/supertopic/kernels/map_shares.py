"""Topic shares of documents at the mode of their posterior without y, and the gradient of a loss through them.

A document has distinct words j with counts c_j, topics b_jk = p(word j | topic k), and theta ~ Dirichlet(alpha + 1):
alpha is the prior's pseudo-count. The mode is the fixed point of EM; it is unique, since the log-posterior is concave:

    theta_k  =  (sum_j c_j phi_jk + alpha_k) / N      phi_jk = theta_k b_jk / r_j,   r_j = sum_k theta_k b_jk
                                                      N = sum_j c_j + sum_k alpha_k

A loss with the gradient g = ∂loss/∂theta reaches the topics through the fixed point. With J = ∂(right side)/∂theta, the
adjoint u solves u = g + J'u. Here J' = 1 - (A / theta) / N with a symmetric, positive definite A, so that

    A u  =  N theta·g,     A = diag(alpha) + sum_j c_j phi_j phi_j'

which conjugate gradients solve by passes over the document's words, like those of EM. Then, with a_j = phi_j·u,

    ∂loss/∂b_jk  =  theta_k (c_j / r_j) (u_k - a_j) / N
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)
_LONGEST_LEAP = np.float32(16.0)  # in steps of EM
_MANY_TOPICS = 500  # from here on, those that still move have steps of their own
_MOVES = 8  # times the mean change: at most K / 8 topics do
_MOST_STEPS = 20  # of moving topics; all of them cost an eighth of a step of all topics at most
WEIGHT_OFFSET = np.float32(1e-18)  # added to all weights, since products of smaller numbers would be denormal and slow


@njit(cache=True, nogil=True, forceinline=True)
def _apart(n_topics):
    """Room for a number of each topic, in an array of its own.

    A compiler cannot show that rows of one array do not overlap. It would not vectorise the loops over them, and
    inference would take twice as long.
    """
    return np.empty(n_topics, np.float32)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _take_prior(alpha, prior):
    """Copy a row of alpha; return its sum."""
    size = np.float32(0.0)
    for k in range(alpha.shape[0]):
        prior[k] = alpha[k]
        size += alpha[k]
    return size


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _pass_over_words(rows, counts, theta, total, ratio):
    """ratio_j = c_j / (rows_j·theta), total_k = sum_j ratio_j rows_jk; four words at a time, for speed."""
    n_topics = theta.shape[0]
    n_words = counts.shape[0]
    for k in range(n_topics):
        total[k] = np.float32(0.0)
    fours = n_words - n_words % 4
    for j in range(0, fours, 4):
        a, b, c, d = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        norm_a = norm_b = norm_c = norm_d = _TINY
        for k in range(n_topics):
            weight = theta[k]
            norm_a += a[k] * weight
            norm_b += b[k] * weight
            norm_c += c[k] * weight
            norm_d += d[k] * weight
        by_a, by_b = counts[j] / norm_a, counts[j + 1] / norm_b
        by_c, by_d = counts[j + 2] / norm_c, counts[j + 3] / norm_d
        ratio[j], ratio[j + 1], ratio[j + 2], ratio[j + 3] = by_a, by_b, by_c, by_d
        for k in range(n_topics):
            total[k] += by_a * a[k] + by_b * b[k] + by_c * c[k] + by_d * d[k]
    for j in range(fours, n_words):
        norm = _TINY
        for k in range(n_topics):
            norm += rows[j, k] * theta[k]
        ratio[j] = counts[j] / norm
        for k in range(n_topics):
            total[k] += ratio[j] * rows[j, k]


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _multiply(phi, counts, alpha, vector, product):
    """product = A vector = alpha·vector + sum_j c_j phi_j (phi_j·vector); four words at a time."""
    n_topics = vector.shape[0]
    n_words = counts.shape[0]
    for k in range(n_topics):
        product[k] = alpha[k] * vector[k]
    fours = n_words - n_words % 4
    for j in range(0, fours, 4):
        a, b, c, d = phi[j], phi[j + 1], phi[j + 2], phi[j + 3]
        by_a = by_b = by_c = by_d = np.float32(0.0)
        for k in range(n_topics):
            value = vector[k]
            by_a += a[k] * value
            by_b += b[k] * value
            by_c += c[k] * value
            by_d += d[k] * value
        by_a, by_b, by_c, by_d = by_a * counts[j], by_b * counts[j + 1], by_c * counts[j + 2], by_d * counts[j + 3]
        for k in range(n_topics):
            product[k] += by_a * a[k] + by_b * b[k] + by_c * c[k] + by_d * d[k]
    for j in range(fours, n_words):
        by = np.float32(0.0)
        for k in range(n_topics):
            by += phi[j, k] * vector[k]
        by *= counts[j]
        for k in range(n_topics):
            product[k] += by * phi[j, k]


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _em_step(alpha, size, theta, total):
    """theta = (theta·total + alpha) / N; return the sum of its absolute changes."""
    change = np.float32(0.0)
    for k in range(alpha.shape[0]):
        new = (theta[k] * total[k] + alpha[k]) / size
        change += abs(new - theta[k])
        theta[k] = new
    return change


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _leap(before, between, theta):
    """Move theta on from two steps of EM, from `before` to `between` to theta, to where such steps lead (SQUAREM).

    With r and v their first and second difference, theta = before + 2 s r + s² v and s = |r| / |v|: if every step were
    the same part of the way that is left, the end of it. EM keeps the sum at one and takes care of the rest.
    """
    first = second = np.float32(0.0)
    for k in range(theta.shape[0]):
        r = between[k] - before[k]
        v = theta[k] - between[k] - r
        first += r * r
        second += v * v
    s = min(max(np.float32(math.sqrt(first / max(second, _TINY))), np.float32(1.0)), _LONGEST_LEAP)
    for k in range(theta.shape[0]):
        r = between[k] - before[k]
        v = theta[k] - between[k] - r
        theta[k] = max(before[k] + s * (np.float32(2.0) * r + s * v), np.float32(0.1) * theta[k])


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _find_moving(before, theta, change, moving):
    """List topics that the EM step from `before` has changed by more than 8 times the mean; return how many."""
    n_moving = 0
    least = np.float32(_MOVES * change / theta.shape[0])
    for k in range(theta.shape[0]):
        if abs(theta[k] - before[k]) > least and n_moving < moving.shape[0]:
            moving[n_moving] = k
            n_moving += 1
    return n_moving


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _settle_moving(rows, counts, ratio, alpha, size, before, theta, moving, tol, columns, others, by):
    """EM steps of the moving topics alone, to a quarter of tol; what the others make of a word stays as it was.

    Of a thousand topics, a handful make nine tenths of the changes after a few steps, and steps of a handful cost
    next to nothing. The mode is a fixed point of these steps, too.

    ratio : at `before`, from where an EM step led to theta
    columns : (topics, words), others, by : (words,) scratch
    """
    n_words, n_steps = counts.shape[0], min(_MOST_STEPS, theta.shape[0] // (8 * max(moving.shape[0], 1)))
    if n_steps < 2:
        return
    for j in range(n_words):
        others[j] = counts[j] / max(ratio[j], _TINY)
    for i in range(moving.shape[0]):
        k, column = moving[i], columns[i]
        for j in range(n_words):
            column[j] = rows[j, k]
            others[j] -= column[j] * before[k]
    for j in range(n_words):
        others[j] = max(others[j], _TINY)
    for _ in range(n_steps):
        for j in range(n_words):
            by[j] = others[j]
        for i in range(moving.shape[0]):
            share, column = theta[moving[i]], columns[i]
            for j in range(n_words):
                by[j] += share * column[j]
        for j in range(n_words):
            by[j] = counts[j] / by[j]
        change = np.float32(0.0)
        for i in range(moving.shape[0]):
            k, column = moving[i], columns[i]
            total = np.float32(0.0)
            for j in range(n_words):
                total += by[j] * column[j]
            new = (theta[k] * total + alpha[k]) / size
            change += abs(new - theta[k])
            theta[k] = new
        if change < tol / 4:
            break


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _copy_words(first, last, indices, counts, weights, rows):
    """Copy the weights of the document's words into `rows`; return the number of tokens."""
    n_tokens = np.float32(0.0)
    for j in range(last - first):
        word = indices[first + j]
        for k in range(weights.shape[1]):
            rows[j, k] = weights[word, k] + WEIGHT_OFFSET
        n_tokens += counts[first + j]
    return n_tokens


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _share_words(rows, counts, ratio, theta, diagonal, alpha):
    """Turn rows into phi_jk = theta_k rows_jk / r_j, and set diagonal = alpha + sum_j c_j phi_jk²."""
    for k in range(alpha.shape[0]):
        diagonal[k] = alpha[k]
    for j in range(counts.shape[0]):
        by = ratio[j] / counts[j] if counts[j] > 0 else np.float32(0.0)
        for k in range(alpha.shape[0]):
            share = rows[j, k] * theta[k] * by
            rows[j, k] = share
            diagonal[k] += counts[j] * share * share


@njit(cache=True, nogil=True, error_model="numpy")
def settle_shares(
    start, stop, indptr, indices, counts, weights, alpha, which, max_passes, tol,
    theta, ratio, log_likelihood, passes, rows,
):  # fmt: skip
    """theta of documents [start, stop) by EM from the theta given, until its changes sum to less than tol.

    After every two steps, theta leaps ahead (`_leap`), which halves the number of passes. Of many topics, those that
    still move settle among themselves after every step (`_settle_moving`), which nearly halves it again.

    Parameters
    ----------
    indptr, indices, counts : CSR of the documents; counts float32, and zeros among them are allowed
    weights : (V, K) float32, p(word | topic)
    alpha : (R, K) float32, pseudo-counts > 0; which : (D,) int32, the row of each document
    theta : (D, K) float32, in and out: positive, rows sum to one
    ratio : (nnz,) float32, out: c_j / r_j
    log_likelihood : (D,) float64, out: sum_j c_j log r_j + sum_k alpha_k log theta_k
    passes : (D,) int32, out
    rows : (longest document, K) float32, scratch
    """
    n_topics = alpha.shape[1]
    total, before, between, prior = _apart(n_topics), _apart(n_topics), _apart(n_topics), _apart(n_topics)
    n_moving = n_topics // _MOVES if n_topics >= _MANY_TOPICS else 0
    moving, columns = np.empty(n_moving, np.int64), np.empty((n_moving, rows.shape[0]), np.float32)
    others, by = np.empty(rows.shape[0], np.float32), np.empty(rows.shape[0], np.float32)
    for d in range(start, stop):
        first, last = indptr[d], indptr[d + 1]
        size = _take_prior(alpha[which[d]], prior) + _copy_words(first, last, indices, counts, weights, rows)
        count, ratios, own = counts[first:last], ratio[first:last], theta[d]
        done = 0
        while done < max_passes:
            _pass_over_words(rows, count, own, total, ratios)
            kept = between if done % 2 else before
            for k in range(n_topics):
                kept[k] = own[k]
            done += 1
            change = _em_step(prior, size, own, total)
            if change < tol:
                break
            if n_topics >= _MANY_TOPICS:
                some = moving[: _find_moving(kept, own, change, moving)]
                _settle_moving(rows, count, ratios, prior, size, kept, own, some, tol, columns, others, by)
            if done % 2 == 0:
                _leap(before, between, own)
        _pass_over_words(rows, count, own, total, ratios)
        value = 0.0
        for j in range(last - first):
            if count[j] > 0:
                value += count[j] * math.log(count[j] / ratios[j])
        for k in range(n_topics):
            value += prior[k] * math.log(own[k])
        log_likelihood[d], passes[d] = value, done


@njit(cache=True, nogil=True, error_model="numpy")
def solve_adjoint(
    start, stop, indptr, indices, counts, weights, alpha, which, theta, ratio, gradient, max_passes, tol,
    adjoint, shift, passes, rows,
):  # fmt: skip
    """u of documents [start, stop) by conjugate gradients, until the residual is below tol of the right side.

    Parameters
    ----------
    indptr, indices, counts, weights, alpha, which, rows : as for `settle_shares`
    theta, ratio : as `settle_shares` left them
    gradient : (D, K) float32, g; a document whose g is zero costs nothing
    adjoint : (D, K) float32, out: u / N
    shift : (nnz,) float32, out: a_j / N
    passes : (D,) int32, out
    """
    n_topics = alpha.shape[1]
    residual, direction, product = _apart(n_topics), _apart(n_topics), _apart(n_topics)
    scaled, diagonal, prior = _apart(n_topics), _apart(n_topics), _apart(n_topics)
    for d in range(start, stop):
        first, last = indptr[d], indptr[d + 1]
        u, own, count = adjoint[d], theta[d], counts[first:last]
        u[:] = np.float32(0.0)
        shift[first:last] = np.float32(0.0)
        passes[d] = 0
        if not gradient[d].any():
            continue
        _take_prior(alpha[which[d]], prior)
        _copy_words(first, last, indices, counts, weights, rows)
        _share_words(rows, count, ratio[first:last], own, diagonal, prior)
        power = 0.0  # of the residual, in the norm of the inverse diagonal
        for k in range(n_topics):
            residual[k] = own[k] * gradient[d, k]  # the right side over N: the result is u over N
            direction[k] = residual[k] / diagonal[k]
            power += np.float64(residual[k]) * direction[k]
        goal = tol * tol * power
        while passes[d] < max_passes and power > goal:
            _multiply(rows, count, prior, direction, product)
            passes[d] += 1
            curve = 0.0
            for k in range(n_topics):
                curve += np.float64(direction[k]) * product[k]
            step = np.float32(power / curve)
            before, power = power, 0.0
            for k in range(n_topics):
                u[k] += step * direction[k]
                residual[k] -= step * product[k]
                scaled[k] = residual[k] / diagonal[k]
                power += np.float64(residual[k]) * scaled[k]
            turn = np.float32(power / before)
            for k in range(n_topics):
                direction[k] = scaled[k] + turn * direction[k]
        for j in range(last - first):
            mean = np.float32(0.0)
            for k in range(n_topics):
                mean += rows[j, k] * u[k]
            shift[first + j] = mean


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def add_gradient_by_word(start, stop, words, word_start, entry, doc, ratio, shift, theta, pull, gradient, row):
    """gradient_wk += sum over the occurrences i of word w, in document d, of ratio_i theta_dk (pull_dk - shift_i).

    words, word_start, entry, doc : entries in the order of their words (`word_sums.order_by_word`)
    ratio, shift : (nnz,) float32, by entry; theta, pull : (D, K) float32; row : (K,) float32 scratch
    gradient : (V, K) float32; rows of the words [start, stop) are added to
    """
    n_topics = theta.shape[1]
    for i in range(start, stop):
        for k in range(n_topics):
            row[k] = np.float32(0.0)
        for p in range(word_start[i], word_start[i + 1]):
            own, by_document = theta[doc[p]], pull[doc[p]]
            by, less = ratio[entry[p]], shift[entry[p]]
            for k in range(n_topics):
                row[k] += by * own[k] * (by_document[k] - less)
        word = words[i]
        for k in range(n_topics):
            gradient[word, k] += row[k]
