"""Priors that suit the documents, where users name none and topics are trained for the prediction ("pc").

Words overfit: a seldom word can stand for the few labels of its documents. Two priors hold against it. Topic shares
that lean to even ones keep a document's few telling words from deciding, and topics that lean to even words keep seldom
words from telling topics apart. How much of it is best depends on how much is known:

    alpha = min(n, 50) / max(K, 10)  n: tokens of the mean document
    topic-word prior = T / 250 V     T: tokens, V: words

A document of a line keeps its own say, and a corpus in which words are seldom its telling words. Where documents do not
repeat themselves, no topic has an alpha above 1: these documents may be as the model has them, and shares drawn to even
ones would then inflate its coefficients. `slda.prediction_settings` in experiments/RESULTS.md says what these numbers
were chosen on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from supertopic.checks import check_whole
from supertopic.corpus import Corpus, log_counts
from supertopic.estimators.shared.fitting.counts import choose_counts, restored_counts

_TOTAL = 25.0  # pseudo-tokens of a document for other engines, of which no topic has more than 1
_SMOOTHING = 0.05  # of topics, at least
_TOTALS = 5.0, 50.0  # pseudo-tokens of a document, at least and at most
_FEWEST_TOPICS = 10  # of fewer, each has as much
_MOST_OF_COUNTS = 1.0  # alpha of a topic, where topics see counts and not their logarithms
_PER_PSEUDO_TOKEN = 250.0  # tokens of a word


class Tokens(NamedTuple):
    """How many tokens there are, as topics see them."""

    per_document: float
    per_word: float


def look_at(estimator: Any, corpus: Corpus, n_documents: int | None = None) -> None:
    """Find what topics see of documents (`counts_`), and how much of it there is.

    n_documents : if there will be more than those of `corpus`
    """
    check_whole("total_documents", n_documents, or_none=True)
    estimator.counts_ = choose_counts(estimator, corpus)
    seen = log_counts(corpus.counts) if estimator.counts_ == "log" else corpus.counts
    per_document = float(seen.sum(dtype=np.float64)) / max(len(corpus), 1)
    estimator._tokens = Tokens(per_document, per_document * (n_documents or len(corpus)) / seen.shape[1])


def saved_look(estimator: Any) -> dict[str, Any]:
    """For a model file."""
    return {"counts": estimator.counts_, "tokens": estimator._tokens}


def restored_look(saved: Mapping[str, Any]) -> tuple[str, Tokens | None]:
    """What a model file says; files of earlier versions do not know the tokens."""
    counts, found = restored_counts(saved), saved.get("tokens")
    if found is None:
        return counts, None
    numbers = [number for number in found if isinstance(number, (int, float)) and 0 <= number < np.inf]
    if len(found) != 2 or len(numbers) != 2:
        raise ValueError(f"tokens: got {found!r}, expected two numbers >= 0")
    return counts, Tokens(*map(float, numbers))


def default_alpha(estimator: Any) -> float:
    """Alpha of each topic."""
    tokens, n_topics = _tokens(estimator), estimator.n_topics
    if tokens is None:
        return min(1.0, _TOTAL / n_topics)
    found = float(np.clip(tokens.per_document, *_TOTALS)) / max(n_topics, _FEWEST_TOPICS)
    return found if estimator.counts_ == "log" else min(found, _MOST_OF_COUNTS)


def default_smoothing(estimator: Any) -> float:
    """The topic-word prior."""
    tokens = _tokens(estimator)
    return _SMOOTHING if tokens is None else max(_SMOOTHING, tokens.per_word / _PER_PSEUDO_TOKEN)


def _tokens(estimator: Any) -> Tokens | None:
    """What the priors have to suit; None for engines to which it does not matter."""
    return estimator._tokens if estimator._engine().at_mode else None
