"""Word-major Gibbs sweeps for latent Dirichlet allocation.

Token of word w in document d, all counts without the token itself:

    p(z = k) ∝ (n_dk + alpha_k) q_k,    q_k = (n_wk + beta) / (n_k + V beta)   fully collapsed
                                        q_k = phi_wk                           partially: topics given

Words are visited one after another, so that q is one row that stays in the first-level cache. For small K, the counts
of a document are a dense row, and the weights of all topics are formed. For large K, they are a list of its topics, and

    p(k) = n_dk q_k + alpha_k q_k:

the first part costs the length of the list; the second is known from sums over every sixteenth topic and is searched
only when the draw falls into it. Both are exact, without alias tables, proposals or delayed counts.

**Groups.** Documents and words are cut into P groups. Task (i, j) sweeps the tokens of document group i and word group
j. The P tasks (i, (i + e) mod P) of epoch e share no document and no word and may run at once. Each has its own copy of
n_k, and the changes are added up when the epoch ends. The lag of n_k within an epoch is the only approximation; there
is none when P = 1 or when the topics are given. P depends on the corpus alone.

Weights are formed 16 topics at a time; lane l of their running sum holds topics l, l + 16, ... A draw picks the lane by
a prefix sum over the 16 lane totals, then the place in the lane.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, models, register_model

LANES = 16


class Lanes(types.Type):
    """Numba's type of 16 numbers in vector registers."""

    def __init__(self, kind):
        self.kind = kind
        super().__init__(name=f"Lanes[{kind}]")


FLOATS, INTS = Lanes("float32"), Lanes("int32")
_int, _bool, _byte = ir.IntType(32), ir.IntType(1), ir.IntType(8)
_floats, _ints = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_int, LANES)
_zeros = ir.Constant(_floats, [0.0] * LANES)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _floats if lanes.kind == "float32" else _ints)


class _Call:
    """One call of a vector function, and its arguments as LLVM values."""

    def __init__(self, context, builder, signature, args):
        self.context, self.build, self.types, self.args = context, builder, signature.args, args

    def data(self):
        return self.context.make_array(self.types[0])(self.context, self.build, self.args[0]).data

    def address(self):
        """Argument 0 is an array, the next one a flat position in it."""
        position = self.context.cast(self.build, self.args[1], self.types[1], types.intp)
        return self.build.gep(self.data(), [position])

    def spread(self, i, scalar):
        """16 times argument i."""
        vector = ir.Constant(_floats if scalar == types.float32 else _ints, ir.Undefined)
        value = self.context.cast(self.build, self.args[i], self.types[i], scalar)
        first = self.build.insert_element(vector, value, _int(0))
        return self.build.shuffle_vector(first, vector, ir.Constant(_ints, [0] * LANES))

    def equal(self, i, j):
        return self.build.icmp_signed("==", self.args[i], self.spread(j, types.int32))

    def bits(self, mask):
        return self.build.zext(self.build.bitcast(mask, ir.IntType(LANES)), ir.IntType(64))

    def llvm(self, name, result, *args):
        kind = ir.FunctionType(result, [value.type for value in args])
        return self.build.call(self.build.module.declare_intrinsic(name, fnty=kind), args)


def _vector_function(result, arity, write):
    """A numba function of one or two arguments that `write(call)` spells in LLVM."""

    def one(typing, a):
        return result(a), lambda *call: write(_Call(*call))

    def two(typing, a, b):
        return result(a, b), lambda *call: write(_Call(*call))

    return intrinsic(one if arity == 1 else two)


def _prefix_sums(call):
    value = call.args[0]
    for step in (1, 2, 4, 8):
        moved = [lane - step if lane >= step else LANES for lane in range(LANES)]
        value = call.build.fadd(value, call.build.shuffle_vector(value, _zeros, ir.Constant(_ints, moved)))
    return value


def _count_not_above(call):
    below = call.build.fcmp_ordered("<=", call.args[0], call.spread(1, types.float32))
    return call.build.ctpop(call.bits(below))


def _prefetch(call):
    place = call.build.bitcast(call.address(), _byte.as_pointer())
    call.llvm("llvm.prefetch.p0", ir.VoidType(), place, _int(0), _int(3), _int(1))
    return call.context.get_dummy_value()


def _gather(call):
    places = call.build.gep(call.data(), [call.args[1]], source_etype=ir.FloatType())
    places.type = ir.VectorType(places.type, LANES)  # llvmlite takes every address for a scalar
    everywhere = ir.Constant(ir.VectorType(_bool, LANES), [1] * LANES)
    return call.llvm("llvm.masked.gather.v16f32.v16p0", _floats, places, _int(4), everywhere, _zeros)


add = _vector_function(FLOATS, 2, lambda call: call.build.fadd(*call.args, flags=("contract",)))
multiply = _vector_function(FLOATS, 2, lambda call: call.build.fmul(*call.args, flags=("contract",)))
floats = _vector_function(FLOATS, 1, lambda call: call.build.sitofp(call.args[0], _floats))
spread = _vector_function(FLOATS, 1, lambda call: call.spread(0, types.float32))
last = _vector_function(types.float32, 1, lambda call: call.build.extract_element(call.args[0], _int(15)))
low_bits = _vector_function(INTS, 2, lambda call: call.build.and_(call.args[0], call.spread(1, types.int32)))
high_bits = _vector_function(INTS, 2, lambda call: call.build.lshr(call.args[0], call.spread(1, types.int32)))
# count_up(n): n, n + 1, ..., n + 15.
count_up = _vector_function(
    INTS, 1, lambda call: call.build.add(call.spread(0, types.int32), ir.Constant(_ints, list(range(LANES))))
)
# prefix_sums(a): lane l becomes a_0 + ... + a_l.
prefix_sums = _vector_function(FLOATS, 1, _prefix_sums)
# count_not_above(a, limit): how many lanes are <= limit; for prefix sums, the lane where the draw falls.
count_not_above = _vector_function(types.int64, 2, _count_not_above)
# first_equal(keys, key): the first lane of keys that is key, 64 when there is none.
first_equal = _vector_function(types.int64, 2, lambda call: call.build.cttz(call.bits(call.equal(0, 1)), _bool(0)))
# gather(array, indices): array[index] for 16 indices.
gather = _vector_function(FLOATS, 2, _gather)
# prefetch(array, position): documents are visited out of order, but known ahead.
prefetch = _vector_function(types.void, 2, _prefetch)


@intrinsic
def load(typing, array, start):
    """16 numbers of `array` from flat position `start`; integers come as int32."""
    width, kind = array.dtype.bitwidth, FLOATS if array.dtype == types.float32 else INTS

    def write(*call):
        call = _Call(*call)
        vector = _floats if kind is FLOATS else ir.VectorType(ir.IntType(width), LANES)
        value = call.build.load(call.build.bitcast(call.address(), vector.as_pointer()), align=width // 8)
        return value if width == 32 else call.build.zext(value, _ints)

    return kind(array, start), write


@intrinsic
def store(typing, array, start, value):
    """Write 16 float32 to `array` from flat position `start`."""

    def write(*call):
        call = _Call(*call)
        call.build.store(call.args[2], call.build.bitcast(call.address(), _floats.as_pointer()), align=4)
        return call.context.get_dummy_value()

    return types.void(array, start, value), write


@intrinsic
def replace(typing, values, keys, key, value):
    """`values`, but `value` where `keys` equals `key`."""

    def write(*call):
        call = _Call(*call)
        return call.build.select(call.equal(1, 2), call.spread(3, types.float32), call.args[0])

    return FLOATS(values, keys, key, value), write


@njit(cache=True, nogil=True, inline="always")
def uniform(key, index):
    """u in [0, 1) with 24 bits: splitmix64 of (key, index)."""
    x = key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32((x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@njit(cache=True, nogil=True, inline="always")
def _load_word(word, word_topic_count, topics, beta, inverse, collapsed, q):
    """Fill q for a word."""
    n_topics = word_topic_count.shape[1]
    full = n_topics - n_topics % LANES
    if not collapsed:
        for k in range(n_topics):
            q[k] = topics[word, k]
        return
    for k in range(0, full, LANES):
        counts = add(floats(load(word_topic_count, word * n_topics + k)), spread(beta))
        store(q, k, multiply(counts, load(inverse, k)))
    for k in range(full, n_topics):
        q[k] = (np.float32(word_topic_count[word, k]) + beta) * inverse[k]


@njit(cache=True, nogil=True, inline="always")
def _sum_smooth(alpha, q, n_topics, smooth):
    """The sums of alpha_k q_k by chunk of 256 topics and lane, smooth[k // 256 * 16 + k % 16]; their total."""
    total = np.float32(0)
    for chunk in range(0, n_topics, LANES * LANES):
        lanes = spread(np.float32(0))
        for k in range(chunk, min(chunk + LANES * LANES, n_topics), LANES):
            lanes = add(lanes, multiply(load(alpha, k), load(q, k)))
        store(smooth, chunk // LANES, lanes)
        total += last(prefix_sums(lanes))
    return total


@njit(cache=True, nogil=True, inline="always")
def _draw_dense(doc_topic, doc, alpha, row, q, old, own, u, n_topics, running):
    """Draw a topic by the weights (n_dk + alpha_k) q_k, alpha's row, where topic `old` has the weight `own`."""
    width = doc_topic.shape[1]
    total = spread(np.float32(0))
    for k in range(0, width, LANES):
        weight = multiply(add(floats(load(doc_topic, doc * width + k)), load(alpha, row * width + k)), load(q, k))
        total = add(total, replace(weight, count_up(k), old, own))
        store(running, 2 * LANES + k, total)
    sums = prefix_sums(total)
    store(running, 1, sums)
    rest = u * last(sums)
    lane = min(count_not_above(sums, rest), min(n_topics, LANES) - 1)  # empty lanes' sums differ by rounding
    rest -= running[lane]
    new = lane
    for k in range(2 * LANES + lane, 2 * LANES + width, LANES):
        new += LANES if running[k] <= rest else 0
    return min(new, n_topics - 1 - ((n_topics - 1 - lane) % LANES))  # rounding may step over the lane's last


@njit(cache=True, nogil=True, inline="always")
def _draw_smooth(rest, alpha, q, smooth, old, own, n_topics, sums):
    """The topic at `rest` in the running sum of alpha_k q_k (q_old is `own`), by its chunk, its lane and its place."""
    missing = alpha[old] * (q[old] - own)
    old_lane = old // (LANES * LANES) * LANES + old % LANES
    k = 0
    for chunk in range(0, (n_topics + LANES - 1) // LANES, LANES):
        less = replace(spread(np.float32(0)), count_up(chunk), old_lane, -missing)
        chunk_sums = prefix_sums(add(load(smooth, chunk), less))
        lane = count_not_above(chunk_sums, rest)
        k = chunk * LANES + min(lane, LANES - 1)
        if lane < LANES:
            store(sums, 1, chunk_sums)
            rest -= sums[lane]
            break
        rest -= last(chunk_sums)
    final = min(k + LANES * (LANES - 1), n_topics - 1)
    while k + LANES <= final:
        rest -= alpha[k] * (own if k == old else q[k])
        if rest < 0:
            break
        k += LANES
    return min(k, n_topics - 1)


@njit(cache=True, nogil=True, inline="always")
def _draw_list(entries, start, length, shift, alpha, q, smooth, smooth_total, old, own, u, n_topics, running):
    """Draw a topic by the weights n_dk q_k + alpha_k q_k; returns it, its place (or -1) and that of `old`."""
    mask = (np.uint32(1) << shift) - np.uint32(1)
    total = spread(np.float32(0))
    old_place = start
    for k in range(0, length, LANES):
        entry = load(entries, start + k)
        keys = low_bits(entry, mask)
        lane = first_equal(keys, old)
        old_place = start + k + lane if lane < LANES else old_place
        less = replace(spread(np.float32(0)), keys, old, np.float32(-1))
        weight = replace(gather(q, keys), keys, old, own)
        total = add(total, multiply(add(floats(high_bits(entry, shift)), less), weight))
        store(running, 2 * LANES + k, total)
    sums = prefix_sums(total)
    doc_total = last(sums)
    rest = u * (doc_total + (smooth_total - alpha[old] * (q[old] - own)))
    if rest >= doc_total:
        return _draw_smooth(rest - doc_total, alpha, q, smooth, old, own, n_topics, running), -1, old_place
    store(running, 1, sums)
    lane = count_not_above(sums, rest)
    rest -= running[lane]
    place = start + lane
    for k in range(2 * LANES + lane, 2 * LANES + length, LANES):
        place += LANES if running[k] <= rest else 0
    place = min(place, start + length - 1)  # rounding may step over the list's last entry
    return np.int64(entries[place] & mask), place, old_place


@njit(cache=True, nogil=True, inline="always")
def _move(entries, start, length, shift, new, new_place, old_place):
    """Move a token from old_place to topic `new` (new_place -1: find or make its entry); returns the list's length."""
    unit, mask = np.uint32(1) << shift, (np.uint32(1) << shift) - np.uint32(1)
    if new_place >= 0:
        entries[new_place] += unit
    entries[old_place] -= unit
    if entries[old_place] <= mask:  # empty: the last entry takes its place
        length -= 1
        entries[old_place] = entries[start + length]
        entries[start + length] = mask
    if new_place < 0:
        place = start + length
        for k in range(start, start + length, LANES):
            lane = first_equal(low_bits(load(entries, k), mask), new)
            if lane < LANES:
                place = k + lane
                break
        if place == start + length:
            entries[place] = new
            length += 1
        entries[place] += unit
    return length


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)  # nothing is allocated: no reference counts
def sweep_task(
    words, word_ptr, token_doc, topic, documents, word_topic_count, topic_count, topics, alpha, which, beta,
    beta_sum, collapsed, seed, sweep, first, scratch,
):  # fmt: skip
    """Draw every token of one task from its conditional; returns how many changed their topic.

    Parameters
    ----------
    words : (int, int), the task's first word and the one after its last
    word_ptr : (V + 1,) int64, row of the document group: word w has tokens word_ptr[w] : word_ptr[w + 1]
    token_doc : (N,) int32
    topic : (N,) uint16, changed
    documents : (doc_topic, entries, doc_start, doc_length, shift), changed
        doc_topic (D, Kp) uint16, Kp = K rounded up to 16; or (0, Kp), and document d is the list
        entries[s : s + n], s = doc_start[d] (int64, a multiple of 16), n = doc_length[d] (int32), each entry
        (uint32) count << shift | topic; empty ones (count 0, topic 2**shift - 1, whose q is 0) fill up to 16.
    word_topic_count, topic_count : (V, K) int32 and (K,) int64, changed; n_k is the task's own copy
    topics : (V, K) float32, phi; (0, 0) when collapsed
    alpha : (R, Kp) float32, zero beyond K; which : (D,) int32, the row of each document; lists have one row for all
    beta, beta_sum : float32, beta and V beta
    collapsed : bool; seed, sweep : int, with the token's number they make its uniform
    first : int, the number of token 0: others count from there
    scratch : (4, S) float32, S >= 2**shift and >= Kp + 48
    """
    doc_topic, entries, doc_start, doc_length, shift = documents
    one, n_topics, dense = np.float32(1), word_topic_count.shape[1], doc_topic.shape[0] > 0
    q, inverse, running, smooth, prior = scratch[0], scratch[1], scratch[2], scratch[3], alpha[0]
    scratch[:] = 0
    for k in range(n_topics):
        inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
    key = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D)
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xDABA0B6EB09322E3)
    changed, final = 0, word_ptr[words[1]] - 1
    for word in range(words[0], words[1]):
        if word_ptr[word] == word_ptr[word + 1]:
            continue
        _load_word(word, word_topic_count, topics, beta, inverse, collapsed, q)
        smooth_total = np.float32(0) if dense else _sum_smooth(prior, q, n_topics, smooth)
        for token in range(word_ptr[word], word_ptr[word + 1]):
            doc, old = np.int64(token_doc[token]), np.int64(topic[token])
            ahead = np.int64(token_doc[min(token + 8, final)])
            own = q[old]
            if collapsed:
                own = np.float32(word_topic_count[word, old]) - one + beta
                own /= np.float32(topic_count[old]) - one + beta_sum
            u = uniform(key, first + token)
            if dense:
                for k in range(0, doc_topic.shape[1], 32):
                    prefetch(doc_topic, ahead * doc_topic.shape[1] + k)
                row = np.int64(which[doc])
                own *= np.float32(doc_topic[doc, old]) - one + alpha[row, old]
                new = _draw_dense(doc_topic, doc, alpha, row, q, old, own, u, n_topics, running)
                if new == old:
                    continue
                doc_topic[doc, old] -= np.uint16(1)
                doc_topic[doc, new] += np.uint16(1)
            else:
                for k in range(0, 64, 16):
                    prefetch(entries, doc_start[ahead] + k)
                start, length = doc_start[doc], np.int64(doc_length[doc])
                new, new_place, old_place = _draw_list(
                    entries, start, length, shift, prior, q, smooth, smooth_total, old, own, u, n_topics,
                    running,
                )  # fmt: skip
                if new == old:
                    continue
                doc_length[doc] = _move(entries, start, length, shift, new, new_place, old_place)
            changed += 1
            topic[token] = new
            for k, step in ((old, -1), (new, 1)):
                word_topic_count[word, k] += step
                topic_count[k] += step
                if collapsed:
                    inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
                    value = (np.float32(word_topic_count[word, k]) + beta) * inverse[k]
                    change = prior[k] * (value - q[k])
                    smooth[k // (LANES * LANES) * LANES + k % LANES] += change
                    smooth_total += change
                    q[k] = value
    return changed
