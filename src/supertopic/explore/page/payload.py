"""What the page shows of a fitted model and its documents: plain values (`facts`) and arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.corpus import Corpus, EmptyDocumentWarning, as_texts, holds_text
from supertopic.documents.labels import as_table
from supertopic.estimators.shared.results.topic_info import marks_of_topics, words_of_all
from supertopic.explore.page.columns import describe_column, describe_columns, known_of_documents, read_metadata
from supertopic.explore.page.description import are_those_of_the_fit, describe_documents
from supertopic.explore.page.documents import pack_counts, pack_texts
from supertopic.explore.page.effects import effects_of, users_scores, word_lists
from supertopic.explore.page.geometry import naming_words, places_on_map, seriation
from supertopic.explore.page.inference import describe_inference
from supertopic.explore.page.outcomes import Outcome, outcomes_of
from supertopic.fitted.effects import Range, kinds_of, topic_effects
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import covariate_coef
from supertopic.fitted.topic_effects import TopicCurves, TopicEffects
from supertopic.metrics.likeness import divergences, find_flags

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

_LONGEST_LABEL = 300


@dataclass
class Payload:
    """`facts` becomes JSON; `arrays` stay binary."""

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def collect(
    estimator: TopicEstimator, X: object, y: object = None, *, metadata: object = None, texts: object = None,
    names: object = None, covariates: object = None, embeddings: object = None, effects: object = None,
    compare: TopicEstimator | None = None, title: str | None = None,
) -> Payload:  # fmt: skip
    """All that the page needs; the arguments are those of `model.report`."""
    if not hasattr(estimator, "engines"):
        raise TypeError(f"model: got {type(estimator).__name__}, expected a fitted estimator of supertopic")
    check_is_fitted(estimator, "fitted_")
    prevalence = _prevalence(effects)
    given_texts = _texts(X, texts)
    corpus = estimator.fitted_.corpus(X)
    frame = read_metadata(metadata, len(corpus))
    columns, known = (
        describe_columns(frame),
        known_of_documents(frame, estimator.fitted_.prior_columns, len(corpus), embeddings),
    )
    labels = _document_names(names, corpus)
    payload = Payload(
        {"prevalence": prevalence, "compared": None if compare is None else _compared(estimator, compare)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # the page counts them
        outcomes = outcomes_of(estimator, corpus, y, covariates, known)
        if y is not None and outcomes.scores is None:  # one column at most is predicted; others are there to look at
            columns += _as_metadata(y, len(corpus))[len(outcomes.found) :]
        shares = outcomes.shares_of(estimator, corpus, known)
    _add_model(payload, estimator, title, outcomes.found, len(corpus))
    _add_topics(payload, estimator, shares)
    payload.facts["inference"], more = describe_inference(estimator)
    payload.arrays |= more
    _add_effects(payload, estimator, corpus, outcomes.scores)
    _add_outcomes(payload, outcomes.found)
    found = describe_documents(estimator, corpus, outcomes, shares, covariates, known)
    payload.facts["found"] = {"sentences": found.sentences, "hardly": found.hardly}
    _add_documents(payload, corpus, shares, given_texts, labels, columns, outcomes.found)
    _add_checks(payload, estimator, corpus, shares)
    _add_groups(payload, estimator.fitted_, len(corpus))
    return payload


def _prevalence(effects: object) -> dict[str, Any] | None:
    """What goes with topics, by term, but for the pieces of splines."""
    if effects is None:
        return None
    if isinstance(effects, TopicCurves):
        raise ValueError("effects: got a curve, expected what estimate_effect or contrast returns; plot(path) draws it")
    if not isinstance(effects, TopicEffects):
        raise ValueError(f"effects: got {type(effects).__name__}, expected what estimate_effect returns")
    terms = [term for term in effects.terms if "spline(" not in term]
    if not terms:
        raise ValueError("effects: got pieces of splines alone, which say nothing; expected a contrast of two values")
    table = effects.summary()
    rows = table.rename(columns={"found_again": "again"}).assign(again=table.get("found_again"))
    rows = rows[["topic", "label", "term", "estimate", "lower", "upper", "again"]].dropna(subset="estimate")
    rows = rows.astype(object)
    rows = rows.where(rows.notna(), None)
    return {
        "notes": [f"90 % intervals. {' '.join(effects.notes)}"],
        "terms": [
            {"name": term, "rows": rows[rows["term"] == term].drop(columns="term").to_dict("records")} for term in terms
        ],
    }


def _compared(estimator: TopicEstimator, before: TopicEstimator) -> dict[str, Any]:
    """What is different from a model that was there before; of ratios their logarithms, so that none is zero."""
    found = estimator.compare(before)
    table = found.topics.astype(object).where(found.topics.notna(), None)
    names = estimator.coefficients_.names if found.columns else []
    places = [names.index(name) for name in found.columns]
    logs = {name for name, kind in zip(found.columns, found.kinds, strict=True) if kind == "ratio"}
    rows = table.to_dict("records")
    for row in rows:
        for name in ("effect", "effect_before"):
            value = row.get(name)
            row[name] = float(np.log(value)) if value is not None and row["column"] in logs else value
    return {"text": str(found), "columns": places, "names": list(found.columns), "rows": rows}


def _texts(X: Any, texts: Any) -> list[str] | None:
    if texts is None:
        return list(as_texts(X)[0]) if not isinstance(X, Corpus) and holds_text(X) else None
    found = list(as_texts(texts)[0])
    n_documents = len(X) if isinstance(X, Corpus) or not hasattr(X, "shape") else X.shape[0]
    if len(found) != n_documents:
        raise ValueError(f"texts: got {len(found)} texts, expected one for each of the {n_documents} documents")
    return found


def _document_names(names: Any, corpus: Corpus) -> list[str] | None:
    """The names of the documents: those given, or the labels of the frame's rows where they are no plain numbers."""
    if names is None:
        index = corpus.index
        if index is None or isinstance(index, pd.RangeIndex):
            return None
        names = index
    found = [str(name)[:_LONGEST_LABEL] for name in names]
    if len(found) != len(corpus):
        raise ValueError(f"names: got {len(found)} names, expected one for each of the {len(corpus)} documents")
    return found


def _as_metadata(y: object, n_documents: int) -> list[dict[str, Any]]:
    """y of a model without a response: columns to look at."""
    table, names = as_table(y, n_documents, "report")
    pairs = zip(names, table.T, strict=True)
    return [describe_column(name, pd.Series(column).infer_objects()) for name, column in pairs]


def _add_model(
    payload: Payload, estimator: TopicEstimator, title: str | None, outcomes: list[Outcome], n_documents: int
) -> None:
    name = type(estimator).__name__
    if title is None:
        what = ", ".join(one.name for one in outcomes[:3])
        title = f"Topics that predict {what}" if what else f"Topics of {n_documents:,} documents"
    shown = {
        key: value if isinstance(value, (int, float, str, bool)) or value is None else str(value)[:_LONGEST_LABEL]
        for key, value in estimator.get_params(deep=False).items()
    }
    payload.facts |= {
        "title": str(title)[:_LONGEST_LABEL],
        "estimator": name,
        "version": version("supertopic"),
        "parameters": {key: str(value) for key, value in shown.items() if key != "checkpoint"},
        "words": [str(word) for word in estimator.fitted_.vocabulary.words],
    }


def _add_topics(payload: Payload, estimator: TopicEstimator, shares: np.ndarray) -> None:
    topics = np.asarray(estimator.components_, dtype=np.float64)
    distance = divergences(topics)
    used = shares.mean(axis=0) if len(shares) else estimator.fitted_.average_shares
    average = _fit(estimator.fitted_.average_shares, len(topics), used)
    mean = average @ topics
    given = getattr(estimator, "topic_labels_", None) or [None] * len(topics)
    classes = getattr(estimator, "classes_", None)
    moved = marks_of_topics(estimator).get("moved", [None] * len(topics))
    found = zip(find_flags(distance, used), words_of_all(estimator), moved, strict=True)
    flags = [{**flag, "common": bool(common and not flag["twins"]), "moved": one} for flag, common, one in found]
    payload.facts["topic_noun"] = "Topic"
    if getattr(estimator, "membership_", "mixed") == "single" and classes is not None:
        payload.facts["topic_noun"] = "Class"  # its topics are its classes: none is left over, or one too many
        given = [str(label) for label in classes]
        flags = [{"dead": False, "twins": [], "common": False, "moved": None} for _ in classes]
    payload.facts["topics"] = [
        {"label": None if label is None else str(label)[:_LONGEST_LABEL], "words": words, **flags}
        for label, words, flags in zip(given, naming_words(topics, mean), flags, strict=True)
    ]
    payload.facts["order"] = [int(k) for k in seriation(distance)]
    payload.arrays |= {
        "divergence": np.rint(distance * 255).astype(np.uint8),
        "places": places_on_map(distance).astype(np.float32),
        "word_mean": mean.astype(np.float32),
        "word_sum": topics.sum(axis=0).astype(np.float32),
    }


def _fit(shares: np.ndarray, n_topics: int, instead: np.ndarray) -> np.ndarray:
    return shares if len(shares) == n_topics else np.asarray(instead, dtype=np.float64)


def _add_effects(payload: Payload, estimator: TopicEstimator, corpus: Corpus, scores: np.ndarray | None) -> None:
    payload.facts["effects"] = None
    if scores is None:
        return
    fitted = estimator.fitted_
    table, given = estimator.coefficients_, Range.of(fitted)
    found = effects_of(fitted, table)
    payload.facts["effects"] = {
        "names": [str(name)[:_LONGEST_LABEL] for name in found.names],
        "prior": found.prior if table.draws is None else "posterior",
        "intercept": found.intercept.tolist(),
        "origin": found.origin.tolist(),
        "unit": found.unit.tolist(),
        "covariates": typed_covariates(fitted),
        "kinds": kinds_of(fitted),
        "quantiles": [100 * given.low, 100 * given.high],
        "words": word_lists(fitted, corpus.counts),
    }
    payload.arrays |= {
        "coef": found.coef,
        "coef_std": found.std,
        "predictor": users_scores(fitted, found, scores).astype(np.float32),
    }
    moved, ratio = topic_effects(fitted, table, given), np.array(kinds_of(fitted)) == "ratio"
    ends = {"effect": moved.effect, "effect_low": moved.lower, "effect_high": moved.upper}
    for name, values in ends.items():  # of a ratio its logarithm, so that none is zero
        payload.arrays[name] = np.where(ratio, np.log(np.where(ratio, values, 1.0)), values).T.astype(np.float64)
    payload.arrays |= {"share_low": moved.low, "share_high": moved.high}
    for name, attribute in (("inclusion", "inclusion_"), ("r_hat", "r_hat_"), ("sign", "sign_probability_")):
        if hasattr(estimator, attribute):
            payload.arrays[name] = np.atleast_2d(np.asarray(getattr(estimator, attribute), dtype=np.float64))


def typed_covariates(fitted: Fitted) -> list[dict[str, Any]]:
    """Mean and coefficients of the covariates, by which typed numbers change a prediction."""
    scaling = fitted.spec.schema.scaling
    inner = covariate_coef(fitted)[:, : len(scaling.mean)] * scaling.factor
    return [
        {"name": str(name)[:_LONGEST_LABEL], "mean": float(mean), "inner": column.tolist()}
        for name, mean, column in zip(fitted.spec.schema.covariate_names, scaling.mean, inner.T, strict=True)
    ]


def _add_outcomes(payload: Payload, found: list[Outcome]) -> None:
    payload.facts["outcomes"] = [one.facts() for one in found]
    for place, one in enumerate(found):
        payload.arrays |= {f"{name}_{place}": array for name, array in one.arrays().items()}


def _add_documents(
    payload: Payload, corpus: Corpus, shares: np.ndarray, texts: list[str] | None, names: list[str] | None,
    columns: list[dict[str, Any]], outcomes: list[Outcome],
) -> None:  # fmt: skip
    wrong = outcomes[0].wrongness() if outcomes else np.zeros(len(corpus))
    kept, limit = pack_texts(texts, len(corpus))
    payload.facts["documents"] = {"n": len(corpus), "texts": kept, "limit": limit, "names": names}
    payload.facts["metadata"] = [{key: column[key] for key in ("name", "kind", "categories")} for column in columns]
    for place, column in enumerate(columns):
        payload.arrays[f"metadata_{place}"] = np.asarray(column["values"], dtype=np.float64)
    payload.arrays["shares"] = np.rint(np.clip(shares, 0.0, 1.0) * 65535).astype(np.uint16)
    payload.arrays |= pack_counts(corpus.counts, wrong, shares)


def _add_groups(payload: Payload, fitted: Fitted, n_documents: int) -> None:
    """Which documents belong together, where they are those of the fit and it has been told."""
    own = fitted.training
    groups = None if own is None else own.groups
    known = groups is not None and payload.facts["checks"]["training"] and len(groups.values) == n_documents
    if groups is not None and known:
        payload.arrays["together"] = groups.values.astype(np.uint32)
    n = len(groups.levels) if groups is not None else fitted.notes.get("n_groups", 0)
    payload.facts["documents"] |= {"together": known, "n_together": int(n)}


def _add_checks(payload: Payload, estimator: TopicEstimator, corpus: Corpus, shares: np.ndarray) -> None:
    """What is said about the fit itself, and about what was left out."""
    training = are_those_of_the_fit(estimator, corpus, shares)
    whole = training and len(corpus) == len(estimator.doc_topic_)
    payload.facts["checks"] = {
        "training": training,
        "empty": corpus.n_empty,
        "unknown": int(corpus.n_unknown),
        "tokens": corpus.n_tokens,
        "stop_words": len(getattr(getattr(estimator, "vectorizer_", None), "stop_words_", ())),
        "iterations": int(getattr(estimator, "n_iter_", 0)),
        "inference": estimator.fitted_.spec.inference,
    }
    payload.arrays["bound"] = np.nan_to_num(np.asarray(estimator.bound_, dtype=np.float64))
    draws = getattr(estimator, "draws_", None) or {}
    if np.size(draws.get("log_joint", ())) > 1:
        payload.arrays["log_joint"] = np.asarray(draws["log_joint"], dtype=np.float64).ravel()
    if whole and is_classifier(estimator) and hasattr(estimator, "support_"):
        support = np.zeros(len(corpus), dtype=np.uint8)
        support[np.asarray(estimator.support_)] = 1
        payload.arrays["support"] = support
