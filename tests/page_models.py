"""Small fitted models for the tests of the page: reviews whose words say how good the film was."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from supertopic import (
    LDA,
    DiscLDAClassifier,
    Gibbs,
    MedLDAClassifier,
    MedLDARegressor,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    TopicModel,
    Vectorizer,
)
from supertopic.fitted.predict import scores_of
from supertopic.inference.after.prediction import Scores

GOOD = "superb moving brilliant warm tender acting beautifully wise"
BAD = "boring dull tired clumsy script awful noisy empty"
WAR = "war soldier army battle general front tank history"
LOVE = "love heart wedding kiss romance paris couple letter"
NEW = [
    "A moving, beautifully acted film about love and war.",
    "boring",
    "Nothing of this is known to anyone.",
    "",
    "Superb! The soldier’s letter was warm, tender, wise; the general was dull, dull, DULL.",
]


@cache
def reviews(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Texts with a rating: column text, rating (0 to 1), stars (1 to 4), verdict, visits, year."""
    rng = np.random.default_rng(seed)
    rating = rng.uniform(size=n)
    texts = []
    for value in rating:
        tone = [(GOOD if rng.uniform() < value else BAD).split()[i] for i in rng.integers(0, 8, 12)]
        about = [(WAR if rng.uniform() < 0.5 else LOVE).split()[i] for i in rng.integers(0, 8, 10)]
        texts.append(" ".join(rng.permutation([*tone, *about])).capitalize() + ".")
    return pd.DataFrame(
        {
            "text": texts,
            "rating": rating,
            "stars": np.digitize(rating, [0.25, 0.5, 0.75]) + 1,
            "verdict": np.array(["bad", "fair", "good"])[np.digitize(rating, [0.33, 0.66])],
            "visits": rng.poisson(np.exp(1 + rating)),
            "year": rng.integers(1990, 2020, n),
        }
    )


_FAST: dict[str, Any] = {"max_iter": 6, "n_jobs": 1, "random_state": 0}
KINDS: dict[str, tuple[Any, str | list[str] | None]] = {
    "gaussian": (lambda: SLDARegressor(4, cross_fit=2, **_FAST), "rating"),
    "ordinal": (lambda: SLDAClassifier(4, response="ordinal", cross_fit=0, **_FAST), "stars"),
    "softmax": (lambda: SLDAClassifier(4, cross_fit=0, **_FAST), "verdict"),
    "hinge": (lambda: MedLDAClassifier(4, **_FAST), "verdict"),
    "margin_chances": (lambda: MedLDAClassifier(4, cross_fit=2, **_FAST), "verdict"),
    "margin_two": (lambda: MedLDAClassifier(4, cross_fit=2, **_FAST), "good"),
    "margin_members": (lambda: MedLDAClassifier(4, ensemble=2, **_FAST), "verdict"),
    "class_topics": (lambda: DiscLDAClassifier(2, n_shared_topics=2, cross_fit=2, **_FAST), "verdict"),
    "poisson": (lambda: SLDARegressor(4, response="poisson", cross_fit=2, **_FAST), "visits"),
    "words": (lambda: SLDARegressor(4, words=True, **_FAST), "rating"),
    "log_counts": (lambda: SLDARegressor(4, counts="log", words=True, **_FAST), "rating"),
    "sage": (lambda: SLDARegressor(4, emission="sage", cross_fit=0, **_FAST), "rating"),
    "logit": (lambda: SLDAClassifier(4, cross_fit=0, **_FAST), "good"),
    "negative_binomial": (lambda: SLDARegressor(4, response="negative_binomial", cross_fit=0, **_FAST), "visits"),
    "gamma": (lambda: SLDARegressor(4, response="gamma", cross_fit=0, **_FAST), "positive"),
    "canonical": (lambda: SLDARegressor(4, response="gamma:canonical", cross_fit=0, **_FAST), "positive"),
    "inverse_gaussian": (lambda: SLDARegressor(4, response="inverse_gaussian", cross_fit=0, **_FAST), "positive"),
    "weibull": (lambda: SLDARegressor(4, response="weibull", cross_fit=0, **_FAST), "positive"),
    "pc": (lambda: SLDARegressor(4, inference="pc", cross_fit=0, max_iter=2), "rating"),
    "margin_cvb0": (lambda: MedLDARegressor(4, inference="cvb0", **_FAST), "rating"),
    "ensemble": (lambda: SLDARegressor(4, ensemble=2, cross_fit=0, **_FAST), "rating"),
    "sstm": (lambda: SSTMClassifier(4, max_iter=16, inference=Gibbs(burn_in=8)), "verdict"),
    "sage_classes": (lambda: SAGEClassifier(counts="log", max_iter=5), "verdict"),
    "ngrams": (
        lambda: SLDARegressor(
            4, cross_fit=0, vectorizer=Vectorizer(ngram_range=(1, 2), stop_words="english", min_df=1), **_FAST
        ),
        "rating",
    ),
    "several": (
        lambda: TopicModel(4, response={"rating": "gaussian", "verdict": "softmax"}, cross_fit=0, **_FAST),
        ["rating", "verdict"],
    ),
    "lda": (lambda: LDA(4, max_iter=6), None),
}


def labels(frame: pd.DataFrame, column: str | list[str] | None) -> Any:
    """y of a kind."""
    if column is None:
        return None
    more = frame.assign(positive=frame["rating"] + 0.2, good=frame["rating"] > 0.5)
    return more[column]


@cache
def fitted(kind: str) -> Any:
    """A model of a kind, fitted to the reviews."""
    make, column = KINDS[kind]
    frame = reviews()
    y = labels(frame, column)
    return make().fit(frame["text"].tolist(), y) if y is not None else make().fit(frame["text"].tolist())


def scores_of_texts(model: Any, texts: list[str]) -> Scores:
    """What Python finds of new texts, without covariates."""
    return scores_of(model.fitted_, model.fitted_.corpus(texts), np.zeros((len(texts), 0)))
