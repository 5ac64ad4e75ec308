"""What a model predicts: one or more outcomes (numbers, classes, a place), and the predictions as a table."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supertopic.cli.response import kind_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


@dataclass(frozen=True)
class Outcome:
    """One thing that a model predicts.

    name : the column of the target; empty if the model predicts nothing else
    kind : "number", "class" or "place" (degrees of latitude and longitude)
    """

    name: str
    kind: str
    response: str = ""
    classes: np.ndarray | None = None

    def column(self, what: str) -> str:
        """Return the name of a column of the predictions: `what`, with the target's name if there are several."""
        return f"{what}_{self.name}" if self.name else what

    def probability(self, label: object) -> str:
        """Return the name of the column with the probability of a class."""
        return f"{self.column('p')}_{label}"


def outcomes_of(model: TopicEstimator) -> list[Outcome]:
    """Return what a model predicts; nothing for a model without a response."""
    if hasattr(model, "predict_region"):
        return [Outcome("", "place")]
    if hasattr(model, "labels_"):  # facets
        several = len(model.labels_) > 1
        return [Outcome(name if several else "", "class", "", values) for name, values in model.labels_.items()]
    if hasattr(model, "scores"):  # of several responses
        return [
            Outcome(target.name, "number" if target.classes is None else "class", target.response, target.classes)
            for target in model.fitted_.spec.schema.targets
        ]
    kind = kind_of(model)
    response = str(getattr(model, "response", ""))
    return [] if kind == "none" else [Outcome("", kind, response, getattr(model, "classes_", None))]


def has_intervals(model: TopicEstimator) -> bool:
    """Whether predictions of numbers come with intervals."""
    return "return_interval" in inspect.signature(getattr(model, "predict", lambda: None)).parameters


def predict_frame(
    model: TopicEstimator, documents: Any, interval: float | None = None, covariates: pd.DataFrame | None = None,
    metadata: dict[str, Any] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the predictions, a row per document: prediction, with lower and upper (numbers) or p_<class> (classes).

    With several outcomes, the target's name follows: prediction_stars, p_stars_5. A place is latitude and longitude.
    """
    import pandas as pd

    outcomes = outcomes_of(model)
    named = {"covariates": covariates, "metadata": metadata}
    given = {name: value for name, value in named.items() if value is not None}
    if not outcomes:
        return pd.DataFrame(index=range(len(documents)))
    if outcomes[0].kind == "place":
        place = pd.DataFrame(model.predict(documents), columns=["latitude", "longitude"])
        return place.assign(region=model.predict_region(documents).argmax(axis=1))
    if hasattr(model, "labels_"):  # facets
        parts = [_classes(o, model.predict_proba(documents, o.name or None, **given)) for o in outcomes]
        return pd.concat(parts, axis=1)
    if outcomes[0].name:
        return _several(model, documents, outcomes, interval, given)
    if outcomes[0].kind == "number":
        if interval is None:
            return pd.DataFrame({"prediction": model.predict(documents, **given)})
        found = model.predict(documents, return_interval=interval, **given)
        return pd.DataFrame(dict(zip(("prediction", "lower", "upper"), found, strict=True)))
    frame = pd.DataFrame({"prediction": model.predict(documents, **given)})
    if hasattr(model, "predict_proba"):
        frame[[f"p_{label}" for label in model.classes_]] = model.predict_proba(documents, **given)
    return frame


def _several(
    model: TopicEstimator, documents: object, outcomes: list[Outcome], interval: float | None, given: dict[str, Any]
) -> pd.DataFrame:
    """Return the predictions of a TopicModel; with an interval, those of numbers have a lower and an upper end."""
    import pandas as pd

    found = model.predict(documents, return_interval=interval, **given)
    probability = model.predict_proba(documents, **given) if any(o.kind == "class" for o in outcomes) else {}
    columns = {}
    for outcome in outcomes:
        columns[outcome.column("prediction")] = found[outcome.name].to_numpy()
        for end in ("lower", "upper"):
            if f"{outcome.name} {end}" in found:
                columns[outcome.column(end)] = found[f"{outcome.name} {end}"].to_numpy()
        if outcome.classes is not None:
            columns |= {outcome.probability(c): probability[outcome.name][c].to_numpy() for c in outcome.classes}
    return pd.DataFrame(columns)


def _classes(outcome: Outcome, probability: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    assert outcome.classes is not None
    columns = {outcome.column("prediction"): outcome.classes[probability.argmax(axis=1)]}
    columns |= {outcome.probability(c): p for c, p in zip(outcome.classes, probability.T, strict=True)}
    return pd.DataFrame(columns)


def takes_texts(model: TopicEstimator) -> bool:
    """Whether a model reads texts and not counts of words, since it needs their sentences."""
    return hasattr(model, "sentences")
