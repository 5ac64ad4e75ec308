"""Kernels of sparse additive models: p(word | class k) = exp(background_w + eta_kw) / Z_k, deviations eta mostly zero.

For one class with counts c, C = sum c, the objective is

    f(eta) = c'eta - C log Z(eta) - sum_w penalty(eta_w),      penalty(eta) <= const + weight(eta_0) eta² / 2

where the weight is E[1/tau] of the variance tau of a deviation. The quadratic bound of the penalty gives a lower bound
of f, so a Newton step that raises this lower bound raises f. Its Hessian C beta beta' - diag(C beta + weight) is
inverted by Sherman–Morrison over the deviations that are not zero, at a cost linear in their number. A deviation that
reaches zero stays zero.
"""

import math

from numba import njit

FLOOR = 1e-4  # a deviation below this is zero
AT_ZERO = 0.5 + 0.5 * 0.5772156649015329 - 0.5 * math.log(2.0)  # bound of `gamma_posterior` at x = 0
SPACING, N_TABLE = 0.01, 10_001  # of the exponential prior's table; beyond its end the penalty is linear
_SUFFICIENT, _HALVINGS = 1e-4, 40


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _polygammas(x):
    """psi(x), psi_1(x), psi_2(x) in float64 for x > 0: the recurrence up to x >= 8, then the asymptotic series."""
    psi, psi1, psi2 = 0.0, 0.0, 0.0
    while x < 8.0:
        r = 1.0 / x
        psi -= r
        psi1 += r * r
        psi2 -= 2.0 * r * r * r
        x += 1.0
    r = 1.0 / x
    s = r * r
    psi += math.log(x) - 0.5 * r - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    psi1 += r + 0.5 * s + r * s * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66)))))
    psi2 -= s + s * r + s * s * (0.5 - s * (1 / 6 - s * (1 / 6 - s * (3 / 10 - s * (5 / 6)))))
    return psi, psi1, psi2


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def gamma_posterior(x):
    """(a, b, bound) of the q(tau) = Gamma(a, b) that maximises E[log N(eta | 0, tau)] + E[log Exp(tau | gamma)] + H(q).

    bound = (1/2 - a) psi(a) + log(b) / 2 + log Gamma(a) + a - x / (2 (a - 1) b) - a b, without constants. eta and gamma
    enter only through x = gamma eta², and b is in units of 1 / gamma. Newton in log(a - 1); b has a closed form.
    """
    root = math.sqrt(x)
    a = 1.0 + root * (1.414214 + 0.347 / (1.0 + 2.0 * root))  # within a few parts in a thousand for every x
    for _ in range(8):
        d = a - 1.0
        b = (1.0 + math.sqrt(1.0 + 8.0 * x * a / d)) / (4.0 * a)
        _, psi1, psi2 = _polygammas(a)
        slope = (0.5 - a) * psi1 + 1.0 + 0.5 * x / (d * d * b) - b
        cross = -0.5 * x / (d * d * b * b) - 1.0
        in_a = (0.5 - a) * psi2 - psi1 - x / (d * d * d * b)
        in_b = -0.5 / (b * b) - x / (d * b * b * b)
        curvature = in_a - cross * cross / in_b
        change = slope / (abs(curvature) * d)
        change = min(max(change, -1.5), 1.5)
        a = 1.0 + d * math.exp(change)
        if abs(change) < 1e-8:  # convergence is quadratic
            break
    d = a - 1.0
    b = (1.0 + math.sqrt(1.0 + 8.0 * x * a / d)) / (4.0 * a)
    bound = (0.5 - a) * _polygammas(a)[0] + 0.5 * math.log(b) + math.lgamma(a) + a - 0.5 * x / (d * b) - a * b
    return a, b, bound


@njit(cache=True, nogil=True, error_model="numpy")
def fill_penalty(table):
    """table[i] = (P, P') at r = i * SPACING: the exponential prior's penalty P = -bound, with r = sqrt(gamma) |eta|."""
    table[0, 0] = 0.0
    table[0, 1] = math.sqrt(2.0 * (math.pi**2 / 6.0 - 1.0))
    for i in range(1, len(table)):
        r = i * SPACING
        a, b, bound = gamma_posterior(r * r)
        table[i, 0] = AT_ZERO - bound
        table[i, 1] = r / ((a - 1.0) * b)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def weigh(eta, gamma, table):
    """(weight, penalty) of one deviation: E[1/tau], and minus the log prior, which is zero at eta = 0.

    gamma = 0 is the Jeffreys prior, p(eta) = 1/|eta|: weight eta^-2 (the paper's eta² is a misprint) and penalty
    log|eta|, kept finite by `FLOOR`. gamma > 0 is the exponential prior on the variance: its penalty is a cubic
    interpolation of `fill_penalty`'s table, and the weight is derived from the same cubic, so that both agree exactly.
    """
    if gamma == 0.0:
        square = eta * eta + FLOOR * FLOOR
        return 1.0 / square, 0.5 * math.log(square / (FLOOR * FLOOR))
    r = math.sqrt(gamma) * abs(eta)
    i = int(r / SPACING)
    last = len(table) - 1
    if i >= last:  # linear beyond the table
        value, slope = table[last, 0] + (r - last * SPACING) * table[last, 1], table[last, 1]
    else:
        t = r / SPACING - i
        rise = table[i + 1, 0] - table[i, 0]
        left, right = SPACING * table[i, 1] - rise, rise - SPACING * table[i + 1, 1]
        value = table[i, 0] + t * rise + t * (1.0 - t) * ((1.0 - t) * left + t * right)
        slope = (rise + (1.0 - 2.0 * t) * ((1.0 - t) * left + t * right) + t * (1.0 - t) * (right - left)) / SPACING
    return gamma * slope / r, value


@njit(cache=True, nogil=True, error_model="numpy")
def add_penalties(eta, gamma, table):
    """The sum of the penalties of deviations; zeros cost nothing."""
    total = 0.0
    for value in eta:
        if value != 0.0:
            total += weigh(float(value), gamma, table)[1]
    return total


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def newton_step(n, total, rest, beta, weight, gradient, step):
    """step = -H^-1 gradient over n deviations, H = total beta beta' - diag(total beta + weight); returns step·gradient.

    rest : the total probability of the words whose deviation is zero, so that rest + sum(beta) = 1
    """
    along, left = 0.0, rest
    for j in range(n):
        scale = total * beta[j] + weight[j]
        step[j] = gradient[j] / scale
        along += beta[j] * step[j]
        left += beta[j] * weight[j] / scale  # 1 - total beta' A beta, without cancellation
    slope = 0.0
    for j in range(n):
        step[j] += total * beta[j] / (total * beta[j] + weight[j]) * along / left
        slope += step[j] * gradient[j]
    return slope


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _search(n, total, rest, words, counts, base, eta, weight, step, slope):
    """The largest of 1, 1/2, 1/4, … times the step that raises the penalised likelihood enough; 0 if none does."""
    partition = rest
    for j in range(n):
        partition += base[words[j]] * math.exp(eta[words[j]])
    before = math.log(partition)
    length = 1.0
    for _ in range(_HALVINGS):
        gain, partition = 0.0, rest
        for j in range(n):
            w = words[j]
            change = length * step[j]
            gain += counts[w] * change - weight[j] * change * (eta[w] + 0.5 * change)
            partition += base[w] * math.exp(eta[w] + change)
        gain -= total * (math.log(partition) - before)
        if gain >= _SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return 0.0


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _move(n, total, rest, z, words, counts, base, eta, beta, weight, gradient, step):
    """One Newton step with a line search."""
    for j in range(n):
        beta[j] /= z
        gradient[j] = counts[words[j]] - total * beta[j] - weight[j] * eta[words[j]]
    slope = newton_step(n, total, rest / z, beta, weight, gradient, step)
    length = _search(n, total, rest, words, counts, base, eta, weight, step, slope)
    for j in range(n):
        eta[words[j]] += length * step[j]


@njit(cache=True, nogil=True, error_model="numpy")
def fit_classes(start, stop, counts, base, gamma, table, n_steps, eta, objective, partition, words, scratch):
    """Take n_steps reweighted Newton steps for classes [start, stop); 0 computes the objective only.

    counts, eta : (K, V) float64, eta is changed in place; base : (V,) float64, exp(background)
    objective, partition : (K,) float64, f and Z at the end, f without c'background
    words : (V,) int32, scratch : (4, V) float64
    """
    beta, weight = scratch[0], scratch[1]
    for k in range(start, stop):
        n, total, rest = 0, 0.0, 0.0
        for w in range(counts.shape[1]):
            total += counts[k, w]
            if eta[k, w] != 0.0:
                words[n] = w
                n += 1
            else:
                rest += base[w]
        for iteration in range(n_steps + 1):
            z = rest
            for j in range(n):
                beta[j] = base[words[j]] * math.exp(eta[k, words[j]])
                z += beta[j]
            value, kept, rest_now, z_now = 0.0, 0, rest, z
            for j in range(n):
                w = words[j]
                value_here = eta[k, w]
                weight_here, penalty = weigh(value_here, gamma, table)
                if abs(value_here) < FLOOR:
                    expected = total * beta[j] / z
                    loss = abs(counts[k, w] - expected) * abs(value_here) + expected * value_here * value_here
                    if loss < penalty:  # zero is better whatever the other deviations are
                        rest_now += base[w]
                        z_now += base[w] - beta[j]
                        eta[k, w] = 0.0
                        continue
                value += counts[k, w] * value_here - penalty
                words[kept], beta[kept], weight[kept] = w, beta[j], weight_here
                kept += 1
            n, rest, z = kept, rest_now, z_now
            objective[k], partition[k] = value - total * math.log(z), z
            if iteration == n_steps or n == 0:
                break
            _move(n, total, rest, z, words, counts[k], base, eta[k], beta, weight, scratch[2], scratch[3])


@njit(cache=True, nogil=True, error_model="numpy")
def expect_words(start, stop, eta, rates, base, unseen, expected):
    """expected_w = base_w (unseen + sum_k rates_k exp(eta_kw)) for words [start, stop), rates_k = C_k / Z_k."""
    for w in range(start, stop):
        total = unseen
        for k in range(len(rates)):
            total += rates[k] if eta[k, w] == 0.0 else rates[k] * math.exp(eta[k, w])
        expected[w] = base[w] * total


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _shift_cells(w, factor, cells, tables, partition):
    """Multiply the entries of word w in the cells by `factor`, and update the cells' sums."""
    for s in cells:
        partition[s] += tables[s, w] * (factor - 1.0)
        tables[s, w] *= factor


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _search_cells(n, words, counts, totals, cells, tables, partition, eta, weight, step, slope, grown):
    """As `_search` for a component of several cells; returns the length and puts exp(length step) - 1 into `grown`."""
    length = 1.0
    for _ in range(_HALVINGS):
        gain = 0.0
        for j in range(n):
            change = length * step[j]
            gain += counts[words[j]] * change - weight[j] * change * (eta[words[j]] + 0.5 * change)
            grown[j] = math.expm1(change)
        for s in cells:
            more = 0.0
            for j in range(n):
                more += tables[s, words[j]] * grown[j]
            gain -= totals[s] * math.log1p(more / partition[s])
        if gain >= _SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def step_components(
    start, stop, cell_start, cell, counts, totals, gamma, table, eta, tables, partition, words, scratch
):
    """One reweighted Newton step for components [start, stop), each a part of the cells cell[cell_start[i]:…].

    A cell s has p_s(word) = tables_sw / partition_s. Over the cells of a component, C = sum_s C_s, the Hessian is

        sum_s C_s beta_s beta_s' - diag(C beta + weight),   C beta = sum_s C_s beta_s,

    where the step uses C beta beta' instead of the first sum, as the paper does. C beta beta' is never larger, so the
    curvature is never underestimated and every step raises the objective. No two components of a call share a cell.

    counts, eta : (n, V) float64; totals, partition : (cells,) float64; tables : (cells, V) float64
    words : (V,) int32, scratch : (5, V) float64
    """
    beta, weight, gradient, step, grown = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for i in range(start, stop):
        cells = cell[cell_start[i] : cell_start[i + 1]]
        total = 0.0
        for s in cells:
            total += totals[s]
        n, taken = 0, 0.0
        for w in range(counts.shape[1]):
            value = eta[i, w]
            if value == 0.0:
                continue
            expected = 0.0
            for s in cells:
                expected += totals[s] * tables[s, w] / partition[s]
            weight_here, penalty = weigh(value, gamma, table)
            if abs(value) < FLOOR:
                loss = abs(counts[i, w] - expected) * abs(value) + expected * value * value
                if loss < penalty:  # zero is better whatever the other deviations are
                    eta[i, w] = 0.0
                    _shift_cells(w, math.exp(-value), cells, tables, partition)
                    continue
            words[n], weight[n], beta[n] = w, weight_here, expected / max(total, 1e-300)
            gradient[n] = counts[i, w] - expected - weight_here * value
            taken += beta[n]
            n += 1
        if n == 0:
            continue
        slope = newton_step(n, total, max(1.0 - taken, 0.0), beta, weight, gradient, step)
        length = _search_cells(
            n, words, counts[i], totals, cells, tables, partition, eta[i], weight, step, slope, grown
        )  # fmt: skip
        if length == 0.0:
            continue
        for j in range(n):
            eta[i, words[j]] += length * step[j]
            _shift_cells(words[j], 1.0 + grown[j], cells, tables, partition)
