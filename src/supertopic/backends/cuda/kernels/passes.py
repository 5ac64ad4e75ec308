"""A pass over the words of a document, the inner loop of every E-step here.

rows are the topics' weights by word, `n` registers a lane. Passes read them in bfloat16, which takes half the memory
traffic and has the range of float32: a number holds the weights of two topics, l + 64 i in its lower half and
l + 64 i + 32 in its upper half. The last pass of a document reads float32, so that its result is exact for the topics'
own weights, whatever the passes before it converged to. `row` (4, n) is room of the lane.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from supertopic.backends.cuda.kernels.lanes import TINY, add_four, add_lanes, from_lane, lower, on_device, upper


@cache
def pass_over_words(n: int) -> Any:
    """The device function of one pass, with `n` registers a lane."""

    pairs = (n + 1) // 2

    @on_device
    def run(first, last, indices, counts, packed, theta, total, row, lane):
        """total_k = sum_j c_j rows_jk / (rows_j·theta), four words at a time; packed (V · 32 pairs) uint32."""
        for i in range(n):
            total[i] = np.float32(0.0)
        start = first
        while start < last:
            mine = start + lane
            word = indices[min(mine, last - 1)]
            count = counts[mine] if mine < last else np.float32(0.0)
            some = min(32, last - start)
            j = 0
            while j < some:
                at_a = np.uint64(from_lane(word, j)) * np.uint64(32 * pairs) + np.uint64(lane)
                at_b = np.uint64(from_lane(word, j + 1)) * np.uint64(32 * pairs) + np.uint64(lane)
                at_c = np.uint64(from_lane(word, j + 2)) * np.uint64(32 * pairs) + np.uint64(lane)
                at_d = np.uint64(from_lane(word, j + 3)) * np.uint64(32 * pairs) + np.uint64(lane)
                for i in range(pairs):
                    step = np.uint64(32 * i)
                    a, b = packed[at_a + step], packed[at_b + step]
                    c, d = packed[at_c + step], packed[at_d + step]
                    row[0, 2 * i], row[1, 2 * i], row[2, 2 * i], row[3, 2 * i] = lower(a), lower(b), lower(c), lower(d)
                    if 2 * i + 1 < n:
                        row[0, 2 * i + 1], row[1, 2 * i + 1] = upper(a), upper(b)
                        row[2, 2 * i + 1], row[3, 2 * i + 1] = upper(c), upper(d)
                norm_a = norm_b = norm_c = norm_d = np.float32(0.0)
                for i in range(n):
                    norm_a += row[0, i] * theta[i]
                    norm_b += row[1, i] * theta[i]
                    norm_c += row[2, i] * theta[i]
                    norm_d += row[3, i] * theta[i]
                norm = add_four(norm_a, norm_b, norm_c, norm_d, lane)
                ratio = from_lane(count, j + (lane >> 3)) / (norm + TINY)
                by_a, by_b = from_lane(ratio, 0), from_lane(ratio, 8)
                by_c, by_d = from_lane(ratio, 16), from_lane(ratio, 24)
                for i in range(n):
                    total[i] += by_a * row[0, i] + by_b * row[1, i] + by_c * row[2, i] + by_d * row[3, i]
                j += 4
            start += 32

    return run


@cache
def last_pass(n: int) -> Any:
    """The device function of a document's last pass, which keeps each word's ratio."""

    @on_device
    def run(first, last, indices, counts, rows, theta, total, row, ratios, lane):
        """As a pass; sets ratio_j = c_j / (rows_j·theta), and returns sum_j c_j log(rows_j·theta), of lane 0 mod 8."""
        logs = 0.0
        for i in range(n):
            total[i] = np.float32(0.0)
        start = first
        while start < last:
            at_a = np.uint64(indices[start]) * np.uint64(32 * n) + np.uint64(lane)
            at_b = np.uint64(indices[min(start + 1, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            at_c = np.uint64(indices[min(start + 2, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            at_d = np.uint64(indices[min(start + 3, last - 1)]) * np.uint64(32 * n) + np.uint64(lane)
            norm_a = norm_b = norm_c = norm_d = np.float32(0.0)
            for i in range(n):
                step = np.uint64(32 * i)
                row[0, i], row[1, i], row[2, i], row[3, i] = (
                    rows[at_a + step], rows[at_b + step], rows[at_c + step], rows[at_d + step]
                )  # fmt: skip
                norm_a += row[0, i] * theta[i]
                norm_b += row[1, i] * theta[i]
                norm_c += row[2, i] * theta[i]
                norm_d += row[3, i] * theta[i]
            norm = add_four(norm_a, norm_b, norm_c, norm_d, lane) + TINY
            mine = start + (lane >> 3)
            count = counts[mine] if mine < last else np.float32(0.0)
            ratio = count / norm
            if (lane & 7) == 0 and mine < last:
                ratios[mine] = ratio
                if count > np.float32(0.0):
                    logs += count * math.log(norm)
            by_a, by_b = from_lane(ratio, 0), from_lane(ratio, 8)
            by_c, by_d = from_lane(ratio, 16), from_lane(ratio, 24)
            for i in range(n):
                total[i] += by_a * row[0, i] + by_b * row[1, i] + by_c * row[2, i] + by_d * row[3, i]
            start += 4
        return logs

    return run


@cache
def leap_ahead(n: int) -> Any:
    """A function that moves numbers on from two passes to where they lead (`supertopic.kernels.map_shares._leap`)."""

    @on_device
    def leap(before, between, own):
        """before, between, own : (n,) before the first pass, before the second and after it; own is changed."""
        one = two = np.float32(0.0)
        for i in range(n):
            r = between[i] - before[i]
            v = own[i] - between[i] - r
            one += r * r
            two += v * v
        one, two = add_lanes(one), add_lanes(two)
        s = np.float32(math.sqrt(one / max(two, np.float32(1e-30))))
        s = min(max(s, np.float32(1.0)), np.float32(16.0))
        for i in range(n):
            r = between[i] - before[i]
            v = own[i] - between[i] - r
            own[i] = max(before[i] + s * (np.float32(2.0) * r + s * v), np.float32(0.1) * own[i])

    return leap
