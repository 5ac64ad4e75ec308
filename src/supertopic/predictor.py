"""A fitted model put to work: what predictions need and no more, without pandas, SciPy's fits or a compiler.

    model.predictor().save("model.predictor")               # where the model was fitted

    from supertopic.predictor import load_predictor         # where requests are answered
    predictor = load_predictor("model.predictor")
    predictor.predict(["a moving film about war"])

Its numbers are those of the model. It never changes, so that threads can share one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from supertopic.documents.covariates import Columns, Scaling
from supertopic.persistence import Place, name_of, read_file, write_file
from supertopic.responses.base import Response
from supertopic.responses.interval_levels import interval_at, level_of
from supertopic.responses.interval_scale import Scale, levels_of
from supertopic.responses.several import Part
from supertopic.responses.temperature import Evidence, Temperature, cooled
from supertopic.serving.checks import read_parts
from supertopic.serving.documents import Documents, of_counts, of_texts
from supertopic.serving.scores import Line, Moments, Words, mean_of
from supertopic.serving.shares import Topics

__all__ = ["Predictor", "load_predictor"]


class Outcome(NamedTuple):
    """A response: what it is called, its law, its classes, and where its columns and its dispersion are."""

    name: str
    part: Part
    classes: np.ndarray | None

    @property
    def response(self) -> Response:
        return self.part.response


class Certainty(NamedTuple):
    """What was learned about how sure predictions are (`supertopic.fitted.fitted.Certainty`)."""

    levels: np.ndarray | None = None
    knots: np.ndarray | None = None
    widths: np.ndarray | None = None
    heat: np.ndarray | None = None
    zero: np.ndarray | None = None
    scaling: np.ndarray | None = None

    def level(self, place: int, probability: float) -> tuple[float, Scale | None]:
        """The level of the intervals of a response, and what it is multiplied with."""
        if self.levels is None:
            level = probability
        else:
            own = self.levels[place]
            level = level_of(own[~np.isnan(own)], probability)
        if self.knots is None or self.widths is None or not self.widths[place].any():
            return level, None
        return level, Scale(self.knots[place], self.widths[place])


class _Table:
    """Columns by name, as a frame has them."""

    def __init__(self, columns: Mapping[str, object]) -> None:
        self.columns = list(columns)
        self._values = columns

    def __getitem__(self, name: str) -> np.ndarray:
        return np.atleast_1d(np.asarray(self._values[name]))


@dataclass(frozen=True, eq=False)
class Predictor:
    """What `model.predictor()` makes and `load_predictor` reads. `predict` and the others are those of the model."""

    manifest: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    words: Mapping[str, int] | None  # columns of the words; None where documents are counts
    n_words: int
    terms: Callable[[str], list[str]] | None  # splits a text
    lines: tuple[Line, ...]  # of each fit of an ensemble
    topics: Topics
    form: str  # "shares", "one", "rest", "named" or "posterior"
    outcomes: tuple[Outcome, ...] = ()
    classes: np.ndarray | None = None
    dispersion: np.ndarray = field(default_factory=lambda: np.zeros(0))
    beside: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (C, P) coefficients of the covariates
    columns: Columns = field(default_factory=Columns)
    scaling: Scaling = field(default_factory=Scaling)
    constant: bool = False
    word_part: Words | None = None
    certainty: Certainty = field(default_factory=Certainty)
    temperature: Temperature = field(default_factory=Temperature)
    log_shares: np.ndarray | None = None  # of classes with topics of their own …
    class_columns: np.ndarray | None = None  # … and these topics, (C, n)
    turn: AbstractContextManager[Any] = field(default_factory=nullcontext)  # stemmers take one text at a time

    def __repr__(self) -> str:
        targets = ", ".join(str(one.name) for one in self.outcomes)
        return f"<Predictor{f' of {targets}' if targets else ''}, {self.n_words:,} words>"

    # --- files ------------------------------------------------------------------------------------------------------

    def save(self, path: Place) -> None:
        """Write the predictor to one file, or to something open, such as a BytesIO."""
        write_file(path, "predictor", self.manifest, self.arrays)

    @property
    def doc_topic_(self) -> np.ndarray:
        """(D, K) topic shares of the training documents, where the predictor was asked to keep them."""
        if "doc_topic" not in self.arrays:
            raise AttributeError("doc_topic_: the predictor has none; model.predictor(doc_topic=True) keeps them")
        return self.arrays["doc_topic"]

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        found = self.classes if self.form != "one" or not self.outcomes else self.outcomes[0].classes
        if found is None:
            raise AttributeError("classes_: the model predicts no classes")
        return found

    # --- using ------------------------------------------------------------------------------------------------------

    def transform(self, X: object) -> np.ndarray:
        """Topic shares of each document: (D, K), rows sum to one."""
        documents = self._read(X)
        if self.class_columns is None:
            return self.topics.shares(documents)
        n_topics = int(self.class_columns.max()) + 1
        found, (shares, evidence) = np.zeros((len(documents), n_topics)), self._by_class(documents)
        for place, columns in enumerate(self.class_columns):
            logs = evidence.log_words + evidence.log_shares
            chances = np.exp(logs - logs.max(axis=1, keepdims=True))
            found[:, columns] += shares[place] * (chances / chances.sum(axis=1, keepdims=True))[:, [place]]
        return found.astype(np.float32)

    def predict(self, X: object, *, covariates: object = None, return_interval: float | None = None) -> Any:
        """E[y] (D,), or the class of each document; a dict of them by response, for `TopicModel`.

        With `return_interval=0.9`, three of them: E[y], and the ends of intervals that hold nine of ten.
        """
        if self.form == "posterior":
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        if self.form == "rest":
            return self.classes_[self.predict_proba(X, covariates=covariates).argmax(axis=1)]
        documents = self._read(X)
        given = self._moments(documents, covariates)
        found = [self._answer(outcome, self._own(outcome, given)) for outcome in self.outcomes]
        if return_interval is None:
            return self._shaped(found)
        if not 0 < return_interval < 1:
            raise ValueError(f"return_interval: got {return_interval!r}, expected a probability between 0 and 1")
        ends = [self._ends(place, given, documents.lengths, return_interval) for place in range(len(self.outcomes))]
        return tuple(map(self._shaped, (found, *zip(*ends, strict=True))))

    def predict_proba(self, X: object, *, covariates: object = None) -> Any:
        """Probabilities of the classes (D, C), in the order of `classes_`; a dict by response, for `TopicModel`."""
        documents = self._read(X)
        if self.form == "posterior":
            return self.temperature.probabilities(self._evidence(documents))
        given = self._moments(documents, covariates)
        if self.form == "rest":
            each = np.column_stack([self._mean(one, self._own(one, given))[:, 1] for one in self.outcomes]) + 1e-300
            return each / each.sum(axis=1, keepdims=True)
        of_classes = [one for one in self.outcomes if one.classes is not None]
        if not of_classes:
            raise AttributeError("predict_proba: the model predicts no classes")
        if self.form == "named":
            return {one.name: self._mean(one, self._own(one, given)) for one in of_classes}
        if of_classes[0].response.max_margin:
            return self._scaled(given)
        return self._mean(of_classes[0], self._own(of_classes[0], given))

    def decision_function(self, X: object, *, covariates: object = None) -> np.ndarray:
        """The linear predictors: (D,) where there is one, positive for the second of two classes; (D, C) else."""
        given = self._moments(self._read(X), covariates)
        if given.score.shape[1] == 1:
            return given.score[:, 0]
        if self.form != "one" or self.outcomes[0].response.max_margin:
            return given.score
        logs = np.log(self._mean(self.outcomes[0], self._own(self.outcomes[0], given)))
        return logs if logs.shape[1] > 2 else logs[:, 1] - logs[:, 0]

    # --- parts of it ------------------------------------------------------------------------------------------------

    def _read(self, X: object) -> Documents:
        """Texts, one text, or counts."""
        texts = [X] if isinstance(X, str) else X
        if hasattr(texts, "tocsr") or getattr(texts, "ndim", 1) == 2:
            return of_counts(texts, self.n_words)
        try:
            given = list(texts)  # type: ignore[call-overload]
        except TypeError:
            raise ValueError(f"X: got a {type(X).__name__}, expected texts or counts") from None
        none = next((place for place, text in enumerate(given) if text is None), None)
        if none is not None:
            raise ValueError(f"X: is missing in row {none}; fill it in or leave it out")
        if not all(isinstance(text, str) for text in given):
            return of_counts(given, self.n_words)
        if self.words is None or self.terms is None:
            raise ValueError(
                f"X: got texts, but the model was fitted to counts; expected counts of {self.n_words} words"
            )
        with self.turn:
            return of_texts(given, self.terms, self.words)

    def _moments(self, documents: Documents, covariates: object) -> Moments:
        """Those of all linear predictors."""
        if not self.outcomes:
            raise AttributeError("predict: the model predicts nothing; transform gives topic shares")
        is_product = self.lines[0].is_product
        found = mean_of([line.moments(documents) for line in self.lines], is_product)
        if self.beside.shape[1] or covariates is not None:
            found = found.shifted(self._extra(covariates, len(documents)) @ self.beside.T, is_product)
        if self.word_part is not None:
            found = found.shifted(self.word_part.offset(documents), is_product)
        heat, zero = self.certainty.heat, self.certainty.zero
        if heat is None or zero is None:
            return found
        return Moments(*cooled([one.part for one in self.outcomes], heat, zero, *found))

    def _extra(self, covariates: Any, n_documents: int) -> np.ndarray:
        """(D, P) covariates, centred and scaled, then a constant."""
        table = _Table(covariates) if isinstance(covariates, Mapping) else covariates
        extra = self.scaling.apply(self.columns.encode(table, n_documents))
        return np.hstack([extra, np.ones((n_documents, 1))]) if self.constant else extra

    def _own(self, outcome: Outcome, given: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The moments and the dispersion of one response."""
        columns = outcome.part.columns
        return given.score[:, columns], given.moment[:, columns], self.dispersion[outcome.part.numbers]

    def _mean(self, outcome: Outcome, own: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        return outcome.response.predict(*own)

    def _answer(self, outcome: Outcome, own: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        mean = self._mean(outcome, own)
        return mean if outcome.classes is None else outcome.classes[outcome.response.decide(mean)]

    def _ends(self, place: int, given: Moments, lengths: np.ndarray, probability: float) -> tuple[np.ndarray, ...]:
        outcome = self.outcomes[place]
        if outcome.classes is not None:
            raise ValueError("return_interval: classes have no intervals; expected None")
        own = self._own(outcome, given)
        return interval_at(
            outcome.response, *own, levels_of(*self.certainty.level(place, probability), own[0], lengths)
        )

    def _scaled(self, given: Moments) -> np.ndarray:
        """(D, C) probabilities from decision values, by Platt's scaling."""
        scaling = self.certainty.scaling
        if scaling is None:
            raise AttributeError("predict_proba: a max-margin model has probabilities with cross_fit only")
        line = scaling[:-1] + scaling[-1] * given.score
        if line.shape[1] == 1:
            line = np.hstack([np.zeros_like(line), line])
        chances = np.exp(line - line.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _shaped(self, found: Any) -> Any:
        """As the model gives it: by name, or arrays."""
        if self.form == "named":
            return {outcome.name: one for outcome, one in zip(self.outcomes, found, strict=True)}
        return found[0] if len(found) == 1 else np.column_stack(found)

    def _evidence(self, documents: Documents) -> Evidence:
        """What the words say about classes, of a model whose words depend on them."""
        if self.class_columns is not None:
            return self._by_class(documents)[1]
        seen, found = documents.seen(self.topics.log_counts), np.zeros((len(documents), len(self.topics.alpha)))
        for block in seen.blocks(len(self.topics.alpha)):
            found[block.rows] = self.topics.log_words(block)
        return Evidence(found, np.log(self.topics.prior))

    def _by_class(self, documents: Documents) -> tuple[list[np.ndarray], Evidence]:
        """(topic shares as if all documents were of one class, for each class; what this says about classes)."""
        assert self.class_columns is not None and self.log_shares is not None
        shares, bounds = [], np.zeros((len(documents), len(self.class_columns)))
        for place, topics in enumerate(line.topics for line in self.lines):
            own = np.tile(topics.prior, (len(documents), 1))
            for block in documents.blocks(len(topics.alpha)):
                own[block.rows], bounds[block.rows, place] = topics.bound(block)
            shares.append(own)
        return shares, Evidence(bounds, self.log_shares)


def load_predictor(path: Place) -> Predictor:
    """A predictor from a file that `save` wrote: its path, or something open, such as a BytesIO.

    A file is data: nothing in it is run or imported, and all of it is checked. What does not fit is a ValueError.
    """
    manifest, arrays = read_file(path, "predictor")
    try:
        return assembled(manifest, arrays)
    except Exception as error:  # whatever a forged value leads to
        what = " ".join(str(error).split())[:300]
        raise ValueError(f"{name_of(path)}: is a damaged predictor ({type(error).__name__}: {what})") from error


def assembled(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Predictor:
    """The predictor that a manifest and arrays describe; refuses what no model makes."""
    found = read_parts(manifest, arrays)
    turn = Lock() if found.splitting is not None and found.splitting.stem else nullcontext()
    outcomes = tuple(Outcome(*one) for one in found.outcomes)
    certainty = Certainty(**{name: arrays.get(name) for name in Certainty._fields})
    more = {name: arrays[name] for name in ("dispersion", "beside", "log_shares", "class_columns") if name in arrays}
    return Predictor(
        manifest, arrays, found.words, found.n_words,
        None if found.splitting is None else found.splitting.terms(),
        found.lines, found.topics, manifest["form"], outcomes, found.classes,
        columns=found.columns, scaling=found.scaling, constant=bool(manifest["constant"]),
        word_part=found.word_part, certainty=certainty, temperature=found.temperature, turn=turn, **more,
    )  # fmt: skip
