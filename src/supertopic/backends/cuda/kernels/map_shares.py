"""Topic shares at their mode and the adjoint, a warp for each document (`supertopic.kernels.map_shares`)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32

from supertopic.backends.cuda.kernels.lanes import add_four, add_lanes, from_lane, on_device
from supertopic.backends.cuda.kernels.passes import last_pass, leap_ahead, pass_over_words


@cache
def settle(n: int) -> Any:
    """The kernel of EM for theta, with `n` registers a lane."""
    run, finish, leap = pass_over_words(n), last_pass(n), leap_ahead(n)

    @cuda.jit(fastmath=True)
    def kernel(
        order, indptr, indices, counts, packed, rows, n_topics, alpha, max_passes, tol, theta, ratio, values, passes
    ):  # fmt: skip
        """theta (D · 32 n) from the theta given, ratio by entry, log p(w, theta) and passes by document."""
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        own, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        prior, row = cuda.local.array(n, float32), cuda.local.array((4, n), float32)
        before, between = cuda.local.array(n, float32), cuda.local.array(n, float32)
        d = order[place]
        first, last = indptr[d], indptr[d + 1]
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        size = np.float32(0.0)
        j = first + lane
        while j < last:
            size += counts[j]
            j += 32
        for i in range(n):
            prior[i] = alpha[32 * i + lane] if 32 * i + lane < n_topics else np.float32(0.0)
            own[i] = theta[base + np.uint64(32 * i)] if 32 * i + lane < n_topics else np.float32(0.0)
            size += prior[i]
        size = add_lanes(size)
        done = 0
        while done < max_passes:
            run(first, last, indices, counts, packed, own, total, row, lane)
            change = np.float32(0.0)
            for i in range(n):
                if done % 2:
                    between[i] = own[i]
                else:
                    before[i] = own[i]
                new = (own[i] * total[i] + prior[i]) / size
                change += abs(new - own[i])
                own[i] = new
            done += 1
            if add_lanes(change) < np.float32(tol):
                break
            if done % 2 == 0:
                leap(before, between, own)
        found = finish(first, last, indices, counts, rows, own, total, row, ratio, lane)
        for i in range(n):
            theta[base + np.uint64(32 * i)] = own[i]
            if 32 * i + lane < n_topics:
                found += np.float64(prior[i]) * math.log(np.float64(own[i]))
        found = add_lanes(found)
        if lane == 0:
            values[d], passes[d] = found, done

    return kernel


@cache
def learn(n: int) -> Any:
    """The kernel of `supertopic.kernels.first_topics`: a few passes over documents of a batch."""
    run = last_pass(n)  # float32 throughout, so that fits start where those of the CPU do

    @cuda.jit(fastmath=True)
    def kernel(order, indptr, indices, counts, rows, n_topics, alpha, inverse, max_passes, theta, gained, ratio):
        """theta and gained (B · 32 n), and ratio by entry.

        rows : (V · 32 n) float32, word_topic + smoothing, zero beyond the topics
        alpha, inverse : (32 n,) float32
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        own, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        scale, row = cuda.local.array(n, float32), cuda.local.array((4, n), float32)
        d = order[place]
        first, last = indptr[d], indptr[d + 1]
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        for i in range(n):
            scale[i] = inverse[32 * i + lane] if 32 * i + lane < n_topics else np.float32(0.0)
            own[i] = scale[i]
        for _ in range(max_passes):
            run(first, last, indices, counts, rows, own, total, row, ratio, lane)
            for i in range(n):
                own[i] = (own[i] * total[i] + alpha[32 * i + lane]) * scale[i]
        run(first, last, indices, counts, rows, own, total, row, ratio, lane)
        for i in range(n):
            theta[base + np.uint64(32 * i)] = own[i]
            gained[base + np.uint64(32 * i)] = own[i] * total[i]

    return kernel


@cache
def adjoint(n: int) -> Any:
    """The kernel of conjugate gradients, with `n` registers a lane."""

    @on_device
    def multiply(first, last, indices, counts, rows, ratio, by, total, row, lane, last_one, shift):
        """total_k = sum_j ratio_j²/c_j (rows_j·by) rows_jk; in the last one, shift_j = ratio_j²/c_j rows_j·by."""
        for i in range(n):
            total[i] = np.float32(0.0)
        start = first
        while start < last:
            at_a = np.uint64(indices[start]) * np.uint64(32 * n) + np.uint64(lane)
            at_b = np.uint64(indices[min(start + 1, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            at_c = np.uint64(indices[min(start + 2, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            at_d = np.uint64(indices[min(start + 3, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            dot_a = dot_b = dot_c = dot_d = np.float32(0.0)
            for i in range(n):
                step = np.uint64(32 * i)
                row[0, i], row[1, i], row[2, i], row[3, i] = (
                    rows[at_a + step], rows[at_b + step], rows[at_c + step], rows[at_d + step]
                )  # fmt: skip
                dot_a += row[0, i] * by[i]
                dot_b += row[1, i] * by[i]
                dot_c += row[2, i] * by[i]
                dot_d += row[3, i] * by[i]
            dot = add_four(dot_a, dot_b, dot_c, dot_d, lane)
            mine = start + (lane >> 3)
            count = counts[mine] if mine < last else np.float32(0.0)
            share = ratio[min(mine, last - 1)] / count if count > np.float32(0.0) else np.float32(0.0)
            if last_one:
                if (lane & 7) == 0 and mine < last:
                    shift[mine] = ratio[mine] * share * dot
            else:
                value = count * share * share * dot
                by_a, by_b = from_lane(value, 0), from_lane(value, 8)
                by_c, by_d = from_lane(value, 16), from_lane(value, 24)
                for i in range(n):
                    total[i] += by_a * row[0, i] + by_b * row[1, i] + by_c * row[2, i] + by_d * row[3, i]
            start += 4

    @cuda.jit(fastmath=True)
    def kernel(
        order, indptr, indices, counts, rows, n_topics, alpha, theta, ratio, n_columns, pull, coef, max_passes, tol,
        added, pulled, shift, passes,
    ):  # fmt: skip
        """u / N of documents whose loss has the gradient g_k = sum_c pull_c coef_ck.

        pull : (D · C) float32; coef : (C · 32 n) float32
        pulled : (D · 32 n) float32, out: theta·(u / N + added)
        shift : (nnz,) float32, out: ratio_j a_j / N; passes : (D,) int32, out
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        d = order[place]
        first, last = indptr[d], indptr[d + 1]
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        own, diagonal, prior = cuda.local.array(n, float32), cuda.local.array(n, float32), cuda.local.array(n, float32)
        found, left = cuda.local.array(n, float32), cuda.local.array(n, float32)
        direction, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        by, row = cuda.local.array(n, float32), cuda.local.array((4, n), float32)
        asks = False
        for c in range(n_columns):
            asks = asks or pull[d * n_columns + c] != np.float32(0.0)
        for i in range(n):
            k = 32 * i + lane
            own[i] = theta[base + np.uint64(32 * i)]
            prior[i] = alpha[k] if k < n_topics else np.float32(1.0)
            found[i], diagonal[i], left[i] = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for c in range(n_columns):
                left[i] += pull[d * n_columns + c] * coef[c * 32 * n + k]
            left[i] *= own[i]
        done = 0
        if asks:
            for j in range(first, last):
                count, share = counts[j], np.float32(0.0)
                if count > np.float32(0.0):
                    share = ratio[j] * ratio[j] / count
                at = np.uint64(indices[j]) * np.uint64(32 * n) + np.uint64(lane)
                for i in range(n):
                    value = rows[at + np.uint64(32 * i)]
                    diagonal[i] += share * value * value
            part = 0.0
            for i in range(n):
                diagonal[i] = prior[i] + diagonal[i] * own[i] * own[i]
                direction[i] = left[i] / diagonal[i]
                part += np.float64(left[i]) * np.float64(direction[i])
            power = add_lanes(part)
            goal = tol * tol * power
            while done < max_passes and power > goal:
                for i in range(n):
                    by[i] = own[i] * direction[i]
                multiply(first, last, indices, counts, rows, ratio, by, total, row, lane, False, shift)
                done += 1
                part = 0.0
                for i in range(n):
                    total[i] = prior[i] * direction[i] + own[i] * total[i]
                    part += np.float64(direction[i]) * np.float64(total[i])
                step = np.float32(power / add_lanes(part))
                before = power
                part = 0.0
                for i in range(n):
                    found[i] += step * direction[i]
                    left[i] -= step * total[i]
                    total[i] = left[i] / diagonal[i]
                    part += np.float64(left[i]) * np.float64(total[i])
                power = add_lanes(part)
                turn = np.float32(power / before)
                for i in range(n):
                    direction[i] = total[i] + turn * direction[i]
        for i in range(n):
            by[i] = own[i] * found[i]
        multiply(first, last, indices, counts, rows, ratio, by, total, row, lane, True, shift)
        for i in range(n):
            pulled[base + np.uint64(32 * i)] = own[i] * (found[i] + np.float32(added))
        if lane == 0:
            passes[d] = done

    return kernel
