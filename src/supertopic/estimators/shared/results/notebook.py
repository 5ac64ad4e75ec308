"""A fitted model in a notebook: its topics with shares, coefficients and words whole."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from supertopic.estimators.shared.results.effects import effect_text, topic_order
from supertopic.estimators.shared.results.topic_info import topic_labels
from supertopic.fitted.coefficients import CoefficientTable
from supertopic.fitted.effects import kinds_of, topic_effects
from supertopic.html_tables import bar_svg, dots_svg, number, shown, table_html, words_html
from supertopic.inference.after.effects import Effects
from supertopic.plural import counted

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

_MOST_NUMBERS = 12  # columns of effects that are shown as numbers; more are dots only


def model_html(model: TopicEstimator, n: int = 10) -> str:
    """The model's parameters, what it found, and a table of its topics: the largest effect first, or class by class."""
    table, shares = getattr(model, "coefficients_", None), model.fitted_.average_shares
    found = None if table is None else topic_effects(model.fitted_, table)
    order = topic_order(model.fitted_, table, found)
    columns: dict[str, list[str]] = {"topic": [str(k) for k in order]}
    labels = topic_labels(model)
    if any(labels):
        columns["label"] = [shown(labels[k]) for k in order]
    owners = getattr(model, "topic_classes_", None)
    if owners is not None:
        columns["class"] = ["" if owners[k] is None else shown(owners[k]) for k in order]
    elif (
        table is None and isinstance(getattr(model, "classes_", None), np.ndarray) and len(model.classes_) == len(order)
    ):
        columns["class"] = [shown(label) for label in model.classes_]
    if len(shares) == len(order):
        columns["share"] = [f"{100 * shares[k]:.1f} % {bar_svg(shares[k], shares.max())}" for k in order]
    if table is not None and found is not None:
        columns |= _effects(model, table.names, found, order)
    found = model.top_words(n).groupby("topic")["word"].agg(list)
    columns["words"] = [words_html(found[k]) for k in order]
    body = table_html(columns, left=[name for name in ("label", "class", "words") if name in columns])
    head = f"<div><code>{escape(repr(model))}</code></div>{_facts(model, table)}{model.describe().html}"
    return f"<div style='overflow-x:auto'>{head}{body}</div>"


def _effects(model: TopicEstimator, names: list[str], found: Effects, order: np.ndarray) -> dict[str, list[str]]:
    """A column of numbers for each class or response, and one with a picture of all."""
    kinds, columns, known = kinds_of(model.fitted_), {}, np.isfinite(found.std_error).any()
    ratio = np.array(kinds) == "ratio"
    effect, low, high = (
        np.where(ratio, np.log(np.where(ratio, values, 1.0)), values)
        for values in (found.effect, found.lower, found.upper)
    )
    reach = np.maximum(np.abs(effect).max(axis=0), 1e-12)
    if known:
        reach = np.minimum(np.maximum(reach, np.maximum(np.abs(low), np.abs(high)).max(axis=0)), 3 * reach)
    if isinstance(getattr(model, "classes_", None), np.ndarray):  # classes of one response have one unit
        reach = np.full(len(reach), reach.max())
    if len(names) <= _MOST_NUMBERS:
        for c, name in enumerate(names):
            columns[f"effect {name}".strip()] = [effect_text(found.effect[k, c], kinds[c]) for k in order]
    width = 120.0 if len(names) == 1 else 26.0
    ends = [np.stack([low[k], high[k]]) if known else None for k in order]
    picture = [dots_svg(effect[k], own, reach, width) for k, own in zip(order, ends, strict=True)]
    columns["90 % interval" if known else "picture"] = picture
    return columns


def _facts(model: TopicEstimator, table: CoefficientTable | None) -> str:
    """What was fitted to what, in a line."""
    facts = [counted(len(model.components_), "topic"), counted(model.n_features_in_, "word")]
    if model.fitted_.vocabulary.stop_words:
        facts[-1] += " without stop words"
    if hasattr(model, "doc_topic_"):
        facts.append(counted(len(model.doc_topic_), "document"))
    targets = model.fitted_.spec.schema.targets
    if len(targets) == 1:
        name = "" if targets[0].name == "y" else f" of {shown(targets[0].name)}"
        facts.append(f"response {escape(targets[0].response)}{name}")
    classes = getattr(model, "classes_", None)
    if table is not None and len(table.names) == 1 and isinstance(classes, np.ndarray) and len(classes) == 2:
        facts.append(f"effects on {shown(classes[1])}")
    if table is not None:
        pairs = zip(table.names, table.intercept, strict=True)
        levels = ", ".join(
            f"{shown(name)} {number(float(value))}" if name else number(float(value)) for name, value in pairs
        )
        facts.append(f"average document {levels}")
    return f"<div>{' · '.join(facts)}</div>"
