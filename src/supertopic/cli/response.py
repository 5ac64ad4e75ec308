"""Tables of a fitted response: coefficients of topics, predictions, and contributions of words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


def kind_of(model: TopicEstimator) -> str:
    """Return what a model predicts: "number", "class" or "none"."""
    from sklearn.base import is_classifier, is_regressor

    return "class" if is_classifier(model) else "number" if is_regressor(model) else "none"


def topics_are_classes(model: TopicEstimator) -> bool:
    """Whether the topic of a document is its class, as in naive Bayes."""
    return kind_of(model) == "class" and getattr(model, "membership_", "mixed") == "single"


def plain(value: object) -> Any:
    """Convert a NumPy scalar to a plain Python value."""
    return value.item() if hasattr(value, "item") else value


def coefficients(model: TopicEstimator) -> pd.DataFrame | None:
    """Return a row per topic with coef and coef_std, or with coef_<class> of every class; None without coefficients."""
    import numpy as np
    import pandas as pd

    if not hasattr(model, "coef_"):
        return None
    coef = np.atleast_2d(model.coef_)
    if len(coef) > 1 or hasattr(model.coef_, "index"):
        return pd.DataFrame({f"coef_{label}": row for label, row in zip(row_names(model), coef, strict=True)})
    frame = pd.DataFrame({"coef": coef[0]})
    if getattr(model, "coef_std_", None) is not None:
        frame["coef_std"] = np.atleast_2d(model.coef_std_)[0]
    return frame


def row_names(model: TopicEstimator) -> list[str]:
    """Return a name for each row of `coef_`: its target or class, or the row number if rows are neither."""
    if hasattr(model.coef_, "index"):  # several targets
        return [str(name) for name in model.coef_.index]
    labels = [str(label) for label in getattr(model, "classes_", [])]
    n_rows = len(model.coef_)
    return labels if len(labels) == n_rows else [str(row) for row in range(n_rows)]


def coefficient_columns(model: TopicEstimator) -> tuple[dict[str, list[str]], Any]:
    """Return columns for a table of topics, and the order of its rows (None without a response).

    A single coefficient per topic is shown with its standard error. Of several classes, only the one is shown whose
    coefficient is highest above the mean of all classes. Several targets have a column each.
    """
    import numpy as np

    from supertopic.estimators.shared.results.units import second_class

    if topics_are_classes(model):
        return {"class": [str(label) for label in model.classes_]}, None
    frame = coefficients(model)
    if frame is None:
        return {}, None
    if "coef" in frame:
        second = second_class(model.fitted_.spec.schema.targets)
        header = "coef" if second is None else f"coef for {second}"
        digits = _digits(frame["coef_std"].median() if "coef_std" in frame else frame["coef"].std(ddof=0) / 10)
        order = frame["coef"].argsort(kind="stable")[::-1].tolist()
        columns = {header: [f"{value:.{digits}f}" for value in frame["coef"]]}
        if "coef_std" in frame:
            columns["± se"] = [f"{value:.{digits}f}" for value in frame["coef_std"]]
        return columns, order
    if hasattr(model.coef_, "index"):
        return {name.replace("coef_", "coef "): [f"{value:+.2f}" for value in frame[name]] for name in frame}, None
    above = frame.to_numpy() - frame.to_numpy().mean(axis=1, keepdims=True)
    best, height = above.argmax(axis=1), above.max(axis=1)
    names = np.array(row_names(model))[best]
    order = np.lexsort((-height, best)).tolist()
    return {"speaks for": list(names), "by": [f"{value:+.2f}" for value in height]}, order


def unit_of(model: TopicEstimator) -> str:
    """Return what the coefficients of the topics mean; empty for a model without them."""
    from supertopic.estimators.shared.results.units import unit_line

    return unit_line(model.fitted_) if model.fitted_.spec.schema.targets else ""


def _digits(error: float) -> int:
    """Return the number of decimals that shows two significant digits of an error."""
    return min(max(1 - math.floor(math.log10(error)), 0), 6) if 0 < error < math.inf else 2


def contributions(model: TopicEstimator, frame: pd.DataFrame, prediction: object) -> tuple[np.ndarray, float] | None:
    """Return the contribution of each word of `model.explain` to the linear predictor, and that of an average document.

    With one linear predictor per class, that of the predicted class is used. None without a linear predictor.
    """
    import numpy as np

    names = [name for name in frame if name == "contribution" or str(name).startswith("contribution ")]
    wanted = names[0] if len(names) == 1 else f"contribution {prediction}"
    if wanted not in names:
        return None
    return frame[wanted].to_numpy(), float(np.ravel(model.intercept_)[names.index(wanted)])


def covariate_effects(model: TopicEstimator, covariates: pd.DataFrame, prediction: object) -> dict[str, float]:
    """Return what each covariate of one document adds to the linear predictor, against its mean, by name and value."""
    from supertopic.estimators.shared.results.word_contributions import covariate_contributions

    found = covariate_contributions(model.fitted_, covariates).set_index("word")
    wanted = f"contribution {prediction}"
    return found[wanted if wanted in found else found.columns[0]].to_dict()


def shares_by_word(frame: pd.DataFrame) -> np.ndarray:
    """Return the topic shares of `model.explain` without its other columns.

    If topics are classes, these are the class probabilities given each word alone.
    """
    found = frame.filter(regex=r"^topic \d+$")
    if found.shape[1] > 0:
        return found.to_numpy()
    from scipy.special import softmax

    return softmax(frame.iloc[:, 2:].to_numpy() / frame[["count"]].to_numpy(), axis=1)
