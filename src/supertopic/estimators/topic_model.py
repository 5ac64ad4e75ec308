"""The grid itself: topics with any mixture of responses, numbers and classes side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd

from supertopic.documents.labels import (
    Read,
    Target,
    as_codes,
    as_numbers,
    as_table,
    find_response,
    guess_response,
    missing,
    one_each,
    require_order,
)
from supertopic.estimators.shared.results.answers import r2_of_known, share_of_known, users_intervals
from supertopic.estimators.slda import SLDA
from supertopic.fitted.fitted import Fitted
from supertopic.responses.base import registry


@dataclass(kw_only=True, eq=False, repr=False)
class TopicModel(SLDA):
    """Topics that explain several things at once: a frame y with one column per response, of mixed kinds.

    Parameters
    ----------
    response : "auto", str, list or mapping
        A response of the registry for each column of y: one for all, one per column, or by the columns' names. "auto"
        takes text and booleans as classes, and whole numbers as ratings ("ordinal"), classes or counts; where they
        might be something else, a warning says so. Other numbers are "gaussian".
    n_topics, supervision, refit, coef_prior, coef_scale, inference, doc_topic_prior, ...
        As in `SLDARegressor`.

    Attributes
    ----------
    intercept_ : Series, of each response (or response and class), as in `SLDARegressor`
    coef_, coef_std_ : DataFrame, a row per column of coefficients (response, or response and class), a column per topic
    response_ : dict, what each column of y was taken for
    inference_ : str, the engine: which one "auto" took
    cutpoints_ : dict of the cut-points of each ordered response, as in `SLDAClassifier`
    dispersion_ : dict of each response's own parameters, where it has some
    classes_ : dict of each class column's classes
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`.

    Examples
    --------
    >>> import pandas as pd
    >>> from supertopic import TopicModel
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> table = pd.DataFrame({"price": [1.0, 3.0] * 20, "kind": ["pets", "money"] * 20})
    >>> model = TopicModel(2, response={"price": "gaussian", "kind": "logit"}, cross_fit=0).fit(texts, table)
    >>> model.predict(["stock market"])["kind"].tolist()
    ['money']
    """

    takes: ClassVar[tuple[str, ...]] = ("number", "class")
    several: ClassVar[bool] = True
    named: ClassVar[bool] = True

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        columns, targets = [], []
        for column, name, response in zip(table.T, names, one_each(self.response, names), strict=True):
            kinds = ("number", "class")
            auto = isinstance(response, str) and response == "auto"
            found, link = find_response(guess_response(column, name, "TopicModel", kinds) if auto else response, kinds)
            kind = registry()[found]
            if kind.kind == "number":
                columns.append(as_numbers(column, "TopicModel"))
                targets.append(Target(name, found, link))
                continue
            codes, classes = as_codes(column, "TopicModel")
            if kind.ordered:
                require_order(classes, found)
            if registry()[found].two_classes and len(classes) > 2:
                raise ValueError(f"response: {found!r} is for two classes, but {name} holds {len(classes)}")
            columns.append(codes)
            targets.append(Target(name, found, classes=classes))
        return Read(np.column_stack(columns), tuple(targets))

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table, targets, dispersion = self.coefficients_, fitted.spec.schema.targets, fitted.state.dispersion
        names = [name or targets[0].name for name in table.names]
        self.coef_, self.coef_std_ = (pd.DataFrame(one, index=names) for one in (table.coef, table.std))
        self.intercept_ = pd.Series(table.intercept, index=names)
        self.dispersion_ = {
            target.name: part.response.spread(dispersion[part.numbers])
            for target, part in fitted.spec.parts
            if part.response.n_dispersion
        }
        self.cutpoints_ = {one.name: self.dispersion_[one.name] for one in targets if one.response == "ordinal"}
        self.response_ = {target.name: target.response for target in targets}
        self.classes_ = {target.name: target.classes for target in targets if target.classes is not None}

    def predict(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None,
        return_interval: float | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """A column per response: E[y], or the class.

        `return_interval=0.9` adds columns `<name> lower` and `<name> upper` to those of numbers, the ends of intervals
        that hold nine of ten.
        """
        found = self._predicted(X, covariates, metadata, embeddings)
        means, fitted = found.means, self.fitted_
        ends = [None] * len(means) if return_interval is None else users_intervals(fitted, found, return_interval)
        columns = {}
        for (target, part), mean, between in zip(fitted.spec.parts, means, ends, strict=True):
            columns[target.name] = mean if target.classes is None else target.classes[part.response.decide(mean)]
            if between is not None:
                columns[f"{target.name} lower"], columns[f"{target.name} upper"] = between
        return pd.DataFrame(columns)

    def predict_proba(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> dict[str, pd.DataFrame]:
        """Probabilities of the classes, by the name of the response."""
        means = self._predicted(X, covariates, metadata, embeddings).means
        return {
            target.name: pd.DataFrame(mean, columns=target.classes)
            for target, mean in zip(self.fitted_.spec.schema.targets, means, strict=True)
            if target.classes is not None
        }

    def score(
        self, X: object, y: object = None, *, covariates: object = None, metadata: object = None,
        sample_weight: object = None, embeddings: object = None,
    ) -> float:  # fmt: skip
        """The mean of `scores`: R² of numbers, accuracy of classes."""
        beside = {"covariates": covariates, "metadata": metadata, "embeddings": embeddings}
        return float(self.scores(X, y, sample_weight=sample_weight, **beside).mean())

    def scores(
        self, X: object, y: object, *, covariates: object = None, metadata: object = None,
        sample_weight: object = None, embeddings: object = None,
    ) -> pd.Series:  # fmt: skip
        """Predictive R² of each response that is a number, and accuracy of each that is a class.

        Missing values of y are left out, and so are responses without any.
        """
        predicted = self.predict(X, covariates=covariates, metadata=metadata, embeddings=embeddings)
        table, names = as_table(y, len(predicted), "TopicModel")
        given = dict(zip(names, table.T, strict=True))
        targets = self.fitted_.spec.schema.targets
        if table.shape[1] != len(targets):
            raise ValueError(f"y has {table.shape[1]} columns, expected {len(targets)} as in fit")
        found = {}
        for place, target in enumerate(targets):
            column = given.get(target.name, table[:, place])  # by name where there are names
            if not missing(column).all():
                both, classes = (column, predicted[target.name].to_numpy()), target.classes
                score = r2_of_known if classes is None else partial(share_of_known, classes=classes)
                found[target.name] = score(*both, sample_weight=sample_weight)
        if not found:
            raise ValueError("y is missing for every document; expected some labels")
        return pd.Series(found, name="score")
