"""What a fit learns from: the model, and y and covariates as its estimator takes them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from supertopic.cli.models import find_entry, refuse_choice
from supertopic.cli.show import note
from supertopic.cli.target import Choice, ColumnValues, check_target, choose, unlabelled

if TYPE_CHECKING:
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


@dataclass(frozen=True)
class Learned:
    """The kind of the target(s), y, the parameters of the estimator that follow, and the response of each column."""

    kind: str = "none"
    y: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    responses: dict[str, str] = field(default_factory=dict)
    covariates: pd.DataFrame | None = None
    beside: dict[str, Any] = field(default_factory=dict)  # metadata, groups, times

    @property
    def arguments(self) -> dict[str, Any]:
        """What `fit` takes beside the documents."""
        found = {"y": self.y, "covariates": self.covariates, **self.beside}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def said(self) -> dict[str, str]:
        """A line for the table of a fit."""
        told = "; ".join(f"{response}, of column {name!r}" for name, response in self.responses.items())
        return {"response": told} if told else {}


def split_names(value: str | None) -> list[str]:
    """Return the columns of 'a,b'; a name that holds a comma stands in double quotes, as in a CSV."""
    return [name for name in next(csv.reader([value or ""], skipinitialspace=True), []) if name]


def with_formula(metadata: str | None, formula: str | None) -> str | None:
    """The columns of metadata, and those that a formula of the prevalence has."""
    if formula is None:
        return metadata
    from supertopic.documents.formulas import columns_of

    try:
        names = columns_of(formula)
    except ValueError as error:
        raise typer.BadParameter(str(error).removeprefix("formula: "), param_hint="--prevalence") from None
    return ",".join(f'"{name}"' if "," in name else name for name in dict.fromkeys([*split_names(metadata), *names]))


@dataclass(frozen=True)
class Question:
    """What is to be fitted: a model, the columns of its targets, their responses, and the columns of covariates."""

    model: str
    targets: list[str]
    response: str | None
    covariates: list[str]
    beside: dict[str, list[str]] = field(default_factory=dict)  # the columns of metadata, groups and times
    unknown: str = "error"  # what becomes of covariates that the fit has not seen

    @classmethod
    def of(
        cls, model: str | None, target: str | None, response: str | None, covariates: str,
        beside: Mapping[str, str | None] | None = None, unknown: str = "error",
    ) -> Question:  # fmt: skip
        """Read the options, and refuse what the model or a stream cannot take, before anything is read.

        Without --model it is lda, or slda if there is a target, which is printed.
        """
        targets = split_names(target)
        if model is None and targets:
            note(f"Fitting slda, since --target {','.join(targets)} is to be predicted; another model with --model.")
        columns = {name: split_names(given) for name, given in (beside or {}).items() if given}
        model = model or ("slda" if targets else "lda")
        self = cls(model, targets, response, split_names(covariates), columns, unknown)
        check_target(self.model, targets, response)
        self._check_covariates()
        for name in ("groups", "times"):
            if len(columns.get(name, [])) > 1:
                raise typer.BadParameter(f"got {len(columns[name])} columns, expected one.", param_hint=f"--{name}")
        return self

    def _check_covariates(self) -> None:
        import inspect

        why = None
        both = [name for name in self.covariates if name in self.targets]
        if "covariates" not in inspect.signature(find_entry(self.model).load().fit).parameters:
            why = f"the model {self.model} does not take them; slda and sstm do."
        elif both:
            why = f"{both[0]!r} is the target, expected another column."
        if self.covariates and why is not None:
            raise typer.BadParameter(why, param_hint="--covariates")
        from supertopic.documents.covariates import UNKNOWN

        if self.unknown not in UNKNOWN:
            refuse_choice("handle_unknown", self.unknown, list(UNKNOWN))
        if self.how and not self.covariates:
            raise typer.BadParameter("is about --covariates, of which there are none.", param_hint="--handle-unknown")

    @property
    def how(self) -> dict[str, Any]:
        """What `fit` takes that is no column."""
        return {} if self.unknown == "error" else {"handle_unknown": self.unknown}

    @property
    def columns(self) -> list[str]:
        """All of them, each once."""
        return list(
            dict.fromkeys([*self.targets, *self.covariates, *(name for one in self.beside.values() for name in one)])
        )

    def learned(self, cells: pd.DataFrame) -> Learned:
        """Return what the columns say; what is chosen or missing is printed."""
        found = _learned(cells, self.targets, self.response, self.model) if self.targets else Learned()
        import pandas as pd

        beside: dict[str, Any] = {}
        for what, names in self.beside.items():
            columns = _columns(cells, names)
            beside[what] = columns if what == "metadata" else pd.Series(columns[names[0]], name=names[0])
        return replace(found, covariates=covariates_from(cells, self.covariates), beside=beside)


def _columns(cells: pd.DataFrame, names: Iterable[str]) -> dict[str, Any]:
    """Columns of one type each, dates as they are."""
    found = {name: ColumnValues.of(cells[name], name) for name in names}
    return {name: cells[name] if one.dates else one.values for name, one in found.items()}


def metadata_from(cells: pd.DataFrame, model: TopicEstimator) -> dict[str, Any] | None:
    """Return the metadata that the model's prior on topic shares reads, where the table has it."""
    names = model.fitted_.prior_columns
    return _columns(cells, names) if names and set(names) <= set(cells.columns) else None


def metadata_seen(cells: pd.DataFrame, names: Iterable[str]) -> dict[str, Any] | None:
    """Return those columns of metadata that hold something in the table; None if none does."""
    return _columns(cells, [name for name in names if name in cells and cells[name].notna().any()]) or None


def _learned(cells: pd.DataFrame, targets: Sequence[str], asked: str | None, model: str) -> Learned:
    entry = find_entry(model)
    if "place" in entry.estimators:
        return _places(cells, targets)
    names = (asked or "").split(",")
    each = names if len(names) > 1 else names * len(targets)
    pairs = [_response(cells[name], name, one or None, model) for name, one in zip(targets, each, strict=True)]
    responses = dict(zip(targets, (choice.response for choice, _ in pairs), strict=True))
    import pandas as pd

    if len(targets) == 1 and "labels" not in entry.estimators:
        choice, y = pairs[0]
        return Learned(choice.kind, pd.Series(y, name=targets[0]), {"response": choice.response}, responses)
    y = pd.DataFrame(dict(zip(targets, (y for _, y in pairs), strict=True)))
    if "labels" in entry.estimators:
        return Learned("labels", y, {"facets": list(targets)}, responses)
    return Learned("several", y, {"response": responses}, responses)


def _response(cells: pd.Series, name: str, asked: str | None, model: str) -> tuple[Choice, Any]:
    """Return the response for the column `name` and y for its estimator; an automatic choice is printed to stderr."""
    target = ColumnValues.of(cells, name)
    only = find_entry(model).responses
    choice = choose(target, asked, {"class": only["labels"]} if "labels" in only else only)
    y = target.encoded(choice)
    for sentence in (choice.why, unlabelled(target, y)):
        if sentence:
            note(sentence)
    return choice, y


def _places(cells: pd.DataFrame, targets: Sequence[str]) -> Learned:
    import numpy as np

    found = [ColumnValues.of(cells[name], name) for name in targets]
    for target in found:
        if target.is_text:
            stray = next(value for value in target.known if isinstance(value, str))
            raise ValueError(f"--target: column {target.name!r} holds {stray!r:.60}, expected degrees")
    place = np.column_stack([target.as_numbers("degrees") for target in found])
    n = int(np.isnan(place).any(axis=1).sum())
    if n:
        note(f"{n:,} of {len(place):,} documents have no place, and take part with their words alone.")
    return Learned("place", place, {}, dict.fromkeys(targets, "degrees"))


def covariates_from(cells: pd.DataFrame, names: Sequence[str], unknown: str = "error") -> pd.DataFrame | None:
    """Return the covariates as a frame, numbers as numbers, categories as text; refuse empty cells unless ignored."""
    if not names:
        return None
    import pandas as pd

    columns = {}
    for name in names:
        found = ColumnValues.of(cells[name], name, may_be_empty=unknown == "ignore")
        empty = [place for place, value in enumerate(found.values) if value is None]
        if empty and unknown == "error":
            raise ValueError(
                f"--covariates: column {name!r} is empty in {len(empty):,} of {len(cells):,} rows (the first is"
                f" {empty[0] + 1}), expected a value in each (new documents may have empty cells after fit"
                " --handle-unknown ignore)"
            )
        texts = [None if value is None else str(value) for value in found.values]
        columns[name] = texts if found.is_text else found.as_numbers("covariates")
    return pd.DataFrame(columns)


def covariates_of(model: TopicEstimator, cells: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame | None:
    """Return the covariates of new documents, with empty cells if the fit was asked to ignore them."""
    return covariates_from(cells, names, model.fitted_.spec.schema.columns.unknown)


def takes_covariates(model: TopicEstimator) -> bool:
    """Whether a model was fitted with covariates; a constant of its own is none."""
    return len(model.fitted_.spec.schema.scaling.mean) > 0


def covariates_for(model: TopicEstimator, given: str) -> list[str]:
    """Return the columns of --covariates for a fitted model: by default those of the fit; raise if it takes none."""
    names = split_names(given)
    if not takes_covariates(model):
        if names:
            raise typer.BadParameter("the model was fitted without covariates.", param_hint="--covariates")
        return []
    columns = model.fitted_.spec.schema.columns
    if not names and not columns.names:
        raise typer.BadParameter("the model was fitted with covariates: say which columns with --covariates.")
    return names or list(columns.names)


def covariates_given(model: TopicEstimator, given: str) -> pd.DataFrame | None:
    """Return the covariates of one text from 'age=30,group=left', a row; None for a model without covariates.

    What is not given is a usual value: the mean of numbers, the most frequent category.
    """
    pairs = [pair.partition("=") for pair in split_names(given)]
    if not takes_covariates(model):
        if pairs:
            raise typer.BadParameter("the model was fitted without covariates.", param_hint="--covariates")
        return None
    from supertopic.documents.covariates import given_by_name

    schema, found = model.fitted_.spec.schema, {}
    columns, mean = schema.columns, schema.scaling.mean
    names = columns.names or [str(place) for place in range(len(mean))]
    for name, equals, value in pairs:
        if not equals or name not in names:
            known = ", ".join(f"{known}=…" for known in names)
            raise typer.BadParameter(f"got {name + equals + value!r}, expected {known}.", param_hint="--covariates")
        try:
            found[name] = value if name in columns.categories else float(value)
        except ValueError:
            raise typer.BadParameter(f"{name}: got {value!r}, expected a number.", param_hint="--covariates") from None
    import pandas as pd

    return pd.DataFrame(given_by_name(columns, mean, found))
