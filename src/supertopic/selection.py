"""Choice of the number of topics by cross-validated prediction, held-out likelihood, coherence and stability.

There is no single right K. The table shows the measures of each K, and `best` is the smallest K whose mean is within
one standard error of the best mean (Breiman et al. 1984).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from inspect import signature
from itertools import count, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from supertopic.documents.corpus import Corpus, EmptyDocumentWarning, as_corpus, as_texts, holds_text
from supertopic.documents.known import Known
from supertopic.documents.labels import guess_response
from supertopic.documents.rows import require_same_order
from supertopic.documents.streams import Stream
from supertopic.html_tables import curve_svg, frame_html
from supertopic.metrics import align_topics, coherence, exclusivity, perplexity, residual_dispersion, stability
from supertopic.plots_of import draw
from supertopic.progress import track

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

__all__ = ["TopicSelection", "select_topics"]

MOST_SEEDS = 100
# the label of each measure on a plot, and whether larger is better; the first one computed is the criterion
MEASURES = {
    "prediction": ("prediction", True),
    "nats_per_token": ("held-out nats per token", False),
    "coherence": ("NPMI coherence", True),
    "stability": ("stability over seeds", True),
    "exclusivity": ("exclusivity (FREX)", True),
    "dispersion": ("residual dispersion", False),
}
_ASKED_FOR = ("exclusivity", "dispersion")  # measures that are left out by default


@dataclass(frozen=True)
class TopicSelection:
    """The measures of each K.

    Attributes
    ----------
    table : DataFrame, a row per K
        ``<measure>`` and ``<measure>_se`` for prediction (R² or accuracy, cross-validated), nats_per_token (document
        completion of held-out documents; lower is better), coherence (NPMI on held-out documents) and stability
        (similarity of matched topics between fits with different seeds; 1 means the same topics); seconds per fit.
    best : int
        The smallest K within one standard error of the best K, by `criterion`.
    criterion : str
        The measure that decides: prediction with a response, otherwise nats_per_token.
    scoring : str
        The score used for prediction: "R²" or "accuracy"; "" without a response.
    matches : DataFrame, a row per topic, or None without fits on all documents (`n_seeds`)
        Each topic of a K beside the likest one of the next K: n_topics, topic, words, next_n_topics, next_topic,
        next_words, and similarity (a cosine: 1 for the same topic).
    """

    table: pd.DataFrame
    best: int
    criterion: str
    scoring: str = ""
    matches: pd.DataFrame | None = None

    @property
    def reason(self) -> str:
        """A sentence that explains the choice of `best`."""
        name, more = MEASURES[self.criterion]
        name = f"cross-validated {self.scoring}" if self.criterion == "prediction" else name
        top = int(self.table[self.criterion].idxmax() if more else self.table[self.criterion].idxmin())
        if top != self.best:
            return f"{self.best} topics: the fewest within one standard error of the best by {name} ({top} topics)."
        fewer = self.best > self.table.index.min()
        why = "none fewer lie within one standard error of it" if fewer else "the fewest that were tried"
        more_still = "; more topics may do better still" if fewer and self.best == self.table.index.max() else ""
        return f"{self.best} topics: the best by {name}, and {why}{more_still}."

    def plot(self, ax: Any = None) -> np.ndarray:
        """A panel for each measure, two by two, or written to a path: see `supertopic.explore.plot_select`."""
        return draw("select", self, ax=ax)

    def __repr__(self) -> str:
        return f"{self.table.to_string(float_format='{:.4g}'.format)}\n{self.reason}"

    def _repr_html_(self) -> str:
        place = self.table.index.get_loc(self.best)
        curve = curve_svg(self.table.index, self.table[self.criterion], place)
        return f"<div>{escape(self.reason)}</div>{curve}{frame_html(self.table, bold=[place])}"


def select_topics(
    estimator: TopicEstimator, X: object, y: object = None, n_topics: Sequence[int] = (5, 10, 20), *, cv: object = 5,
    measures: Iterable[str] | None = None, random_state: int = 0, n_seeds: int = 3, covariates: object = None,
    metadata: object = None, groups: object = None, verbose: int = 1,
) -> TopicSelection:  # fmt: skip
    """Fit an estimator for each K on the same folds, and measure it on the held-out documents.

    Parameters
    ----------
    estimator : estimator such as LDA or SLDARegressor
        All its parameters except ``n_topics`` and ``random_state`` are used.
    X : documents
        In any format the estimator accepts. For text, the vocabulary is chosen in every fold from the training
        documents only.
    y : array, optional
        The response, if the estimator is supervised. Documents with missing labels are used in the fits, but not
        scored.
    n_topics : list of int
        The values of K.
    cv : int, splitter or list of (train, test)
        Folds, shuffled (and stratified for classes) with ``random_state``; groups are never cut apart.
    measures : subset of {"prediction", "nats_per_token", "coherence", "stability", "exclusivity", "dispersion"}
        By default all that apply but the last two; fewer save time. "dispersion" is that of the residuals of word
        counts, 1 where the topics leave nothing to be explained (`supertopic.metrics.residual_dispersion`).
    random_state : int
        Seed of folds and fits.
    n_seeds : int
        Number of fits on all documents whose topics are compared for "stability", at most 100; 1 leaves it out.
    covariates : frame or (D, P) array, optional
        Columns that predict beside the topics, as in ``fit``.
    metadata, groups : as in ``fit``
        What is known of the documents, and who each belongs to: a column, or the name of one of `metadata`.
    verbose : int
        1: a progress bar over the fits (a line now and then where no bar can be drawn); 2: a line per fit; 0: silent.

    Returns
    -------
    TopicSelection
        The table of measures, and the number of topics that they choose.

    Examples
    --------
    >>> from supertopic import LDA, datasets, select_topics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> found = select_topics(LDA(max_iter=10), data.counts, n_topics=[2, 4], cv=2, n_seeds=1, verbose=0)
    >>> found.table.index.tolist()
    [2, 4]
    """
    topics = _check_topics(n_topics)
    scoring = "accuracy" if is_classifier(estimator) else "R²" if is_regressor(estimator) else ""
    if scoring and y is None:
        raise ValueError(f"y is missing: {type(estimator).__name__} learns from a response")
    if not scoring and y is not None:
        raise ValueError(
            f"y was given, but {type(estimator).__name__} has no response to predict it with; leave it out"
        )
    if "n_topics" not in estimator.get_params():
        raise ValueError(f"estimator: got a {type(estimator).__name__}, expected one with the parameter n_topics")
    for name, value, least in (("n_seeds", n_seeds, 1), ("random_state", random_state, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
            raise ValueError(f"{name}: got {value!r}, expected a whole number >= {least}")
    if n_seeds > MOST_SEEDS:  # all of them are fitted, and each pair of them is compared
        raise ValueError(f"n_seeds: got {n_seeds!r}, expected at most {MOST_SEEDS}")
    wanted = _check_measures(measures, bool(scoring), int(n_seeds))
    require_same_order(X, y=y, covariates=covariates, metadata=metadata, groups=groups)
    documents = _Documents(X)
    known = Known.of(len(documents), metadata=metadata, groups=groups)
    trials = _Trials(estimator, documents, y, int(random_state), wanted, covariates, known)
    folds = trials.folds(cv) if set(wanted) - {"stability"} else []
    seeds = int(n_seeds) if "stability" in wanted else 0
    fits = count(1)
    with track("select", len(topics) * (len(folds) + seeds), verbose) as report:
        rows = [trials.row(k, folds, seeds, lambda k: report(next(fits), topics=k)) for k in topics]
    table = pd.DataFrame(rows, index=pd.Index(topics, name="n_topics"))
    return TopicSelection(table, _one_standard_error(table, wanted[0]), wanted[0], scoring, trials.matches())


class _Documents:
    """Documents that can be indexed by rows: text as a list, counts as a Corpus."""

    def __init__(self, X: object) -> None:
        if isinstance(X, Stream):
            raise ValueError("X is a Stream; select_topics needs documents that are held, since it takes folds of them")
        self.texts = as_texts(X)[0] if holds_text(X) else None
        self.corpus = None if self.texts is not None else as_corpus(X)

    def __len__(self) -> int:
        return len(self.corpus) if self.corpus is not None else len(self.texts or [])

    def take(self, rows: np.ndarray) -> Any:
        return self.corpus[rows] if self.corpus is not None else [self.texts[i] for i in rows]  # type: ignore[index]


@dataclass
class _Trials:
    """An estimator, its documents and responses, and the measures to compute."""

    estimator: TopicEstimator
    documents: _Documents
    y: Any
    seed: int
    wanted: list[str]
    covariates: Any = None
    beside: Known = field(default_factory=lambda: Known(0))
    whole: dict[int, Any] = field(default_factory=dict)  # the topics of a fit on all documents, and their words, by K

    def __post_init__(self) -> None:
        n = len(self.documents)
        if self.y is not None:
            # numpy would convert None and NaN in a list of labels to text
            y = np.array(self.y, dtype=object) if isinstance(self.y, (list, tuple)) else self.y
            self.y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
            if self.y.shape != (n,):
                raise ValueError(f"y has shape {self.y.shape}; expected one value for each of the {n} documents")
        self._check_covariates(n)
        self.known = np.ones(n, dtype=bool) if self.y is None else ~pd.isna(self.y)
        if str(getattr(self.estimator, "response", "")) == "auto" and self.known.any():
            # once for all fits: a fold alone might be taken for something else
            kinds = ("class",) if is_classifier(self.estimator) else ("number",)
            column = np.asarray(self.y, dtype=object)
            found = guess_response(column, "y", type(self.estimator).__name__, kinds)
            self.estimator = clone(self.estimator).set_params(response=found)

    def _check_covariates(self, n: int) -> None:
        """Make a frame of the covariates, so that a category is known even in folds where it does not occur."""
        if self.covariates is None:
            return
        if "covariates" not in signature(self.estimator.fit).parameters:
            raise ValueError(f"covariates: {type(self.estimator).__name__} does not take them, leave them out")
        given = self.covariates
        frame = given.to_frame() if isinstance(given, pd.Series) else pd.DataFrame(given)
        if len(frame) != n:
            raise ValueError(f"covariates: got {len(frame)} rows, expected one for each of the {n} documents")
        texts = [name for name in frame if frame[name].map(lambda value: isinstance(value, str)).any()]
        self.covariates = frame.astype(dict.fromkeys(texts, "category")).set_axis(frame.columns.astype(str), axis=1)

    def _beside(self, rows: np.ndarray, call: Callable[..., Any]) -> dict[str, Any]:
        """What a method takes beside some of the documents."""
        found = {} if self.covariates is None else {"covariates": self.covariates.iloc[rows]}
        if self.beside.metadata and "metadata" in signature(call).parameters:
            found["metadata"] = self.beside.frame().iloc[rows]
        if self.beside.groups is not None and "groups" in signature(call).parameters:
            found["groups"] = self.beside.groups.series().iloc[rows]
        return found

    def folds(self, cv: object) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (train, test) rows; a number gives shuffled folds, stratified by class and missing labels."""
        n = len(self.documents)
        if not isinstance(cv, Integral):
            return list(check_cv(cv).split(np.zeros((n, 1)), self.y))
        if not 2 <= int(cv) <= n:
            raise ValueError(f"cv: got {cv!r}, expected 2 folds at least and at most the {n} documents")
        stratum = self.known.astype(np.int64)
        if is_classifier(self.estimator):
            labels, codes, counts = np.unique(self.y[self.known].astype(str), return_inverse=True, return_counts=True)
            if counts.min(initial=n) < cv:
                rare = labels[counts.argmin()]
                raise ValueError(f"y: the class {str(rare)!r} has {counts.min()} documents, fewer than cv={cv}")
            stratum[self.known] = 1 + codes
        who = None if self.beside.groups is None else self.beside.groups.values
        if who is not None and len(np.unique(who)) < int(cv):
            raise ValueError(f"groups: got {len(np.unique(who))}, expected cv={cv} at least")
        folds = StratifiedKFold if who is None else StratifiedGroupKFold
        splitter = folds(int(cv), shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # raised when there are few unlabelled documents
            return list(splitter.split(stratum, stratum, who))

    def fit(self, k: int, rows: np.ndarray, seed: int) -> tuple[Any, float]:
        """Return a fitted clone and the seconds of the fit."""
        model = clone(self.estimator).set_params(n_topics=k, random_state=seed)
        beside = self._beside(rows, model.fit)
        start = time.perf_counter()
        with _quiet():
            model.fit(self.documents.take(rows), *([] if self.y is None else [self.y[rows]]), **beside)
        return model, time.perf_counter() - start

    def row(
        self, k: int, folds: list[tuple[np.ndarray, np.ndarray]], n_seeds: int, done: Callable[[int], None]
    ) -> dict[str, Any]:
        """Return the measures of one K."""
        found: dict[str, list[float]] = {name: [] for name in self.wanted}
        seconds = []
        for train, test in folds:
            model, spent = self.fit(k, train, self.seed)
            seconds.append(spent)
            with _quiet():
                held_out = model.fitted_.corpus(self.documents.take(test))  # counted once
                for name in set(self.wanted) - {"stability"}:
                    found[name].append(_FIGURES[name](self, model, test, held_out))
            done(k)
        models: list[np.ndarray] = []
        for seed in range(self.seed, self.seed + n_seeds):
            model, spent = self.fit(k, np.arange(len(self.documents)), seed)
            if not models:
                self.whole[k] = model.components_, model.top_words(5).groupby("topic").word.agg(" ".join).to_numpy()
            models.append(model.components_)
            seconds.append(spent)
            done(k)
        if models:
            found["stability"] = stability(models).tolist()
        row: dict[str, float] = {}
        for name, values in found.items():
            row |= {name: float(np.mean(values)), f"{name}_se": _standard_error(values)}
        return row | {"seconds": float(np.mean(seconds))}

    def matches(self) -> pd.DataFrame | None:
        """Topics of each K beside the likest of the next."""
        if not self.whole:
            return None
        rows = []
        for (k, (topics, words)), (other, (others, theirs)) in pairwise(sorted(self.whole.items())):
            size, next_size = (np.linalg.norm(one, axis=1, keepdims=True) for one in (topics, others))
            cosine = (topics / size) @ (others / next_size).T
            place = align_topics(topics, others).order
            rows += [
                (k, topic, words[topic], other, to, theirs[to], cosine[topic, to]) for topic, to in enumerate(place)
            ]
        names = ["n_topics", "topic", "words", "next_n_topics", "next_topic", "next_words", "similarity"]
        return pd.DataFrame(rows, columns=names)

    def prediction(self, model: TopicEstimator, test: np.ndarray, held_out: Corpus) -> float:
        known = self.known[test]
        if not known.any():
            raise ValueError("y: a fold has no document with a label; take fewer folds")
        y = np.array(self.y[test[known]].tolist())
        return float(model.score(held_out[known], y, **self._beside(test[known], model.score)))

    def nats_per_token(self, model: TopicEstimator, test: np.ndarray, held_out: Corpus) -> float:
        return math.log(perplexity(model, held_out, random_state=self.seed, n_jobs=getattr(model, "n_jobs", 1)))

    def coherence(self, model: TopicEstimator, test: np.ndarray, held_out: Corpus) -> float:
        """Mean coherence on the documents in their original format: only text has the order that windows need."""
        top_n = min(10, model.n_features_in_)
        return float(coherence(model, self.documents.take(test), "npmi", top_n=top_n).mean())

    def exclusivity(self, model: Any, test: np.ndarray, held_out: Corpus) -> float:
        """Mean over the topics."""
        return float(exclusivity(model, min(10, model.n_features_in_)).mean())

    def dispersion(self, model: Any, test: np.ndarray, held_out: Corpus) -> float:
        return residual_dispersion(model, held_out)


_FIGURES: dict[str, Callable[[_Trials, Any, np.ndarray, Corpus], float]] = {
    "prediction": _Trials.prediction,
    "nats_per_token": _Trials.nats_per_token,
    "coherence": _Trials.coherence,
    "exclusivity": _Trials.exclusivity,
    "dispersion": _Trials.dispersion,
}


def _one_standard_error(table: pd.DataFrame, name: str) -> int:
    """The smallest K whose mean is within one standard error of the best mean."""
    sign = 1 if MEASURES[name][1] else -1
    mean = sign * table[name]
    if mean.isna().all():
        return int(table.index.min())
    within = mean >= mean.max() - np.nan_to_num(table.loc[mean.idxmax(), f"{name}_se"])
    return int(table.index[within].min())


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _check_topics(n_topics: Sequence[int]) -> list[int]:
    values = list(n_topics) if isinstance(n_topics, Iterable) and not isinstance(n_topics, str) else [n_topics]
    for value in values:
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"n_topics: got {value!r}, expected whole numbers >= 1")
    if not values:
        raise ValueError("n_topics is empty; expected one number of topics at least")
    return sorted({int(value) for value in values})


def _check_measures(measures: Iterable[str] | None, supervised: bool, n_seeds: int) -> list[str]:
    """Return the measures in the order of MEASURES; by default all that apply."""
    possible = [
        name for name in MEASURES if (supervised or name != "prediction") and (n_seeds > 1 or name != "stability")
    ]
    if measures is None:
        return [name for name in possible if name not in _ASKED_FOR]
    asked = [measures] if isinstance(measures, str) else list(measures)
    wrong = next((name for name in asked if name not in possible), None)
    if wrong is not None or not asked:
        raise ValueError(f"measures: got {wrong!r}, expected some of {', '.join(map(repr, possible))}")
    return [name for name in possible if name in asked]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about empty documents, rare words and rare categories in a fold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        warnings.filterwarnings("ignore", "[0-9]+ of [0-9]+ top words stand nowhere")
        warnings.filterwarnings("ignore", "covariates: columns? .* constant")
        yield
