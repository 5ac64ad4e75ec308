"""The E-step of documents with responses, a warp for each (`supertopic.kernels.e_step_mean` has the equations)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32

from supertopic.backends.cuda.kernels.lanes import (
    add_lanes,
    exp_digamma,
    from_lane,
    most_of_lanes,
    on_device,
    row_of,
)
from supertopic.backends.cuda.kernels.launch import as_kernel
from supertopic.backends.cuda.kernels.passes import FIRST_PASSES, ROWS, last_pass, leap_ahead, pass_over_words

UNSET = 1e300  # a factor that starts at its goal; no NaN, which quick arithmetic does not know
_LONGEST_STEP = 2.0  # largest change of any topic's tilt in one pass


@on_device
def _feature(value, product, tokens):
    """F of a column's coefficient: itself, or exp(value/N) - 1 in a product column."""
    if not product:
        return value
    x = value / np.float32(tokens)
    if abs(x) < np.float32(0.1):
        return x * (np.float32(1) + x * (np.float32(1 / 2) + x * (np.float32(1 / 6) + x * np.float32(1 / 24))))
    return math.exp(min(max(x, np.float32(-40.0)), np.float32(88.0))) - np.float32(1.0)


@on_device
def _moment(first, product, tokens, variance):
    """E[s²] or E[exp s] of a column, from F·mean and the variance of one draw's F."""
    if product:
        return math.exp(min(tokens * math.log(1.0 + max(first, -1.0 + 1e-9)), 300.0))
    return first * first + variance / tokens


@cache
def infer_mean(n: int) -> Any:
    """The kernel with `n` registers a lane."""
    run, finish, leap = pass_over_words(n), last_pass(n), leap_ahead(n)

    @on_device
    def sums_of(c, coef, product, tokens, mean, lane):
        """(F·mean, variance of one draw's F) of column c."""
        first = square = np.float32(0.0)
        for i in range(n):
            value = _feature(coef[c * 32 * n + 32 * i + lane], product, tokens)
            first += value * mean[i]
            square += value * value * mean[i]
        first, square = add_lanes(first), add_lanes(square)
        return np.float64(first), max(np.float64(square - first * first), 0.0)

    @on_device
    def pull(d, n_columns, slope, curvature, coef, lowest, highest, is_product, tokens, mean, factors, goals, lane):
        """Damped update of the factors towards their goals; returns how far the tilt was from convergence."""
        damping, off = 1.0, 0.0
        for c in range(n_columns):
            at = d * n_columns + c
            first, variance = sums_of(c, coef, is_product[c], tokens, mean, lane)
            if is_product[c]:
                moment = _moment(first, True, tokens, variance)
                goals[at] = -curvature[at] * moment / (1.0 + first)
                damping += curvature[at] * moment * variance * tokens
            else:
                goals[at] = slope[at] / tokens - curvature[at] / tokens * (1.0 - 1.0 / tokens) * first
                damping += curvature[at] * variance / tokens
        for c in range(n_columns):
            at = d * n_columns + c
            product = is_product[c]
            reach = np.float64(_feature(highest[c], product, tokens) - _feature(lowest[c], product, tokens))
            goal, factor = goals[at], from_lane(factors[at], 0)  # all have read it before anyone writes
            if factor == UNSET:
                off += 1e30
                factor = goal
            else:
                off += abs(goal - factor) * reach
                longest = _LONGEST_STEP / (reach + 1e-30)
                factor += min(max((goal - factor) / damping, -longest), longest)
            factors[at] = factor
        return off

    @as_kernel(fastmath=True)
    def kernel(
        order, active, indptr, indices, counts, packed, rows, n_topics, alpha, which, collapsed, max_passes, tol,
        fresh,
        n_columns, slope, curvature, coef, lowest, highest, is_product, factors, goals,
        gamma, theta, ratio, words, passes, score, moment,
    ):  # fmt: skip
        """As `infer_words`, with slope, curvature, factors, goals, score and moment (D · C) float64, coef (C · 32 n).

        active : (D,) uint8; other documents are left as they are
        lowest, highest : (C,) float32 of each column's coefficients
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        d = order[place]
        if active[d] == 0:
            return
        own, weight, total = cuda.local.array(n, float32), cuda.local.array(n, float32), cuda.local.array(n, float32)
        prior, mean, column = cuda.local.array(n, float32), cuda.local.array(n, float32), cuda.local.array(n, float32)
        before, between = cuda.local.array(n, float32), cuda.local.array(n, float32)
        row = cuda.local.array((ROWS, n), float32)
        first, last = indptr[d], indptr[d + 1]
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        given = row_of(which, d) * (32 * n)
        tokens32 = np.float32(0.0)
        j = first + lane
        while j < last:
            tokens32 += counts[j]
            j += 32
        tokens = np.float64(add_lanes(tokens32))
        priors = 0.0
        flat = True
        for c in range(n_columns):
            if is_product[c] or curvature[d * n_columns + c] != 0.0:
                flat = False
        for i in range(n):
            k = 32 * i + lane
            prior[i] = alpha[given + k]
            own[i] = prior[i]
            if k < n_topics:
                priors += np.float64(prior[i])
                if fresh:
                    own[i] += np.float32(tokens / n_topics)
                else:
                    own[i] = gamma[base + np.uint64(32 * i)]
        priors = add_lanes(priors)
        if last == first:  # a document without tokens gets the prior mean
            for i in range(n):
                mean[i] = prior[i] / np.float32(priors) if 32 * i + lane < n_topics else np.float32(0.0)
                gamma[base + np.uint64(32 * i)] = prior[i]
                theta[base + np.uint64(32 * i)] = np.float32(0.0)
            for c in range(n_columns):
                value = np.float32(0.0)
                for i in range(n):
                    value += coef[c * 32 * n + 32 * i + lane] * mean[i]
                value = np.float64(add_lanes(value))
                score[d * n_columns + c] = value
                moment[d * n_columns + c] = math.exp(value) if is_product[c] else value * value
            passes[d], words[d] = 0, 0.0
            return
        reach = 0.0
        if flat:  # columns without curvature are added up to one
            low = high = np.float32(-1e30)
            for i in range(n):
                column[i] = np.float32(0.0)
                for c in range(n_columns):
                    column[i] += np.float32(slope[d * n_columns + c]) * coef[c * 32 * n + 32 * i + lane]
                if 32 * i + lane < n_topics:
                    low, high = max(low, -column[i]), max(high, column[i])
            reach = np.float64(most_of_lanes(high) + most_of_lanes(low))
        done, settled = 0, False
        while True:
            for i in range(n):
                mean[i] = (own[i] - prior[i]) / np.float32(tokens)
            off = 0.0
            if flat:
                at = d * n_columns
                goal, factor = 1.0 / tokens, from_lane(factors[at], 0)
                if factor == UNSET:
                    off, factor = 1e30, goal
                else:
                    off = abs(goal - factor) * reach
                    longest = _LONGEST_STEP / (reach + 1e-30)
                    factor += min(max(goal - factor, -longest), longest)
                factors[at] = factor
                for i in range(n):
                    weight[i] = np.float32(factor) * column[i]
            else:
                off = pull(
                    d,
                    n_columns,
                    slope,
                    curvature,
                    coef,
                    lowest,
                    highest,
                    is_product,
                    tokens,
                    mean,
                    factors,
                    goals,
                    lane,
                )
                for i in range(n):
                    weight[i] = np.float32(0.0)
                for c in range(n_columns):
                    at = d * n_columns + c
                    factor = np.float32(factors[at])
                    steep = np.float32(slope[at] / tokens)
                    half_curve = np.float32(0.5 * curvature[at] / (tokens * tokens))
                    for i in range(n):
                        value = coef[c * 32 * n + 32 * i + lane]
                        if is_product[c]:
                            weight[i] += steep * value + factor * _feature(value, True, tokens)
                        else:
                            weight[i] += factor * value - half_curve * value * value
            most = np.float32(-1e30)
            for i in range(n):
                if 32 * i + lane < n_topics:
                    most = max(most, weight[i])
            most = most_of_lanes(most)
            for i in range(n):
                by = own[i] if collapsed else exp_digamma(own[i])
                weight[i] = by * math.exp(max(weight[i] - most, np.float32(-40.0)))
            if done == max_passes or (settled and off < 10.0 * tol):
                break
            run(first, last, indices, counts, packed, weight, total, row, lane)
            change = np.float32(0.0)
            for i in range(n):
                new = prior[i] + weight[i] * total[i]
                change += abs(new - own[i])
                if done % 2:
                    between[i] = own[i]
                else:
                    before[i] = own[i]
                own[i] = new
            done += 1
            settled = add_lanes(change) < np.float32(tol) * np.float32(n_topics)
            still = off <= 10.0 * tol
            if still and not settled and done % 2 == 0 and done < max_passes and (done >= FIRST_PASSES or not fresh):
                leap(before, between, own, prior, 0, lane, row)
        found = add_lanes(finish(first, last, indices, counts, rows, weight, total, row, ratio, lane))
        for i in range(n):
            got = weight[i] * total[i]
            mean[i] = got / np.float32(tokens)
            gamma[base + np.uint64(32 * i)] = prior[i] + got
            theta[base + np.uint64(32 * i)] = weight[i]
        for c in range(n_columns):
            middle, variance = sums_of(c, coef, is_product[c], tokens, mean, lane)
            value = middle
            if is_product[c]:
                one = np.float32(0.0)
                for i in range(n):
                    one += coef[c * 32 * n + 32 * i + lane] * mean[i]
                value = np.float64(add_lanes(one))
            if lane == 0:
                score[d * n_columns + c] = value
                moment[d * n_columns + c] = _moment(middle, is_product[c], tokens, variance)
        if lane == 0:
            words[d], passes[d] = found, done

    return kernel
