"""What one document's topics, words and covariates add to the linear predictor of an average document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.estimators.shared.fitting.ensemble import has_members
from supertopic.estimators.shared.results.coefficient_table import CoefficientTable, coefficients_of
from supertopic.estimators.shared.results.effects import units_of
from supertopic.inference.after import prediction
from supertopic.inference.after.words import word_features, word_part


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


def contributions_of(model: Any, doc: Any, covariates: Any = None) -> Contributions:
    """The parts of one document's linear predictor, by a fitted model with coefficients."""
    table = coefficients_of(model)
    if table is None:
        who = type(model).__name__
        raise ValueError(f"model: got {who}, which has no coefficients; expected one that has, such as SLDARegressor")
    corpus = model._as_corpus([doc] if isinstance(doc, str) else doc)
    if len(corpus) != 1:
        raise ValueError(f"doc: got {len(corpus)} documents, expected one")
    extra, counts = model._read_covariates(covariates, 1), corpus.counts.data.astype(np.float64)
    scores = model._scores(corpus, extra)
    shares = scores.mean_topics[0].astype(np.float64)
    point = model._point_model()
    with model._backend(1) as backend:
        _, phi = prediction.infer_shares(point, model._weights(), corpus.counts, backend, words=True)
    own = np.zeros((len(table.coef), len(counts)))
    if hasattr(model, "word_coef_"):
        features = word_features(corpus.counts, model._word_scale)
        own = features.data * model.word_coef_[:, features.indices]
    return Contributions(
        table=table,
        shares=shares,
        topics=table.coef * shares,
        words=list(model._words()[corpus.counts.indices]),
        counts=counts,
        word_topic=prediction.response_shares(point, phi.astype(np.float64), counts),
        own_words=own,
        covariates=_covariates(model, extra[0], len(table.coef)),
        other_fits=_other_fits(model, corpus, extra[0], shares, scores.score[0]),
    )


def _other_fits(model: Any, corpus: Corpus, extra: np.ndarray, shares: np.ndarray, score: np.ndarray) -> np.ndarray:
    """(C, 1): predictions of an ensemble are means over fits, and the coefficients are those of the first."""
    if not has_members(model):
        return np.zeros((len(score), 1))
    first = model._state.coef.astype(np.float64) @ np.concatenate([shares, extra])
    more = score - first - word_part(model).score(corpus.counts)
    for _, part in model._parts():
        more[..., part.columns] *= units_of(part.response, model._state.dispersion[part.numbers])
    return np.reshape(more, (-1, 1))


def _covariates(model: Any, standard: np.ndarray, n_columns: int) -> np.ndarray:
    """(C, P) covariate_coef times (x - mean), from the covariates as the regression takes them."""
    coef = np.asarray(getattr(model, "covariate_coef_", np.zeros((n_columns, 0))), dtype=np.float64)
    factor = model._scaling.factor[: coef.shape[1]]
    return coef * np.where(factor > 0, standard[: coef.shape[1]] / np.where(factor > 0, factor, 1.0), 0.0)
