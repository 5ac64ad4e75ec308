"""What helps to read topics: typical documents, topics that go together, words by class, pyLDAvis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from supertopic.checks import check_whole
from supertopic.documents.corpus import Corpus, as_texts, lengths_of
from supertopic.documents.labels import as_table
from supertopic.estimators.shared.results.topic_info import topic_labels
from supertopic.fitted.fitted import Fitted
from supertopic.html_tables import TopicFrame
from supertopic.metrics.likeness import share_correlation, topic_tree

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


def topic_place(model: TopicEstimator, topic: object) -> int:
    """The number of a topic, by its number or label."""
    labels, n_topics = topic_labels(model), len(model.components_)
    if isinstance(topic, (int, np.integer)) and not isinstance(topic, bool) and 0 <= topic < n_topics:
        return int(topic)
    if isinstance(topic, str) and topic and topic in labels:
        return labels.index(topic)
    known = ", ".join(repr(label) for label in labels if label)
    raise ValueError(f"topic: got {topic!r}, expected 0 to {n_topics - 1}" + (f", or one of {known}" if known else ""))


def documents_of(fitted: Fitted, X: object) -> Corpus:
    """The documents that are asked about: X, or those of the fit."""
    if X is not None:
        return fitted.corpus(X)
    if fitted.training is None:
        raise ValueError(f"X: got None, but this {fitted.spec.name} holds no documents; give some")
    return fitted.training.corpus


def shares_among(model: TopicEstimator, X: object) -> np.ndarray:
    """(D, K) topic shares of X, or of the documents of the fit."""
    if X is not None:
        return np.asarray(model.transform(X), dtype=np.float64)
    if model.fitted_.doc_topic is None:
        raise ValueError(f"X: got None, but this {model.fitted_.spec.name} keeps no shares of its documents; give them")
    return np.asarray(model.fitted_.doc_topic, dtype=np.float64)


def typical_documents(
    model: TopicEstimator, topic: object, texts: object, n: int, threshold: float, X: object
) -> pd.DataFrame:
    """See `TopicEstimator.typical_documents`."""
    check_whole("n", n)
    if not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold: got {threshold!r}, expected a share from 0 to 1")
    if isinstance(texts, (int, np.integer)):
        raise ValueError(f"texts: got {texts}, expected a text for each document; n={texts} asks for so many documents")
    if not (topic is None or isinstance(topic, (str, int, np.integer))):
        raise ValueError(f"topic: got a {type(topic).__name__}, expected a number or a label; texts= takes documents")
    shares = shares_among(model, X)
    given, index = ([], None) if texts is None else as_texts(texts, name="texts")
    if texts is not None and len(given) != len(shares):
        raise ValueError(f"texts: got {len(given)} texts, expected one for each of the {len(shares)} documents")
    names = np.arange(len(shares)) if index is None else np.asarray(index)
    rows = []
    for k in range(shares.shape[1]) if topic is None else [topic_place(model, topic)]:
        order = np.argsort(-shares[:, k], kind="stable")[: int(n)]
        for rank, d in enumerate(order[shares[order, k] >= threshold], start=1):
            rows.append({"topic": k, "rank": rank, "document": names[d], "share": shares[d, k]})
            if texts is not None:
                rows[-1]["text"] = given[int(d)]
    columns = ["topic", "rank", "document", "share", *(["text"] if texts is not None else [])]
    return TopicFrame(pd.DataFrame(rows, columns=columns))


def topic_correlation(model: TopicEstimator, X: object) -> pd.DataFrame:
    """See `TopicEstimator.topic_correlation`."""
    shares = shares_among(model, X)
    labels = topic_labels(model)
    names = pd.Index([label or k for k, label in enumerate(labels[: shares.shape[1]])], name="topic")
    found = share_correlation(shares)
    frame = pd.DataFrame(found, index=names, columns=names)
    if len(found) > 1:
        frame.attrs["tree"] = topic_tree(found).tolist()
    return frame


def words_by_class(fitted: Fitted, topic: int, y: object, X: object, n: int) -> pd.DataFrame:
    """See `TopicEstimator.words_by_class`."""
    check_whole("n", n)
    corpus = documents_of(fitted, X)
    table, _ = as_table(y, len(corpus), "words_by_class")
    if table.shape[1] != 1:
        raise ValueError(f"y: got {table.shape[1]} columns, expected one with a class for each document")
    missing = pd.isna(table[:, 0])
    classes, codes = np.unique(table[~missing, 0].astype(str), return_inverse=True)
    if not len(classes):
        raise ValueError("y is missing for every document; expected some classes")
    counts = corpus.counts[np.flatnonzero(~missing)]
    tokens = counts.data * fitted.words_by_topic(counts)[:, topic]
    place = np.repeat(codes, np.diff(counts.indptr)) * counts.shape[1] + counts.indices
    found = np.bincount(place, weights=tokens, minlength=len(classes) * counts.shape[1]).reshape(len(classes), -1)
    rate = 1000.0 * found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    order = np.argsort(-found.sum(axis=0), kind="stable")[: int(n)]
    columns = {name: rate[c, order] for c, name in enumerate(classes)}
    return TopicFrame({"word": fitted.vocabulary.words[order], **columns})


def for_pyldavis(fitted: Fitted, X: object) -> dict[str, Any]:
    """See `TopicEstimator.to_pyldavis`."""
    corpus = documents_of(fitted, X)
    filled = lengths_of(corpus.counts) > 0
    counts = corpus.counts[np.flatnonzero(filled)]
    with fitted.spec.place.open() as backend:
        shares = fitted.infer(Corpus(counts), backend).astype(np.float64)
    topics = fitted.components.astype(np.float64)
    if topics.shape[0] != shares.shape[1]:
        raise ValueError(f"to_pyldavis: a {fitted.spec.name} has topics that documents do not choose among")
    return {
        "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
        "doc_topic_dists": shares / shares.sum(axis=1, keepdims=True),
        "doc_lengths": np.asarray(counts.sum(axis=1)).ravel(),
        "vocab": [str(word) for word in fitted.vocabulary.words],
        "term_frequency": np.asarray(counts.sum(axis=0)).ravel(),
    }
