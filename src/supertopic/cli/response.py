"""Tables of a fitted response: effects of topics, predictions, and contributions of words."""

from __future__ import annotations

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


def figures_of_topics(model: TopicEstimator) -> pd.DataFrame | None:
    """Return a row per topic: effect, effect_lower, effect_upper, coef, coef_std, found_again; None without a response.

    The names of several classes or responses follow those of the columns, as in effect_politics.
    """
    import numpy as np
    import pandas as pd

    if not hasattr(model, "coefficients_"):
        return None
    from supertopic.fitted.effects import topic_effects

    table, found = model.coefficients_, topic_effects(model.fitted_, model.coefficients_)
    arrays = {
        "effect": found.effect.T,
        "effect_lower": found.lower.T,
        "effect_upper": found.upper.T,
        "coef": table.coef,
        "coef_std": table.std,
    }
    columns = {
        f"{name}_{label}".rstrip("_"): values[place]
        for place, label in enumerate(table.names)
        for name, values in arrays.items()
        if values is not None and np.isfinite(values).all()
    }
    return pd.DataFrame(columns if table.found_again is None else {**columns, "found_again": table.found_again})


def row_names(model: TopicEstimator) -> list[str]:
    """Return a name for each row of `coef_`: its target or class, or the row number if rows are neither."""
    if hasattr(model.coef_, "index"):  # several targets
        return [str(name) for name in model.coef_.index]
    labels = [str(label) for label in getattr(model, "classes_", [])]
    n_rows = len(model.coef_)
    return labels if len(labels) == n_rows else [str(row) for row in range(n_rows)]


def marks_text(model: TopicEstimator) -> str:
    """Say what labels made of each topic, and which topics to look at twice; "" where there is nothing to say."""
    from supertopic.estimators.shared.results.topic_info import marks_of_topics

    found: dict[str, list[str]] = {}
    for values in [] if topics_are_classes(model) else marks_of_topics(model).values():
        for topic, value in enumerate(values):
            for mark in filter(None, value.split("; ")):
                found.setdefault(mark, []).append(str(topic))
    return " ".join(f"{mark[0].upper()}{mark[1:]}: {', '.join(topics)}." for mark, topics in found.items())


def effect_columns(model: TopicEstimator) -> tuple[dict[str, list[str]], list[int]]:
    """Return columns for a table of topics, and the order of its rows.

    A single effect per topic is shown with its interval. Of several classes, only the one is shown that a topic goes
    with most. Several targets have a column each.
    """
    import numpy as np

    from supertopic.estimators.shared.results.effects import effect_text, topic_order
    from supertopic.estimators.shared.results.units import second_class
    from supertopic.fitted.effects import kinds_of, topic_effects

    if topics_are_classes(model):
        return {"class": [str(label) for label in model.classes_]}, topic_order(model.fitted_, None).tolist()
    if not hasattr(model, "coefficients_"):
        return {}, topic_order(model.fitted_, None).tolist()
    fitted, names = model.fitted_, model.coefficients_.names
    found, kinds = topic_effects(fitted, model.coefficients_), kinds_of(fitted)
    texts = [[effect_text(value, kind) for value in row] for row, kind in zip(found.effect.T, kinds, strict=True)]
    order, again = topic_order(fitted, model.coefficients_, found).tolist(), model.coefficients_.found_again
    seen = {} if again is None else {"again": [f"{one:.0%}" for one in again]}
    if len(names) == 1:
        second = second_class(fitted.spec.schema.targets)
        columns = {"effect" if second is None else f"effect on {second}": texts[0]}
        if np.isfinite(found.lower).all():
            ends = zip(found.lower[:, 0], found.upper[:, 0], strict=True)
            columns["90 % interval"] = [f"{effect_text(a, kinds[0])} to {effect_text(b, kinds[0])}" for a, b in ends]
        return columns | seen, order
    if fitted.classes is None:
        return {f"effect {name}": column for name, column in zip(names, texts, strict=True)} | seen, order
    best = found.effect.argmax(axis=1)
    most = {"goes with": [names[c] for c in best], "effect": [texts[c][k] for k, c in enumerate(best)]}
    return most | seen, order


def unit_of(model: TopicEstimator) -> str:
    """Return what the effects of the topics mean; empty for a model without them."""
    from supertopic.estimators.shared.results.effects import again_lines, effect_line

    if not hasattr(model, "coefficients_"):
        return ""
    lines = [effect_line(model.fitted_), *again_lines(model.fitted_, spread=False)]
    return " ".join(lines).replace("found_again:", "again:")


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
