"""Moments of linear predictors whose tokens have shares of their own, a warp for each document."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from supertopic.backends.cuda.kernels.lanes import add_lanes
from supertopic.backends.cuda.kernels.launch import as_kernel


@cache
def token_moments(n: int) -> Any:
    """The kernel with `n` registers a lane."""

    @as_kernel
    def kernel(order, indptr, indices, counts, rows, theta, ratio, n_columns, coef, is_product, score, moment):
        """E[s], and E[s²] or E[exp s], of documents without a response; theta and ratio as the E-step left them.

        With phi_j the shares of word j: E[s²] = E[s]² + sum_j c_j Var_phi_j[coef] / N²,
        log E[exp s] = sum_j c_j log(phi_j·exp(coef/N)).
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        d = order[place]
        first, last = indptr[d], indptr[d + 1]
        base = np.int64(d) * (32 * n) + lane
        tokens = 0.0
        for j in range(first, last):
            tokens += counts[j]
        for c in range(n_columns):
            mean = variance = logs = 0.0
            for j in range(first, last):
                at = np.int64(indices[j]) * (32 * n) + lane
                one = two = 0.0
                for i in range(n):
                    share = np.float64(rows[at + 32 * i]) * np.float64(theta[base + 32 * i])
                    value = np.float64(coef[c * 32 * n + 32 * i + lane])
                    one += share * value
                    two += share * (math.expm1(value / tokens) if is_product[c] else value * value)
                count = np.float64(counts[j])
                by = ratio[j] / count if count > 0.0 else 0.0
                one, two = add_lanes(one) * by, add_lanes(two) * by
                mean += count * one
                variance += count * (two - one * one)
                if is_product[c]:
                    logs += count * math.log(max(1.0 + two, 1e-9))
            if lane == 0 and last > first:
                mean /= tokens
                score[np.int64(d) * n_columns + c] = mean
                if is_product[c]:
                    moment[np.int64(d) * n_columns + c] = math.exp(logs)
                else:
                    moment[np.int64(d) * n_columns + c] = mean * mean + variance / (tokens * tokens)

    return kernel
