"""What words and covariates of one document add to the linear predictor, against the average training document.

A token whose topics have the shares phi stands for phi·eta, where eta is the linear predictor of a document all of one
topic. A word that occurs n times among N tokens adds (n / N) (phi·eta - intercept), which is (n / N) phi·coef. The
predictions of an ensemble are means over its fits, and so are these contributions: each fit has its own phi and eta.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from supertopic.documents.covariates import given_by_name
from supertopic.estimators.shared.fitting.ensemble import has_members
from supertopic.estimators.shared.results.effects import Effects
from supertopic.estimators.shared.results.explanation import by_contribution
from supertopic.inference.after import prediction
from supertopic.inference.after.words import word_features


def with_contributions(estimator: Any, doc: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """The words of a document, sorted by what they add to the linear predictors, which stands behind word and count."""
    count = frame["count"].to_numpy()
    counts = estimator._as_corpus([doc] if isinstance(doc, str) else doc).counts
    by_count = np.argsort(-counts.data, kind="stable")  # the order of the frame's rows
    found = [_of_fit(estimator, frame.filter(like="topic ").to_numpy(), count, estimator._columns_coef)]
    for phi, effects in _members(estimator, counts):
        above = effects.topics + (effects.intercept - estimator._columns_intercept)[:, None]
        found.append(_of_fit(estimator, phi[by_count], count, above))
    contribution = np.mean(found, axis=0)
    if hasattr(estimator, "word_coef_"):
        features = word_features(counts, estimator._word_scale)
        own = features.data[:, None] * estimator.word_coef_[:, features.indices].T
        contribution += own[by_count]
    for place, (name, column) in enumerate(zip(estimator._column_names(), contribution.T, strict=True)):
        frame.insert(2 + place, f"contribution {name}".strip(), column)
    return by_contribution(frame)


def _of_fit(estimator: Any, phi: np.ndarray, count: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """(n, C) by the topics of one fit; phi (n, K), coef (C, K) above the intercept."""
    return prediction.response_shares(estimator._point_model(), phi, count) @ coef.T


def _members(estimator: Any, counts: sp.csr_matrix) -> Iterator[tuple[np.ndarray, Effects]]:
    """phi (n, K) and the coefficients of an ensemble's further fits."""
    if not has_members(estimator):
        return
    state, shares, point = estimator._state, estimator._average_shares(), estimator._point_model()
    for word_topic, coef in zip(estimator._member_topics, estimator._member_coef, strict=True):
        weights = estimator._emission.probabilities(word_topic, by_word=True)
        with estimator._backend(1) as backend:
            _, phi = prediction.infer_shares(point, weights, counts, backend, words=True)
        yield phi.astype(np.float64), estimator._effects(coef, state.dispersion, shares)


def covariate_contributions(estimator: Any, covariates: Any) -> pd.DataFrame:
    """A row per covariate of one document: `word` says its name and value; by column what it adds, against its mean.

    covariates : a frame of one row, or values by name; what is not named is at its mean, or in its usual category
    """
    columns, mean = estimator._columns, estimator._scaling.mean
    given = given_by_name(columns, mean, covariates) if isinstance(covariates, dict) else covariates
    x = columns.encode(given, 1)
    estimator._scaling.apply(x)  # refuses another number of columns
    added = (x[0] - mean) * _mean_coef(estimator)  # (C, P)
    names = columns.names or estimator.covariate_names_
    rows, first = [], 0
    for name in names:
        values = columns.categories.get(name)
        width = 1 if values is None else len(values) - 1
        part = slice(first, first + width)
        if values is None:
            shown = f"{x[0, first]:.4g}"
        else:
            shown = str(values[1 + int(x[0, part].argmax())] if x[0, part].any() else values[0])
        rows.append([f"{name}={shown}", *added[:, part].sum(axis=1)])
        first += width
    labels = [f"contribution {name}".strip() for name in estimator._column_names()]
    return pd.DataFrame(rows, columns=["word", *labels])


def _mean_coef(estimator: Any) -> np.ndarray:
    """(C, P) the coefficients of the covariates per unit of each, the mean over the fits of an ensemble."""
    found = [np.asarray(getattr(estimator, "covariate_coef_", np.zeros((1, 0))), dtype=np.float64)]
    if has_members(estimator):
        given = (estimator._state.dispersion, estimator._average_shares())
        found += [estimator._effects(coef, *given).others for coef in estimator._member_coef]
    return np.mean(found, axis=0)
