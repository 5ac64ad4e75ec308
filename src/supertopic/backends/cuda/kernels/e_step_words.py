"""The E-step of documents without a response (`supertopic.kernels.e_step_words` has the equations)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, float64

from supertopic.backends.cuda.kernels.lanes import add_lanes, digamma, exp_digamma, row_of
from supertopic.backends.cuda.kernels.launch import as_kernel
from supertopic.backends.cuda.kernels.passes import (
    FIRST_PASSES,
    ROWS,
    add_team,
    last_pass,
    leap_ahead,
    part_of_team,
    pass_over_words,
    team_of,
)  # fmt: skip


@as_kernel
def add_prior_terms(
    n_documents, n_topics, alpha, which, gammas, collapsed, gamma, theta, width, words, bound, psi_total
):  # fmt: skip
    """bound = words + what theta adds at gamma = alpha + share, and psi(sum gamma); a warp for each document.

    gammas : (R · width · 3) float64: log Gamma, psi and psi' of alpha; if collapsed, log Gamma(alpha + 1) first
    A kernel of its own: its calls of log Gamma would keep the E-step's numbers out of the registers.
    """
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    found = priors = tokens = 0.0
    row = row_of(which, d) * width
    for k in range(lane, n_topics, 32):
        at = np.int64(d) * width + k
        own = row + k
        prior = np.float64(alpha[own])
        share = max(np.float64(gamma[at]) - prior, 0.0)
        priors += prior
        tokens += share
        if collapsed:
            value = prior + share
            found += value * math.log(value) - gammas[3 * own]
        if share >= 1e-12:
            found -= share * math.log(np.float64(theta[at]) + 1e-30)
            if not collapsed and share < 1e-3 * prior:
                found += share * (gammas[3 * own + 1] + 0.5 * share * gammas[3 * own + 2])
            elif not collapsed:
                found += math.lgamma(prior + share) - gammas[3 * own]
    found, priors, tokens = add_lanes(found), add_lanes(priors), add_lanes(tokens)
    if lane == 0:
        if collapsed:
            found += math.lgamma(priors + n_topics) - (priors + tokens) * math.log(priors + tokens)
        else:
            found += math.lgamma(priors) - math.lgamma(priors + tokens)
        bound[d] = words[d] + found if tokens > 0.0 else 0.0
        psi_total[d] = digamma(priors + tokens)


@as_kernel
def divide_rows(n_documents, n_topics, width, values):
    """values_dk /= sum_k values_dk, a warp for each document."""
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    total = np.float32(0.0)
    for k in range(lane, n_topics, 32):
        total += values[np.int64(d) * width + k]
    total = add_lanes(total)
    for k in range(lane, n_topics, 32):
        values[np.int64(d) * width + k] /= total


@cache
def infer_words(n: int) -> Any:
    """The kernel with `n` registers a lane: a block for each document, whose warps share its words.

    Warp w does the sums over words of registers w, w + team …
    """
    team, width = team_of(n), 32 * n
    per_warp = -(-n // team)
    run, finish, leap, add = pass_over_words(n), last_pass(n), leap_ahead(per_warp, team), add_team(team)

    @as_kernel(fastmath=True)
    def kernel(
        order, indptr, indices, counts, packed, rows, n_topics, alpha, which, collapsed, max_passes, tol, fresh,
        gamma, theta, ratio, words, passes,
    ):  # fmt: skip
        """Infer documents: gamma, theta (D · 32 n), ratio by entry, passes and the words' part of the bound.

        order : (D,) documents, longest first; packed, rows : the weights in bfloat16 and in float32
        alpha : (R · 32 n), one beyond the topics; which : the row of each document (`row_of`)
        """
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        sums = cuda.shared.array((team, width), float32)  # a line for each: the simulator tells them apart by it
        shares = cuda.shared.array(width, float32)
        of_warps = cuda.shared.array((team, 2), float32)
        logs = cuda.shared.array(team, float64)
        own, prior = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        before, between = cuda.local.array(per_warp, float32), cuda.local.array(per_warp, float32)
        weight, total = cuda.local.array(n, float32), cuda.local.array(n, float32)
        row = cuda.local.array((ROWS, n), float32)
        d = order[cuda.blockIdx.x]
        begin, end = indptr[d], indptr[d + 1]
        first, last = part_of_team(begin, end, warp, team)
        base = np.uint64(d) * np.uint64(width)
        given = row_of(which, d) * width
        tokens = np.float32(0.0)
        if fresh:
            for j in range(begin + lane, end, 32):
                tokens += counts[j]
            tokens = add_lanes(tokens)
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            own[r] = before[r] = between[r] = prior[r] = np.float32(0.0)  # what is nobody's does not move
            if k < width:
                prior[r] = alpha[given + k]
                if k >= n_topics:
                    own[r] = prior[r]
                elif fresh:
                    own[r] = prior[r] + tokens / np.float32(n_topics)
                else:
                    own[r] = gamma[base + np.uint64(k)]
                shares[k] = own[r] if collapsed else exp_digamma(own[r])
        cuda.syncthreads()
        done = 0
        limit = np.float32(tol) * np.float32(n_topics)
        while done < max_passes and end > begin:
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
                    new = prior[r] + shares[k] * add(sums, k)
                    change += abs(new - own[r])
                    own[r] = new
                    shares[k] = new if collapsed else exp_digamma(new)
            change = add_lanes(change)
            if lane == 0:
                of_warps[warp, 0] = change
            done += 1
            cuda.syncthreads()
            if add(of_warps, 0) < limit:
                break
            if done % 2 == 0 and done < max_passes and (collapsed or done >= FIRST_PASSES or not fresh):
                cuda.syncthreads()
                leap(before, between, own, prior, warp, lane, of_warps)
                for r in range(per_warp):
                    k = 32 * (r * team + warp) + lane
                    if k < width:
                        shares[k] = own[r] if collapsed else exp_digamma(own[r])
                cuda.syncthreads()
        for i in range(n):
            weight[i] = shares[32 * i + lane]
        found = add_lanes(finish(first, last, indices, counts, rows, weight, total, row, ratio, lane))
        for i in range(n):
            sums[warp, 32 * i + lane] = total[i]
        if lane == 0:
            logs[warp] = found
        cuda.syncthreads()
        for r in range(per_warp):
            k = 32 * (r * team + warp) + lane
            if k < width:
                gamma[base + np.uint64(k)] = prior[r] + shares[k] * add(sums, k)
                theta[base + np.uint64(k)] = shares[k]
        if lane == 0 and warp == 0:
            found = 0.0
            for w in range(team):
                found += logs[w]
            words[d], passes[d] = found, done

    return kernel
