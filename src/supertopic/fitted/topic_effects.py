"""`model.estimate_effect`: what goes with topics, as tables, contrasts, curves and figures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from supertopic.checks import check_choice, check_whole
from supertopic.dates import day_of
from supertopic.documents.columns import Column, Columns, listed, read_columns
from supertopic.documents.corpus import Corpus, lengths_of
from supertopic.documents.formulas import Design
from supertopic.documents.rows import require_same_order
from supertopic.fitted.certainty.folds import FEW_GROUPS
from supertopic.fitted.coefficients import check_probability
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.metadata_effects import Question, answer
from supertopic.fitted.training import Training
from supertopic.html_tables import TopicFrame
from supertopic.inference.after.multiplicity import adjusted
from supertopic.inference.after.share_regression import (
    Found,
    Pooled,
    ShareRegression,
    dependent_columns,
    permuted_p,
)
from supertopic.plots_of import draw
from supertopic.plural import counted

METHODS = ("moments", "composition")
_DRAWS, _POINTS = 25, 40
_PERCENT = 100.0
_ADJUSTED = {"bh": "Benjamini and Hochberg", "holm": "Holm"}


@dataclass(frozen=True, eq=False)
class TopicEffects:
    """Quantities (T) by topics (M): coefficients of a formula, or differences between two values of a column.

    They are in percentage points of a document's share. `summary` gives all of them; `contrast` compares two values of
    a column, `curve` follows one, and `of_topics` takes several topics as one, or topics against each other.
    """

    design: Design
    pooled: Pooled
    numbers: dict[str, np.ndarray]  # the columns of metadata of the documents that were compared
    names: tuple[str, ...]  # (K,) the label, or the first words, of each topic of the model
    rows: np.ndarray  # (T, P)
    terms: tuple[str, ...]  # (T,)
    weights: np.ndarray  # (K, M)
    topics: tuple[Any, ...]  # (M,) numbers of topics, or names of several
    labels: tuple[str, ...]  # (M,)
    found_again: np.ndarray | None = None  # (K,)
    permutations: int = 0
    seed: int = 0
    notes: tuple[str, ...] = ()

    # --- tables -------------------------------------------------------------------------------------------------

    def found(self) -> Found:
        """Estimates and errors (T, M), as shares."""
        return self.pooled.at(self.rows, self.weights)

    def summary(self, probability: float = 0.9, adjust: str | None = "bh") -> pd.DataFrame:
        """A row per topic and term: estimate, std_error, lower, upper in percentage points; p, p_adjusted, found_again.

        probability : of the intervals
        adjust : p-values for their number: "holm", "bh" (Benjamini and Hochberg), or None
        """
        check_probability("probability", probability)
        found = self.found()
        lower, upper = found.ends(probability)
        n_terms, n_topics = found.estimate.shape
        columns: dict[str, Any] = {
            "topic": np.repeat(np.array(self.topics, dtype=object), n_terms),
            "label": np.repeat(np.array(self.labels, dtype=object), n_terms),
            "term": np.tile(np.array(self.terms, dtype=object), n_topics),
        }
        columns["topic"] = pd.Series(columns["topic"]).infer_objects()
        ends = {"estimate": found.estimate, "std_error": found.std_error, "lower": lower, "upper": upper}
        columns |= {name: _PERCENT * value.T.ravel() for name, value in ends.items()}
        columns["p"] = found.p.T.ravel()
        if self.permutations:
            columns["p_permuted"] = self._permuted.T.ravel()
        if adjust is not None:
            columns["p_adjusted"] = adjusted(columns.get("p_permuted", columns["p"]), adjust)
        if self.found_again is not None:
            columns["found_again"] = np.repeat(self._again(), n_terms)
        table = TopicFrame(columns)
        corrected = "" if adjust is None else f", p-values for all rows together ({_ADJUSTED[adjust]})"
        table.attrs["below"] = [*self.notes, f"Intervals of {100 * probability:g} %{corrected}."]
        return table

    @cached_property
    def _permuted(self) -> np.ndarray:
        """(T, M) p-values by permutation."""
        own = self.pooled.own
        assert isinstance(own, ShareRegression)
        return permuted_p(own, self.rows, self.weights, self.permutations, self.seed)

    def _again(self) -> np.ndarray:
        """(M,) of several topics, that of the one that is found again most seldom."""
        assert self.found_again is not None
        return np.array([self.found_again[one != 0].min() for one in self.weights.T])

    def to_latex(self, path: object = None, *, probability: float = 0.9, adjust: str | None = "bh", **more: Any) -> Any:
        """`summary` in LaTeX, as text or written to a path; `caption` and `label` make a table environment."""
        return self.summary(probability, adjust).to_latex(path, **more)

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return str(self.summary()._repr_html_())

    # --- other questions ----------------------------------------------------------------------------------------

    def contrast(self, column: str, low: object, high: object) -> TopicEffects:
        """From one value of a column to another, all else as it is in the documents: the difference of mean shares."""
        values = [self.design.value(column, value) for value in (low, high)]
        self._warn_beyond(column, values)
        ends = [self._mean_row({column: value}) for value in values]
        name = f"{column}: {low} → {high}"
        return replace(self, rows=(ends[1] - ends[0])[None], terms=(name,))

    def _warn_beyond(self, column: str, values: Sequence[float]) -> None:
        """Say where values lie outside those of the documents: a formula is extrapolated there."""
        own = self.numbers[column]
        if column not in self.design.levels and (min(values) < own.min() or max(values) > own.max()):
            day = day_of if column in self.design.dates else "{:g}".format
            ends = " to ".join(day(float(end)) for end in (own.min(), own.max()))
            warnings.warn(
                f"contrast: {column} goes from {ends} in the documents; beyond, the formula is extrapolated",
                UserWarning,
                stacklevel=3,
            )

    def curve(
        self, column: str, by: str | None = None, topics: Sequence[Any] | None = None, n_points: int = _POINTS
    ) -> TopicCurves:
        """Mean shares along a column: over its categories, or from its least to its largest value.

        by : a column of categories, each with a curve of its own
        topics : numbers or labels; by default all
        """
        check_whole("n_points", n_points, least=2)
        chosen = self if topics is None else self.of_topics(topics)
        if column not in self.design.columns:
            raise ValueError(f"curve: got {column!r}, expected a column of the formula: {listed(self.design.columns)}")
        levels = self.design.levels.get(column)
        values = self.numbers[column]
        grid = np.arange(float(len(levels))) if levels else np.linspace(values.min(), values.max(), n_points)
        if by is not None and by not in self.design.levels:
            raise ValueError(f"by: got {by!r}, expected a column of categories: {listed(self.design.levels) or 'none'}")
        groups = [None] if by is None else list(range(len(self.design.levels[by])))
        rows = [self._mean_row({column: v} | ({} if g is None else {str(by): float(g)})) for g in groups for v in grid]
        found = self.pooled.at(np.stack(rows), chosen.weights)
        at, group = np.tile(grid, len(groups)), np.repeat(np.arange(len(groups)), len(grid))
        return TopicCurves(chosen, column, by, at, group, found)

    def of_topics(self, topics: Any) -> TopicEffects:
        """The same of some topics, of several topics as one, or of topics against each other.

        topics : a list of numbers or labels; or a mapping of new names to lists of topics, whose shares are added, or
            to weights by topic: ``{"war": [3, 5], "war against economy": {3: 1, 14: -1}}``
        """
        n_topics = len(self.names)
        if not isinstance(topics, Mapping):
            places = [self._place(one) for one in ([topics] if isinstance(topics, (str, int)) else topics)]
            weights = np.eye(n_topics)[:, places]
            found, labels = tuple[Any, ...](places), tuple(self.names[place] for place in places)
        else:
            weights = np.zeros((n_topics, len(topics)))
            for column, given in enumerate(topics.values()):
                parts = given if isinstance(given, Mapping) else dict.fromkeys(_listed(given), 1.0)
                for topic, weight in parts.items():
                    weights[self._place(topic), column] += float(weight)
            found = tuple(str(name) for name in topics)
            labels = tuple(" ".join(_signed(weights[:, m], self.names)) for m in range(len(topics)))
        if not weights.size or not np.any(weights, axis=0).all():
            raise ValueError("topics: got none, expected numbers or labels of topics")
        return replace(self, weights=weights, topics=found, labels=labels)

    def _place(self, topic: object) -> int:
        if isinstance(topic, (int, np.integer)) and 0 <= topic < len(self.names):
            return int(topic)
        if topic in self.names:
            return self.names.index(topic)
        raise ValueError(f"topics: got {topic!r}, expected 0 to {len(self.names) - 1}, or one of {listed(self.names)}")

    def _mean_row(self, fixed: dict[str, float]) -> np.ndarray:
        """(P,) the mean row of the design, with some columns at a value in all documents."""
        numbers = {name: np.full_like(one, fixed.get(name, 0.0)) if name in fixed else one
                   for name, one in self.numbers.items()}  # fmt: skip
        return self.design.of_numbers(numbers).mean(axis=0)

    # --- pictures -----------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, term: str | None = None, probability: float = 0.9) -> Any:
        """A row per topic, with an interval for each term; ax : matplotlib Axes, or a path to write a figure to."""
        check_probability("probability", probability)
        return draw("topic_effects", self, ax=ax, term=term, probability=probability)


@dataclass(frozen=True, eq=False)
class TopicCurves:
    """Mean shares along a column, with bands.

    A mean of shares lies between 0 and 1. Where the regression goes beyond, the curve stays at the end, and its band
    reaches as far from there as the error says. Coefficients and contrasts are those of the regression.
    """

    effects: TopicEffects
    column: str
    by: str | None
    at: np.ndarray  # (T,) value of each quantity
    group: np.ndarray  # (T,)
    found: Found  # (T, M)

    def shares(self, probability: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(T, M) means, and the ends of their intervals."""
        weights = self.effects.weights
        low, high = weights.min(axis=0), weights.max(axis=0)  # of shares of topics that sum to one
        mean = np.clip(self.found.estimate, low, high)
        ends = Found(mean, self.found.std_error, self.found.freedom).ends(probability)
        return mean, np.maximum(ends[0], low), np.minimum(ends[1], high)

    @property
    def group_names(self) -> list[str]:
        return [""] if self.by is None else [str(level) for level in self.effects.design.levels[self.by]]

    @property
    def levels(self) -> list[str] | None:
        """What the values stand for, of a column of categories."""
        levels = self.effects.design.levels.get(self.column)
        return None if levels is None else [str(level) for level in levels]

    def summary(self, probability: float = 0.9) -> pd.DataFrame:
        """A row per topic, group and value: share, std_error, lower and upper in percent."""
        check_probability("probability", probability)
        share, lower, upper = self.shares(probability)
        n, m = share.shape
        values: Any = self.at if self.levels is None else np.array(self.levels, dtype=object)[self.at.astype(int)]
        if self.column in self.effects.design.dates:
            values = pd.to_datetime((values - 1970.0) * 365.2425, unit="D").normalize()
        columns: dict[str, Any] = {
            "topic": pd.Series(np.repeat(np.array(self.effects.topics, dtype=object), n)).infer_objects(),
            "label": np.repeat(np.array(self.effects.labels, dtype=object), n),
        }
        if self.by is not None:
            columns[self.by] = np.tile(np.array(self.group_names, dtype=object)[self.group], m)
        columns[self.column] = list(values) * m
        ends = {"share": share, "std_error": self.found.std_error, "lower": lower, "upper": upper}
        table = TopicFrame({**columns, **{name: _PERCENT * value.T.ravel() for name, value in ends.items()}})
        table.attrs["below"] = [*self.effects.notes, f"Intervals of {100 * probability:g} %."]
        return table

    def plot(self, ax: Any = None, *, probability: float = 0.9) -> Any:
        """A panel per topic; ax : a path to write a figure to."""
        check_probability("probability", probability)
        return draw("topic_curves", self, ax=ax, probability=probability)

    def to_latex(self, path: object = None, *, probability: float = 0.9, **more: Any) -> Any:
        """`summary` in LaTeX."""
        return self.summary(probability).to_latex(path, **more)

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return str(self.summary()._repr_html_())


def topic_effects(
    fitted: Fitted, names: Sequence[str], formula: Any, metadata: object, X: object = None, *, cluster: Any = None,
    refits: int = 0, honest: bool = False, method: str = "moments", draws: int = _DRAWS, permutations: int = 0,
    seed: int = 0,
) -> TopicEffects:  # fmt: skip
    """See `TopicEstimator.estimate_effect`; names : (K,) of the topics."""
    check_choice("method", method, METHODS)
    require_same_order(X, metadata=metadata, cluster=cluster)
    for name, value, least in (("refits", refits, 0), ("draws", draws, 2), ("permutations", permutations, 0)):
        check_whole(name, value, least=least)
    if permutations and (honest or method != "moments"):
        raise ValueError("permutations: expected method='moments' without honest=True")
    fitted, corpus = _documents(fitted, X, "refits" if refits else "honest" if honest else "")
    training = fitted.training if X is None else None
    table: Mapping[str, Column] = Columns("metadata", metadata, len(corpus))
    if metadata is None and training is not None:
        table = training.metadata
    if not table:
        raise ValueError("metadata: got none, and a file keeps none; expected a table with a row for each document")
    design = Design.of(formula, table)
    columns, grouped = design.encode(table), _clusters(cluster, table, len(corpus))
    if cluster is None and training is not None:
        grouped = training.groups
    known = ~np.isnan(columns).any(axis=1) & (lengths_of(corpus.counts) > 0)
    if grouped is not None:
        known &= ~grouped.missing
    rows = np.flatnonzero(known)
    groups = None if grouped is None else np.unique(grouped.values[rows], return_inverse=True)[1]
    question = Question(rows, columns[rows], groups, draws if method == "composition" else 0, int(seed))
    name = "" if grouped is None else grouped.name
    _check(design, question, name)
    for places in question.halves if honest else ():
        _check(design, question.of(places), name, " in a half of them (honest=True)")
    pooled, again = answer(fitted, corpus, question, refits=int(refits), halves=bool(honest))
    n_topics, n_columns = len(names), len(design.names)
    shown = [place for place in range(n_columns) if design.terms[place] != "(constant)"]
    notes = _notes(design, corpus, rows, grouped, groups, refits)
    return TopicEffects(
        design, pooled, {name: design.numbers(name, table[name])[rows] for name in design.columns}, tuple(names),
        np.eye(n_columns)[shown], tuple(design.names[place] for place in shown), np.eye(n_topics),
        tuple(range(n_topics)), tuple(names), again, int(permutations), int(seed), notes,
    )  # fmt: skip


def _documents(fitted: Fitted, X: object, refitted_by: str) -> tuple[Fitted, Corpus]:
    """The documents to compare: those of the fit, unless others are given."""
    if X is not None:
        corpus = fitted.corpus(X)
        fitted = replace(fitted, training=Training.unlabelled(corpus) if fitted.needs_words_only else None)
    elif fitted.training is None:
        raise ValueError(
            f"X: got None, but this {fitted.spec.name} holds no documents, as one from a file; give metadata and X"
        )
    else:
        corpus = fitted.training.corpus
    if refitted_by and fitted.more:
        raise ValueError(f"{refitted_by}: a {fitted.spec.name} is not fitted again, leave it out")
    if refitted_by and fitted.training is None:
        raise ValueError(f"{refitted_by}: needs a model that still holds the documents of its fit, and no X")
    return fitted, corpus


def _clusters(cluster: object, table: Mapping[str, Column], n_documents: int) -> Column | None:
    if cluster is None:
        return None
    if isinstance(cluster, str):
        if cluster not in table:
            raise ValueError(f"cluster: got {cluster!r}, which is no column of metadata: {listed(table)}")
        return table[cluster]
    found = read_columns("cluster", cluster, n_documents)
    if len(found) != 1:
        raise ValueError(f"cluster: got {len(found)} columns, expected one, or the name of a column of metadata")
    return next(iter(found.values()))


def _check(design: Design, question: Question, name: str, where: str = "") -> None:
    """Refuse documents that cannot answer: too few, or of too few groups, or without a value that a column is of.

    where : which documents, if not all
    """
    columns, groups = question.columns, question.groups
    if len(columns) <= columns.shape[1]:
        raise ValueError(
            f"metadata: {len(columns)} documents{where} have words and all values, expected more than the "
            f"{columns.shape[1]} columns of the formula"
        )
    gone = dependent_columns(columns)
    if gone:
        which = listed([design.names[place] for place in gone])
        raise ValueError(f"formula: {which} depend on the other columns, so that no document tells them apart{where}")
    if groups is None:
        return
    first, code = np.unique(groups, return_index=True, return_inverse=True)[1:]
    if len(first) < 2:
        raise ValueError(f"cluster: all documents{where} are of one group of {name!r}, expected two at least")
    n_apart = int((columns == columns[first][code]).all(axis=0).sum())
    if len(first) <= n_apart:
        raise ValueError(
            f"cluster: got {len(first)} groups of {name!r}{where}, expected more than the {n_apart} columns that "
            "do not change within a group: errors by group would be zero"
        )


def _notes(
    design: Design, corpus: Corpus, rows: np.ndarray, grouped: Column | None, groups: np.ndarray | None, refits: int
) -> tuple[str, ...]:
    notes = [f"Percentage points of a document's share; {counted(len(rows), 'document')}."]
    if len(rows) < len(corpus):
        gone = len(corpus) - len(rows)
        left = f"{counted(gone, 'document')} without words or with missing values"
        notes.append(f"{left} {'is' if gone == 1 else 'are'} left out.")
    if grouped is not None and groups is not None:
        n_groups = int(groups.max()) + 1
        few = ": so few that errors are rough" if n_groups < FEW_GROUPS else ""
        notes.append(f"Errors by {n_groups:,} groups of {grouped.name}{few}.")
    linear = [name for name in design.terms if name in design.dates]
    if linear:
        notes.append(f"{listed(linear)}: by year.")
    if refits:
        fits = "another fit differs by" if refits == 1 else f"{refits} refits differ by"
        notes.append(f"Intervals hold what {fits}; found_again is the share of refits with the topic.")
    return tuple(notes)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, int, np.integer)) else list(given)


def _signed(weights: np.ndarray, names: Sequence[str]) -> list[str]:
    said = [
        f"{'+' if weights[k] > 0 else '−'} {names[int(k)]}" for k in np.argsort(-weights, kind="stable") if weights[k]
    ]
    return [said[0].removeprefix("+ "), *said[1:]] if said else [""]
