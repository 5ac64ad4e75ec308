"""A pass over the words of a document, the inner loop of every E-step here.

rows are the topics' weights by word, `n` registers a lane. Passes read them in bfloat16, which takes half the memory
traffic and has the range of float32; `topics.pack` says where each topic lies. The last pass of a document reads
float32, so that its result is exact for the topics' own weights, whatever the passes before it converged to. `row`
(ROWS, n) is room of the lane.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from supertopic.backends.cuda.kernels.lanes import (
    TINY,
    add_eight,
    add_four,
    add_lanes,
    add_two,
    from_lane,
    lower,
    on_device,
    upper,
    wait_for_block,
)  # fmt: skip

FIRST_PASSES = 4  # of a fresh start, before any leap, as on the CPU
ROWS = 12


def lanes_of(n: int) -> int:
    """Lanes that read a word together, so that they read 64 or 128 bytes at once: one line of the cache.

    With more than four registers, what a part of the lanes would hold does not stay in registers.
    """
    return 8 if n == 1 else 16 if n <= 4 else 32


@cache
def pass_over_words(n: int) -> Any:
    """The device function of one pass, with `n` registers a lane: total_k = sum_j c_j rows_jk / (rows_j·theta)."""
    return _pass_by_groups(n) if lanes_of(n) < 32 else _pass_by_warp(n)


@cache
def _pass_by_groups(n: int) -> Any:
    """Four words at a time, shared out among groups of lanes, which have all topics of their words.

    So sums over topics take few steps. Lane s of each group has the topics of lanes s, s + n_lanes … of the warp:
    theirs are brought together before the pass, and sums go back to them.
    """
    n_lanes = lanes_of(n)
    groups, at_once, chunks = 32 // n_lanes, n_lanes // 8, -(-32 * n // (4 * n_lanes))
    row_size, n_places = chunks * n_lanes, groups * n

    @on_device
    def run(first, last, indices, counts, packed, theta, total, row, lane):
        """packed : (V · row_size) uint64"""
        of_group, group = lane % n_lanes, lane // n_lanes
        for g in range(groups):
            for i in range(n):
                row[4 + g, i] = from_lane(theta[i], n_lanes * g + of_group)
                row[8 + g, i] = np.float32(0.0)
        start = first
        while start < last:
            mine = start + lane
            word = indices[min(mine, last - 1)]
            count = counts[mine] if mine < last else np.float32(0.0)
            some = min(32, last - start)
            j = 0
            while j < some:
                for u in range(at_once):
                    at = np.uint64(from_lane(word, j + u * groups + group)) * np.uint64(row_size) + np.uint64(of_group)
                    for q in range(chunks):
                        four = packed[at + np.uint64(n_lanes * q)]
                        one, other = np.uint32(four & np.uint64(0xFFFFFFFF)), np.uint32(four >> np.uint64(32))
                        k, of_word = 4 * q, u * groups
                        row[of_word + k // n, k % n] = lower(one)
                        row[of_word + (k + 1) // n, (k + 1) % n] = upper(one)
                        if k + 2 < n_places:
                            row[of_word + (k + 2) // n, (k + 2) % n] = lower(other)
                            row[of_word + (k + 3) // n, (k + 3) % n] = upper(other)
                norm_a = norm_b = np.float32(0.0)
                for g in range(groups):
                    for i in range(n):
                        norm_a += row[g, i] * row[4 + g, i]
                        if at_once == 2:
                            norm_b += row[groups + g, i] * row[4 + g, i]
                if at_once == 2:
                    norm = add_two(norm_a, norm_b, lane)
                    mine = ((lane >> 3) & 1) * groups + group
                else:
                    norm = add_eight(norm_a, lane)
                    mine = group
                ratio = from_lane(count, j + mine) / (norm + TINY)
                by_a = by_b = ratio
                if at_once == 2:
                    by_a, by_b = from_lane(ratio, lane & 16), from_lane(ratio, (lane & 16) + 8)
                for g in range(groups):
                    for i in range(n):
                        row[8 + g, i] += by_a * row[g, i]
                        if at_once == 2:
                            row[8 + g, i] += by_b * row[groups + g, i]
                j += 4
            start += 32
        high, second = (lane & 16) != 0, (lane & 8) != 0
        for i in range(n):
            for g in range(groups // 2):
                one, other = row[8 + g, i], row[8 + groups // 2 + g, i]
                kept, sent = (other, one) if high else (one, other)
                row[g, i] = kept + from_lane(sent, lane ^ 16)
            total[i] = row[0, i]
            if groups == 4:
                kept, sent = (row[1, i], row[0, i]) if second else (row[0, i], row[1, i])
                total[i] = kept + from_lane(sent, lane ^ 8)

    return run


@cache
def _pass_by_warp(n: int) -> Any:
    """Four words at a time, each by all lanes, for many topics."""

    chunks = (n + 3) // 4

    @on_device
    def run(first, last, indices, counts, packed, theta, total, row, lane):
        """packed : (V · 32 chunks) uint64"""
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
                for one in range(4):
                    at = np.uint64(from_lane(word, j + one)) * np.uint64(32 * chunks) + np.uint64(lane)
                    for q in range(chunks):
                        four = packed[at + np.uint64(32 * q)]
                        left, right = np.uint32(four & np.uint64(0xFFFFFFFF)), np.uint32(four >> np.uint64(32))
                        row[one, 4 * q] = lower(left)
                        if 4 * q + 1 < n:
                            row[one, 4 * q + 1] = upper(left)
                        if 4 * q + 2 < n:
                            row[one, 4 * q + 2] = lower(right)
                        if 4 * q + 3 < n:
                            row[one, 4 * q + 3] = upper(right)
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
def leap_ahead(n: int, team: int = 1) -> Any:
    """A function that moves numbers on from two passes to where they lead (`supertopic.kernels.e_step_words._leap`)."""
    add = add_team(team)

    @on_device
    def leap(before, between, own, least, warp, lane, of_warps):
        """before, between, own : (n,) before the first pass, before the second and after it; own is changed

        No number loses more than nine tenths of what it has above `least` (n,). Each of a team of warps has its own
        numbers; of_warps : (team, 2) room that they share.
        """
        one = two = np.float32(0.0)
        for i in range(n):
            r = between[i] - before[i]
            v = own[i] - between[i] - r
            one += r * r
            two += v * v
        one, two = add_lanes(one), add_lanes(two)
        if team > 1:
            if lane == 0:
                of_warps[warp, 0], of_warps[warp, 1] = one, two
            wait_for_block()
            one, two = add(of_warps, 0), add(of_warps, 1)
            wait_for_block()
        s = np.float32(math.sqrt(one / max(two, np.float32(1e-30))))
        s = min(max(s, np.float32(1.0)), np.float32(16.0))
        for i in range(n):
            r = between[i] - before[i]
            v = own[i] - between[i] - r
            floor = least[i] + np.float32(0.1) * (own[i] - least[i])
            own[i] = max(before[i] + s * (np.float32(2.0) * r + s * v), floor)

    return leap


@cache
def add_team(team: int) -> Any:
    """A function that adds column k of what the warps of a team have found, in their order."""

    @on_device
    def add(sums, k):
        total = np.float32(0.0)
        for w in range(team):
            total += sums[w, k]
        return total

    return add


@cache
def add_over_team(team: int) -> Any:
    """A function that adds a number over all lanes of a team's warps; room : (team,) that they share."""

    @on_device
    def add(value, warp, lane, room):
        value = add_lanes(value)
        if team > 1:
            if lane == 0:
                room[warp] = value
            wait_for_block()
            value = 0.0
            for w in range(team):
                value += room[w]
            wait_for_block()
        return value

    return add


@on_device
def part_of_team(first, last, warp, team):
    """Where the words of one warp begin and end: in fours, as passes take them."""
    size = (last - first + 4 * team - 1) // (4 * team) * 4
    return min(first + warp * size, last), min(first + (warp + 1) * size, last)


def team_of(n: int) -> int:
    """Warps that share a document, with n registers a lane: what was fastest on an H200.

    Passes read a document's rows again and again. With several warps a document, fewer rows are in use at a time, the
    longest document keeps the others waiting for less, and sums by topic are made once a team.
    """
    return min(n, 4)
