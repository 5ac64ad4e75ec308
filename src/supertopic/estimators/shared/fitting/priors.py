"""Priors that suit the documents, where users name none and topics are trained for the prediction ("pc").

    alpha = min(n, 25) / K, 1 at most              n: tokens of the mean document
    topic-word prior = D min(n, 200) / 200 V       D documents, V words; 0.05 at least

A document of a line keeps its own say. Words overfit: a seldom word can stand for the few labels of its documents, and
topics that lean to even words keep seldom words from telling topics apart. In a corpus in which all words are seldom,
that would take its telling words, too; in a long document no one word says much, and less of it is wanted. A softmax,
whose topics tell many classes apart, gains nothing by it, and its topics would read worse. What these numbers were
chosen on: `slda.prediction_settings` in experiments/RESULTS.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from supertopic.checks import check_whole
from supertopic.documents.corpus import Corpus
from supertopic.estimators.shared.fitting.counts import choose_counts, restored_counts
from supertopic.responses.classes import Softmax
from supertopic.responses.several import parts_of

_TOTALS = 5.0, 25.0  # pseudo-tokens of a document, at least and at most
_MOST = 1.0  # alpha of a topic
_SMOOTHING = 0.05  # of topics, at least
_PER_PSEUDO_TOKEN = 200.0  # tokens of a word
_LONG = 200.0  # tokens of a document that the topic-word prior sees at most


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
    seen = corpus.logs if estimator.counts_ == "log" else corpus
    per_document = seen.n_tokens / max(len(corpus), 1)
    estimator._tokens = Tokens(per_document, per_document * (n_documents or len(corpus)) / seen.shape[1])


def saved_look(estimator: Any) -> dict[str, Any]:
    """For a model file."""
    return {"counts": estimator.counts_, "tokens": estimator._tokens}


def restored_look(saved: Mapping[str, Any], at_mode: bool) -> tuple[str, Tokens | None]:
    """What a model file says; files of earlier versions do not know the tokens."""
    counts, found = restored_counts(saved, at_mode), saved.get("tokens")
    if found is None:
        return counts, None
    numbers = [number for number in found if isinstance(number, (int, float)) and 0 <= number < np.inf]
    if len(found) != 2 or len(numbers) != 2:
        raise ValueError(f"tokens: got {found!r}, expected two numbers >= 0")
    return counts, Tokens(*map(float, numbers))


def default_alpha(estimator: Any) -> float:
    """Alpha of each topic."""
    tokens = _tokens(estimator)
    total = _TOTALS[1] if tokens is None else float(np.clip(tokens.per_document, *_TOTALS))
    return min(_MOST, total / estimator.n_topics)


def default_smoothing(estimator: Any) -> float:
    """The topic-word prior."""
    tokens = _tokens(estimator)
    if tokens is None or any(isinstance(part.response, Softmax) for part in parts_of(estimator._response())):
        return _SMOOTHING
    seen = _LONG / max(tokens.per_document, _LONG)  # the part of a document's tokens that counts
    return max(_SMOOTHING, seen * tokens.per_word / _PER_PSEUDO_TOKEN)


def _tokens(estimator: Any) -> Tokens | None:
    """What the priors have to suit; None for engines to which it does not matter."""
    return estimator._tokens if estimator._engine().at_mode else None
