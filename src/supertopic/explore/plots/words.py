"""The words of each topic, with bars of their probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.plots.blocks import Block, draw_blocks
from supertopic.explore.words import topic_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator


def plot_words(
    model: TopicEstimator, topics: object = None, *, n: int = 6, by: str = "probability", ax: Axes | None = None
) -> Any:
    """Draw a block of words for each topic; a bar is the word's probability in the topic.

    Parameters
    ----------
    model : a fitted model
    topics : int or list of int, optional
        Which topics; all by default.
    n : int
        Words of each topic.
    by : {"probability", "frex"}
        Which words: the most probable ones, or those both frequent and exclusive.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "words")
    found, shares = topic_words(model, n, by), model.fitted_.average_shares
    chosen = checked_topics(topics, len(found))
    place = {word: column for column, word in enumerate(model.fitted_.vocabulary.words)}
    blocks, labels = [], style.named(model, 16)
    for k in chosen:
        probabilities = model.components_[k, [place[word] for word in found[k]]].astype(np.float64)
        name = labels[k] or f"topic {k}"
        blocks.append(Block(f"{name} · {style.percent(shares[k])}", found[k], probabilities))
    longest = max(float(block.values.max()) for block in blocks)
    which = "" if by == "probability" else "FREX words; "
    return draw_blocks(ax, blocks, f"{which}bars: probability, the longest {100 * longest:.1f} %")


def checked_topics(topics: Any, n_topics: int) -> list[int]:
    """The numbers of the topics to show."""
    if topics is None:
        return list(range(n_topics))
    several = isinstance(topics, Iterable) and not isinstance(topics, str)
    given = list(topics) if several else [topics]
    for topic in given:
        if not isinstance(topic, Integral) or isinstance(topic, bool) or not 0 <= int(topic) < n_topics:
            raise ValueError(f"topics: got {topic!r}, expected whole numbers from 0 to {n_topics - 1}")
    if not given:
        raise ValueError("topics: got an empty list, expected one topic at least")
    return [int(topic) for topic in given]
