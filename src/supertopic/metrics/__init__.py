"""Metrics of topic models: held-out likelihood, coherence, diversity, prediction and stability."""

from supertopic.metrics.coherence import coherence
from supertopic.metrics.dispersion import residual_dispersion
from supertopic.metrics.heldout import (
    HeldOut,
    completion_split,
    log_likelihood,
    perplexity,
    score_completion,
)
from supertopic.metrics.likeness import concentration, divergences, share_correlation
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
from supertopic.metrics.word_scores import lift, relevance, word_score

__all__ = [
    "Alignment",
    "HeldOut",
    "align_topics",
    "coherence",
    "completion_split",
    "concentration",
    "divergences",
    "doc_topic_entropy",
    "exclusivity",
    "frex",
    "lift",
    "log_likelihood",
    "perplexity",
    "predictive_r2",
    "relevance",
    "residual_dispersion",
    "score_completion",
    "share_correlation",
    "stability",
    "topic_distance",
    "topic_diversity",
    "word_score",
]
