"""The deviations of SAGE models: the words that each component makes more or less probable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.checks import check_whole
from supertopic.emissions import sage
from supertopic.explore.plots import style
from supertopic.explore.plots.blocks import Block, draw_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_MOST = 12  # components that are shown


def plot_deviations(model: TopicEstimator, topic: int | None = None, *, n: int = 8, ax: Axes | None = None) -> Any:
    """Draw a block of words for the background and for each component, with the words it makes more or less probable.

    Parameters
    ----------
    model : SAGEClassifier, SAGETopics, FacetedSAGE or GeoSAGE
        Fitted.
    topic : int, optional
        FacetedSAGE and GeoSAGE: the topic to show, with its interactions; the largest by default. Other models: the
        topic or class to show; by default the first twelve.
    n : int
        Number of words per block; those whose probability changes most are shown.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "deviations")
    check_whole("n", n)
    parts = _parts(model, topic)
    words, background = model.fitted_.vocabulary.words, np.asarray(model.background_, dtype=np.float64)
    top = np.argsort(-background, kind="stable")[:n]
    blocks = [Block("background", list(words[top]), np.exp(background[top]), own_scale=True, grey=True)]
    for title, eta in parts:
        chosen = most_changed(eta, background, n)
        blocks.append(Block(style.shown(title, 26), list(words[chosen]), eta[chosen]))
    largest = max((float(np.abs(block.values).max(initial=0.0)) for block in blocks[1:]), default=0.0)
    return draw_blocks(ax, blocks, f"bars: log deviation, the longest {style.number(largest)}; background: probability")


def deviations_of(model: TopicEstimator) -> np.ndarray | None:
    """(K, V) deviations of topics or classes from the background; None for a model that has none."""
    if isinstance(getattr(model, "deviations_", None), dict):
        return model.deviations_["topic"].sparse.to_coo().toarray().T
    if getattr(model, "deviations_", None) is None:
        return None
    return sage.unpack(model.fitted_.state.word_topic)[0].T


def _parts(model: TopicEstimator, topic: int | None) -> list[tuple[str, np.ndarray]]:
    """Return (title, deviations (V,)) of the components to show."""
    eta = deviations_of(model)
    if eta is None:
        raise ValueError(f"model: got {type(model).__name__}, expected a SAGE model, which has deviations")
    if topic is not None and (isinstance(topic, bool) or not 0 <= topic < len(eta)):
        raise ValueError(f"topic: got {topic!r}, expected a whole number from 0 to {len(eta) - 1}")
    if not isinstance(model.deviations_, dict):
        names = [str(label) for label in model.classes_] if hasattr(model, "classes_") else None
        shown = range(min(len(eta), _MOST)) if topic is None else [topic]
        return [(f"topic {k}" if names is None else names[k], eta[k]) for k in shown]
    return _facets(model.deviations_, int(model.doc_topic_.mean(axis=0).argmax()) if topic is None else topic)


def _facets(deviations: dict[str, Any], topic: int) -> list[tuple[str, np.ndarray]]:
    """The components of one topic: its own, those of labels, and interactions."""
    parts = []
    for name, frame in deviations.items():
        factors, eta = name.split(" × "), frame.sparse.to_coo().tocsc()
        for j, component in enumerate(frame.columns):
            values = component if isinstance(component, tuple) else (component,)
            if "topic" in factors and values[factors.index("topic")] != topic:
                continue
            pairs = zip(factors, values, strict=True)
            title = " × ".join(f"{f} {v}" if f in ("topic", "region") else str(v) for f, v in pairs)
            parts.append((title, eta[:, [j]].toarray().ravel()))
    return parts[:_MOST]


def most_changed(eta: np.ndarray, background: np.ndarray, n: int) -> np.ndarray:
    """Return up to n words with the largest change in probability, from the largest gain to the largest loss."""
    change = np.exp(background) * np.expm1(eta)
    order = np.argsort(-np.abs(change), kind="stable")[:n]
    order = order[eta[order] != 0]
    return order[np.argsort(-eta[order], kind="stable")]
