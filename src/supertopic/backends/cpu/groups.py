"""Sweeps by groups of documents and of words: what lets several threads draw topics at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


def sweep_groups(
    backend: Backend, topic_count: np.ndarray, sizes: np.ndarray,
    call: Callable[[int, int, np.ndarray], tuple[Any, ...]],
) -> np.ndarray:  # fmt: skip
    """Draw the tokens of every document group in every word group once; returns n_k afterwards.

    In epoch e, document group i meets word group (i + e) mod G. Tasks that run at once then share no document and no
    word, so that n_k is the only count they have in common. Each task has its own copy of n_k, and the changes of all
    copies are added up after the epoch: n_k lags by a part of a sweep. With one group it does not lag at all.

    Parameters
    ----------
    topic_count : (K,) int64 ndarray, n_k before the sweep; it stays as it is
    sizes : (G, G) ndarray, the number of tokens of document group i in word group j
    call : call(i, j, copy) is the task of document group i and word group j, a function and its arguments, with the
        copy of n_k that it changes
    """
    groups = len(sizes)
    for epoch in range(groups):
        met = [(i, (i + epoch) % groups) for i in range(groups)]
        copies = [topic_count.copy() for _ in met]
        calls = [call(i, j, copies[i]) for i, j in met]
        order = np.argsort([sizes[pair] for pair in met])[::-1]  # the longest first: then no thread waits long
        backend.all([calls[i] for i in order])
        topic_count = topic_count + sum(copy - topic_count for copy in copies)
    return topic_count
