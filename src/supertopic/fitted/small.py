"""The predictor of a fitted model: what `supertopic.predictor` needs of it, as plain values and arrays."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from supertopic.documents.vectorizer import Vectorizer
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import covariate_coef
from supertopic.inference.after.prediction import LIMITS
from supertopic.plain_values import encode
from supertopic.predictor import Predictor, assembled

_CERTAINTY = ("levels", "knots", "widths", "heat", "zero", "scaling")
_EXACT = 1e-4  # tolerance where bounds of classes are compared


class Served(Protocol):
    """An estimator, as far as its predictions matter."""

    fitted_: Fitted
    elsewhere: ClassVar[str]
    named: ClassVar[bool]


def predictor_of(owner: Served, doc_topic: bool = False) -> Predictor:
    """What predicts as the model does; refuses models whose predictions need more than words and covariates."""
    fitted, who = owner.fitted_, owner.fitted_.spec.name
    if owner.elsewhere:
        raise ValueError(f"predictor: a {who} has none, since its documents are more than words; use the model itself")
    if fitted.spec.schema.block is not None:
        raise ValueError(f"predictor: a {who} that was fitted with embeddings has none; use the model itself")
    arrays = _arrays(fitted)
    if doc_topic and fitted.doc_topic is not None:
        arrays["doc_topic"] = fitted.doc_topic
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array.size}
    return assembled(_manifest(owner, fitted, kept), kept)


def _manifest(owner: Served, fitted: Fitted, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    schema, names = fitted.spec.schema, fitted.vocabulary.names
    by_class, point = "class_columns" in arrays, None if "class_columns" in arrays else fitted.point
    flags = {name: bool(getattr(point, name, False)) for name in ("collapsed", "at_mode", "log_counts")}
    flags["one_topic"] = point is not None and point.shares is not None
    tol = _EXACT if by_class else LIMITS.tol
    return {
        "estimator": fitted.spec.name,
        "form": _form(owner, fitted),
        "words": None if names is None or fitted.vocabulary.vectorizer is None else [str(name) for name in names],
        "splitting": _splitting(fitted.vocabulary.vectorizer),
        "topics": {**flags, "max_passes": int(LIMITS.max_passes), "tol": float(tol)},
        "targets": [
            {
                "name": str(target.name),
                "response": target.response,
                "link": target.link,
                "classes": None if target.classes is None else encode(target.classes, "classes"),
            }
            for target in schema.targets
        ],
        "classes": None if schema.classes is None else encode(schema.classes, "classes"),
        "columns": encode(dict(vars(schema.columns)), "covariates"),
        "constant": bool(schema.constant),
        "members": sum(name.startswith("weights_") for name in arrays),
    }


def _form(owner: Served, fitted: Fitted) -> str:
    """What predictions look like."""
    schema = fitted.spec.schema
    if not schema.targets:
        return "shares" if schema.classes is None else "posterior"
    return "named" if owner.named else "rest" if schema.one_against_rest else "one"


def _class_columns(fitted: Fitted) -> np.ndarray | None:
    """(C, K) the topics that a document of each class may have, where classes have some of their own before others."""
    if "log_shares" not in fitted.more:
        return None
    n_classes, in_all, n_topics = len(fitted.more["log_shares"]), fitted.weights.shape[1], len(fitted.state.alpha)
    n_own = (in_all - n_topics) // (n_classes - 1)
    shared = np.arange(n_classes * n_own, in_all)
    return np.array([[*range(place * n_own, (place + 1) * n_own), *shared] for place in range(n_classes)])


def _arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    columns = _class_columns(fitted)
    found = _topics(fitted, columns)
    if columns is not None:
        found |= {"log_shares": fitted.more["log_shares"], "class_columns": columns}
    if "temperature" in fitted.notes:
        found["temperature"] = np.array(fitted.notes["temperature"], dtype=np.float64)
    schema = fitted.spec.schema
    if schema.targets:
        found |= {"dispersion": np.asarray(fitted.state.dispersion, np.float64), "beside": covariate_coef(fitted)}
        found |= {"mean": schema.scaling.mean, "factor": schema.scaling.factor}
        certainty = {name: getattr(fitted.certainty, name) for name in _CERTAINTY}
        found |= {name: np.asarray(array, np.float64) for name, array in certainty.items() if array is not None}
    if fitted.words is not None:
        found["word_coef"] = fitted.words.coef.T.astype(np.float32)
        found["word_scale"] = np.asarray(fitted.words.scale, np.float64)
    return found


def _topics(fitted: Fitted, columns: np.ndarray | None) -> dict[str, np.ndarray]:
    """Weights, alpha and coefficients of every fit; or of every class, where classes have topics of their own."""
    found: dict[str, np.ndarray] = {}
    if columns is not None:
        for place, own in enumerate(columns):
            found[f"weights_{place}"] = fitted.weights[:, own]
            found[f"alpha_{place}"] = np.asarray(fitted.state.alpha, np.float64)
        return found
    point = fitted.point
    alpha = np.asarray(point.alpha if point.shares is None else point.shares, np.float64)
    fits = [(fitted.weights, fitted.topic_coef)]
    for word_topic, coef in fitted.members or ():
        fits.append((fitted.spec.model.emission.probabilities(word_topic, by_word=True), coef[:, : fitted.n_topics]))
    for place, (weights, coef) in enumerate(fits):
        found |= {f"weights_{place}": weights.astype(np.float32), f"alpha_{place}": alpha}
        found[f"coef_{place}"] = coef.astype(np.float32)
    return found


def _splitting(vectorizer: Vectorizer | None) -> dict[str, Any] | None:
    if vectorizer is None:
        return None
    rules = vectorizer.splitting()
    return {
        "lowercase": bool(rules.lowercase),
        "token_pattern": rules.token_pattern,
        "tokenizer": rules.tokenizer,
        "stem": rules.stem or None,
        "stop_words": sorted(rules.stop_words),
        "ngram_range": [int(n) for n in rules.ngram_range],
        "phrases": sorted(rules.phrases.names),
    }
