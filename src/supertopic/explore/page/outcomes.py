"""What a model predicts, for the documents of the page: one outcome for each column of y that users gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.documents.labels import Target, as_codes, as_table
from supertopic.explore.page.documents import wrong_classes, wrong_grades, wrong_numbers
from supertopic.fitted.certainty.levels import level, scale_of
from supertopic.fitted.certainty.margin_probabilities import scaled_probabilities
from supertopic.fitted.certainty.softmax_heat import described_heat
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import intervals, predict
from supertopic.responses.interval_levels import WIDEST
from supertopic.responses.several import Part

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

LEVELS = (0.5, 0.8, 0.9, 0.95)  # of the intervals that the page offers
_LONGEST_LABEL = 300


@dataclass
class Outcome:
    """A column of y: numbers, probabilities of classes, or scores of classes (a margin)."""

    name: str
    kind: str  # "number", "class" or "score"
    classes: list[str]
    parts: list[dict[str, Any]]  # the responses that it is made of, as `responses.js` takes them
    y: np.ndarray  # (D,) numbers or codes; NaN where it is not known
    predicted: np.ndarray  # (D,) numbers, or (D, n) of classes
    decided: np.ndarray  # (D,) codes of classes
    ends: tuple[np.ndarray, np.ndarray] | None = None  # of intervals that hold nine of ten
    chances: np.ndarray | None = None  # (D, n) probabilities beside the scores of a margin, where there are some

    def facts(self) -> dict[str, Any]:
        classes = [label[:_LONGEST_LABEL] for label in self.classes]
        return {"name": self.name[:_LONGEST_LABEL], "kind": self.kind, "classes": classes, "parts": self.parts}

    def arrays(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {"y": self.y.astype(np.float64), "predicted": self.predicted.astype(np.float32)}
        if self.kind != "number":
            found["decided"] = self.decided.astype(np.uint16)
        if self.chances is not None:
            found["chances"] = self.chances.astype(np.float32)
        if self.ends is not None:
            found |= {"low": self.ends[0].astype(np.float32), "high": self.ends[1].astype(np.float32)}
        return found

    def wrongness(self) -> np.ndarray:
        """(D,) how wrong the prediction of each document is."""
        if self.kind == "number":
            return wrong_numbers(self.y, self.predicted)
        graded = any(part["response"] == "ordinal" for part in self.parts)
        return (wrong_grades if graded else wrong_classes)(self.y, self.predicted)


@dataclass
class Outcomes:
    """The outcomes, with the linear predictors (D, C) and shares (D, K) behind them where the model has some."""

    found: list[Outcome] = field(default_factory=list)
    scores: np.ndarray | None = None
    shares: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self.found)

    def shares_of(self, estimator: TopicEstimator, corpus: Corpus, known: Known) -> np.ndarray:
        """(D, K) shares, those behind the linear predictors where there are some."""
        if self.shares is not None:
            return np.asarray(self.shares)
        return np.asarray(estimator.transform(corpus, **_metadata(known)))


def _metadata(known: Known) -> dict[str, Any]:
    """As `transform` and `predict_proba` take it; estimators without a prior that reads it do not know the name."""
    return {"metadata": known.frame()} if known.metadata else {}


def outcomes_of(estimator: TopicEstimator, corpus: Corpus, y: object, covariates: object, known: Known) -> Outcomes:
    """The outcomes of a fitted estimator for these documents; none for topics alone.

    known : their embeddings, and the metadata that the prior on topic shares reads
    """
    if estimator.fitted_.spec.schema.targets:
        return _of_responses(estimator, corpus, y, covariates, known)
    if covariates is not None or known.embeddings is not None:
        name = "embeddings" if covariates is None else "covariates"
        raise ValueError(f"{name}: got a value, but {type(estimator).__name__} has none; expected None")
    if is_classifier(estimator) and isinstance(getattr(estimator, "classes_", None), np.ndarray):
        return _of_posterior(estimator, corpus, y)
    return Outcomes()


def described(estimator: TopicEstimator) -> list[dict[str, Any]]:
    """The outcomes of a fitted estimator as `responses.js` takes them, without documents."""
    fitted, schema = estimator.fitted_, estimator.fitted_.spec.schema
    if schema.targets:
        parts = [describe_response(fitted, place, *one) for place, one in enumerate(fitted.spec.parts)]
        if schema.one_against_rest:
            return [_facts("class", "class", schema.classes, parts)]
        kinds = ["number" if one.classes is None else "class" for one in schema.targets]
        given = zip(schema.targets, kinds, parts, strict=True)
        return [_facts(target.name, kind, target.classes, [part]) for target, kind, part in given]
    if schema.classes is None:
        return []
    return [_facts("class", "class", schema.classes, [])]


def _facts(name: str, kind: str, classes: np.ndarray | None, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "kind": kind, "classes": [] if classes is None else classes.tolist(), "parts": parts}


def _of_posterior(estimator: TopicEstimator, corpus: Corpus, y: object) -> Outcomes:
    """Classes whose probabilities the model gives itself."""
    chances = np.asarray(estimator.predict_proba(corpus))
    codes, name = np.full(len(corpus), np.nan), "class"
    if y is not None:
        table, names = as_table(y, len(corpus), "report")
        codes, name = as_codes(table[:, 0], "report", estimator.classes_)[0], names[0]
    classes = [str(label) for label in estimator.classes_]
    return Outcomes([Outcome(name, "class", classes, [], codes, chances, chances.argmax(axis=1))])


def _of_responses(estimator: TopicEstimator, corpus: Corpus, y: object, covariates: object, known: Known) -> Outcomes:
    n_documents, fitted = len(corpus), estimator.fitted_
    schema = fitted.spec.schema
    found = predict(fitted, corpus, schema.encode(covariates, known), known)
    parts = [describe_response(fitted, place, target, part) for place, (target, part) in enumerate(fitted.spec.parts)]
    score, shares = found.scores.score, np.asarray(found.scores.mean_topics, dtype=np.float64)
    if schema.one_against_rest and schema.classes is not None:
        codes = _codes(y, n_documents, schema.classes)
        given = {"covariates": covariates, "embeddings": known.embeddings, **_metadata(known)}
        chances = np.asarray(estimator.predict_proba(corpus, **given))
        classes = [str(label) for label in schema.classes]
        return Outcomes(
            [Outcome("class", "class", classes, parts, codes, chances, chances.argmax(axis=1))], score, shares
        )
    table = np.full((n_documents, len(parts)), np.nan)
    if y is not None:
        table = np.asarray(schema.numbers(y, n_documents, "report"), dtype=np.float64).reshape(n_documents, -1)
    outcomes, ends = [], intervals(fitted, found, 0.9)
    for place, ((target, part), mean) in enumerate(zip(fitted.spec.parts, found.means, strict=True)):
        name, own = str(target.name), [parts[place]]
        if target.classes is None:
            outcomes.append(Outcome(name, "number", [], own, table[:, place], mean, np.zeros(0), ends[place]))
        else:
            kind = "score" if part.response.max_margin else "class"
            labels, decided = [str(label) for label in target.classes], np.asarray(part.response.decide(mean))
            scaling = fitted.certainty.scaling
            beside = None if scaling is None else scaled_probabilities(scaling, score)
            outcomes.append(Outcome(name, kind, labels, own, table[:, place], mean, decided, None, beside))
    return Outcomes(outcomes, score, shares)


def _codes(y: object, n_documents: int, classes: np.ndarray) -> np.ndarray:
    if y is None:
        return np.full(n_documents, np.nan)
    return as_codes(as_table(y, n_documents, "report")[0][:, 0], "report", classes)[0]


def describe_response(fitted: Fitted, place: int, target: Target, part: Part) -> dict[str, Any]:
    """A response as `responses.js` takes it."""
    scaling, scale = fitted.certainty.scaling, scale_of(fitted, place)
    return {
        "response": part.response.name,
        "link": getattr(part.response, "link", None),
        "n_classes": 0 if target.classes is None else len(target.classes),
        "columns": [part.columns.start, part.columns.stop],
        "dispersion": np.asarray(fitted.state.dispersion[part.numbers], dtype=np.float64).tolist(),
        "lowest": float(np.maximum(part.response.lowest, -1e300)),
        "grain": part.response.grain,
        "widest": WIDEST,
        "levels": {str(p): level(fitted, place, p) for p in LEVELS} if target.classes is None else {},
        "scale": None if scale is None else {"knots": scale.knots.tolist(), "values": scale.values.tolist()},
        "cost": float(getattr(part.response, "cost", 0.0)),
        "scaled": [] if scaling is None else scaling.tolist(),
        "heat": described_heat(fitted, place, part),
    }
