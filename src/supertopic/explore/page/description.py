"""`model.describe()`: what a model found, in a few sentences that are honest about how good it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from supertopic.documents.corpus import Corpus, EmptyDocumentWarning
from supertopic.documents.known import Known
from supertopic.estimators.shared.results.effects import effect_text
from supertopic.estimators.shared.results.topic_info import shares_of_all, topic_labels, words_in_order
from supertopic.explore.page.columns import known_of_documents, read_metadata
from supertopic.explore.page.outcomes import Outcome, Outcomes, outcomes_of
from supertopic.fitted.certainty.figures import LEFT_OUT, PROMISED, Figures
from supertopic.fitted.effects import kinds_of, topic_effects
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.linear_words import score_in_folds, score_of_new
from supertopic.fitted.training import Training
from supertopic.html_tables import number, printable
from supertopic.plural import counted

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

Pieces = list[tuple[str, bool]]  # of a sentence: text, and whether it is set in bold
_WORDS, _MOST_CLASSES, _MOST_TOPICS = 3, 4, 3
_ASKED, _NEAR = 100, 1e-3  # documents that are looked for among those of the fit, and how near their shares are
_MUCH = "from little to much of it"
_LINEAR = "A linear model on all words"
HARDLY = "These topics hardly predict {}; read the rest as hints."


@dataclass(frozen=True, eq=False)
class Description:
    """Sentences about a model; `str` of it is plain text, and notebooks show it with the topics in bold.

    hardly : whether topics do not clearly predict anything
    figures : a row for each response, from documents that were not in the fit behind them; empty where there are none
    """

    sentences: list[Pieces]
    hardly: bool
    figures: pd.DataFrame

    def __str__(self) -> str:
        return " ".join("".join(text for text, _ in pieces) for pieces in self.sentences)

    __repr__ = __str__

    @property
    def html(self) -> str:
        """For notebooks."""
        bold = {True: "<b>{}</b>", False: "{}"}
        text = " ".join("".join(bold[b].format(escape(t)) for t, b in pieces) for pieces in self.sentences)
        colour = "#b36b00" if self.hardly else "#8a8a8a"
        return f"<div style='border-left:4px solid {colour};padding:2px 10px;max-width:60em'>{text}</div>"

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class _Seen:
    """One response, how good its predictions are, and whose they are."""

    name: str
    classes: list[str]
    figures: Figures | None
    of_the_fit: bool  # whether figures are of documents whose labels the fit has seen
    left_out: bool = False  # … which were predicted by fits without them
    words: float = np.nan  # R², or right classes, of a linear model on all words …
    in_folds: bool = False  # … that has learned from these documents alone, and not from those of the fit

    @property
    def hardly(self) -> bool:
        return self.figures is not None and not self.of_the_fit and not self.figures.skill_low > 0


def describe(
    estimator: TopicEstimator, X: object = None, y: object = None, covariates: object = None, metadata: object = None,
    embeddings: object = None,
) -> Description:  # fmt: skip
    """See `TopicEstimator.describe`."""
    if (X is None) != (y is None):
        raise ValueError("describe: expected documents X with their y, or neither")
    fitted: Fitted = estimator.fitted_
    if X is None:
        return _sentences(estimator, _of_the_fit(fitted, fitted.training))
    corpus = fitted.corpus(X)
    known = known_of_documents(read_metadata(metadata, len(corpus)), fitted.prior_columns, len(corpus), embeddings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        outcomes = outcomes_of(estimator, corpus, y, covariates, known)
        shares = outcomes.shares_of(estimator, corpus, known)
    if not outcomes:
        raise ValueError(f"y: got a value, but {fitted.spec.name} predicts nothing; expected None")
    return describe_documents(estimator, corpus, outcomes, shares, covariates, known)


def describe_documents(
    estimator: TopicEstimator, corpus: Corpus, outcomes: Outcomes, shares: np.ndarray, covariates: object, known: Known
) -> Description:
    """By what a model predicts of documents; of those of the fit, by what was found out of fold."""
    fitted: Fitted = estimator.fitted_
    training = _training(fitted, corpus, outcomes, covariates, known)
    same = are_those_of_the_fit(estimator, corpus, shares)
    if same and fitted.certainty.figures is not None:
        return _sentences(estimator, _of_the_fit(fitted, training))
    found = []
    for place, one in enumerate(outcomes.found):
        labelled = ~np.isnan(one.y)
        figures = _figures(one, labelled) if labelled.sum() > 1 else None
        words = _words_of_new(fitted, training, place, same)
        alone = fitted.training is None and not same
        found.append(_Seen(_name(one.name), one.classes, figures, same, words=words, in_folds=alone))
    return _sentences(estimator, found)


def are_those_of_the_fit(estimator: TopicEstimator, corpus: Corpus, shares: np.ndarray) -> bool:
    """Whether most of the documents have the shares of some that the fit has kept; a sample of them is asked.

    Shares of responses lack the prior's part.
    """
    fitted = estimator.fitted_
    kept, own = fitted.doc_topic, fitted.training
    if own is not None and own.corpus.counts.shape == corpus.counts.shape:
        return (own.corpus.counts != corpus.counts).nnz == 0
    asked = np.flatnonzero(corpus.lengths > 0)
    asked = asked[:: max(len(asked) // _ASKED, 1)]
    if kept is None or not len(asked) or kept.shape[1] != shares.shape[1]:
        return False
    forms, alpha, lengths = [shares[asked]], np.asarray(estimator.alpha_), corpus.lengths[asked, None]
    if len(alpha) == shares.shape[1]:
        forms.append((alpha + lengths * shares[asked]) / (alpha.sum() + lengths))
    return any(np.mean([np.abs(kept - row).max(axis=1).min() < _NEAR for row in form]) > 0.5 for form in forms)


# --- figures --------------------------------------------------------------------------------------------------------


def _training(fitted: Fitted, corpus: Corpus, outcomes: Outcomes, covariates: object, known: Known) -> Training:
    """The documents with their labels."""
    found = Training.unlabelled(corpus)
    extra = fitted.spec.schema.encode(covariates, known) if fitted.spec.schema.targets else found.covariates
    y = np.column_stack([one.y for one in outcomes.found]) if outcomes.found else found.y
    return Training(corpus, y, found.weight, extra, known)


def _of_the_fit(fitted: Fitted, training: Training | None) -> list[_Seen]:
    """The responses with the figures that the fit has found out of fold."""
    schema, rows = fitted.spec.schema, fitted.certainty.figures
    if rows is None:
        labels = [] if schema.classes is None else [str(label) for label in schema.classes]
        names = ["y"] if schema.one_against_rest else [str(target.name) for target in schema.targets]
        sizes = [0 if target.classes is None else len(target.classes) for target in schema.targets]
        sizes = [len(labels)] if schema.one_against_rest else sizes
        scores = [_words_of_fit(fitted, training, place, n) for place, n in enumerate(sizes)]
        return [_Seen(_name(name), labels, None, False, words=own) for name, own in zip(names, scores, strict=True)]
    found = []
    for place, (row, target) in enumerate(zip(rows, schema.targets, strict=True)):
        classes = [] if target.classes is None else [str(label) for label in target.classes]
        words = _words_of_fit(fitted, training, place, len(classes))
        found.append(_Seen(_name(target.name), classes, Figures.from_row(row), False, True, words))
    return found


def _words_of_fit(fitted: Fitted, training: Training | None, place: int, n_classes: int) -> float:
    """A linear model's score out of fold, which is kept as long as the model is in memory."""
    if training is None:
        return np.nan
    y = training.y if training.y.ndim == 1 else training.y[:, place]
    if fitted.spec.schema.one_against_rest:
        y = np.where(np.isnan(y), np.nan, training.y.argmax(axis=1))
    made = fitted.made.of(
        f"words {place}", fitted.state.coef, lambda: np.array([score_in_folds(training, y, n_classes)])
    )
    return float(made[0])


def _words_of_new(fitted: Fitted, new: Training, place: int, same: bool) -> float:
    """The score of a linear model that is fitted to the documents of the fit, or where these are gone, in folds."""
    own, schema = fitted.training, fitted.spec.schema
    y = new.y[:, place]
    n_classes = 0 if schema.classes is None else len(schema.classes)
    if schema.targets and not schema.one_against_rest:
        classes = schema.targets[place].classes
        n_classes = 0 if classes is None else len(classes)
    if own is None or same or not schema.targets or schema.one_against_rest:
        return score_in_folds(new, y, n_classes)
    return score_of_new(own, new, own.y if own.y.ndim == 1 else own.y[:, place], y, n_classes)


def _figures(one: Outcome, known: np.ndarray) -> Figures:
    y = one.y[known]
    if one.kind == "number":
        held = None if one.ends is None else ((one.ends[0] <= one.y) & (one.y <= one.ends[1]))[known]
        return Figures.of_numbers(y, one.predicted[known], held)
    chances = one.predicted if one.kind == "class" else one.chances
    return Figures.of_classes(y, one.decided[known], None if chances is None else chances[known], len(one.classes))


# --- sentences ------------------------------------------------------------------------------------------------------


def _sentences(estimator: TopicEstimator, responses: list[_Seen]) -> Description:
    hardly = bool(responses) and all(one.hardly for one in responses)
    found: list[Pieces] = []
    for one in responses:
        found += [[(HARDLY.format(one.name or "the response"), True)]] if one.hardly else []
        found += [pieces for pieces in (_how_good(one), _beside(one)) if pieces]
    if responses and all(one.figures is None for one in responses):
        ways = "a fit with cross_fit=5, or " if estimator.get_params().get("cross_fit") == 0 else ""
        text = f"How well these topics predict new documents is not known: {ways}describe(X, y) of documents set aside"
        found.insert(0, [(f"{text}{',' if ways else ''} says it.", False)])
    found += _what_goes_with(estimator) if hasattr(estimator, "coefficients_") else [_largest(estimator)]
    found += [pieces for one in responses if (pieces := _where_it_falls_short(one))]
    rows = [{"response": one.name, **vars(one.figures), "words": one.words} for one in responses if one.figures]
    found = [[(printable(text), bold) for text, bold in pieces] for pieces in found]
    return Description(found, hardly, pd.DataFrame(rows))


def _name(name: str) -> str:
    return "" if name == "y" else str(name)


def _percent(value: float) -> str:
    return f"{round(100 * value)}".replace("-", "−")


def _how_good(one: _Seen) -> Pieces:
    f = one.figures
    if f is None:
        return []
    which = " of the fit, which promise too much" if one.of_the_fit else " it had not seen"
    which = f"{counted(f.n, 'document')}{f', {LEFT_OUT}' if one.left_out else which}"
    if one.classes:
        ends = f"{_percent(f.right_low)} – {_percent(f.right_high)}"
        return [
            (f"The model gets {one.name or 'the class'} right for ", False),
            (f"{_percent(f.right)} %", True),
            (f" ({ends}) of {which} ", False),
            (f"(always guessing the most frequent one: {_percent(f.guess)} %).", False),
        ]
    if np.isnan(f.skill):
        return []
    ends = f"{_percent(f.skill_low)} – {_percent(f.skill_high)}"
    errors = f"typical error {number(f.error)}; always guessing the mean: {number(f.guess)}"
    return [
        (f"On {which}, the model explains ", False),
        (f"{_percent(f.skill)} %", True),
        (f" ({ends}) of the differences in {one.name or 'the response'} ({errors}).", False),
    ]


def _beside(one: _Seen) -> Pieces:
    if np.isnan(one.words):
        return []
    what, right = ("gets", " right") if one.classes else ("explains", "")
    new = " of new documents" if one.of_the_fit or one.figures is None else ""
    which = f"{_LINEAR}, learned from these documents alone," if one.in_folds else _LINEAR
    if not one.classes and one.words <= 0:
        return [(f"{which} explains nothing{new}.", False)]
    return [(f"{which} {what} {_percent(one.words)} %{new}{right}.", False)]


def _where_it_falls_short(one: _Seen) -> Pieces:
    f = one.figures
    if f is None:
        return []
    short = not np.isnan(f.weak_held)
    if one.classes:
        name = one.classes[int(f.weak_at)] if short and 0 <= f.weak_at < len(one.classes) else ""
        return (
            [(f"Of those of {name}, it gets {_percent(f.weak_held)} % right: be careful there.", False)] if name else []
        )
    if np.isnan(f.held):
        return []
    near = f", {_percent(f.weak_held)} % near {number(f.weak_at)}: be careful there" if short else ""
    return [(f"Intervals hold {_percent(f.held)} % (promised {_percent(PROMISED)}){near}.", False)]


def _topic_words(estimator: TopicEstimator) -> list[str]:
    """The label of each topic, or the words that stand for it."""
    order, words = words_in_order(estimator, _WORDS, "relevance")[0], estimator.fitted_.vocabulary.words
    labels = topic_labels(estimator)
    return [label or ", ".join(map(str, words[own])) for label, own in zip(labels, order, strict=True)]


def _largest(estimator: TopicEstimator) -> Pieces:
    """The topics with the largest shares; of topics that are classes, their words."""
    shares, names = shares_of_all(estimator), _topic_words(estimator)
    if getattr(estimator, "membership_", "mixed") == "single" and getattr(estimator, "classes_", None) is not None:
        said: Pieces = []
        for c in np.argsort(-shares, kind="stable")[:_MOST_CLASSES]:
            said += [(f"{'; ' if said else ''}{estimator.classes_[c]} speaks of ", False), (names[c], True)]
        return [*said, (".", False)]
    pieces: Pieces = [(f"The largest of {len(names)} topics: ", False)]
    for place, k in enumerate(np.argsort(-shares, kind="stable")[:_MOST_TOPICS]):
        pieces += [
            ("; " if place else "", False),
            (names[k], True),
            (f" ({_percent(shares[k])} % of the words)", False),
        ]
    return [*pieces, (".", False)]


def _what_goes_with(estimator: TopicEstimator) -> list[Pieces]:
    """Which topics go with low and with high values, or with which class, where that is clear."""
    fitted: Fitted = estimator.fitted_
    found, kinds, names = topic_effects(fitted, estimator.coefficients_), kinds_of(fitted), _topic_words(estimator)
    none = np.where(np.array(kinds) == "ratio", 1.0, 0.0)
    clear = (found.effect != none) & ~((found.lower <= none) & (none <= found.upper))
    size = np.where(clear, found.effect - none, 0.0)
    told = np.vectorize(effect_text, otypes=[object])(found.effect, np.array(kinds, dtype=object))
    targets, columns = fitted.spec.schema.targets, estimator.coefficients_.names
    if fitted.classes is not None and len(columns) > 1:
        unit = " of its score" if "score" in kinds else ""
        return _by_class(columns, size, told, names, unit)
    sentences = []
    for c, column in enumerate(columns):
        target = targets[min(c, len(targets) - 1)]
        second = target.classes is not None and len(target.classes) == 2
        name = column or (str(target.classes[1]) if second and target.classes is not None else _name(target.name))
        low, high = int(size[:, c].argmin()), int(size[:, c].argmax())
        words = ("least likely", "most likely") if second else ("lowest", "highest")
        sentences.append(_low_and_high(name or "The response", words, size[:, c], told[:, c], names, low, high))
    return sentences


def _low_and_high(
    name: str, words: tuple[str, str], size: np.ndarray, told: np.ndarray, names: list[str], low: int, high: int
) -> Pieces:
    ends = [(k, word) for k, word, clear in ((low, words[0], size[low] < 0), (high, words[1], size[high] > 0)) if clear]
    if not ends:
        return [(f"No topic goes clearly with low or high values of {name[0].lower() + name[1:]}.", False)]
    pieces: Pieces = [(f"{name[0].upper()}{name[1:]} is ", False)]
    for place, (k, word) in enumerate(ends):
        more, where = (f" ({told[k]})", "with") if place else (f" ({told[k]} {_MUCH})", "where documents speak of")
        pieces += [(f"{' and ' if place else ''}{word} {where} ", False), (names[k], True), (more, False)]
    return [*pieces, (".", False)]


def _by_class(columns: list[str], size: np.ndarray, told: np.ndarray, names: list[str], unit: str) -> list[Pieces]:
    best = size.argmax(axis=0)
    largest = size[best, np.arange(len(columns))]
    chosen = [c for c in np.argsort(-largest, kind="stable")[:_MOST_CLASSES] if largest[c] > 0]
    if not chosen:
        return [[("No topic goes clearly with any class.", False)]]
    pieces: Pieces = []
    for place, c in enumerate(sorted(chosen)):
        k, much = best[c], "" if place else f"{unit} {_MUCH}"
        pieces += [(f"{'; ' if place else ''}{columns[c]} goes with ", False), (names[k], True)]
        pieces += [(f" ({told[k, c]}{much})", False)]
    return [[*pieces, (".", False)]]
