"""What the page needs to infer topic shares of a text without y, as `predict` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from supertopic.emissions.sage import unpack
from supertopic.explore.page.effects import effects_of
from supertopic.explore.page.tokens import describe_tokens
from supertopic.fitted.fitted import Fitted
from supertopic.inference.after.prediction import LIMITS

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

_ALL_EXACT = 400_000  # weights up to which they are kept in single precision
_FARTHEST = 45.0  # log of the ratio of weights beyond which they make no difference
_MOST_DEVIATIONS = 2_000_000
_FACET_WORDS = 25


def describe_inference(estimator: TopicEstimator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(facts, arrays): the topics, the prior of the shares, coefficients, the way words are counted."""
    fitted: Fitted = estimator.fitted_
    facts: dict[str, Any] = {"possible": False, "why": "", "tokens": describe_tokens(fitted.vocabulary.vectorizer)}
    by_class = "log_shares" in fitted.more  # topics of classes: a document is inferred once for each class
    known = by_class or not estimator.elsewhere
    topics = np.asarray(fitted.weights if known else fitted.components.T, dtype=np.float64)
    # classes are weighed by products over all words of a document, where small errors add up
    arrays = _pack_topics(topics, exact=by_class or (known and fitted.point.shares is not None))
    arrays |= _deviations(estimator, facts)
    facts["why"] = _why_not(estimator, known, facts["tokens"])
    facts["possible"] = not facts["why"]
    if not known:
        return facts, arrays
    facts |= {
        "temperature": [float(number) for number in fitted.notes.get("temperature", (1.0, 0.0, 1.0))],
        "max_passes": LIMITS.max_passes,
        "tol": LIMITS.tol,
    }
    if by_class:
        structure = estimator.structure()
        columns = [structure.columns(place).tolist() for place in range(structure.n_classes)]
        facts |= {"kind": "class_topics", "columns": columns, "collapsed": False, "at_mode": False}
        arrays |= {"alpha": np.asarray(fitted.state.alpha, dtype=np.float64), "log_shares": fitted.more["log_shares"]}
        return facts, arrays
    point = fitted.point
    facts |= {
        "kind": "variational" if point.shares is None else "one_topic",
        "collapsed": bool(point.collapsed),
        "at_mode": bool(point.at_mode),
        "log_counts": bool(point.log_counts),
    }
    arrays["alpha"] = np.asarray(point.alpha if point.shares is None else point.shares, dtype=np.float64)
    if fitted.spec.schema.targets:
        arrays |= _coefficients(estimator)
        facts["product"] = [bool(flag) for flag in fitted.spec.response.is_product]
        facts["members"] = len(fitted.members or ())
        facts["uses_moments"] = bool(fitted.spec.response.uses_moments)
    return facts, arrays


def _why_not(estimator: TopicEstimator, known: bool, tokens: dict[str, Any] | None) -> str:
    """Why the page cannot predict typed text; empty where it can."""
    if not known:
        return str(estimator.elsewhere)
    if tokens is None:
        return "The model splits text in a way that this page does not know. Use Python for new texts."
    if estimator.fitted_.vocabulary.names is None:
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


def _coefficients(estimator: TopicEstimator) -> dict[str, np.ndarray]:
    """The inner coefficients, on whose scale responses predict; those of words where there are some."""
    fitted: Fitted = estimator.fitted_
    inner = fitted.topic_coef.astype(np.float64)
    found = {"inner_coef": inner, "inner_offset": effects_of(fitted, estimator.coefficients_).offset}
    for number, (word_topic, coef) in enumerate(fitted.members or ()):
        weights = np.asarray(fitted.spec.model.emission.probabilities(word_topic, by_word=True), dtype=np.float64)
        found |= {f"{name}_{number}": array for name, array in _pack_topics(weights, exact=False).items()}
        found[f"inner_coef_{number}"] = np.asarray(coef[:, : fitted.n_topics], dtype=np.float64)
    if fitted.words is not None:
        found["word_coef"] = np.asarray(fitted.words.coef, dtype=np.float32)
        found["word_scale"] = np.asarray(fitted.words.scale, dtype=np.float64)
    return found


def _deviations(estimator: TopicEstimator, facts: dict[str, Any]) -> dict[str, np.ndarray]:
    """What topics add to a background (SAGE), as a sparse matrix; what facets add, as short lists of words."""
    facts["facets"] = []
    found, background = getattr(estimator, "deviations_", None), getattr(estimator, "background_", None)
    if isinstance(found, dict):
        facts["facets"] = _facets(found, np.asarray(background, dtype=np.float64))
        found = found["topic"].sparse.to_coo().T if "topic" in found else None
    elif found is not None or estimator.fitted_.spec.model.emission.name == "sage":
        eta, background, _ = unpack(estimator.fitted_.state.word_topic)
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
