"""Document-major Gibbs sweeps with a response: the seam of the supervised sampler, and of folding in.

Token of word w in document d of N tokens, all counts without the token itself:

    p(z = k) ∝ (n_dk + alpha_k) q_k exp( sum_c coef_ck/N (b_dc - omega_dc s_c) - 1/2 omega_dc coef_ck^2/N^2 )

    s_c = coef_c . n_d / N,    q_k = (n_wk + beta) / (n_k + V beta)   fully collapsed: one range at a time
                               q_k = phi_wk                           topics given: any ranges at once

**No exponential per token.** A document keeps everything but the word, at a score r near its own,

    share_k = (n_dk + alpha_k) / (n_k + V beta) exp( sum_c coef_ck/N (b_dc - omega_dc r_c) - 1/2 ... )

so that a token's weights are share_k (n_wk + beta) exp(x_k), x_k = sum_c coef_ck omega_dc (r_c - s_c)/N. Within
|x| <= NEAR a cubic is that exponential to 2e-6; a token that is further off moves r to its own s (`_set_shares`).
No column of responses (C = 0), or none with a curve (no label, or a linear response), has x = 0 and no cubic.

Weights are formed 16 topics at a time; lane l of their running sum holds topics l, l + 16, ... A draw picks the
lane by a prefix sum over the 16 lane totals, then the place in it.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, models, register_model

LANES = 16
NEAR = 0.125
AHEAD = 6  # tokens between asking for a word's row and its use
SCRATCH_ROWS = 10
FAST = {"reassoc", "contract", "nsz", "arcp", "nnan"}


class Lanes(types.Type):
    """Numba's type of 16 float32 in vector registers."""

    def __init__(self):
        super().__init__(name="DocumentLanes")


FLOATS = Lanes()
_int, _floats, _ints = ir.IntType(32), ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(32), LANES)
_zeros, _first_to_last = ir.Constant(_floats, [0.0] * LANES), ir.Constant(_ints, list(range(LANES)))


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _floats)


def _address(context, build, signature, args):
    """Where an array (argument 0) has its item at a flat position (argument 1)."""
    data = context.make_array(signature.args[0])(context, build, args[0]).data
    return build.gep(data, [context.cast(build, args[1], signature.args[1], types.intp)])


def _spread(build, value, vector):
    """A scalar in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = build.insert_element(empty, value, _int(0))
    return build.shuffle_vector(first, empty, ir.Constant(_ints, [0] * LANES))


def _llvm(build, name, result, *args):
    kind = ir.FunctionType(result, [value.type for value in args])
    return build.call(build.module.declare_intrinsic(name, fnty=kind), args)


def _arithmetic(operation):
    """A numba function of two vectors."""

    def call(typing, a, b):
        return FLOATS(a, b), lambda _, build, __, args: getattr(build, operation)(*args, flags=("contract",))

    return intrinsic(call)


add, multiply = _arithmetic("fadd"), _arithmetic("fmul")


@intrinsic
def spread(typing, value):
    """16 times a float32."""

    def write(context, build, signature, args):
        return _spread(build, context.cast(build, args[0], value, types.float32), _floats)

    return FLOATS(value), write


def _loader(part):
    """A numba function: 16 numbers of `array` from flat position `start`, as float32; with `part`, fewer, then zeros."""

    def write(context, build, signature, args):
        real = signature.args[0].dtype == types.float32
        vector = _floats if real else _ints
        place = build.bitcast(_address(context, build, signature, args), vector.as_pointer())
        if part:
            wanted = _spread(build, context.cast(build, args[2], signature.args[2], types.int32), _ints)
            mask = build.icmp_signed("<", _first_to_last, wanted)
            name = "llvm.masked.load.v16f32.p0" if real else "llvm.masked.load.v16i32.p0"
            value = _llvm(build, name, vector, place, _int(4), mask, ir.Constant(vector, [0] * LANES))
        else:
            value = build.load(place, align=4)
        return value if real else build.sitofp(value, _floats)

    def whole(typing, array, start):
        return FLOATS(array, start), write

    def some(typing, array, start, size):
        return FLOATS(array, start, size), write

    return intrinsic(some if part else whole)


load, load_part = _loader(part=False), _loader(part=True)


@intrinsic
def store(typing, array, start, value):
    """Write 16 float32 to `array` from flat position `start`."""

    def write(context, build, signature, args):
        place = build.bitcast(_address(context, build, signature, args), _floats.as_pointer())
        build.store(args[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, start, value), write


@intrinsic
def replace(typing, values, lane, value):
    """`values`, but `value` in a lane; as they are when there is no such lane."""

    def write(context, build, signature, args):
        wanted = _spread(build, context.cast(build, args[1], lane, types.int32), _ints)
        new = _spread(build, context.cast(build, args[2], value, types.float32), _floats)
        return build.select(build.icmp_signed("==", _first_to_last, wanted), new, args[0])

    return FLOATS(values, lane, value), write


@intrinsic
def prefix_sums(typing, values):
    """Lane l becomes the sum of lanes 0 to l."""

    def write(context, build, signature, args):
        value = args[0]
        for step in (1, 2, 4, 8):
            moved = [lane - step if lane >= step else LANES for lane in range(LANES)]
            value = build.fadd(value, build.shuffle_vector(value, _zeros, ir.Constant(_ints, moved)))
        return value

    return FLOATS(values), write


@intrinsic
def last(typing, values):
    """The number in the last lane."""
    return types.float32(values), lambda context, build, _, args: build.extract_element(args[0], _int(LANES - 1))


@intrinsic
def count_not_above(typing, values, limit):
    """How many lanes are <= limit; for prefix sums, the lane where a draw falls."""

    def write(context, build, signature, args):
        below = build.fcmp_ordered("<=", args[0], _spread(build, args[1], _floats))
        return build.ctpop(build.zext(build.bitcast(below, ir.IntType(LANES)), ir.IntType(64)))

    return types.int64(values, types.float32), write


@intrinsic
def prefetch(typing, array, position):
    """Ask for a cache line: words come in no order, but are known ahead."""

    def write(context, build, signature, args):
        place = build.bitcast(_address(context, build, signature, args), ir.IntType(8).as_pointer())
        _llvm(build, "llvm.prefetch.p0", ir.VoidType(), place, _int(0), _int(3), _int(1))
        return context.get_dummy_value()

    return types.void(array, position), write


@njit(cache=True, nogil=True, inline="always")
def uniform(key, index):
    """u in [0, 1) with 24 bits: splitmix64 of (key, index)."""
    x = key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32((x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def exponentials(power, size):
    """power[:size] becomes exp(power - its largest), to a relative 6e-6, 0 below exp(-85).

    2^x: the whole part goes into the exponent's bits, the rest through a polynomial of degree 5. This vectorises,
    which a call of the library's exponential does not. Up to 31 numbers behind `size` are overwritten.
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


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", _nrt=False)
def _set_shares(lean, count, alpha, inverse, slope, curve, factor, share):
    """factor_k = exp(sum_c slope_c coef_ck - curve_c coef_ck^2) up to a constant, share_k = (n_dk + alpha_k) ..."""
    n_topics = alpha.shape[0]
    factor[:n_topics] = 0
    for c in range(lean.shape[0]):
        for k in range(n_topics):
            factor[k] += lean[c, k] * (slope[c] - curve[c] * lean[c, k])
    if lean.shape[0] > 0:
        exponentials(factor, n_topics)
    else:
        factor[:n_topics] = 1
    for k in range(n_topics):
        share[k] = (count[k] + alpha[k]) * inverse[k] * factor[k]


@njit(cache=True, nogil=True, inline="always")
def _near_one(x):
    """exp(x) for |x| <= NEAR, to a relative 2e-6: its Taylor series with x^4 economised away."""
    near = NEAR
    value = add(multiply(x, spread(np.float32(1 / 6))), spread(np.float32(0.5 + near**2 / 24)))
    value = add(multiply(x, value), spread(np.float32(1.0)))
    return add(multiply(x, value), spread(np.float32(1.0 - near**4 / 192)))


@njit(cache=True, nogil=True, inline="always")
def _weigh(values, k, beta, share, lean, shift, n_shifts, old, own):
    """The weights of topics k to k + 15, given the row of the word there; topic `old` weighs `own`, but for x."""
    weight = replace(multiply(add(values, spread(beta)), load(share, k)), old - k, own)
    if n_shifts == 0:
        return weight
    x = multiply(load(lean, k), spread(shift[0]))
    for c in range(1, n_shifts):
        x = add(x, multiply(load(lean, c * lean.shape[1] + k), spread(shift[c])))
    return multiply(weight, _near_one(x))


@njit(cache=True, nogil=True, inline="always")
def _draw(rows, word, n_topics, beta, share, lean, shift, n_shifts, old, own, u, running):
    """A topic in proportion to its weight; running[32 + k] is the sum of the weights k, k - 16, ..."""
    full = n_topics - n_topics % LANES
    total = spread(np.float32(0))
    for k in range(0, full, LANES):
        values = load(rows, word * n_topics + k)
        total = add(total, _weigh(values, k, beta, share, lean, shift, n_shifts, old, own))
        store(running, 2 * LANES + k, total)
    if full < n_topics:
        values = load_part(rows, word * n_topics + full, n_topics - full)
        total = add(total, _weigh(values, full, beta, share, lean, shift, n_shifts, old, own))
        store(running, 2 * LANES + full, total)
    sums = prefix_sums(total)
    store(running, 1, sums)
    rest = u * last(sums)
    lane = min(count_not_above(sums, rest), min(n_topics, LANES) - 1)  # empty lanes' sums differ by rounding
    rest -= running[lane]
    new = lane
    for k in range(2 * LANES + lane, 2 * LANES + n_topics, LANES):
        new += LANES if running[k] <= rest else 0
    return min(new, n_topics - 1 - ((n_topics - 1 - lane) % LANES))  # rounding may step over the lane's last


def make_scratch(n_topics, n_columns):
    """What a range of documents works in: (scratch, lean) of `sweep_documents`, for one range at a time."""
    width = n_topics + -n_topics % 32
    rows = np.zeros((SCRATCH_ROWS, max(width + 2 * LANES, n_columns)), dtype=np.float32)
    return rows, np.zeros((n_columns, width), dtype=np.float32)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", _nrt=False)
def sweep_documents(
    start, stop, doc_ptr, token_word, topic, doc_topic, b, omega, coef, word_topic_count, topic_count, topics,
    alpha, beta, beta_sum, collapsed, seed, sweep, scratch,
):  # fmt: skip
    """Draw the tokens of documents start : stop; returns how many changed their topic.

    Parameters
    ----------
    start, stop : int
    doc_ptr : (D + 1,) int64, document d has tokens doc_ptr[d] : doc_ptr[d + 1]
    token_word : (N,) int32
    topic : (N,) uint16, changed
    doc_topic : (D, K) float32, n_dk after the sweep is added; or (0, K)
    b, omega : (D, C) float32
    coef : (C, K) float32
    word_topic_count : (V, K) int32, changed; (0, K) when the topics are given
    topic_count : (K,) int64, changed; untouched when the topics are given
    topics : (V, K) float32, phi; (0, 0) when collapsed
    alpha : (K,) float32
    beta, beta_sum : float32, beta and V beta
    collapsed : bool
    seed, sweep : int, with the token's place they make its uniform
    scratch : `make_scratch(K, C)`
    """
    rows, lean = scratch
    count, share, factor, inverse, running = rows[0], rows[1], rows[2], rows[3], rows[4]
    score, slope, curve, shift, reach = rows[5], rows[6], rows[7], rows[8], rows[9]
    one, n_topics, n_columns = np.float32(1), alpha.shape[0], coef.shape[0]
    rows[:] = 0
    inverse[:n_topics] = 1
    beta = beta if collapsed else np.float32(0)
    if collapsed:
        for k in range(n_topics):
            inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
    for c in range(n_columns):
        for k in range(n_topics):
            lean[c, k] = coef[c, k]
            reach[c] = max(reach[c], abs(coef[c, k]))
    key = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D)
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xDABA0B6EB09322E3)
    changed, final = 0, doc_ptr[stop] - 1
    for doc in range(start, stop):
        length = np.float32(doc_ptr[doc + 1] - doc_ptr[doc])
        count[:n_topics] = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            count[topic[token]] += one
        n_shifts = 0
        for c in range(n_columns):
            n_shifts = n_columns if omega[doc, c] != 0 else n_shifts
            score[c] = 0
            for k in range(n_topics):
                score[c] += coef[c, k] * count[k]
            score[c] /= length
            slope[c] = (b[doc, c] - omega[doc, c] * score[c]) / length
            curve[c] = np.float32(0.5) * omega[doc, c] / (length * length)
        _set_shares(lean, count, alpha, inverse, slope, curve, factor, share)
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word, old = np.int64(token_word[token]), np.int64(topic[token])
            if n_shifts > 0:
                far = np.float32(0)
                for c in range(n_columns):
                    left = score[c] - coef[c, old] / length
                    shift[c] = (b[doc, c] - omega[doc, c] * left) / length - slope[c]
                    far += abs(shift[c]) * reach[c]
                if far > np.float32(NEAR):
                    for c in range(n_columns):
                        slope[c] += shift[c]
                        shift[c] = 0
                    _set_shares(lean, count, alpha, inverse, slope, curve, factor, share)
            own = (count[old] - one + alpha[old]) * factor[old]
            u = uniform(key, token)
            ahead = np.int64(token_word[min(token + AHEAD, final)]) * n_topics
            if collapsed:
                for k in range(0, n_topics, LANES):
                    prefetch(word_topic_count, ahead + k)
                own *= np.float32(word_topic_count[word, old]) - one + beta
                own /= np.float32(topic_count[old]) - one + beta_sum
                new = _draw(word_topic_count, word, n_topics, beta, share, lean, shift, n_shifts, old, own, u, running)
            else:
                for k in range(0, n_topics, LANES):
                    prefetch(topics, ahead + k)
                own *= topics[word, old]
                new = _draw(topics, word, n_topics, beta, share, lean, shift, n_shifts, old, own, u, running)
            if new == old:
                continue
            changed += 1
            topic[token] = new
            for c in range(n_columns):
                score[c] += (coef[c, new] - coef[c, old]) / length
            for k, step in ((old, -1), (new, 1)):
                count[k] += np.float32(step)
                if collapsed:
                    word_topic_count[word, k] += step
                    topic_count[k] += step
                    inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
                share[k] = (count[k] + alpha[k]) * inverse[k] * factor[k]
        if doc_topic.shape[0] > 0:
            for k in range(n_topics):
                doc_topic[doc, k] += count[k]
    return changed


@njit(cache=True, nogil=True)
def expand_documents(indptr, indices, data, doc_ptr, token_word):
    """Document-major tokens of a CSR of counts; doc_ptr (D + 1,) int64 holds the running sum of tokens."""
    for doc in range(len(indptr) - 1):
        token = doc_ptr[doc]
        for place in range(indptr[doc], indptr[doc + 1]):
            for _ in range(np.int64(data[place])):
                token_word[token] = indices[place]
                token += 1


@njit(cache=True, nogil=True)
def count_words(token_word, topic, start, stop, word_topic_count):
    """Add tokens start : stop to n_wk (V, K), any number type."""
    for token in range(start, stop):
        word_topic_count[token_word[token], topic[token]] += 1
