"""Document-major Gibbs sweeps of the supervised sampler, for responses that are quadratic in the linear predictor.

Token of word w in document d of N tokens, all counts without the token itself:

    p(z = k) ∝ (n_dk + alpha_k) q_k exp( sum_c coef_ck/N (b_dc - omega_dc s_c) - 1/2 omega_dc coef_ck^2/N^2 )

    s_c = coef_c . n_d / N,    q_k = (n_wk + beta) / (n_k + V beta)   fully collapsed
                               q_k = phi_wk                           topics given

A call draws the tokens of some documents in one word group (`supertopic.kernels.gibbs_layout`). Calls that run at once
share no document and no word, and each has its own copy of n_k, which only matters where topics are integrated out.

**No exponential per token.** A document keeps the factor that its tokens share, at a score r near its own score,

    share_k = (n_dk + alpha_k) / (n_k + V beta) exp( sum_c coef_ck/N (b_dc - omega_dc r_c) - 1/2 ... )

so that the weight of a topic is share_k (n_wk + beta) exp(x_k), x_k = sum_c coef_ck omega_dc (r_c - s_c)/N. While
|x| <= NEAR, a cubic gives that exponential to 2e-6; beyond, r is moved to s and the shares are computed again. Without
omega, x = 0 and there is no cubic. Weights are formed 16 topics at a time; lane l of their running sum holds topics l,
l + 16, ... A draw picks the lane by a prefix sum over the 16 lane totals, then the place in the lane.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, models, register_model

LANES = 16
NEAR = 0.125
AHEAD = 6  # tokens between asking for a word's row and its use
FAST = {"contract", "nsz", "arcp", "nnan"}  # n - 1 + beta must not become n + (beta - 1)


class Lanes(types.Opaque):
    """Numba's type of 16 float32 in vector registers."""


FLOATS = Lanes("DocumentLanes")
_int, _floats, _ints = ir.IntType(32), ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(32), LANES)
_zeros = ir.Constant(_floats, [0.0] * LANES)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _floats)


def _place(context, build, signature, args, item):
    """The address of an array's (argument 0) flat position (argument 1), for a number or a vector there."""
    data = context.make_array(signature.args[0])(context, build, args[0]).data
    return build.bitcast(build.gep(data, [args[1]]), item.as_pointer())


def _spread(build, value, vector):
    """A scalar in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = build.insert_element(empty, value, _int(0))
    return build.shuffle_vector(first, empty, ir.Constant(_ints, [0] * LANES))


def _llvm(build, name, result, *args):
    kind = ir.FunctionType(result, [value.type for value in args])
    return build.call(build.module.declare_intrinsic(name, fnty=kind), args)


@intrinsic
def add(typing, a, b):
    return FLOATS(a, b), lambda _, build, __, args: build.fadd(*args, flags=("contract",))


@intrinsic
def multiply(typing, a, b):
    return FLOATS(a, b), lambda _, build, __, args: build.fmul(*args, flags=("contract",))


@intrinsic
def spread(typing, value):
    """16 times a number."""
    return FLOATS(types.float32), lambda _, build, __, args: _spread(build, args[0], _floats)


@intrinsic
def load(typing, array, start, size):
    """`size` <= 16 numbers of `array` from flat position `start`, as float32; zeros behind them. 16: a plain load."""

    def write(context, build, signature, args):
        real = signature.args[0].dtype == types.float32
        vector, name = (_floats, "v16f32") if real else (_ints, "v16i32")
        place, zeros = _place(context, build, signature, args, vector), ir.Constant(vector, [0] * LANES)
        mask = build.icmp_signed("<", ir.Constant(_ints, list(range(LANES))), _spread(build, args[2], _ints))
        value = _llvm(build, f"llvm.masked.load.{name}.p0", vector, place, _int(4), mask, zeros)
        return value if real else build.sitofp(value, _floats)

    return FLOATS(array, types.intp, types.int32), write


@intrinsic
def store(typing, array, start, value):
    """Write 16 float32 to `array` from flat position `start`."""

    def write(context, build, signature, args):
        build.store(args[2], _place(context, build, signature, args, _floats), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), write


@intrinsic
def prefetch(typing, array, position):
    """Ask for a cache line: words come in no order, but are known ahead."""

    def write(context, build, signature, args):
        place = _place(context, build, signature, args, ir.IntType(8))
        _llvm(build, "llvm.prefetch.p0", ir.VoidType(), place, _int(0), _int(3), _int(1))
        return context.get_dummy_value()

    return types.void(array, types.intp), write


@intrinsic
def replace(typing, values, keys, key, value):
    """`values`, but `value` where `keys` equals `key`."""

    def write(context, build, signature, args):
        there = build.fcmp_ordered("==", args[1], _spread(build, args[2], _floats))
        return build.select(there, _spread(build, args[3], _floats), args[0])

    return FLOATS(values, keys, types.float32, types.float32), write


@intrinsic
def prefix_sums(typing, values):
    """Lane l becomes the sum of lanes 0 to l."""

    def write(context, build, signature, args):
        value = args[0]
        for step in (1, 2, 4, 8):
            moved = ir.Constant(_ints, [lane - step if lane >= step else LANES for lane in range(LANES)])
            value = build.fadd(value, build.shuffle_vector(value, _zeros, moved))
        return value

    return FLOATS(values), write


@intrinsic
def count_not_above(typing, values, limit):
    """How many lanes are <= limit; for prefix sums, the lane where a draw falls."""

    def write(context, build, signature, args):
        below = build.fcmp_ordered("<=", args[0], _spread(build, args[1], _floats))
        return build.ctpop(build.zext(build.bitcast(below, ir.IntType(LANES)), ir.IntType(64)))

    return types.int64(values, types.float32), write


@njit(cache=True, nogil=True, inline="always")
def uniform(key, index):
    """u in [0, 1) with 24 bits: splitmix64 of (key, index)."""
    x = key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32((x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@njit(cache=True, nogil=True, forceinline=True, fastmath=FAST, error_model="numpy")
def exponentials(power, size):
    """power[:size] becomes exp(power - its largest), to a relative 6e-6, 0 below exp(-85).

    The exponent's bits and a polynomial: this vectorises. Up to 31 numbers behind `size` are overwritten.
    """
    padded = size + -size % 32
    for k in range(size, padded):
        power[k] = power[0]
    # The largest by way of integers that order as the floats do: a maximum of floats does not vectorise.
    bits, flip, top = power.view(np.int32), np.int32(0x7FFFFFFF), np.int32(-0x7FFFFFFF)
    for k in range(padded):
        top = max(top, np.int32(bits[k] ^ ((bits[k] >> np.int32(31)) & flip)))
    largest = np.int32(top ^ ((top >> np.int32(31)) & flip)).view(np.float32)
    for k in range(padded):
        x = max((power[k] - largest) * np.float32(1.44269504), np.float32(-124.0))
        whole = np.int32(x - np.float32(0.5))  # x <= 0: truncation rounds to the nearest
        part = (x - np.float32(whole)) * np.float32(0.69314718)
        series = np.float32(1.0 / 24.0) + part * np.float32(1.0 / 120.0)
        series = np.float32(1.0 / 6.0) + part * series
        series = np.float32(0.5) + part * series
        series = np.float32(1.0) + part * series
        series = np.float32(1.0) + part * series
        scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
        power[k] = series * scale if x > np.float32(-124.0) else np.float32(0.0)


@njit(cache=True, nogil=True, forceinline=True, fastmath=FAST, error_model="numpy", _nrt=False)
def _set_shares(n_columns, coefs, slope, curve, count, alpha, inverse, lower, factor, share, own_share):
    """factor_k = exp(sum_c slope_c coef_ck - 1/2 curve_c coef_ck^2) up to a constant, and the shares with it."""
    n_topics, one = alpha.shape[0], np.float32(1)
    factor[:n_topics] = 0
    for c in range(n_columns):
        for k in range(n_topics):
            factor[k] += coefs[c, k] * (slope[c] - np.float32(0.5) * curve[c] * coefs[c, k])
    exponentials(factor, n_topics)
    for k in range(n_topics):
        share[k] = (count[k] + alpha[k]) * inverse[k] * factor[k]
        own_share[k] = (count[k] - one + alpha[k]) * lower[k] * factor[k]


@njit(cache=True, nogil=True, inline="always")
def _mix(coefs, shift):
    """The last row of coefs becomes x, the sum of the rows before it times their shifts."""
    n_columns, width = coefs.shape[0] - 1, coefs.shape[1]
    for k in range(0, width, LANES):
        x = multiply(load(coefs, k, LANES), spread(shift[0]))
        for c in range(1, n_columns):
            x = add(x, multiply(load(coefs, c * width + k, LANES), spread(shift[c])))
        store(coefs, n_columns * width + k, x)


@njit(cache=True, nogil=True, inline="always")
def _dot(a, b, start, n_topics, running):
    """The inner product of a and b from `start` on, both padded by zeros."""
    total = spread(0.0)
    for k in range(0, n_topics, LANES):
        total = add(total, multiply(load(a, k, LANES), load(b, start + k, LANES)))
    store(running, 1, prefix_sums(total))
    return running[LANES]


@njit(cache=True, nogil=True, inline="always")
def _near_one(x):
    """exp(x) for |x| <= NEAR, to a relative 2e-6: its Taylor series with x^4 economised away."""
    value = add(multiply(x, spread(1 / 6)), spread(0.5 + NEAR**2 / 24))
    value = add(multiply(x, value), spread(1.0))
    return add(multiply(x, value), spread(1.0 - NEAR**4 / 192))


@njit(cache=True, nogil=True, inline="always")
def _weigh(values, k, beta, share, place, old, own, coef, row, shift, curved):
    """The weights of topics k to k + 15, given the word's row there; topic `old` has the weight `own` times exp(x)."""
    weight = replace(multiply(add(values, spread(beta)), load(share, k, LANES)), load(place, k, LANES), old, own)
    if not curved:
        return weight
    return multiply(weight, _near_one(multiply(load(coef, row + k, LANES), spread(shift))))


@njit(cache=True, nogil=True, inline="always")
def _sum_lanes(rows, first, n_topics, beta, share, place, old, own, coef, row, shift, curved, running):
    """Lane l of the result is the sum of the weights l, l + 16, ...; running[32 + k] is that sum up to topic k."""
    full = n_topics - n_topics % LANES
    total = spread(0.0)
    for k in range(0, full, LANES):
        values = load(rows, first + k, LANES)
        total = add(total, _weigh(values, k, beta, share, place, old, own, coef, row, shift, curved))
        store(running, 2 * LANES + k, total)
    if full < n_topics:
        values = load(rows, first + full, n_topics - full)
        total = add(total, _weigh(values, full, beta, share, place, old, own, coef, row, shift, curved))
        store(running, 2 * LANES + full, total)
    return total


@njit(cache=True, nogil=True, inline="always")
def _draw(rows, word, ahead, beta, share, place, old, own, coef, row, shift, curved, u, running):
    """Draw a topic by its weight. rows : n_wk or phi; own : the weight of topic `old` at x = 0."""
    n_topics = rows.shape[1]
    for k in range(0, n_topics, LANES):
        prefetch(rows, ahead * n_topics + k)
    first = word * n_topics
    if curved:
        total = _sum_lanes(rows, first, n_topics, beta, share, place, old, own, coef, row, shift, True, running)
    else:
        total = _sum_lanes(rows, first, n_topics, beta, share, place, old, own, coef, row, shift, False, running)
    sums = prefix_sums(total)
    store(running, 1, sums)
    rest = u * running[LANES]
    lane = min(count_not_above(sums, rest), min(n_topics, LANES) - 1)  # empty lanes' sums differ by rounding
    rest -= running[lane]
    new = lane
    for k in range(2 * LANES, 2 * LANES + n_topics, LANES):
        new += LANES if running[k + lane] <= rest else 0
    return min(new, n_topics - 1 - ((n_topics - 1 - lane) % LANES))  # rounding may step over the lane's last


def make_scratch(n_topics, n_columns):
    """Scratch arrays of one call of `sweep_documents`: numbers by topic or column, and the padded coefficients."""
    width = n_topics + -n_topics % 32
    rows = np.zeros((14, max(width + 2 * LANES, n_columns)), dtype=np.float32)
    return rows, np.zeros((n_columns + 1, width), dtype=np.float32)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", _nrt=False)
def sweep_documents(
    start, stop, doc_ptr, doc_length, token_word, topic, doc_topic, b, omega, coef, word_topic_count, topic_count,
    topics, alpha, which, beta, beta_sum, collapsed, seed, sweep, scratch,
):  # fmt: skip
    """Draw the tokens of documents start : stop in one word group; returns how many changed their topic.

    Parameters
    ----------
    start, stop : int; doc_length : (D,) int64, N of each document, in all word groups
    doc_ptr : (D + 1,) int64, the group's row: document d has the tokens doc_ptr[d] : doc_ptr[d + 1] in it
    token_word : (N,) int32; topic : (N,) uint16, changed
    doc_topic : (D, K) float32, n_dk over all word groups, changed
    b, omega : (D, C) float32; coef : (C, K) float32
    word_topic_count, topic_count : (V, K) int32 and (K,) int64, changed; untouched when the topics are given
    topics : (V, K) float32, phi; (0, 0) when collapsed
    alpha : (R, K) float32; which : (D,) int32, the row of each document; beta, beta_sum : float32, beta and V beta
    collapsed : bool; seed, sweep : int, with the token's place they make its uniform
    scratch : `make_scratch(K, C)`
    """
    rows, coefs = scratch
    count, share, own_share, factor, inverse, lower = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    running, place, slope, curve = rows[6], rows[7], rows[8], rows[9]
    total, gap, shift, largest_coef = rows[10], rows[11], rows[12], rows[13]
    one, n_topics, n_columns, changed, final = np.float32(1), alpha.shape[1], len(coef), 0, doc_ptr[stop] - 1
    row = 0 if n_columns == 1 else n_columns * coefs.shape[1]  # of coefs: x is that row times a scale
    rows[:] = 0
    place[:] = -1
    beta = beta if collapsed else np.float32(0)
    for k in range(n_topics):
        inverse[k] = one / (np.float32(topic_count[k]) + beta_sum) if collapsed else one
        lower[k] = one / (np.float32(topic_count[k] - 1) + beta_sum) if collapsed else one
        place[k] = k
    for c in range(n_columns):
        for k in range(n_topics):
            coefs[c, k] = coef[c, k]
            largest_coef[c] = max(largest_coef[c], abs(coef[c, k]))
    key = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D)
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xDABA0B6EB09322E3)
    for doc in range(start, stop):
        if doc_ptr[doc] == doc_ptr[doc + 1]:
            continue
        per_token, prior = one / np.float32(doc_length[doc]), alpha[which[doc]]
        for k in range(n_topics):
            count[k] = doc_topic[doc, k]
        curved = False
        for c in range(n_columns):
            curved |= omega[doc, c] != 0
            curve[c] = omega[doc, c] * per_token * per_token
            total[c], gap[c] = _dot(count, coefs, c * coefs.shape[1], n_topics, running), 0
            slope[c] = b[doc, c] * per_token - curve[c] * total[c]
        _set_shares(n_columns, coefs, slope, curve, count, prior, inverse, lower, factor, share, own_share)
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word, old = np.int64(token_word[token]), np.int64(topic[token])
            if curved:
                bound = np.float32(0)
                for c in range(n_columns):
                    shift[c] = curve[c] * (gap[c] + coef[c, old])
                    bound += abs(shift[c]) * largest_coef[c]
                if bound > np.float32(NEAR):
                    for c in range(n_columns):
                        total[c] -= gap[c] + coef[c, old]
                        gap[c] = -coef[c, old]
                        slope[c] = b[doc, c] * per_token - curve[c] * total[c]
                        shift[c] = 0
                    _set_shares(n_columns, coefs, slope, curve, count, prior, inverse, lower, factor, share, own_share)
                if n_columns > 1:
                    _mix(coefs, shift)
            scale = shift[0] if n_columns == 1 else one
            u, ahead = uniform(key, token), np.int64(token_word[min(token + AHEAD, final)])
            if collapsed:
                own = own_share[old] * (np.float32(word_topic_count[word, old] - 1) + beta)
                new = _draw(
                    word_topic_count, word, ahead, beta, share, place, old, own, coefs, row, scale, curved, u, running
                )  # fmt: skip
            else:
                own = own_share[old] * topics[word, old]
                new = _draw(topics, word, ahead, beta, share, place, old, own, coefs, row, scale, curved, u, running)
            if new == old:
                continue
            changed += 1
            topic[token] = new
            for c in range(n_columns):
                gap[c] += coef[c, old] - coef[c, new]
            for k, step in ((old, -1), (new, 1)):
                count[k] += np.float32(step)
                if collapsed:
                    word_topic_count[word, k] += step
                    topic_count[k] += step
                    inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
                    lower[k] = one / (np.float32(topic_count[k] - 1) + beta_sum)
                share[k] = (count[k] + prior[k]) * inverse[k] * factor[k]
                own_share[k] = (count[k] - one + prior[k]) * lower[k] * factor[k]
        for k in range(n_topics):
            doc_topic[doc, k] = count[k]
    return changed
