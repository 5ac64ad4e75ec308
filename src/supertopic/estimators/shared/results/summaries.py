"""`summary`: a table of coefficients with errors and intervals, and the covariance behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from supertopic.estimators.shared.results.effects import again_lines, effect_line, plain_effects
from supertopic.estimators.shared.results.units import unit_line
from supertopic.fitted.coefficients import CoefficientTable, covariance, ends_of
from supertopic.fitted.effects import covariate_effects
from supertopic.fitted.fitted import Fitted
from supertopic.html_tables import TopicFrame
from supertopic.inference.after.multiplicity import adjusted


def terms(table: CoefficientTable) -> list[str]:
    """The names of the intercept, the topics and the covariates."""
    return ["intercept", *(f"topic {k}" for k in range(table.coef.shape[1])), *table.covariates]


def covariance_frames(fitted: Fitted, table: CoefficientTable) -> Any:
    """The covariances with names; a dict of them by column of the response, where it has several."""
    labels = terms(table)
    frames = [pd.DataFrame(one, index=labels, columns=labels) for one in covariance(fitted)]
    return frames[0] if len(frames) == 1 else dict(zip(table.names, frames, strict=True))


def coefficient_table(
    fitted: Fitted, table: CoefficientTable, about: pd.DataFrame, probability: float, adjust: str | None = None
) -> pd.DataFrame:
    """A row per term: columns coef, std, lower, upper, effect, share, words; by class or response if there are several.

    about : shares and words of the topics, in their own order
    adjust : a method of `multiplicity`, for a column p
    """
    labels, own = terms(table), slice(1, 1 + table.coef.shape[1])
    n_others = len(table.covariates)
    effect = np.full((len(labels), len(table.names)), np.nan)
    effect[own] = plain_effects(fitted, table).effect
    if n_others:
        effect[own.stop :] = covariate_effects(fitted, replace(table, std=None)).effect
    share = np.concatenate([[np.nan], about["share"], np.full(n_others, np.nan)])
    words = ["", *about["words"], *_references(fitted, table)]
    coef, errors = np.hstack([table.intercept[:, None], table.coef, table.others]), None
    if table.std is not None and table.intercept_std is not None and table.others_std is not None:
        errors = np.hstack([table.intercept_std[:, None], table.std, table.others_std])
    ends = None if errors is None else ends_of(coef, errors, probability, table.freedom)
    if ends is not None and errors is not None and table.posterior is not None:
        (coef[:, own], errors[:, own]), ends[:, :, own] = table.posterior, table.ends(probability)
    tables, p = [], None if adjust is None else _p_values(coef, errors, table.freedom, adjust)
    for place in range(len(table.names)):
        columns: dict[str, Any] = {"coef": coef[place]}
        if errors is not None and ends is not None:
            columns |= {"std": errors[place], "lower": ends[0][place], "upper": ends[1][place]}
        if p is not None:
            columns["p"] = p[place]
        columns["effect"] = effect[:, place]
        if table.found_again is not None and table.spread is not None:
            again = {"found_again": table.found_again, "spread": table.spread[place]}
            columns |= {name: np.concatenate([[np.nan], one, np.full(n_others, np.nan)]) for name, one in again.items()}
        columns |= {"share": share, "words": words}
        frame = pd.DataFrame(columns, index=pd.Index(labels, name="term"))
        order = 1 + np.argsort(-effect[own, place], kind="stable")
        tables.append(frame.iloc[[0, *order, *range(own.stop, len(labels))]])
    several = len(tables) > 1
    found = TopicFrame(pd.concat(tables, keys=table.names, names=["response", "term"]) if several else tables[0])
    drawn = "coef, std, lower, upper of topics: mean, deviation and quantiles of the draws of the posterior."
    about = [] if table.draws is None else [drawn]
    given = [] if ends is None else [f"lower, upper: ends of {100 * probability:g} % intervals."]
    lines = [unit_line(fitted), *about, *given, effect_line(fitted), *again_lines(fitted), *_group_line(fitted)]
    found.attrs["below"] = lines
    found.attrs["own_units"] = labels[own.stop :]
    return found


def _p_values(coef: np.ndarray, errors: np.ndarray | None, freedom: float, adjust: str) -> np.ndarray:
    """(C, 1 + K + P), two-sided, adjusted for the number of all of them; NaN for intercepts and what has no error."""
    found = np.full(coef.shape, np.nan)
    if errors is not None:
        with np.errstate(all="ignore"):
            found = 2.0 * student.sf(np.abs(coef / errors), freedom)
    found[:, 0] = np.nan
    return adjusted(found.ravel(), adjust).reshape(coef.shape)


def _group_line(fitted: Fitted) -> list[str]:
    """Whose errors they are; nothing without groups."""
    n_groups = fitted.notes.get("n_groups")
    return (
        [] if n_groups is None else [f"std: labels of a group go together; the errors are those of {n_groups} groups."]
    )


def covariate_lines(table: CoefficientTable) -> list[str]:
    """The coefficients of the covariates by name, a line for each response or class; none without covariates."""
    lines = []
    for place, column in enumerate(table.names if table.covariates else []):
        errors = [None] * len(table.covariates) if table.others_std is None else table.others_std[place]
        given = zip(table.covariates, table.others[place], errors, strict=True)
        told = ", ".join(f"{name} {one:+.3g}" + ("" if se is None else f" ± {se:.2g}") for name, one, se in given)
        lines.append(f"Covariates{f' for {column}' if column else ''} (coef ± std): {told}")
    return lines


def _references(fitted: Fitted, table: CoefficientTable) -> list[str]:
    """What each covariate is compared with: the reference of a dummy, or all levels."""
    columns = fitted.spec.schema.columns
    told = {name: f"against {name}={level}" for name, level in columns.references.items()}
    told |= dict.fromkeys(columns.pooled, "shrunk towards the mean of all levels")
    return [told.get(name.split("=")[0], "") if "=" in name else "" for name in table.covariates]
