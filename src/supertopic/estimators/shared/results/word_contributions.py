"""What words and covariates of one document add to the linear predictor, against the average training document.

A token whose topics have the shares phi stands for phi·eta, where eta is the linear predictor of a document all of one
topic. A word that occurs n times among N tokens adds (n / N) (phi·eta - intercept), which is (n / N) phi·coef. The
predictions of an ensemble are means over its fits, and so are these contributions: each fit has its own phi and eta.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy.sparse as sp

from supertopic.documents.covariates import given_by_name
from supertopic.documents.known import Known
from supertopic.estimators.shared.results.explanation import by_contribution
from supertopic.fitted.coefficients import Effects, effects, word_effects
from supertopic.fitted.fitted import Fitted
from supertopic.inference.after import prediction
from supertopic.inference.after.words import word_features


def with_contributions(fitted: Fitted, doc: object, frame: pd.DataFrame) -> pd.DataFrame:
    """The words of a document, sorted by what they add to the linear predictors, which stands behind word and count."""
    count, own = frame["count"].to_numpy(), effects(fitted)
    counts = fitted.one_document(doc).counts
    by_count = np.argsort(-counts.data, kind="stable")  # the order of the frame's rows
    found = [_of_fit(fitted, frame.filter(like="topic ").to_numpy(), count, own.topics)]
    for phi, one in _members(fitted, counts):
        above = one.topics + (one.intercept - own.intercept)[:, None]
        found.append(_of_fit(fitted, phi[by_count], count, above))
    contribution = np.mean(found, axis=0)
    if fitted.words is not None and (coef := word_effects(fitted)) is not None:
        features = word_features(counts, fitted.words.scale)
        contribution += (features.data[:, None] * coef[:, features.indices].T)[by_count]
    for place, (name, column) in enumerate(zip(fitted.spec.column_names, contribution.T, strict=True)):
        frame.insert(2 + place, f"contribution {name}".strip(), column)
    return by_contribution(frame)


def _of_fit(fitted: Fitted, phi: np.ndarray, count: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """(n, C) by the topics of one fit; phi (n, K), coef (C, K) above the intercept."""
    return prediction.response_shares(fitted.point, phi, count) @ coef.T


def _members(fitted: Fitted, counts: sp.csr_matrix) -> Iterator[tuple[np.ndarray, Effects]]:
    """phi (n, K) and the coefficients of an ensemble's further fits."""
    for word_topic, coef in fitted.members or ():
        weights = fitted.spec.model.emission.probabilities(word_topic, by_word=True)
        with fitted.spec.place.open(1) as backend:
            _, phi = prediction.infer_shares(fitted.point, weights, counts, backend, words=True)
        yield phi.astype(np.float64), effects(fitted, coef)


def covariate_contributions(fitted: Fitted, covariates: object, embeddings: object = None) -> pd.DataFrame:
    """A row per covariate of one document: `word` says its name and value; by column what it adds, against its mean.

    covariates : a frame of one row, or values by name; what is not named is at its mean, or in its usual category
    embeddings : (1, E), whose numbers have one row together
    """
    schema, known = fitted.spec.schema, Known.of(1, embeddings=embeddings)
    columns, scaling, block = schema.columns, schema.scaling, schema.block_columns
    mean = scaling.mean[: block.start]
    given = given_by_name(columns, mean, covariates) if isinstance(covariates, dict) else covariates
    plain = mean[None] if given is None else columns.encode(given, 1)
    x = np.hstack([plain, np.zeros((1, 0)) if schema.block is None else schema.block.numbers(known.embeddings)])
    scaling.apply(x)  # refuses another number of columns
    unknown = np.isnan(x[0])
    x = np.where(unknown, scaling.mean, x)
    fits = [effects(fitted), *(effects(fitted, coef) for _, coef in fitted.members or ())]
    added = (x[0] - scaling.mean) * np.mean([one.others for one in fits], axis=0)  # (C, P)
    places = columns.places or {f"x{place}": slice(place, place + 1) for place in range(len(mean))}
    rows = []
    for name, part in places.items() if given is not None else ():
        values = columns.dummies(name)
        if unknown[part].any():
            shown = "unknown"
        elif values is None:
            shown = f"{x[0, part.start]:.4g}"
        else:
            shown = str(values[int(x[0, part].argmax())] if x[0, part].any() else columns.references[name])
        rows.append([f"{name}={shown}", *added[:, part].sum(axis=1)])
    if schema.block is not None:
        rows.append(["embeddings", *added[:, block].sum(axis=1)])
    labels = [f"contribution {name}".strip() for name in fitted.spec.column_names]
    return pd.DataFrame(rows, columns=["word", *labels])
