"""`methods` and `card`: what a fit knows of itself, in sentences for papers and for whoever is given the model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from supertopic.fitted.certainty.figures import LEFT_OUT, Figures
from supertopic.fitted.fitted import Fitted
from supertopic.html_tables import number
from supertopic.plural import counted

ENGINES = {
    "vb": "variational EM (Blei, Ng & Jordan 2003)",
    "cvb0": "collapsed variational inference of order zero (Asuncion et al. 2009)",
    "svi": "stochastic variational inference (Hoffman et al. 2013)",
    "gibbs": "collapsed Gibbs sampling (Griffiths & Steyvers 2004)",
    "pc": "prediction-constrained training (Hughes et al. 2018)",
}


def methods(fitted: Fitted, params: Mapping[str, Any], papers: str) -> str:
    """A paragraph for a methods section; params : the estimator's; papers : where its model comes from."""
    found = [_model(fitted, papers), _documents(fitted), *_fit(fitted, params), *_certainty(fitted, params)]
    return " ".join(found)


def card(fitted: Fitted, params: Mapping[str, Any], papers: str, topics: pd.DataFrame) -> str:
    """A model card in Markdown; topics : what `topics()` shows."""
    rows = [f"| {k} | {number(float(row['share']))} | {row['words']} |" for k, row in topics.iterrows()]
    aims = [target.name for target in fitted.spec.schema.targets]
    parts = {
        "Model": methods(fitted, params, papers),
        "Origin": origin(fitted),
        "Use": (
            f"It predicts {', '.join(aims)} of texts like those of the fit, and shows which topics go with it."
            if aims
            else "It describes which topics texts like those of the fit are about."
        )
        + " Topics say what goes together in these texts, not what causes what.",
        "Limits": "Texts of another time, place or kind may be predicted wrongly, and intervals then promise too much. "
        "Look at errors by group before predictions decide about people.",
        "What the file holds": "The vocabulary of the training documents"
        + (", their topic shares" if fitted.doc_topic is not None else "")
        + (" and the names of classes" if fitted.classes is not None else "")
        + ". It does not hold their texts.",
        "Topics": "\n".join(["| topic | share | words |", "|---|---|---|", *rows]),
    }
    title = f"# Model card: {fitted.spec.name}, {counted(fitted.n_topics, 'topic')}"
    return "\n\n".join([title, *(f"## {name}\n\n{text}" for name, text in parts.items())]) + "\n"


def scores(fitted: Fitted) -> dict[str, dict[str, float]]:
    """How good predictions are of documents by fits without them, by response; empty where none were left out.

    `right` is the share of classes that are right, `explained` that of the differences in a number, with the ends of an
    interval of 90 %; documents : how many
    """
    rows, found = fitted.certainty.figures, {}
    for target, row in zip(fitted.spec.schema.targets, [] if rows is None else rows, strict=False):
        one, right = Figures.from_row(row), target.classes is not None
        value = (one.right, one.right_low, one.right_high) if right else (one.skill, one.skill_low, one.skill_high)
        if not np.isnan(value[0]):
            names = ("right" if right else "explained", "low", "high", "documents")
            found[str(target.name)] = dict(zip(names, (*value, one.n), strict=True))
    return found


def origin(fitted: Fitted) -> str:
    """When it was fitted, to which data, and how good it was then."""
    found = [f"Fitted on {fitted.date}." if fitted.date else "The file does not say when it was fitted."]
    found += [f"The fingerprint of its data is {fitted.data}."] if fitted.data else []
    for name, one in scores(fitted).items():
        right = "right" in one
        told = f"got {one['right']:.0%} right" if right else f"explained {one['explained']:.0%} of the differences"
        ends = f"({one['low']:.0%} to {one['high']:.0%}, a 90 % interval)"
        found.append(f"On {counted(one['documents'], 'document')}, {LEFT_OUT}, it {told} {ends} of {name}.")
    return " ".join(found)


def _model(fitted: Fitted, papers: str) -> str:
    schema = fitted.spec.schema
    aims = [f"{target.name} ({target.response} response)" for target in schema.targets if target.response]
    told = f" to predict {', '.join(aims)}" if aims else ""
    return (
        f"We fitted {fitted.spec.name} ({papers}) with {counted(fitted.n_topics, 'topic')}{told}, "
        f"by supertopic {version('supertopic')}."
    )


def _documents(fitted: Fitted) -> str:
    n_documents = fitted.n_seen if fitted.doc_topic is None else len(fitted.doc_topic)
    words = f"a vocabulary of {counted(fitted.vocabulary.n_words, 'word')}"
    tokens = fitted.spec.schema.tokens
    logs = fitted.spec.schema.counts == "log"
    mean = "" if tokens is None or logs else f" of {tokens.per_document:.0f} tokens on average"
    left_out = ", stop words left out" if len(fitted.vocabulary.stop_words) else ""
    taken = " Counts were taken as log2(1 + count)." if logs else ""
    return f"There were {n_documents:,} training documents{mean}, and {words}{left_out}.{taken}"


def _fit(fitted: Fitted, params: Mapping[str, Any]) -> list[str]:
    engine = ENGINES.get(fitted.spec.inference, "an algorithm of its own")
    found = [f"Inference was {engine}, {counted(fitted.n_iter, 'iteration')}, seed {params.get('random_state')}."]
    schema = fitted.spec.schema
    if schema.targets and "supervision" in params:
        found.append(f"The response had the weight {schema.supervision:g} (supervision).")
    if names := schema.covariate_names:
        shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        found.append(f"Covariates beside the topics: {shown}.")
    if fitted.members is not None:
        found.append(f"Predictions are means over {1 + len(fitted.members)} fits.")
    return found


def _certainty(fitted: Fitted, params: Mapping[str, Any]) -> list[str]:
    if not fitted.spec.schema.targets or "cross_fit" not in params:
        return []
    found = []
    if share := params.get("honest"):
        found.append(f"Coefficients and errors come from {share:.0%} of the labels, which the topics had not seen.")
    if fitted.certainty.levels is not None:
        found.append("Intervals and prediction sets were calibrated on documents that the topics had not seen.")
        if folds := params["cross_fit"]:
            found[-1] = found[-1][:-1] + f" ({folds}-fold cross-fitting)."
    else:
        found.append("Errors and intervals come from the training documents, and are too narrow for new ones.")
    if n_groups := fitted.notes.get("n_groups"):
        found.append(f"Folds kept {n_groups} groups of documents whole, and errors are those of groups.")
    return found
