"""Scores of predictions against the true values, for numbers and for classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from supertopic.cli.response import kind_of, plain
from supertopic.cli.target import ColumnValues

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass
class Answers:
    """The true values and the predictions of the labelled documents."""

    model: Any
    corpus: Any
    truth: np.ndarray

    @property
    def kind(self) -> str:
        return kind_of(self.model)

    @cached_property
    def prediction(self) -> np.ndarray:
        return _silently(lambda: self.model.predict(self.corpus))

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def r2(self) -> float | None:
        """Predictive R²; None if all true values are equal."""
        from supertopic.metrics import predictive_r2

        return predictive_r2(self.truth, self.prediction) if self.truth.std() > 0 else None

    @property
    def mae(self) -> float:
        return float(abs(self.truth - self.prediction).mean())

    @property
    def rmse(self) -> float:
        return float(((self.truth - self.prediction) ** 2).mean() ** 0.5)

    @property
    def correlation(self) -> float | None:
        """Pearson correlation; None if all true values or all predictions are equal."""
        import numpy as np

        if min(self.truth.std(), self.prediction.std()) == 0:
            return None
        return float(np.corrcoef(self.truth, self.prediction)[0, 1])

    @property
    def coverage(self) -> float:
        _, low, high = _silently(lambda: self.model.predict(self.corpus, 0.9))
        return float(((low <= self.truth) & (self.truth <= high)).mean())

    # --- classes --------------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> float:
        return float((self.truth == self.prediction).mean())

    @property
    def largest(self) -> float:
        import numpy as np

        return float(np.unique(self.truth, return_counts=True)[1].max() / len(self.truth))

    @property
    def macro_f1(self) -> float:
        from sklearn.metrics import f1_score

        return float(f1_score(self.truth, self.prediction, average="macro", zero_division=0))

    @property
    def log_loss(self) -> float | None:
        """- mean log p(true class); None if the model has no probabilities, or if the mean is infinite."""
        import numpy as np

        if not hasattr(self.model, "predict_proba") or not np.isin(self.truth, self.model.classes_).all():
            return None
        probability = _silently(lambda: self.model.predict_proba(self.corpus))
        column = np.searchsorted(self.model.classes_, self.truth)
        return float(-np.log(np.maximum(probability[np.arange(len(column)), column], 1e-15)).mean())

    def confusion(self) -> pd.DataFrame | None:
        """Counts of (true class, predicted class); None for numbers."""
        import numpy as np
        import pandas as pd

        if self.kind != "class":
            return None
        labels = np.unique(np.concatenate([self.model.classes_, self.truth]))
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        np.add.at(counts, (np.searchsorted(labels, self.truth), np.searchsorted(labels, self.prediction)), 1)
        names = [plain(label) for label in labels]
        return pd.DataFrame(counts.tolist(), index=names, columns=names)


def answers_of(model: Any, corpus: Any, target: ColumnValues) -> Answers:
    """Return the answers for the labelled documents, with labels in the type of the model's labels."""
    import numpy as np

    if kind_of(model) == "number":
        numbers = target.as_numbers(getattr(model, "response", "epsilon_insensitive"))
        known = ~np.isnan(numbers)
        return Answers(model, corpus[known], numbers[known])
    labels = target.as_labels(getattr(model, "response", "hinge"))
    known = np.array([label is not None for label in labels])
    truth = labels[known].astype(str) if model.classes_.dtype.kind in "UO" else np.array(labels[known].tolist())
    unseen = sorted(set(truth.tolist()) - set(model.classes_.tolist()))
    classes = ", ".join(repr(plain(label)) for label in model.classes_[:10])
    if len(unseen) == len(set(truth.tolist())):
        raise ValueError(f"column {target.name!r} holds {unseen[0]!r:.60}, but the model knows the classes {classes}")
    if unseen:
        warnings.warn(
            f"Column {target.name!r} holds classes that the model has never seen, such as {unseen[0]!r:.60}: their"
            " documents count as wrong.",
            stacklevel=2,
        )
    return Answers(model, corpus[known], truth)


def _silently(predict: Any) -> Any:
    """Suppress the warning about empty documents, which are reported as a separate figure."""
    from supertopic.corpus import EmptyDocumentWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        return predict()
