"""`summary`: a table of coefficients with errors and intervals, and the covariance behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from supertopic.estimators.shared.results.units import unit_line
from supertopic.html_tables import TopicFrame


def terms(estimator: Any) -> list[str]:
    """The names of the intercept, the topics and the covariates."""
    topics = [f"topic {k}" for k in range(estimator.n_topics)]
    return ["intercept", *topics, *getattr(estimator, "covariate_names_", [])]


def covariances(estimator: Any) -> np.ndarray:
    """(C, n, n) of the terms of each column."""
    return np.asarray(estimator._effects_covariance())


def covariance_frames(estimator: Any) -> Any:
    """The covariances with names; a dict of them by column of the response, where it has several."""
    labels = terms(estimator)
    frames = [pd.DataFrame(one, index=labels, columns=labels) for one in covariances(estimator)]
    return frames[0] if len(frames) == 1 else dict(zip(estimator._column_names(), frames, strict=True))


def coefficient_table(estimator: Any, n: int, probability: float) -> pd.DataFrame:
    """A row per term: columns coef, std, lower, upper, share, words; by column of the response where it has several."""
    names, labels = estimator._column_names(), terms(estimator)
    about = estimator.topics(n).sort_index()
    share = np.concatenate([[np.nan], about["share"], np.full(len(labels) - 1 - estimator.n_topics, np.nan)])
    words = ["", *about["words"], *_references(estimator)]
    has_errors = getattr(estimator, "coef_std_", None) is not None
    errors = np.sqrt(np.maximum(np.diagonal(covariances(estimator), axis1=1, axis2=2), 0.0)) if has_errors else None
    coef = _estimates(estimator)
    ends = estimator._coef_ends(coef, errors, probability)
    tables = []
    for place in range(len(names)):
        columns: dict[str, Any] = {"coef": coef[place]}
        if errors is not None:
            columns["std"] = errors[place]
        if ends is not None:
            columns["lower"], columns["upper"] = ends[0][place], ends[1][place]
        frame = pd.DataFrame({**columns, "share": share, "words": words}, index=pd.Index(labels, name="term"))
        order = 1 + np.argsort(-coef[place, 1 : 1 + estimator.n_topics], kind="stable")
        tables.append(frame.iloc[[0, *order, *range(1 + estimator.n_topics, len(labels))]])
    found = TopicFrame(tables[0] if len(tables) == 1 else pd.concat(tables, keys=names, names=["response", "term"]))
    found.attrs["below"] = [unit_line(estimator)]
    found.attrs["own_units"] = labels[1 + estimator.n_topics :]
    return found


def lines_below(estimator: Any) -> list[str]:
    """What stands below a printed table of topics: what a coefficient means, and the coefficients of covariates."""
    return [unit_line(estimator), *_covariate_lines(estimator)]


def _covariate_lines(estimator: Any) -> list[str]:
    """The coefficients of the covariates by name, a line for each response or class; none without covariates."""
    names = getattr(estimator, "covariate_names_", [])
    if not names:
        return []
    coef, error = np.asarray(estimator.covariate_coef_), np.asarray(estimator.covariate_std_)
    lines = []
    for column, values, errors in zip(estimator._column_names(), coef, error, strict=True):
        told = ", ".join(f"{name} {one:+.3g} ± {se:.2g}" for name, one, se in zip(names, values, errors, strict=True))
        lines.append(f"Covariates{f' for {column}' if column else ''} (coef ± std): {told}")
    return lines


def normal_ends(
    coef: np.ndarray, errors: np.ndarray | None, probability: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Ends of intervals of normal estimates; None without errors."""
    if errors is None:
        return None
    reach = norm.ppf(0.5 + 0.5 * probability) * errors
    return coef - reach, coef + reach


def _estimates(estimator: Any) -> np.ndarray:
    """(C, n) the intercepts and the coefficients of topics and covariates."""
    intercept = np.ravel(np.asarray(estimator.intercept_, dtype=np.float64))[:, None]
    parts = [intercept, estimator._columns_coef]
    if getattr(estimator, "covariate_names_", []):
        parts.append(np.asarray(estimator.covariate_coef_))
    return np.hstack(parts)


def _references(estimator: Any) -> list[str]:
    """What each covariate is compared with: the reference of a dummy."""
    found, references = [], getattr(estimator, "covariate_references_", {})
    for name in getattr(estimator, "covariate_names_", []):
        column = name.split("=")[0]
        found.append(f"against {column}={references[column]}" if "=" in name and column in references else "")
    return found
