"""The words that stand for a topic: the most probable ones, or by another ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supertopic.checks import check_choice, check_whole
from supertopic.estimators.shared.results.topic_info import top_words_by
from supertopic.metrics.word_scores import RANKINGS

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


def topic_words(model: TopicEstimator, n: int, by: str = "probability") -> list[list[str]]:
    """The n first words of each topic, by one of `RANKINGS`; refuses other choices."""
    check_whole("n", n)
    check_choice("by", by, RANKINGS)
    return top_words_by(model, n, by)
