"""A fitted model in a notebook: its topics with shares, coefficients and words whole."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from supertopic.estimators.shared.results.topic_info import topic_labels
from supertopic.fitted.coefficients import CoefficientTable
from supertopic.html_tables import bar_svg, dots_svg, number, shown, table_html, with_error, words_html

_MOST_NUMBERS = 12  # columns of coefficients that are shown as numbers; more are dots only


def model_html(model: Any, n: int = 10) -> str:
    """The model's parameters, and a table of its topics: the largest coefficient first, or class by class."""
    table, shares = getattr(model, "coefficients_", None), model.fitted_.average_shares
    order = np.arange(len(model.components_)) if table is None else table.order()
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
    if table is not None:
        columns |= _coefficients(model, table, order)
    found = model.top_words(n).groupby("topic")["word"].agg(list)
    columns["words"] = [words_html(found[k]) for k in order]
    body = table_html(columns, left=[name for name in ("label", "class", "words") if name in columns])
    return (
        f"<div style='overflow-x:auto'><div><code>{escape(repr(model))}</code></div>{_facts(model, table)}{body}</div>"
    )


def _coefficients(model: object, table: CoefficientTable, order: np.ndarray) -> dict[str, list[str]]:
    """A column of numbers for each class or response, and one with a picture of all."""
    ends, columns = table.ends(), {}
    reach = np.abs(table.coef).max(axis=1)
    if ends is not None:
        reach = np.minimum(np.maximum(reach, np.abs(ends).max(axis=(0, 2))), 3 * reach)
    if isinstance(getattr(model, "classes_", None), np.ndarray):  # classes of one response have one unit
        reach = np.full(len(reach), reach.max())
    if len(table.names) <= _MOST_NUMBERS:
        for c, name in enumerate(table.names):
            errors = [None] * table.coef.shape[1] if table.std is None else table.std[c]
            columns[f"coef {name}".strip()] = [with_error(table.coef[c, k], errors[k]) for k in order]
    width = 120.0 if len(table.names) == 1 else 26.0
    picture = [dots_svg(table.coef[:, k], None if ends is None else ends[:, :, k], reach, width) for k in order]
    columns["90 % interval" if ends is not None else "picture"] = picture
    return columns


def _facts(model: Any, table: CoefficientTable | None) -> str:
    """What was fitted to what, in a line."""
    facts = [f"{len(model.components_)} topics", f"{model.n_features_in_:,} words"]
    if model.fitted_.vocabulary.stop_words:
        facts[-1] += " without stop words"
    if hasattr(model, "doc_topic_"):
        facts.append(f"{len(model.doc_topic_):,} documents")
    targets = model.fitted_.spec.schema.targets
    if len(targets) == 1:
        name = "" if targets[0].name == "y" else f" of {shown(targets[0].name)}"
        facts.append(f"response {escape(targets[0].response)}{name}")
    classes = getattr(model, "classes_", None)
    if table is not None and len(table.names) == 1 and isinstance(classes, np.ndarray) and len(classes) == 2:
        facts.append(f"a positive coefficient is evidence for {shown(classes[1])}")
    if table is not None:
        pairs = zip(table.names, table.intercept, strict=True)
        levels = ", ".join(
            f"{shown(name)} {number(float(value))}" if name else number(float(value)) for name, value in pairs
        )
        facts.append(f"average document {levels}")
    return f"<div>{' · '.join(facts)}</div>"
