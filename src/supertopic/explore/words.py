"""The words that stand for a topic: the most probable ones, or those that are both frequent and exclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supertopic.checks import check_choice, check_whole
from supertopic.estimators.shared.results.topic_info import top_words_by

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


def topic_words(model: TopicEstimator, n: int, by: str = "probability") -> list[list[str]]:
    """The n first words of each topic, by p(word | topic) or by FREX; refuses other choices."""
    check_whole("n", n)
    check_choice("by", by, ("probability", "frex"))
    return top_words_by(model, n, by)
