"""Errors of coefficients that hold where labels of a group go together, or vary otherwise than the law says.

With groups, errors are a jackknife over groups; under sample splitting, HC3 (`supertopic.inference.after.sandwich`);
and HC3 too where the law is misfit: with u the slope of a document's log-likelihood and w minus its curvature, sum u²
is that of w under the law.
"""

from __future__ import annotations

import numpy as np

from supertopic.fitted.fitted import Fitted
from supertopic.inference.after.sandwich import hc3, jackknife, of_groups
from supertopic.inference.regression import Labelled, joint_covariance
from supertopic.responses.classes import Softmax
from supertopic.responses.several import Part, parts_of

_FITS = (0.75, 1.33)  # sum u² over sum w, of a law that fits
_LARGEST = 3000  # coefficients of all classes whose joint covariance is computed


def robust_covariance(
    fitted: Fitted, documents: Labelled, groups: np.ndarray | None, always: bool = False
) -> np.ndarray | None:
    """(C, K + P, K + P) of the model's own coefficients; None where the law's own covariances will do.

    documents : those behind the coefficients, with shares that are known
    groups : (D,) codes, or None
    always : use robust errors even where the law fits
    """
    response, prior, state = fitted.spec.response, fitted.spec.model.coef_prior, fitted.state
    coef = state.coef.astype(np.float64)
    score, moment = documents.moments(coef, response.is_product)
    slope, curvature = documents.slopes(response, coef, state.dispersion)
    slope = slope - curvature * np.where(response.is_product, moment, score)
    weight = documents.weight[:, None] * response.information(documents.y, score, moment, state.dispersion)
    found, changed = np.stack([prior.covariance(one) for one in state.information]), False
    for part in parts_of(response):
        rows = _known(documents, part)
        own = None if groups is None else groups[rows]
        if isinstance(part.response, Softmax) and own is not None and part.response is response:
            if coef.size <= _LARGEST:
                found, changed = _of_classes(fitted, documents, slope, rows, own), True
            continue
        for column in range(*part.columns.indices(len(coef))):
            u, w = slope[rows, column], weight[rows, column]
            if own is None and not (always or _is_misfit(u, w)):
                continue
            columns = documents.design.columns[rows]
            gram = (columns * w[:, None]).T @ columns
            given = (columns, u, w, prior.regular(gram) - gram)
            found[column], changed = hc3(*given) if own is None else jackknife(*given, own), True
    return found if changed else None


def _known(documents: Labelled, part: Part) -> np.ndarray:
    """The rows with a label of this response."""
    labels = part.labels(documents.y)
    return np.flatnonzero(~np.isnan(labels) & (documents.weight > 0))


def _is_misfit(slope: np.ndarray, weight: np.ndarray) -> bool:
    ratio = float((slope**2).sum()) / max(float(weight.sum()), 1e-300)
    return not _FITS[0] <= ratio <= _FITS[1]


def _of_classes(
    fitted: Fitted, documents: Labelled, slope: np.ndarray, rows: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """(C, n, n) of the differences of each class's coefficients from the mean of all, CR1 over groups."""
    state, columns = fitted.state, documents.design.columns[rows]
    given = (fitted.spec.response, fitted.spec.model.coef_prior, documents.total)
    joint = joint_covariance(*given, state.coef.astype(np.float64), state.dispersion)
    total = np.stack([of_groups(columns * one[:, None], groups) for one in slope[rows].T], axis=1)
    moved = np.einsum("gbj,bjci->gci", total, joint)
    moved -= moved.mean(axis=1, keepdims=True)
    n_groups, n, k = len(total), len(rows), columns.shape[1]
    factor = n_groups / (n_groups - 1) * (n - 1) / max(n - k, 1)
    return factor * np.einsum("gci,gcj->cij", moved, moved)
