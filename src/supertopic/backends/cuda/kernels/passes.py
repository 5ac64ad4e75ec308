"""A pass over the words of a document, the inner loop of every E-step here.

rows (V · 32 n) are the topics' weights by word, `n` registers a lane. Whatever positive number a word's row is
multiplied with cancels, so that passes read rows in half precision, scaled to a largest weight of one; they take half
the memory traffic. The last pass of a document reads float32. `row` (4, n) is room of the lane.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from supertopic.backends.cuda.kernels.lanes import TINY, add_four, from_lane, on_device


@cache
def pass_over_words(n: int) -> Any:
    """The device function of one pass, with `n` registers a lane."""

    @on_device
    def run(first, last, indices, counts, rows, theta, total, row, lane):
        """total_k = sum_j c_j rows_jk / (rows_j·theta), four words at a time."""
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
                at_a = np.uint64(from_lane(word, j)) * np.uint64(32 * n) + np.uint64(lane)
                at_b = np.uint64(from_lane(word, j + 1)) * np.uint64(32 * n) + np.uint64(lane)
                at_c = np.uint64(from_lane(word, j + 2)) * np.uint64(32 * n) + np.uint64(lane)
                at_d = np.uint64(from_lane(word, j + 3)) * np.uint64(32 * n) + np.uint64(lane)
                for i in range(n):
                    step = np.uint64(32 * i)
                    row[0, i], row[1, i] = np.float32(rows[at_a + step]), np.float32(rows[at_b + step])
                    row[2, i], row[3, i] = np.float32(rows[at_c + step]), np.float32(rows[at_d + step])
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
