"""Scores of predictions against the true values: of numbers, of classes and of places."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supertopic.cli.outcomes import Outcome, has_intervals, outcomes_of, predict_frame
from supertopic.cli.response import plain
from supertopic.cli.show import note
from supertopic.cli.target import ColumnValues

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


@dataclass
class Answers:
    """The true values of one outcome, and the predictions for the same documents."""

    outcome: Outcome
    truth: np.ndarray
    predicted: pd.DataFrame

    @property
    def kind(self) -> str:
        return self.outcome.kind

    @property
    def prediction(self) -> np.ndarray:
        return self.predicted[self.outcome.column("prediction")].to_numpy()

    @property
    def error(self) -> np.ndarray:
        return self.truth - self.prediction

    @property
    def coverage(self) -> float | None:
        if self.outcome.column("lower") not in self.predicted:
            return None
        low, high = (self.predicted[self.outcome.column(end)].to_numpy() for end in ("lower", "upper"))
        return float(((low <= self.truth) & (self.truth <= high)).mean())

    @property
    def log_loss(self) -> float | None:
        """- mean log p(true class); None if the model has no probabilities, or if the mean is infinite."""
        import numpy as np

        chances = [self.predicted.get(self.outcome.probability(label)) for label in self._classes()]
        if chances[0] is None or not np.isin(self.truth, self._classes()).all():
            return None
        place = np.searchsorted(self._classes(), self.truth)
        probability = np.column_stack(chances)[np.arange(len(place)), place]
        return float(-np.log(np.maximum(probability, 1e-15)).mean())

    @property
    def km(self) -> np.ndarray:
        """The distances between predicted and true places, in kilometres."""
        from supertopic.estimators.beyond.regions import distance_km

        return distance_km(self.predicted[["latitude", "longitude"]].to_numpy(), self.truth)

    def confusion(self) -> pd.DataFrame | None:
        """Counts of (true class, predicted class); None for numbers."""
        import numpy as np
        import pandas as pd

        if self.kind != "class":
            return None
        labels = np.unique(np.concatenate([self._classes(), self.truth]))
        counts = pd.crosstab(self.truth, self.prediction).reindex(index=labels, columns=labels, fill_value=0)
        names = [plain(label) for label in labels]
        return counts.set_axis(names).set_axis(names, axis=1).rename_axis(index=None, columns=None)

    def _classes(self) -> np.ndarray:
        assert self.outcome.classes is not None
        return self.outcome.classes


def answers_of(
    model: TopicEstimator, documents: object, cells: pd.DataFrame, targets: Sequence[str], covariates: object = None,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Answers]:  # fmt: skip
    """Return the answers for the labelled documents by target, with labels in the type of the model's labels."""
    import numpy as np

    check_targets(model, targets)
    outcomes = {outcome.name: outcome for outcome in outcomes_of(model)}
    level = 0.9 if has_intervals(model) else None
    predicted = _silently(lambda: predict_frame(model, documents, level, covariates, metadata))
    found = {}
    if "place" in {outcome.kind for outcome in outcomes.values()}:
        place = np.column_stack([ColumnValues.of(cells[name], name).as_numbers("degrees") for name in targets])
        known = ~np.isnan(place).any(axis=1)
        return {",".join(targets): Answers(outcomes[""], place[known], predicted[known])}
    for name in targets:
        outcome = outcomes.get(name) or outcomes[""]
        known, truth = _truth(outcome, ColumnValues.of(cells[name], name))
        found[name] = Answers(outcome, truth, predicted[known])
    return found


def check_targets(model: TopicEstimator, targets: Sequence[str]) -> None:
    """Raise if the columns are not those that the model predicts."""
    outcomes = {outcome.name: outcome for outcome in outcomes_of(model)}
    if "place" in {outcome.kind for outcome in outcomes.values()}:
        if len(targets) != 2:
            raise ValueError("--target: the model predicts places; give two columns, LATITUDE,LONGITUDE")
        return
    if "" in outcomes and len(targets) == 1:
        named = [str(target.name) for target in model.fitted_.spec.schema.targets]
        if named not in (["y"], list(targets)) and len(named) == 1:
            note(f"The model was fitted to {named[0]!r}: its predictions are compared with {targets[0]!r}.")
        return  # the column may have another name than in the training data
    wrong = [name for name in targets if name not in outcomes]
    if wrong:
        known = ", ".join(map(repr, filter(None, outcomes))) or "one thing only"
        raise ValueError(f"--target: got {wrong[0]!r}, but the model predicts {known}")


def labels_of(model: TopicEstimator, frame: pd.DataFrame, targets: Sequence[str]) -> Any:
    """y as the model takes it; a model without a response groups documents by it."""
    import pandas as pd

    outcomes = outcomes_of(model)
    if not outcomes or outcomes[0].kind == "place":
        return frame[targets[0]] if len(targets) == 1 else frame[list(targets)]
    check_targets(model, targets)
    if len(outcomes) == 1:
        return _column(outcomes[0], frame, targets[0])
    found = {o.name: _column(o, frame, o.name) if o.name in targets else [None] * len(frame) for o in outcomes}
    return pd.DataFrame(found)


def _column(outcome: Outcome, frame: pd.DataFrame, name: str) -> pd.Series:
    """The values of one outcome, labels in the type of the model's labels."""
    import numpy as np
    import pandas as pd

    values = ColumnValues.of(frame[name], name)
    if outcome.classes is None:
        return pd.Series(values.as_numbers(outcome.response or "gaussian"), name=name)
    labels = values.as_labels(outcome.response or "softmax")
    if outcome.classes.dtype.kind in "UO":
        labels = np.array([None if label is None else str(label) for label in labels], dtype=object)
    return pd.Series(labels, name=name)


def _truth(outcome: Outcome, target: ColumnValues) -> tuple[np.ndarray, np.ndarray]:
    """Return which documents have a label, and these labels."""
    import numpy as np

    if outcome.kind == "number":
        numbers = target.as_numbers(outcome.response or "epsilon_insensitive")
        known = ~np.isnan(numbers)
        return known, numbers[known]
    labels, classes = target.as_labels(outcome.response or "hinge"), outcome.classes
    assert classes is not None
    known = np.array([label is not None for label in labels])
    truth = labels[known].astype(str) if classes.dtype.kind in "UO" else np.array(labels[known].tolist())
    unseen = sorted(set(truth.tolist()) - set(classes.tolist()))
    if len(unseen) == len(set(truth.tolist())):
        shown = ", ".join(repr(plain(label)) for label in classes[:10])
        raise ValueError(f"column {target.name!r} holds {unseen[0]!r:.60}, but the model knows the classes {shown}")
    if unseen:
        warnings.warn(
            f"Column {target.name!r} holds classes that the model has never seen, such as {unseen[0]!r:.60}: their"
            " documents count as wrong.",
            stacklevel=2,
        )
    return known, truth


def _silently(predict: Any) -> Any:
    """Suppress the warning about empty documents, which are reported as a separate figure."""
    from supertopic.documents.corpus import EmptyDocumentWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        return predict()
