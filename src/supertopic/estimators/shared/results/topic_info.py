"""Everything that is known of each topic, in one frame."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from supertopic.checks import check_whole
from supertopic.html_tables import TopicFrame
from supertopic.metrics import coherence, concentration, divergences, exclusivity
from supertopic.metrics.likeness import OWN, find_flags, ownness
from supertopic.metrics.word_scores import ranking

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

_AS_BEFORE, _ALIKE = 0.9, 0.5  # least cosines of topics that are the same, and that are alike


def ranked_words(order: np.ndarray, words: np.ndarray, **values: np.ndarray) -> pd.DataFrame:
    """A row per topic and rank: columns topic, rank, word, and a column for each of the values (K, V).

    order : (K, n) words of each topic, the first one first
    """
    topics, places = np.repeat(np.arange(len(order)), order.shape[1]), order.ravel()
    ranks = np.tile(np.arange(1, order.shape[1] + 1), len(order))
    columns = {name: value[topics, places] for name, value in values.items()}
    return pd.DataFrame({"topic": topics, "rank": ranks, "word": words[places], **columns})


def words_in_order(model: TopicEstimator, n: int, by: str = "probability") -> tuple[np.ndarray, np.ndarray]:
    """(K, n) the first words of each topic, by number; and the values (K, V) that put them in order."""
    values = ranking(model, by, shares_of_all(model))
    return np.argsort(-values, axis=1, kind="stable")[:, : int(n)], values


def shares_of_all(model: TopicEstimator) -> np.ndarray:
    """(K,) shares of the average document, for each of the topics that have words."""
    shares, n_topics = model.fitted_.average_shares, len(model.components_)
    return shares if len(shares) == n_topics else np.full(n_topics, 1.0 / n_topics)


def top_words_by(model: TopicEstimator, n: int, by: str = "probability") -> list[list[str]]:
    """The n first words of each topic: the most probable, or by another of `RANKINGS`."""
    return [list(words) for words in model.fitted_.vocabulary.words[words_in_order(model, n, by)[0]]]


def topic_labels(model: TopicEstimator) -> list[str]:
    """The names that the user gave to topics; "" where there is none."""
    given = getattr(model, "topic_labels_", None) or [None] * len(model.components_)
    return [str(label or "") for label in given]


def topic_names(model: TopicEstimator, n: int = 3) -> list[str]:
    """A name for each topic: the one that the user gave, or its first words."""
    words = top_words_by(model, n)
    return [label or " ".join(map(str, own)) for label, own in zip(topic_labels(model), words, strict=True)]


def topic_info(model: TopicEstimator, X: object = None, n: int = 10) -> pd.DataFrame:
    """One row per topic, in the order of their numbers; see `TopicEstimator.topic_info`."""
    check_whole("n", n)
    shares, table, top = (
        model.fitted_.average_shares,
        getattr(model, "coefficients_", None),
        min(int(n), model.n_features_in_),
    )
    labels = topic_labels(model)
    columns: dict[str, Any] = {"label": labels} if any(labels) else {}
    if len(shares) == len(model.components_):
        columns["share"] = shares
    if table is not None:
        for c, name in enumerate(table.names):
            columns[f"coef {name}".strip()] = table.coef[c]
            if table.std is not None:
                columns[f"coef_std {name}".strip()] = table.std[c]
    if X is not None:
        columns["coherence"] = coherence(model, X, top_n=top)
    elif model.fitted_.training is not None:
        with warnings.catch_warnings():  # the user gave no X that a warning could speak of
            warnings.filterwarnings("ignore", "[0-9]+ of [0-9]+ top words stand nowhere")
            columns["coherence"] = coherence(model, model.fitted_.training.corpus, top_n=top)
    columns["exclusivity"] = exclusivity(model, top_n=top)
    kept = model.fitted_.doc_topic
    if kept is not None and kept.shape[1] == len(model.components_):
        columns["concentration"] = concentration(kept)
    columns |= marks_of_topics(model, n)
    for name, by in (("words", "probability"), ("frex", "frex")):
        columns[name] = [", ".join(map(str, words)) for words in top_words_by(model, top, by)]
    return TopicFrame(columns, index=pd.RangeIndex(len(model.components_), name="topic"))


def marks_of_topics(model: TopicEstimator, n: int = 10) -> dict[str, list[str]]:
    """The columns moved, where labels can move topics, and remark of `topic_info`; n first words are looked at."""
    common = words_of_all(model, n)
    flags = find_flags(divergences(model.components_), shares_of_all(model))
    remarks = {"remark": [_remark(flag, bool(one)) for flag, one in zip(flags, common, strict=True)]}
    stayed = model.fitted_.stayed
    return remarks if stayed is None else {"moved": [_moved(float(likeness)) for likeness in stayed], **remarks}


def words_of_all(model: TopicEstimator, n: int = 10) -> np.ndarray:
    """(K,) whether the n first words of a topic are hardly its own."""
    return ownness(model.components_, shares_of_all(model), min(n, model.n_features_in_)) < OWN


def _moved(likeness: float) -> str:
    """What labels have made of a topic, by its cosine with the most like of those that know none."""
    return "as in LDA" if likeness >= _AS_BEFORE else "moved" if likeness >= _ALIKE else "new"


def _remark(flag: dict[str, Any], common: bool) -> str:
    """What to look at twice."""
    twins = ", ".join(map(str, flag["twins"]))
    said = {
        "hardly used": flag["dead"],
        f"nearly the same as {twins}": twins,
        "words of all topics": common and not twins,
    }
    return "; ".join(text for text, holds in said.items() if holds)
