"""Predictions as users get them: means, intervals, R², accuracy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from supertopic.documents.known import Known
from supertopic.documents.labels import as_numbers, as_table, missing
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import Ends, Predicted, intervals
from supertopic.metrics import predictive_r2

WithEnds = tuple[np.ndarray, np.ndarray, np.ndarray]  # E[y], and the lower and upper ends of intervals


def predict_numbers(fitted: Fitted, found: Predicted, return_interval: float | None) -> np.ndarray | WithEnds:
    """E[y] of new documents (D,), or (D, M) for several responses; with the ends of intervals where asked for."""
    mean = found.means[0] if len(found.means) == 1 else np.column_stack(found.means)
    if return_interval is None:
        return mean
    ends = [pair for pair in users_intervals(fitted, found, return_interval) if pair is not None]
    if len(ends) == 1:
        return mean, *ends[0]
    return mean, np.column_stack([low for low, _ in ends]), np.column_stack([high for _, high in ends])


def users_intervals(fitted: Fitted, found: Predicted, probability: float) -> list[Ends | None]:
    """The ends of intervals of each response, each (D,); None for classes."""
    if not 0 < probability < 1:
        raise ValueError(f"return_interval: got {probability!r}, expected a probability between 0 and 1")
    return intervals(fitted, found, probability)


def left_out_frame(fitted: Fitted) -> pd.DataFrame:
    """Predictions of the labelled documents by fits without them (`SupervisedEstimator.out_of_fold_`)."""
    told = fitted.left_out
    assert told is not None
    columns: dict[str, Any] = {"fold": told.fold}
    for place, (target, part) in enumerate(fitted.spec.parts):
        before = f"{target.name} " if len(fitted.spec.parts) > 1 else ""
        y, mean, classes = told.y[:, place], fitted.left_out_means(place).astype(np.float64), target.classes
        if classes is None:
            named = {"y": y, "prediction": mean[:, 0], "residual": y - mean[:, 0]}
        else:
            known, code = ~np.isnan(y), np.nan_to_num(y).astype(np.intp)
            label = classes[code]
            if not known.all():
                label = np.where(known, label.astype(object), None)
            residual = np.where(known, 1.0 - mean[np.arange(len(y)), code], np.nan)
            named = {"y": label, "prediction": classes[part.response.decide(mean)], "residual": residual}
            named |= {str(one): mean[:, c] for c, one in enumerate(classes)}
        columns |= {before + name: value for name, value in named.items()}
    return pd.DataFrame(columns, index=pd.Index(told.rows, name="document"))


def score_numbers(y: object, predicted: np.ndarray, sample_weight: object = None) -> float:
    """Predictive R²; its mean over several responses. Missing values of y are left out."""
    table, _ = as_table(y, len(predicted), "score")
    pairs = zip(table.T, predicted.reshape(len(predicted), -1).T, strict=True)
    return float(np.mean([r2_of_known(column, guess, sample_weight) for column, guess in pairs]))


def r2_of_known(column: np.ndarray, predicted: np.ndarray, sample_weight: object = None) -> float:
    """Predictive R² of a column of y, where it is known."""
    known, weight = _known(column), Known.of(len(column), sample_weight=sample_weight).weights
    return predictive_r2(as_numbers(column[known], "score"), predicted[known], weight[known])


def score_classes(y: object, predicted: np.ndarray, classes: np.ndarray, sample_weight: object = None) -> float:
    """The share of the documents with a label whose class is predicted."""
    table, _ = as_table(y, len(predicted), "score")
    return share_of_known(table[:, 0], predicted, classes, sample_weight)


def share_of_known(
    column: np.ndarray, predicted: np.ndarray, classes: np.ndarray, sample_weight: object = None
) -> float:
    """The share of the known labels of a column that are predicted."""
    known = _known(column)
    truth, guess = column[known], predicted[known]
    if guess.dtype.kind == "U":  # as in fit: labels of which one is text are all text
        truth = truth.astype(str)
    _warn_of_other_labels(truth.tolist(), classes.tolist())
    weights = Known.of(len(column), sample_weight=sample_weight).weights[known]
    return float(np.average(np.asarray(truth == guess, dtype=np.float64), weights=weights))


def _warn_of_other_labels(labels: list[Any], classes: list[Any]) -> None:
    """Say that no label is a class: they are written in another way, or belong to another model."""
    if set(labels).isdisjoint(classes):
        shown = ", ".join(map(repr, classes[:3])) + (", …" if len(classes) > 3 else "")
        warnings.warn(
            f"y: got labels such as {labels[0]!r}, none of them a class of this model; expected {shown}", stacklevel=4
        )


def _known(column: np.ndarray) -> np.ndarray:
    known = ~missing(column)
    if not known.any():
        raise ValueError("y is missing for every document; expected some labels")
    return known
