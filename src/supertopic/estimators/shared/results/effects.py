"""`effects`: what predictions change by from little to much of a topic, as a table; and the order of topics by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from supertopic.checks import check_choice
from supertopic.estimators.shared.results.units import second_class
from supertopic.fitted.coefficients import CoefficientTable
from supertopic.fitted.effects import Range, covariate_effects, effect_spread, kinds_of, topic_effects
from supertopic.fitted.fitted import ALIKE, Fitted
from supertopic.html_tables import TopicFrame
from supertopic.inference.after.effects import Effects
from supertopic.plural import counted

_UNITS = {
    "difference": "in units of the target",
    "ratio": "as a ratio (1.4 is 40 % more)",
    "points": "in percentage points",
    "score": "in the score",
}
_GRADES = "in units of the mean grade"


def effects_frame(fitted: Fitted, table: CoefficientTable, labels: list[str], of: str, given: Range) -> pd.DataFrame:
    """A row for each topic or covariate, the largest effect first; by class or response where there are several."""
    check_choice("of", of, ("topics", "covariates"))
    if of == "covariates" and not table.covariates:
        raise ValueError("of: got 'covariates', but this model was fitted without any")
    found = (topic_effects if of == "topics" else covariate_effects)(fitted, table, given)
    spread = effect_spread(fitted, given) if of == "topics" else None
    names: dict[str, Any] = {"covariate": list(table.covariates)}
    ends = {"low": found.low, "high": found.high}
    if of == "topics":
        names = {"topic": np.arange(len(found.low)), "label": labels}
        ends = {"share_low": found.low, "share_high": found.high}
    frames = []
    for place, name in enumerate(table.names):
        own = {"effect": found.effect, "std_error": found.std_error, "lower": found.lower, "upper": found.upper}
        columns = {column: values[:, place] for column, values in own.items()}
        if spread is not None and table.found_again is not None:
            columns |= {"found_again": table.found_again, "spread": spread[:, place]}
        frame = pd.DataFrame({**names, **ends, **columns})
        if len(table.names) > 1:
            frame.insert(0, "response" if fitted.classes is None else "class", name)
        frames.append(frame.iloc[np.argsort(-found.effect[:, place], kind="stable")] if of == "topics" else frame)
    shown = TopicFrame(pd.concat(frames, ignore_index=True))
    about = (
        [] if np.isnan(found.std_error).all() else [f"lower, upper: ends of {100 * given.probability:g} % intervals."]
    )
    shown.attrs["below"] = [effect_line(fitted, given), *about, *(again_lines(fitted) if of == "topics" else [])]
    return shown


def again_lines(fitted: Fitted, spread: bool = True) -> list[str]:
    """A sentence: which other fits find topics again, and whether errors know of the topics' own; or none.

    spread : whether the table shows it
    """
    if (others := fitted.others) is None:
        return []
    n = len(others.coef)
    fits = f"{counted(n, 'refit')} on documents drawn again" if "refits" in fitted.notes else f"{n} fits without a fold"
    wider = fitted.certainty.topic_error
    given = "" if wider is not None and (wider > 1).any() else " Errors and intervals are given these topics."
    return [
        f"found_again: the share of {fits} that have such a topic (a cosine of {ALIKE:g} or more)"
        f"{'; spread: the standard deviation among these' if spread else ''}.{given}"
    ]


def effect_line(fitted: Fitted, given: Range | None = None) -> str:
    """A sentence: what an effect is, and in which unit."""
    given, kinds = given or Range.of(fitted), dict.fromkeys(kinds_of(fitted))
    second = second_class(fitted.spec.schema.targets)
    unit = " or ".join(_GRADES if kind == "difference" and _graded(fitted) else _UNITS[kind] for kind in kinds)
    return (
        f"effect: what the prediction changes by from little to much of a topic (its share at the "
        f"{100 * given.low:.3g} % and the {100 * given.high:.3g} % quantile of the documents), {unit}"
        f"{'' if second is None else f' of {second}'}."
    )


def _graded(fitted: Fitted) -> bool:
    """Whether all responses are ordered classes."""
    return all(target.classes is not None and part.response.ordered for target, part in fitted.spec.parts)


def plain_effects(fitted: Fitted, table: CoefficientTable) -> Effects:
    """Effects without errors, which take most of the time."""
    return topic_effects(fitted, replace(table, std=None))


def effect_text(value: float, kind: str) -> str:
    """An effect as people read it: "+0.52", "× 1.4", "+12.3 pp"."""
    if kind == "ratio":
        return f"× {value:.2f}" if 0.1 <= value < 100 else f"× {value:.2g}"
    return (f"{value:+.1f} pp" if kind == "points" else f"{value:+.2g}").replace("-", "−")


def topic_order(fitted: Fitted, table: CoefficientTable | None, found: Effects | None = None) -> np.ndarray:
    """Topics from the first row of any table to the last: by share, or where there is a response, by effect."""
    if table is None:
        return np.argsort(-fitted.average_shares, kind="stable")
    return effect_order(fitted, plain_effects(fitted, table) if found is None else found)


def effect_order(fitted: Fitted, found: Effects) -> np.ndarray:
    """By the class that topics go with most, or by the first response; the largest effect comes first."""
    effect = found.effect if fitted.classes is not None else found.effect[:, :1]
    best = effect.argmax(axis=1)
    return np.lexsort((-effect[np.arange(len(effect)), best], best))
