"""Metrics of topic models: held-out likelihood, coherence, diversity, prediction and stability."""

from supertopic.metrics.coherence import coherence
from supertopic.metrics.heldout import (
    HeldOut,
    completion_split,
    log_likelihood,
    perplexity,
    score_completion,
)
from supertopic.metrics.summaries import (
    Alignment,
    align_topics,
    doc_topic_entropy,
    exclusivity,
    frex,
    predictive_r2,
    stability,
    topic_distance,
    topic_diversity,
)

__all__ = [
    "Alignment",
    "HeldOut",
    "align_topics",
    "coherence",
    "completion_split",
    "doc_topic_entropy",
    "exclusivity",
    "frex",
    "log_likelihood",
    "perplexity",
    "predictive_r2",
    "score_completion",
    "stability",
    "topic_distance",
    "topic_diversity",
]
