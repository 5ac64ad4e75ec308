"""Topic shares at their mode and the adjoint (`supertopic.kernels.map_shares`), a team of warps for each document."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, float64

from supertopic.backends.cuda.kernels.lanes import SIMULATED, add_four, add_lanes, from_lane, on_device, row_of
from supertopic.backends.cuda.kernels.launch import as_kernel
from supertopic.backends.cuda.kernels.passes import (
    ROWS,
    add_over_team,
    add_team,
    last_pass,
    leap_ahead,
    part_of_team,
    pass_over_words,
    team_of,
)  # fmt: skip

TEAM = 2 if SIMULATED else 8  # warps of a block that share a document of a small batch


@cache
def settle(n: int) -> Any:
    """The kernel of EM for theta, with `n` registers a lane; a team of warps for each document (`e_step_words`)."""
    team, width = team_of(n), 32 * n
    per_warp = -(-n // team)
    run, finish, leap, add = pass_over_words(n), last_pass(n), leap_ahead(per_warp, team), add_team(team)

    @as_kernel(fastmath=True)
    def kernel(
        order, indptr, indices, counts, packed, rows, n_topics, alpha, which, max_passes, tol, theta, ratio, values,
        passes,
    ):  # fmt: skip
        """theta (D · 32 n) from the theta given, ratio by entry, log p(w, theta) and passes by document."""
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        sums = cuda.shared.array((team, width), float32)  # a line for each: the simulator tells them apart by it
        shares = cuda.shared.array(width, float32)
        of_warps = cuda.shared.array((team, 2), float32)
        logs = cuda.shared.array(team, float64)
        own, prior = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        before, between = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        nothing = cuda.local.array(per_warp, float32)
        weight, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        row = cuda.local.array((ROWS, n), float32)
        d = order[cuda.blockIdx.x]
        begin, end = indptr[d], indptr[d + 1]
        first, last = part_of_team(begin, end, warp, team)
        base = np.uint64(d) * np.uint64(width)
        given = row_of(which, d) * width
        size = np.float32(0.0)
        for j in range(begin + lane, end, 32):
            size += counts[j]
        for k in range(lane, n_topics, 32):
            size += alpha[given + k]
        size = add_lanes(size)
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            # what is no topic's does not move
            own[r] = prior[r] = before[r] = between[r] = nothing[r] = np.float32(0.0)
            if k < n_topics:
                prior[r], own[r] = alpha[given + k], theta[base + np.uint64(k)]
            if k < width:
                shares[k] = own[r]
        cuda.syncthreads()
        done = 0
        while done < max_passes:
            for i in range(n):
                weight[i] = shares[32 * i + lane]
            run(first, last, indices, counts, packed, weight, total, row, lane)
            for i in range(n):
                sums[warp, 32 * i + lane] = total[i]
            cuda.syncthreads()
            change = np.float32(0.0)
            for r in range(per_warp):
                k = 32 * (r * team + warp) + lane
                if k < width:
                    if done % 2:
                        between[r] = own[r]
                    else:
                        before[r] = own[r]
                    new = (own[r] * add(sums, k) + prior[r]) / size
                    change += abs(new - own[r])
                    own[r] = shares[k] = new
            change = add_lanes(change)
            if lane == 0:
                of_warps[warp, 0] = change
            done += 1
            cuda.syncthreads()
            if add(of_warps, 0) < np.float32(tol):
                break
            if done % 2 == 0:
                cuda.syncthreads()
                leap(before, between, own, nothing, warp, lane, of_warps)
                for r in range(per_warp):
                    k = 32 * (r * team + warp) + lane
                    if k < width:
                        shares[k] = own[r]
                cuda.syncthreads()
        for i in range(n):
            weight[i] = shares[32 * i + lane]
        found = finish(first, last, indices, counts, rows, weight, total, row, ratio, lane)
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            if k < width:
                theta[base + np.uint64(k)] = own[r]
            if k < n_topics:
                found += np.float64(prior[r]) * math.log(np.float64(own[r]))
        found = add_lanes(found)
        if lane == 0:
            logs[warp] = found
        cuda.syncthreads()
        if lane == 0 and warp == 0:
            found = 0.0
            for w in range(team):
                found += logs[w]
            values[d], passes[d] = found, done

    return kernel


@cache
def learn(n: int) -> Any:
    """The kernel of `supertopic.kernels.first_topics`: a few passes over documents of a batch, a block for each.

    A batch has few documents, and all wait for the longest: TEAM warps share its words.
    """
    run = last_pass(n)  # float32 throughout, so that fits start where those of the CPU do
    add, width = add_team(TEAM), 32 * n

    @as_kernel(fastmath=True)
    def kernel(order, indptr, indices, counts, rows, n_topics, alpha, inverse, max_passes, theta, gained, ratio):
        """theta and gained (B · 32 n), and ratio by entry.

        rows : (V · 32 n) float32, word_topic + smoothing, zero beyond the topics
        alpha, inverse : (32 n,) float32
        """
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        sums = cuda.shared.array((TEAM, width), float32)
        own, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        scale, row = cuda.local.array(n, float32), cuda.local.array((4, n), float32)
        d = order[cuda.blockIdx.x]
        first, last = indptr[d], indptr[d + 1]
        first, last = part_of_team(first, last, warp, TEAM)
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        for i in range(n):
            scale[i] = inverse[32 * i + lane] if 32 * i + lane < n_topics else np.float32(0.0)
            own[i] = scale[i]
        for done in range(max_passes + 1):
            run(first, last, indices, counts, rows, own, total, row, ratio, lane)
            cuda.syncthreads()
            for i in range(n):
                sums[warp, 32 * i + lane] = total[i]
            cuda.syncthreads()
            for i in range(n):
                total[i] = add(sums, 32 * i + lane)
                if done < max_passes:
                    own[i] = (own[i] * total[i] + alpha[32 * i + lane]) * scale[i]
        if warp == 0:
            for i in range(n):
                theta[base + np.uint64(32 * i)] = own[i]
                gained[base + np.uint64(32 * i)] = own[i] * total[i]

    return kernel


@cache
def adjoint(n: int) -> Any:
    """The kernel of conjugate gradients, with `n` registers a lane; a team of warps for each document."""
    team, width = team_of(n), 32 * n
    per_warp = -(-n // team)
    add, add_all = add_team(team), add_over_team(team)

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

    @as_kernel(fastmath=True)
    def kernel(
        order, indptr, indices, counts, rows, n_topics, alpha, which, theta, ratio, n_columns, pull, coef, max_passes,
        tol, added, pulled, shift, passes,
    ):  # fmt: skip
        """u / N of documents whose loss has the gradient g_k = sum_c pull_c coef_ck.

        pull : (D · C) float32; coef : (C · 32 n) float32
        pulled : (D · 32 n) float32, out: theta·(u / N + added)
        shift : (nnz,) float32, out: ratio_j a_j / N; passes : (D,) int32, out
        """
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        sums = cuda.shared.array((team, width), float32)  # a line for each: the simulator tells them apart by it
        moved = cuda.shared.array(width, float32)
        of_warps = cuda.shared.array(team, float64)
        d = order[cuda.blockIdx.x]
        begin, end = indptr[d], indptr[d + 1]
        first, last = part_of_team(begin, end, warp, team)
        base = np.uint64(d) * np.uint64(width)
        given = row_of(which, d) * width
        own, diagonal = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        prior, found = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        left, direction = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        by, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        row = cuda.local.array((4, n), float32)
        asks = False
        for c in range(n_columns):
            asks = asks or pull[d * n_columns + c] != np.float32(0.0)
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            own[r] = found[r] = left[r] = np.float32(0.0)
            prior[r] = alpha[given + k] if k < n_topics else np.float32(1.0)
            if k < width:
                own[r] = theta[base + np.uint64(k)]
                for c in range(n_columns):
                    left[r] += pull[d * n_columns + c] * coef[c * width + k]
                left[r] *= own[r]
        done = 0
        if asks:
            for i in range(n):
                total[i] = np.float32(0.0)
            for j in range(first, last):
                count, share = counts[j], np.float32(0.0)
                if count > np.float32(0.0):
                    share = ratio[j] * ratio[j] / count
                at = np.uint64(indices[j]) * np.uint64(width) + np.uint64(lane)
                for i in range(n):
                    value = rows[at + np.uint64(32 * i)]
                    total[i] += share * value * value
            for i in range(n):
                sums[warp, 32 * i + lane] = total[i]
            cuda.syncthreads()
            part = 0.0
            for r in range(per_warp):
                k = 32 * (r * team + warp) + lane
                diagonal[r] = prior[r]
                if k < width:
                    diagonal[r] += add(sums, k) * own[r] * own[r]
                direction[r] = left[r] / diagonal[r]
                part += np.float64(left[r]) * np.float64(direction[r])
            power = add_all(part, warp, lane, of_warps)
            goal = tol * tol * power
            while done < max_passes and power > goal:
                for r in range(per_warp):
                    k = 32 * (r * team + warp) + lane
                    if k < width:
                        moved[k] = own[r] * direction[r]
                cuda.syncthreads()
                for i in range(n):
                    by[i] = moved[32 * i + lane]
                multiply(first, last, indices, counts, rows, ratio, by, total, row, lane, False, shift)
                for i in range(n):
                    sums[warp, 32 * i + lane] = total[i]
                cuda.syncthreads()
                done += 1
                part = 0.0
                for r in range(per_warp):
                    k = 32 * (r * team + warp) + lane
                    total[r] = prior[r] * direction[r]
                    if k < width:
                        total[r] += own[r] * add(sums, k)
                    part += np.float64(direction[r]) * np.float64(total[r])
                step = np.float32(power / add_all(part, warp, lane, of_warps))
                before = power
                part = 0.0
                for r in range(per_warp):
                    found[r] += step * direction[r]
                    left[r] -= step * total[r]
                    total[r] = left[r] / diagonal[r]
                    part += np.float64(left[r]) * np.float64(total[r])
                power = add_all(part, warp, lane, of_warps)
                turn = np.float32(power / before)
                for r in range(per_warp):
                    direction[r] = total[r] + turn * direction[r]
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            if k < width:
                moved[k] = own[r] * found[r]
                pulled[base + np.uint64(k)] = own[r] * (found[r] + np.float32(added))
        cuda.syncthreads()
        for i in range(n):
            by[i] = moved[32 * i + lane]
        multiply(first, last, indices, counts, rows, ratio, by, total, row, lane, True, shift)
        if lane == 0 and warp == 0:
            passes[d] = done

    return kernel
