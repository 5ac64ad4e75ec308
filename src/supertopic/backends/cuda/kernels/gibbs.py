"""Partially collapsed Gibbs sampling: topics are drawn, and then the tokens of all documents at once, a warp for each.

Given the topics phi, documents do not depend on one another, so that the sampler is exact however many run at a time:

    p(z_i = k | others of the document)  ∝  (n_dk without i + alpha_k) phi_wk

Random numbers are hashes of (key of seed and sweep, item), as on the CPU. Counts are whole numbers, and their sums do
not depend on the order.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32

from supertopic.backends.cuda.kernels.lanes import first_lane, from_lane, row_of, scan_lanes, uniform
from supertopic.backends.cuda.kernels.launch import as_kernel


@cache
def sweep_documents(n: int) -> Any:
    """The kernel of a sweep, with `n` registers a lane."""

    @as_kernel(fastmath=True)
    def kernel(order, doc_ptr, words, alpha, which, topics, key, topic):
        """Draw the topic of every token once.

        order : (D,) documents, longest first; doc_ptr : (D + 1,) int64 into words and topic, by token
        alpha : (R · 32 n,) float32; which : the row of each document (`row_of`)
        topics : (V · 32 n) float32, phi, zero beyond the topics; key : uint64
        topic : (tokens,) uint16, in and out
        """
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        count, weight, prior = cuda.local.array(n, float32), cuda.local.array(n, float32), cuda.local.array(n, float32)
        first, last = doc_ptr[order[place]], doc_ptr[order[place] + 1]
        row = row_of(which, order[place]) * (32 * n) + lane
        for i in range(n):
            prior[i], count[i] = alpha[row + 32 * i], np.float32(0.0)
        for t in range(first, last):
            old = topic[t]
            for i in range(n):
                if old == 32 * i + lane:
                    count[i] += np.float32(1.0)
        for t in range(first, last):
            old = topic[t]
            at = np.uint64(words[t]) * np.uint64(32 * n) + np.uint64(lane)
            own = np.float32(0.0)
            for i in range(n):
                if old == 32 * i + lane:
                    count[i] -= np.float32(1.0)
                weight[i] = (count[i] + prior[i]) * topics[at + np.uint64(32 * i)]
                own += weight[i]
            upto = scan_lanes(own, lane)
            target = uniform(key, t) * from_lane(upto, 31)
            left = target - (upto - own)
            new = -1
            for i in range(n):
                if new < 0:
                    if left < weight[i]:
                        new = 32 * i + lane
                    left -= weight[i]
            if new < 0:  # rounding: the sum of the lane was larger than its parts
                for i in range(n):
                    if weight[i] > np.float32(0.0):
                        new = 32 * i + lane
            chosen = first_lane(upto > target and own > np.float32(0.0), lane)
            new = from_lane(new, chosen) if chosen >= 0 else int(old)
            for i in range(n):
                if new == 32 * i + lane:
                    count[i] += np.float32(1.0)
            if lane == 0:
                topic[t] = new

    return kernel


@as_kernel
def count_words(words, topic, width, word_topic):
    """word_topic_wk = tokens of word w with topic k; a thread for each token."""
    t = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    if t < words.shape[0]:
        cuda.atomic.add(word_topic, np.int64(words[t]) * width + topic[t], 1)


@cache
def count_documents(n: int) -> Any:
    """The kernel that counts documents by how often they hold a topic, with `n` registers a lane."""

    @as_kernel
    def kernel(order, doc_ptr, topic, most, histogram):
        """histogram_kn += 1 for every document that holds topic k exactly n > 0 times; histogram : (K · most) int32."""
        lane = cuda.threadIdx.x
        place = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if place >= order.shape[0]:
            return
        count = cuda.local.array(n, int32)
        for i in range(n):
            count[i] = 0
        for t in range(doc_ptr[order[place]], doc_ptr[order[place] + 1]):
            own = topic[t]
            for i in range(n):
                if own == 32 * i + lane:
                    count[i] += 1
        for i in range(n):
            if count[i] > 0:
                cuda.atomic.add(histogram, np.int64(32 * i + lane) * most + count[i], 1)

    return kernel


@as_kernel
def draw_log_gammas(n_words, n_topics, word_topic, prior, key, width, logs):
    """logs_wk = log of a Gamma(prior + n_wk) draw (Marsaglia and Tsang); a block for a word, a thread for a topic."""
    k, w = cuda.threadIdx.x, cuda.blockIdx.x
    at = np.int64(w) * width + k
    shape = prior + word_topic[at]
    larger = shape if shape >= 1.0 else shape + 1.0  # and a power of a uniform brings a small shape back
    size = larger - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * size)
    item, found, done = np.uint64(at) * np.uint64(64), 0.0, 0
    while done < 21:  # more than one in twenty is refused at most
        turn = item + np.uint64(3 * done)
        far = math.sqrt(-2.0 * math.log(1.0 - uniform(key, turn)))
        normal = far * math.cos(2.0 * math.pi * uniform(key, turn + np.uint64(1)))
        cube = (1.0 + scale * normal) ** 3
        done += 1
        if cube > 0.0:
            found = math.log(size * cube)
            chance = math.log(uniform(key, turn + np.uint64(2)) + 1e-12)
            if chance < 0.5 * normal * normal + size - size * cube + size * math.log(cube):
                done = 100
    if shape < 1.0:
        found += math.log(uniform(key, item + np.uint64(63)) + 3e-8) / shape
    logs[at] = np.float32(found) if k < n_topics else np.float32(0.0)
