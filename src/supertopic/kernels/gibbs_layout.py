"""Tokens and counts of the Gibbs samplers: how they lie in memory.

Documents are cut into P groups of about equal numbers of tokens, and so are the words. Task (i, j) draws the tokens of
document group i in word group j, which are one contiguous range in both layouts:

- word-major (`lay_out`), for LDA: by document group, inside it by word, inside it by document. `word_ptr[i, w]` is the
  first token of word w in document group i.
- document-major (`lay_out_documents`), for the supervised sampler: by word group, inside it by document.
  `doc_ptr[j, d]` is the first token of document d in word group j.

The topics of the tokens are the whole state: all counts can be computed from them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

LANES = 16
MAX_TOPICS = 65_535  # topics are uint16
DENSE_TOPICS = 64  # up to here a dense row of counts beats a list (measured)


class Tokens(NamedTuple):
    """The word-major layout of a corpus."""

    doc: np.ndarray  # (N,) int32
    word_ptr: np.ndarray  # (P, V + 1) int64
    doc_bounds: np.ndarray  # (P + 1,) int64: documents of group i
    word_bounds: np.ndarray  # (P + 1,) int64: words of group j
    doc_length: np.ndarray  # (D,) int64: tokens


class DocumentTokens(NamedTuple):
    """The document-major layout of a corpus; the tokens of a document in a word group are in the order of the CSR."""

    word: np.ndarray  # (N,) int32
    doc_ptr: np.ndarray  # (P, D + 1) int64: document d has tokens doc_ptr[j, d] : doc_ptr[j, d + 1] in word group j
    doc_bounds: np.ndarray  # (P + 1,) int64: documents of group i
    doc_length: np.ndarray  # (D,) int64: tokens


class Documents(NamedTuple):
    """Topic counts of the documents, as `sweep_task` takes them: rows, or lists when doc_topic has no row."""

    doc_topic: np.ndarray  # (D or 0, Kp) uint16
    entries: np.ndarray  # (M,) uint32: count << shift | topic
    start: np.ndarray  # (D or 0,) int64
    length: np.ndarray  # (D or 0,) int32
    shift: np.uint32


def n_groups(n_tokens: int) -> int:
    """P, which depends on the corpus alone: 1 below 50,000 tokens, where the sampler is exactly sequential."""
    return 1 if n_tokens < 50_000 else 4 if n_tokens < 4_000_000 else 8 if n_tokens < 30_000_000 else 16


def padded(n_topics: int) -> int:
    """Kp: K rounded up to a multiple of 16."""
    return n_topics + -n_topics % LANES


def cut(weights: np.ndarray, parts: int) -> np.ndarray:
    """Boundaries (parts + 1,) of contiguous ranges of about equal weight."""
    total = np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))
    bounds = np.searchsorted(total, np.arange(parts + 1) * (total[-1] / parts))
    bounds[0], bounds[-1] = 0, len(weights)
    return bounds.astype(np.int64)


def lay_out(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, n_words: int, groups: int | None = None
) -> Tokens:
    """The word-major tokens of a CSR of counts (whole numbers of any type)."""
    n_docs = len(indptr) - 1
    doc_length, word_length = np.zeros(n_docs, np.int64), np.zeros(n_words, np.int64)
    count_tokens(indptr, indices, data, doc_length, word_length)
    n_tokens = int(doc_length.sum())
    groups = n_groups(n_tokens) if groups is None else groups
    doc_bounds, word_bounds = cut(doc_length, groups), cut(word_length, groups)
    token_doc = np.empty(n_tokens, np.int32)
    word_ptr = np.zeros((groups, n_words + 1), np.int64)
    next_token = np.empty(n_words, np.int64)
    for i in range(groups):
        word_ptr[i, 0] = word_ptr[i - 1, -1] if i else 0
        fill_group(indptr, indices, data, doc_bounds[i], doc_bounds[i + 1], word_ptr[i], next_token, token_doc)
    return Tokens(token_doc, word_ptr, doc_bounds, word_bounds, doc_length)


def lay_out_documents(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, n_words: int, groups: int | None = None
) -> DocumentTokens:
    """The document-major tokens of a CSR of counts (whole numbers of any type)."""
    n_docs = len(indptr) - 1
    doc_length, word_length = np.zeros(n_docs, np.int64), np.zeros(n_words, np.int64)
    count_tokens(indptr, indices, data, doc_length, word_length)
    groups = n_groups(int(doc_length.sum())) if groups is None else groups
    word_group = np.repeat(np.arange(groups), np.diff(cut(word_length, groups)))
    doc_ptr = np.zeros((groups, n_docs + 1), np.int64)
    count_groups(indptr, indices, data, word_group, doc_ptr)
    doc_ptr[1:, 0] = doc_ptr[:-1].sum(axis=1)  # a word group begins where the one before it ends
    doc_ptr[:, 0] = np.cumsum(doc_ptr[:, 0])
    np.cumsum(doc_ptr, axis=1, out=doc_ptr)
    token_word = np.empty(int(doc_length.sum()), np.int32)
    fill_documents(indptr, indices, data, word_group, doc_ptr, np.empty(groups, np.int64), token_word)
    return DocumentTokens(token_word, doc_ptr, cut(doc_length, groups), doc_length)


def run_in_turn(calls: Sequence[tuple]) -> None:
    """Run calls (function, *arguments) one after the other."""
    for function, *arguments in calls:
        function(*arguments)


def count_topics(
    tokens: Tokens,
    topic: np.ndarray,
    n_topics: int,
    dense: bool | None = None,
    run: Callable[[Sequence[tuple]], None] = run_in_turn,
) -> Documents:
    """The documents' topic counts, rebuilt from the topics of the tokens; `run` may run groups of documents at once."""
    width = padded(n_topics)
    shift = np.uint32(width.bit_length())
    n_docs, longest = len(tokens.doc_length), int(tokens.doc_length.max(initial=0))
    if n_topics > MAX_TOPICS or longest >= 1 << (32 - int(shift)):
        raise ValueError(
            f"n_topics is {n_topics} and the longest document has {longest} tokens; expected at most "
            f"{MAX_TOPICS} topics and {(1 << (32 - int(shift))) - 1} tokens in a document"
        )
    groups = [(int(row[0]), int(row[-1])) for row in tokens.word_ptr]
    if (n_topics <= DENSE_TOPICS if dense is None else dense) and longest <= np.iinfo(np.uint16).max:
        doc_topic = np.zeros((n_docs, width), np.uint16)
        run([(add_documents, tokens.doc, topic, *ends, doc_topic) for ends in groups])
        none = np.zeros(0, np.int64)
        return Documents(doc_topic, none.astype(np.uint32), none, none.astype(np.int32), shift)
    room = np.minimum(tokens.doc_length, n_topics)
    room += -room % LANES
    start = np.concatenate(([0], np.cumsum(room)))
    entries = np.full(start[-1], (1 << int(shift)) - 1, np.uint32)
    lists = Documents(np.zeros((0, width), np.uint16), entries, start[:-1], np.zeros(n_docs, np.int32), shift)
    run([(fill_lists, tokens.doc, topic, *ends, entries, lists.start, lists.length, shift) for ends in groups])
    return lists


def make_scratch(n_topics: int) -> np.ndarray:
    """The scratch of one running task."""
    width = padded(n_topics)
    return np.zeros((4, max(1 << width.bit_length(), width + 3 * LANES)), np.float32)


@njit(cache=True, nogil=True)
def count_tokens(indptr, indices, data, doc_length, word_length):
    """Add a CSR's tokens to those of its documents (D,) and words (V,)."""
    for doc in range(len(indptr) - 1):
        for place in range(indptr[doc], indptr[doc + 1]):
            doc_length[doc] += np.int64(data[place])
            word_length[indices[place]] += np.int64(data[place])


@njit(cache=True, nogil=True)
def fill_group(indptr, indices, data, start, stop, word_ptr, next_token, token_doc):
    """word_ptr (V + 1,) from word_ptr[0] on, token_doc, of documents start : stop; next_token scratch."""
    word_ptr[1:] = 0
    for place in range(indptr[start], indptr[stop]):
        word_ptr[indices[place] + 1] += np.int64(data[place])
    for word in range(len(word_ptr) - 1):
        next_token[word] = word_ptr[word]
        word_ptr[word + 1] += word_ptr[word]
    for doc in range(start, stop):
        for place in range(indptr[doc], indptr[doc + 1]):
            for _ in range(np.int64(data[place])):
                token_doc[next_token[indices[place]]] = doc
                next_token[indices[place]] += 1


@njit(cache=True, nogil=True)
def count_groups(indptr, indices, data, word_group, doc_ptr):
    """Add the tokens of document d in word group j to doc_ptr[j, d + 1]; word_group is (V,) int64."""
    for doc in range(len(indptr) - 1):
        for place in range(indptr[doc], indptr[doc + 1]):
            doc_ptr[word_group[indices[place]], doc + 1] += np.int64(data[place])


@njit(cache=True, nogil=True)
def fill_documents(indptr, indices, data, word_group, doc_ptr, next_token, token_word):
    """token_word (N,) from doc_ptr (P, D + 1); next_token (P,) int64 is scratch."""
    for doc in range(len(indptr) - 1):
        next_token[:] = doc_ptr[:, doc]
        for place in range(indptr[doc], indptr[doc + 1]):
            group = word_group[indices[place]]
            for _ in range(np.int64(data[place])):
                token_word[next_token[group]] = indices[place]
                next_token[group] += 1


@njit(cache=True, nogil=True)
def random_topics(seed, n_topics, start, stop, topic):
    """topic[start : stop] uniform on 0 .. K - 1, each a hash of (seed, token)."""
    key = (np.uint64(seed) + np.uint64(1)) * np.uint64(0xD1342543DE82EF95)
    for token in range(start, stop):
        x = key + np.uint64(token) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = (x ^ (x >> np.uint64(31))) >> np.uint64(32)
        topic[token] = (x * np.uint64(n_topics)) >> np.uint64(32)


@njit(cache=True, nogil=True)
def count_words(word_ptr, topic, start, stop, word_topic_count):
    """n_wk of words start : stop over all document groups; word_topic_count is (V, K), any number type."""
    for word in range(start, stop):
        word_topic_count[word] = 0
        for group in range(word_ptr.shape[0]):
            for token in range(word_ptr[group, word], word_ptr[group, word + 1]):
                word_topic_count[word, topic[token]] += 1


@njit(cache=True, nogil=True)
def count_document_topics(start, stop, doc_ptr, topic, doc_topic):
    """n_dk of documents start : stop over all word groups; doc_ptr is (P, D + 1), doc_topic (D, K) is written."""
    for doc in range(start, stop):
        doc_topic[doc] = 0
        for group in range(doc_ptr.shape[0]):
            for token in range(doc_ptr[group, doc], doc_ptr[group, doc + 1]):
                doc_topic[doc, topic[token]] += 1


@njit(cache=True, nogil=True)
def add_words(token_word, topic, start, stop, word_topic_count):
    """Add tokens start : stop to n_wk (V, K), any number type."""
    for token in range(start, stop):
        word_topic_count[token_word[token], topic[token]] += 1


@njit(cache=True, nogil=True)
def add_documents(token_doc, topic, start, stop, doc_topic):
    """Add tokens start : stop to n_dk; doc_topic is (D, K or more), any number type."""
    for token in range(start, stop):
        doc_topic[token_doc[token], topic[token]] += 1


@njit(cache=True, nogil=True)
def count_documents(documents, histogram):
    """Add to histogram (K, L) the documents that hold topic k exactly n > 0 times, n < L."""
    doc_topic, entries, _, _, shift = documents
    for doc in range(doc_topic.shape[0]):
        for k in range(histogram.shape[0]):
            histogram[k, doc_topic[doc, k]] += 1
    mask = (np.uint32(1) << shift) - np.uint32(1)
    for place in range(entries.shape[0]):
        if entries[place] > mask:
            histogram[entries[place] & mask, entries[place] >> shift] += 1


@njit(cache=True, nogil=True)
def sum_values(word_topic_count, values, start, stop, sums):
    """sums_w = sum_k values[n_wk], words start : stop."""
    for word in range(start, stop):
        total = 0.0
        for k in range(word_topic_count.shape[1]):
            if word_topic_count[word, k] > 0:
                total += values[word_topic_count[word, k]]
        sums[word] = total


@njit(cache=True, nogil=True)
def fill_lists(token_doc, topic, start, stop, entries, doc_start, doc_length, shift):
    """Add tokens start : stop to the lists of their documents."""
    unit, mask = np.uint32(1) << shift, (np.uint32(1) << shift) - np.uint32(1)
    for token in range(start, stop):
        doc = token_doc[token]
        first, length = doc_start[doc], doc_length[doc]
        place = first
        while place < first + length and (entries[place] & mask) != topic[token]:
            place += 1
        if place == first + length:
            entries[place] = topic[token]
            doc_length[doc] += 1
        entries[place] += unit


@njit(cache=True, nogil=True)
def sort_lists(entries, doc_start, doc_length, shift, start, stop):
    """Order the lists of documents start : stop by topic.

    Before each sweep: then the sweep depends on the topics alone and not on how the lists came about.
    """
    mask = (np.uint32(1) << shift) - np.uint32(1)
    for doc in range(start, stop):
        first = doc_start[doc]
        for place in range(first + 1, first + doc_length[doc]):
            entry, slot = entries[place], place
            while slot > first and (entries[slot - 1] & mask) > (entry & mask):
                entries[slot] = entries[slot - 1]
                slot -= 1
            entries[slot] = entry
