"""What the page needs to infer topic shares of a text without y, as `predict` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.emissions.sage import unpack
from supertopic.estimators.disclda import DiscLDAClassifier
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.fitting.ensemble import has_members
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.explore.page.effects import effects_of
from supertopic.explore.page.tokens import describe_tokens
from supertopic.inference.after.prediction import LIMITS

_ALL_EXACT = 400_000  # weights up to which they are kept in single precision
_FARTHEST = 45.0  # log of the ratio of weights beyond which they make no difference
_MOST_DEVIATIONS = 2_000_000
_FACET_WORDS = 25
_NOT_HERE = {
    "HTMM": "HTMM gives each sentence one topic. This page does not split texts into sentences.",
    "FacetedSAGE": "FacetedSAGE has word probabilities for every combination of labels, which are too many for a page.",
    "GeoSAGE": "GeoSAGE has word probabilities for every topic in every region, which are too many for a page.",
}
_INSTEAD = {
    "HTMM": "model.sentences([text])",
    "FacetedSAGE": "model.predict_proba([text])",
    "GeoSAGE": "model.predict([text])",
}


def describe_inference(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(facts, arrays): the topics, the prior of the shares, coefficients, the way words are counted."""
    facts: dict[str, Any] = {"possible": False, "why": "", "tokens": describe_tokens(estimator.vectorizer_)}
    known = _is_plain(estimator) or isinstance(estimator, DiscLDAClassifier)
    topics = np.asarray(estimator._weights() if known else estimator.components_.T, dtype=np.float64)
    # classes are weighed by products over all words of a document, where small errors add up
    arrays = _pack_topics(topics, exact=_has_one_topic(estimator) or isinstance(estimator, DiscLDAClassifier))
    arrays |= _deviations(estimator, facts)
    facts["why"] = _why_not(estimator, facts["tokens"])
    facts["possible"] = not facts["why"]
    if not known:
        return facts, arrays
    facts |= {
        "temperature": [float(number) for number in getattr(estimator, "temperature_", (1.0, 0.0))],
        "max_passes": LIMITS.max_passes,
        "tol": LIMITS.tol,
    }
    if isinstance(estimator, DiscLDAClassifier):
        columns = [estimator._structure().columns(place).tolist() for place in range(len(estimator.classes_))]
        facts |= {"kind": "class_topics", "columns": columns, "collapsed": False, "at_mode": False}
        arrays |= {"alpha": np.asarray(estimator.alpha_, dtype=np.float64), "log_shares": estimator._log_shares}
        return facts, arrays
    point = estimator._point_model()
    facts |= {
        "kind": "variational" if point.shares is None else "one_topic",
        "collapsed": bool(point.collapsed),
        "at_mode": bool(point.at_mode),
        "log_counts": bool(point.log_counts),
    }
    arrays["alpha"] = np.asarray(point.alpha if point.shares is None else point.shares, dtype=np.float64)
    if isinstance(estimator, SupervisedEstimator):
        arrays |= _coefficients(estimator)
        facts["product"] = [bool(flag) for flag in estimator._response().is_product]
        facts["members"] = len(_members(estimator))
        facts["uses_moments"] = bool(estimator._response().uses_moments)
    return facts, arrays


def _has_one_topic(estimator: Any) -> bool:
    return _is_plain(estimator) and estimator._point_model().shares is not None


def _is_plain(estimator: Any) -> bool:
    """Whether shares are inferred as the base class does it (or with damped counts)."""
    kind = type(estimator)
    usual = kind._infer is TopicEstimator._infer and kind.transform is TopicEstimator.transform
    return usual or getattr(estimator, "membership_", "") == "single"


def _why_not(estimator: Any, tokens: dict[str, Any] | None) -> str:
    """Why the page cannot predict typed text; empty where it can."""
    if not _is_plain(estimator) and not isinstance(estimator, DiscLDAClassifier):
        why = _NOT_HERE.get(type(estimator).__name__, "Inference of this model is not part of the page.")
        return f"{why} For new texts use Python: {_INSTEAD.get(type(estimator).__name__, 'model.transform([text])')}."
    if tokens is None:
        return "The model splits text in a way that this page does not know. Use Python for new texts."
    if getattr(estimator, "feature_names_in_", None) is None:
        return "The model was fitted to counts without names. The page cannot tell which word is which column."
    return ""


def _pack_topics(weights: np.ndarray, exact: bool) -> dict[str, np.ndarray]:
    """p(word | topic) (V, K) as each word's largest weight, and logs of ratios to it.

    Shares of a word's topics depend on ratios only, and small ratios matter little. So the square root of -log(ratio)
    is what is rounded to 16 bits: the error of a ratio is at most 1e-4 near 1, and grows slowly.
    """
    top = np.maximum(weights.max(axis=1), 1e-30)
    far = np.minimum(-np.log(np.maximum(weights / top[:, None], 1e-30)), _FARTHEST)
    if exact or far.size <= _ALL_EXACT:
        return {"top": top, "far": np.maximum(far, 0.0).astype(np.float32)}
    reach = max(float(far.max()), 1e-3)
    rounded = np.rint(65535 * np.sqrt(np.maximum(far, 0.0) / reach)).astype(np.uint16)
    return {"top": top, "far": rounded, "reach": np.array([reach])}


def _coefficients(estimator: Any) -> dict[str, np.ndarray]:
    """The inner coefficients, on whose scale responses predict; those of words where there are some."""
    inner = np.asarray(estimator._state.coef[:, : estimator.n_topics], dtype=np.float64)
    found = {"inner_coef": inner, "inner_offset": effects_of(estimator).offset}
    for number, (word_topic, coef) in enumerate(_members(estimator)):
        weights = np.asarray(estimator._emission.probabilities(word_topic, by_word=True), dtype=np.float64)
        found |= {f"{name}_{number}": array for name, array in _pack_topics(weights, exact=False).items()}
        found[f"inner_coef_{number}"] = np.asarray(coef[:, : estimator.n_topics], dtype=np.float64)
    if hasattr(estimator, "_word_coef"):
        found["word_coef"] = np.asarray(estimator._word_coef, dtype=np.float32)
        found["word_scale"] = np.asarray(estimator._word_scale, dtype=np.float64)
    return found


def _members(estimator: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """(topics, coefficients) of the further fits of an ensemble, whose linear predictors are averaged."""
    if not has_members(estimator):
        return []
    return list(zip(estimator._member_topics, estimator._member_coef, strict=True))


def _deviations(estimator: Any, facts: dict[str, Any]) -> dict[str, np.ndarray]:
    """What topics add to a background (SAGE), as a sparse matrix; what facets add, as short lists of words."""
    facts["facets"] = []
    found, background = getattr(estimator, "deviations_", None), getattr(estimator, "background_", None)
    if isinstance(found, dict):
        facts["facets"] = _facets(found, np.asarray(background, dtype=np.float64))
        found = found["topic"].sparse.to_coo().T if "topic" in found else None
    elif found is not None or estimator._emission.name == "sage":
        eta, background, _ = unpack(estimator._state.word_topic)
        found = eta.T
    if found is None or background is None:
        return {}
    found = sp.csr_matrix(found)
    if found.nnz > _MOST_DEVIATIONS:
        return {}
    found.sort_indices()
    return {
        "background": np.asarray(background, dtype=np.float32),
        "deviation_rows": found.indptr.astype(np.int32),
        "deviation_words": found.indices.astype(np.int32),
        "deviation_values": found.data.astype(np.float32),
    }


def _facets(found: dict[str, Any], background: np.ndarray) -> list[dict[str, Any]]:
    """Each component but the topics: its title, its topic if it belongs to one, and the words it changes most."""
    lists = []
    for part, frame in found.items():
        if part == "topic":
            continue
        eta, factors = frame.sparse.to_coo().tocsc(), part.split(" × ")
        for j, component in enumerate(frame.columns):
            values = component if isinstance(component, tuple) else (component,)
            column = eta[:, [j]].toarray().ravel()
            change = np.abs(np.exp(background) * np.expm1(column))
            chosen = np.argsort(-change, kind="stable")[:_FACET_WORDS]
            lists.append(
                {
                    "title": " × ".join(f"{f}: {v}" for f, v in zip(factors, values, strict=True))[:300],
                    "topic": int(values[factors.index("topic")]) if "topic" in factors else None,
                    "words": [[int(word), float(column[word])] for word in chosen if column[word] != 0],
                }
            )
    return lists
