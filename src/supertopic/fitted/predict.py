"""What a fitted model says of documents whose labels it does not know: linear predictors, means, intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.backends.base import Backend
from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.fitted.certainty.levels import document_levels
from supertopic.fitted.certainty.softmax_heat import heated
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.training import Training
from supertopic.inference.after import prediction
from supertopic.inference.after.prediction import PointModel, Scores
from supertopic.metrics.summaries import predictive_r2
from supertopic.responses.interval_levels import interval_at
from supertopic.responses.several import Part

Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of documents, and what they are made of."""

    means: list[np.ndarray]  # by response: E[y] (D,), probabilities or decision values of classes (D, n)
    scores: Scores
    lengths: np.ndarray  # (D,) tokens


def predict(fitted: Fitted, corpus: Corpus, extra: np.ndarray, known: Known | None = None) -> Predicted:
    """Means of all responses.

    extra : (D, P) covariates as the regression takes them (`Schema.encode`); known : what the prior on shares reads
    """
    found = scores_of(fitted, corpus, extra, known)
    score, moment = heated(fitted, found.score, found.moment)
    means = [part.response.predict(*_own(fitted, part, score, moment)) for _, part in fitted.spec.parts]
    return Predicted(means, found, corpus.lengths)


def scores_of(fitted: Fitted, corpus: Corpus, extra: np.ndarray, known: Known | None = None) -> Scores:
    """Moments of the linear predictors, inferred without y."""
    response, point = fitted.spec.response, fitted.point_of(known)
    with fitted.spec.place.open() as backend:
        found = prediction.score(point, fitted.weights, fitted.topic_coef, response, corpus.counts, backend)
        if fitted.members is not None:
            found = _mean_of_members(fitted, point, found, corpus, backend)
    offset = extra @ covariate_coef(fitted).T
    if fitted.words is not None:
        offset = offset + fitted.words.score(corpus.counts)
    return found.shifted(offset, response.is_product)


def _mean_of_members(fitted: Fitted, point: PointModel, first: Scores, corpus: Corpus, backend: Backend) -> Scores:
    """The mean of the linear predictors of an ensemble; the topic shares are those of the first fit.

    The variance of the mean is taken to be the mean of the members' variances: they see the same tokens.
    """
    assert fitted.members is not None
    response, found = fitted.spec.response, [first]
    for word_topic, coef in fitted.members:
        weights = fitted.spec.model.emission.probabilities(word_topic, by_word=True)
        topics = np.ascontiguousarray(coef[:, : fitted.n_topics])
        found.append(prediction.score(point, weights, topics, response, corpus.counts, backend))
    score = np.mean([one.score for one in found], axis=0)
    variance = np.mean([one.moment - one.score**2 for one in found], axis=0)
    logs = np.mean([np.log(np.maximum(one.moment, 1e-300)) for one in found], axis=0)
    return Scores(first.mean_topics, score, np.where(response.is_product, np.exp(logs), score**2 + variance))


def covariate_coef(fitted: Fitted) -> np.ndarray:
    """(C, P) coefficients of the covariates, the mean over the members."""
    own = fitted.state.coef[:, fitted.n_topics :].astype(np.float64)
    if fitted.members is None:
        return own
    others = fitted.members.coef[:, :, fitted.n_topics :].astype(np.float64)
    return (own + others.sum(axis=0)) / (1 + len(others))


def shares_without_y(fitted: Fitted, training: Training) -> np.ndarray:
    """(D, K) topic shares of the training documents, as at prediction."""
    return scores_of(fitted, training.corpus, training.covariates, training.known).mean_topics


def log_density(
    fitted: Fitted, corpus: Corpus, extra: np.ndarray, y: np.ndarray, known: Known | None = None
) -> np.ndarray:
    """(D,) log p(y | document), or its bound; zero where y is missing."""
    found = scores_of(fitted, corpus, extra, known)
    return fitted.spec.response.log_density(y, *heated(fitted, found.score, found.moment), fitted.state.dispersion)


def intervals(fitted: Fitted, found: Predicted, probability: float) -> list[Ends | None]:
    """The ends of intervals of each response, each (D,); None for classes."""
    ends: list[Ends | None] = []
    for place, (target, part) in enumerate(fitted.spec.parts):
        score, moment, numbers = _own(fitted, part, found.scores.score, found.scores.moment)
        if target.classes is None:
            levels = document_levels(fitted, place, score, found.lengths, probability)
            ends.append(interval_at(part.response, score, moment, numbers, levels))
        else:
            ends.append(None)
    return ends


def score_of(fitted: Fitted, training: Training) -> float:
    """R² of numbers, accuracy of classes, of documents with labels; the mean over several responses."""
    means, found = predict(fitted, training.corpus, training.covariates, training.known).means, []
    for (target, part), mean in zip(fitted.spec.parts, means, strict=True):
        y = part.labels(training.y)
        found.append(predictive_r2(y, mean) if target.classes is None else np.mean(part.response.decide(mean) == y))
    return float(np.mean(found))


def users_dispersion(fitted: Fitted) -> float | np.ndarray:
    """The responses' dispersions as users know them: one number, or one for each response."""
    own = fitted.state.dispersion
    spreads = [float(part.response.spread(own[part.numbers])) for _, part in fitted.spec.parts]
    return spreads[0] if len(spreads) == 1 else np.array(spreads)


def _own(
    fitted: Fitted, part: Part, score: np.ndarray, moment: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The moments and the dispersion of one response."""
    return score[:, part.columns], moment[:, part.columns], fitted.state.dispersion[part.numbers]
