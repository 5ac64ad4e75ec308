"""What one document's topics, words and covariates add to the linear predictor of an average document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.fitted.coefficients import CoefficientTable, units_of, word_effects
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import scores_of
from supertopic.inference.after import prediction
from supertopic.inference.after.words import word_features

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


@dataclass(frozen=True)
class Contributions:
    """The intercept, topics, own_words, covariates and other_fits add up to the document's linear predictor."""

    table: CoefficientTable
    shares: np.ndarray  # (K,) Zbar, the shares that the response depends on
    topics: np.ndarray  # (C, K) share times coefficient
    words: list[str]  # (n,) the known words of the document
    counts: np.ndarray  # (n,)
    word_topic: np.ndarray  # (n, K) what each word adds to the shares
    own_words: np.ndarray  # (C, n) what words add beside the topics (`words=True`)
    covariates: np.ndarray  # (C, P)
    other_fits: np.ndarray  # (C, 1) by how much the mean over an ensemble's fits differs from the first one's

    @property
    def total(self) -> np.ndarray:
        """(C,) the linear predictor."""
        parts = (self.topics, self.own_words, self.covariates, self.other_fits)
        return self.table.intercept + sum(part.sum(axis=1) for part in parts)

    def by_word(self) -> np.ndarray:
        """(C, n) what each word adds: by its topics, and by itself."""
        return self.table.coef @ self.word_topic.T + self.own_words


def contributions_of(model: TopicEstimator, doc: object, covariates: object = None) -> Contributions:
    """The parts of one document's linear predictor, by a fitted model with coefficients."""
    table: CoefficientTable | None = getattr(model, "coefficients_", None)
    if table is None:
        who = type(model).__name__
        raise ValueError(f"model: got {who}, which has no coefficients; expected one that has, such as SLDARegressor")
    fitted: Fitted = model.fitted_
    corpus = fitted.one_document(doc)
    extra, counts = fitted.spec.schema.encode(covariates, Known(1)), corpus.counts.data.astype(np.float64)
    scores = scores_of(fitted, corpus, extra)
    shares = scores.mean_topics[0].astype(np.float64)
    own = np.zeros((len(table.coef), len(counts)))
    if fitted.words is not None and (coef := word_effects(fitted)) is not None:
        features = word_features(corpus.counts, fitted.words.scale)
        own = features.data * coef[:, features.indices]
    return Contributions(
        table=table,
        shares=shares,
        topics=table.coef * shares,
        words=list(fitted.vocabulary.words[corpus.counts.indices]),
        counts=counts,
        word_topic=prediction.response_shares(fitted.point, fitted.words_by_topic(corpus.counts), counts),
        own_words=own,
        covariates=_covariates(fitted, table, extra[0]),
        other_fits=_other_fits(fitted, corpus, extra[0], shares, scores.score[0]),
    )


def _other_fits(fitted: Fitted, corpus: Corpus, extra: np.ndarray, shares: np.ndarray, score: np.ndarray) -> np.ndarray:
    """(C, 1): predictions of an ensemble are means over fits, and the coefficients are those of the first."""
    if fitted.members is None:
        return np.zeros((len(score), 1))
    first = fitted.state.coef.astype(np.float64) @ np.concatenate([shares, extra])
    more = score - first - (0.0 if fitted.words is None else fitted.words.score(corpus.counts))
    for _, part in fitted.spec.parts:
        more[..., part.columns] *= units_of(part.response, fitted.state.dispersion[part.numbers])
    return np.reshape(more, (-1, 1))


def _covariates(fitted: Fitted, table: CoefficientTable, standard: np.ndarray) -> np.ndarray:
    """(C, P) covariate_coef times (x - mean), from the covariates as the regression takes them."""
    factor = fitted.spec.schema.scaling.factor
    return table.others * np.where(factor > 0, standard[: len(factor)] / np.where(factor > 0, factor, 1.0), 0.0)
