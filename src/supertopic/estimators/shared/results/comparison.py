"""Two models of the same kind of documents beside each other: which topics are the same, what came, went and moved.

Topics are matched one to one by their words; one that a model does not know has probability zero there. Most words are
those of any document, so that what is compared is what a topic has more of than the average: the cosine of
max(sqrt(p_v) - sqrt(mean_v), 0). It is 1 for the same topic, and near 0 for two that have nothing in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from supertopic.estimators.shared.results.topic_info import shares_of_all, topic_labels, words_in_order
from supertopic.fitted.effects import kinds_of, topic_effects
from supertopic.html_tables import frame_html
from supertopic.plural import counted

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

SAME = 0.3  # similarity from which two topics are taken for the same
_WORDS = 4
_ERROR = 0.05  # how often a comparison without changes says that some effect has moved
_LEAST = 0.05  # of the words that one of the models knows: how many both must know


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is different in one model from another, which was there before.

    topics : a row per topic of either model and column of effects: status ("same", "new", "gone"), topic and before
        (numbers), similarity, label, share, share_before; effect, effect_before and whether it moved by more than
        errors explain, where both models have effects on the same thing
    """

    topics: pd.DataFrame
    columns: tuple[str, ...]  # of effects that both models have
    kinds: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether topics came or went, or effects moved."""
        return bool((self.topics["status"] != "same").any() or self.topics["moved"].any())

    def __str__(self) -> str:
        first = self.topics.drop_duplicates(["status", "topic", "before"])
        count = first["status"].value_counts()
        moved = self.topics[self.topics["moved"]]
        same, new, gone = (int(count.get(one, 0)) for one in ("same", "new", "gone"))
        parts = [f"{counted(same, 'topic')} {'is' if same == 1 else 'are'} the same, {new} new, {gone} gone."]
        if self.columns:
            names = "; ".join(dict.fromkeys(moved["label"]))
            parts.append(f"Effects moved: {names}." if len(moved) else "No effect moved by more than errors explain.")
        return " ".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<div>{escape(str(self))}</div>{frame_html(self.topics)}"


def compare(model: TopicEstimator, other: Any) -> Comparison:
    """See `TopicEstimator.compare`."""
    similarity = _similarity(model, other)
    rows, matches = linear_sum_assignment(-similarity)
    found = {int(k): int(b) for k, b in zip(rows, matches, strict=True) if similarity[k, b] >= SAME}
    columns, kinds, effects = _effects(model, other, found)
    names, names_before = _names(model), _names(other)
    shares, shares_before = shares_of_all(model), shares_of_all(other)
    pairs: list[tuple[int | None, int | None]] = [(k, found.get(k)) for k in range(len(names))]
    pairs += [(None, b) for b in range(len(names_before)) if b not in found.values()]
    table = []
    for place, column in enumerate(columns or ("",)):
        for k, b in pairs:
            table.append({
                "status": "gone" if k is None else "new" if b is None else "same",
                "column": column,
                "topic": pd.NA if k is None else k,
                "before": pd.NA if b is None else b,
                "similarity": np.nan if k is None or b is None else similarity[k, b],
                "label": names_before[b] if k is None and b is not None else names[k or 0],
                "share": np.nan if k is None else shares[k],
                "share_before": np.nan if b is None else shares_before[b],
                **effects(k, b, place),
            })  # fmt: skip
    frame = pd.DataFrame(table).astype({"topic": "Int64", "before": "Int64"})
    return Comparison(frame, columns, kinds)


def _similarity(model: TopicEstimator, other: Any) -> np.ndarray:
    """(K, B) by the words of both models."""
    words, before = (one.fitted_.vocabulary.words for one in (model, other))
    common, here, there = np.intersect1d(words.astype(str), before.astype(str), return_indices=True)
    if len(common) < _LEAST * min(len(words), len(before)):
        raise ValueError(f"other: has only {len(common)} words in common with this model, so that no topics match")
    units = []
    for one, places in ((model, here), (other, there)):
        topics = np.asarray(one.components_, dtype=np.float64)
        apart = np.maximum(np.sqrt(topics) - np.sqrt(shares_of_all(one) @ topics), 0.0)
        units.append(apart[:, places] / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-300))
    return units[0] @ units[1].T


def _names(model: TopicEstimator) -> list[str]:
    """The label of each topic, or the words that stand for it."""
    words = model.fitted_.vocabulary.words[words_in_order(model, _WORDS, "relevance")[0]]
    return [label or ", ".join(map(str, own)) for label, own in zip(topic_labels(model), words, strict=True)]


def _effects(model: TopicEstimator, other: Any, found: dict[int, int]) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
    """Columns that both models have effects on, in which units, and a function that gives those of a pair of topics."""
    if not (hasattr(model, "coefficients_") and hasattr(other, "coefficients_")):
        return (), (), lambda k, b, place: {"moved": False}
    tables = [model.coefficients_, other.coefficients_]
    both = [name for name in tables[0].names if name in tables[1].names]
    own, before = (topic_effects(one.fitted_, table) for one, table in zip((model, other), tables, strict=True))
    kinds, kinds_before = kinds_of(model.fitted_), kinds_of(other.fitted_)
    at, at_before = ([table.names.index(name) for name in both] for table in tables)
    if [kinds[c] for c in at] != [kinds_before[c] for c in at_before]:
        raise ValueError("other: its effects are in other units, since it has another response")
    reach = float(norm.isf(_ERROR / max(2 * len(found) * len(both), 2)))

    def pair(k: int | None, b: int | None, place: int) -> dict[str, Any]:
        c, c_before, ratio = at[place], at_before[place], kinds[at[place]] == "ratio"
        new = np.array([np.nan, np.nan] if k is None else [own.effect[k, c], own.std_error[k, c]])
        old = np.array([np.nan, np.nan] if b is None else [before.effect[b, c_before], before.std_error[b, c_before]])
        logs = [np.array([np.log(v), s / v]) if ratio else np.array([v, s]) for v, s in (new, old)]
        change, error = logs[0][0] - logs[1][0], np.hypot(logs[0][1], logs[1][1])
        return {"effect": new[0], "effect_before": old[0], "moved": bool(abs(change) > reach * error)}

    return tuple(both), tuple(kinds[c] for c in at), pair
