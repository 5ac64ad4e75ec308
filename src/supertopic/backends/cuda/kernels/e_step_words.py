"""The E-step of documents without a response, a warp for each (`supertopic.kernels.e_step_words` has the equations)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32

from supertopic.backends.cuda.kernels.lanes import add_lanes, digamma, exp_digamma
from supertopic.backends.cuda.kernels.passes import last_pass, leap_ahead, pass_over_words


@cuda.jit
def add_prior_terms(n_documents, n_topics, alpha, gammas, collapsed, gamma, theta, width, words, bound, psi_total):
    """bound = words + what theta adds at gamma = alpha + share, and psi(sum gamma); a warp for each document.

    gammas : (3 · width,) float64: log Gamma, psi and psi' of alpha; in collapsed inference, log Gamma(alpha + 1) first
    A kernel of its own: its calls of log Gamma would keep the E-step's numbers out of the registers.
    """
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    found = priors = tokens = 0.0
    for k in range(lane, n_topics, 32):
        at = np.int64(d) * width + k
        prior = np.float64(alpha[k])
        share = max(np.float64(gamma[at]) - prior, 0.0)
        priors += prior
        tokens += share
        if collapsed:
            value = prior + share
            found += value * math.log(value) - gammas[3 * k]
        if share >= 1e-12:
            found -= share * math.log(np.float64(theta[at]) + 1e-30)
            if not collapsed and share < 1e-3 * prior:
                found += share * (gammas[3 * k + 1] + 0.5 * share * gammas[3 * k + 2])
            elif not collapsed:
                found += math.lgamma(prior + share) - gammas[3 * k]
    found, priors, tokens = add_lanes(found), add_lanes(priors), add_lanes(tokens)
    if lane == 0:
        if collapsed:
            found += math.lgamma(priors + n_topics) - (priors + tokens) * math.log(priors + tokens)
        else:
            found += math.lgamma(priors) - math.lgamma(priors + tokens)
        bound[d] = words[d] + found if tokens > 0.0 else 0.0
        psi_total[d] = digamma(priors + tokens)


@cache
def infer_words(n: int) -> Any:
    """The kernel with `n` registers a lane."""
    run, finish, leap = pass_over_words(n), last_pass(n), leap_ahead(n)

    @cuda.jit(fastmath=True)
    def kernel(
        order, indptr, indices, counts, packed, rows, n_topics, alpha, collapsed, max_passes, tol, fresh,
        gamma, theta, ratio, words, passes,
    ):  # fmt: skip
        """Infer documents: gamma, theta (D · 32 n), ratio by entry, passes and the words' part of the bound.

        order : (D,) documents, longest first; packed, rows : the weights in bfloat16 and in float32
        alpha : (32 n,), one beyond the topics
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        own, weight, total = cuda.local.array(n, float32), cuda.local.array(n, float32), cuda.local.array(n, float32)
        prior, row = cuda.local.array(n, float32), cuda.local.array((4, n), float32)
        before, between = cuda.local.array(n, float32), cuda.local.array(n, float32)
        d = order[place]
        first, last = indptr[d], indptr[d + 1]
        base = np.uint64(d) * np.uint64(32 * n) + np.uint64(lane)
        tokens = np.float32(0.0)
        j = first + lane
        while j < last:
            tokens += counts[j]
            j += 32
        tokens = add_lanes(tokens)
        share = tokens / np.float32(n_topics)
        for i in range(n):
            k = 32 * i + lane
            prior[i] = alpha[k]
            if k >= n_topics:
                own[i] = prior[i]
            elif fresh:
                own[i] = prior[i] + share
            else:
                own[i] = gamma[base + np.uint64(32 * i)]
            weight[i] = own[i] if collapsed else exp_digamma(own[i])
        done = 0
        limit = np.float32(tol) * np.float32(n_topics)
        while done < max_passes and last > first:
            run(first, last, indices, counts, packed, weight, total, row, lane)
            change = np.float32(0.0)
            for i in range(n):
                if done % 2:
                    between[i] = own[i]
                else:
                    before[i] = own[i]
                new = prior[i] + weight[i] * total[i]
                change += abs(new - own[i])
                own[i] = new
                weight[i] = new if collapsed else exp_digamma(new)
            done += 1
            if add_lanes(change) < limit:
                break
            if collapsed and done % 2 == 0:
                leap(before, between, own)
                for i in range(n):
                    weight[i] = own[i]
        found = add_lanes(finish(first, last, indices, counts, rows, weight, total, row, ratio, lane))
        for i in range(n):
            gamma[base + np.uint64(32 * i)] = prior[i] + weight[i] * total[i]
            theta[base + np.uint64(32 * i)] = weight[i]
        if lane == 0:
            words[d], passes[d] = found, done

    return kernel
