"""20 Newsgroups for the sLDA and MedLDA experiments: the standard split, without rare words and stop words."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from supertopic.datasets import load

PAIR = ("alt.atheism", "talk.religion.misc")


class Newsgroups(NamedTuple):
    """Counts and labels of training and test documents, and the terms."""

    X: sp.csr_matrix
    y: np.ndarray
    new: sp.csr_matrix
    truth: np.ndarray
    terms: np.ndarray


@cache
def newsgroups(
    labels: tuple[str, ...] | None = None, stop_words: bool = False, least: int = 2, step: int = 1
) -> Newsgroups:
    """Return every `step`-th document, without words in fewer than `least` training documents."""
    data = load("20newsgroups_bow", os.environ["SUPERTOPIC_DATA"])
    label, counts = data.frame["label"].to_numpy(), data.counts.counts
    some = np.arange(len(label)) % step == 0
    if labels is not None:
        some &= np.isin(label, labels)
    train = (data.frame["split"] == "train").to_numpy()
    kept = np.array([stop_words or word not in ENGLISH_STOP_WORDS for word in data.counts.vocabulary])
    kept &= np.asarray((counts[train & some] > 0).sum(axis=0)).ravel() >= least
    parts = [part for rows in (train & some, ~train & some) for part in (counts[rows][:, kept], label[rows])]
    return Newsgroups(*parts, np.asarray(data.counts.vocabulary, dtype=object)[kept])
