"""The words that stand for a topic: the most probable ones, or those that are both frequent and exclusive."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.checks import check_choice, check_whole
from supertopic.metrics.summaries import frex

_FREQUENCY = 0.5  # the weight of frequency against exclusivity, as in R's stm


def topic_words(model: Any, n: int, by: str = "probability") -> list[list[str]]:
    """The n first words of each topic, by p(word | topic) or by FREX."""
    check_whole("n", n)
    check_choice("by", by, ("probability", "frex"))
    rank = model.components_ if by == "probability" else frex(model.components_, _FREQUENCY)
    order = np.argsort(-rank, axis=1, kind="stable")[:, : int(n)]
    return [list(words) for words in model._words()[order]]
