"""The models of `supertopic fit --model`: a new model is one entry in MODELS.

An option is rejected if the model's estimator does not have its parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import typer


@dataclass(frozen=True)
class Entry:
    """A short description of a model, and its estimators by kind of target.

    The kinds are "none", "number", "class", "several" (columns of numbers and classes), "labels" (one or more columns
    of classes) and "place" (two columns of degrees). `responses` names the response of each kind, if there is only one.
    `topics` is the parameter that --topics sets.
    """

    about: str
    estimators: Mapping[str, str]
    responses: Mapping[str, str] = field(default_factory=dict)
    topics: str = "n_topics"

    @property
    def needs_target(self) -> bool:
        return "none" not in self.estimators

    @property
    def takes_several(self) -> bool:
        return bool({"several", "labels", "place"} & set(self.estimators))

    def load(self, kind: str | None = None) -> Any:
        """Return the estimator for a kind of response, or any of them; imported here because the import is slow."""
        import supertopic

        return getattr(supertopic, self.estimators[kind or next(iter(self.estimators))])

    def parameter(self, option: str) -> str:
        """Return the name of the estimator's parameter for an option."""
        return self.topics if option == "topics" else PARAMETERS.get(option, option)

    def takes(self, option: str) -> bool:
        """Whether the estimator has the option's parameter, or one of its engines does."""
        estimator, name = self.load(), self.parameter(option)
        if not name.startswith("inference__"):
            return name in inspect.signature(estimator).parameters
        return bool(estimator.engines_with(name.partition("__")[2]))


MODELS: dict[str, Entry] = {
    "lda": Entry("every word has its topic", {"none": "LDA"}),
    "mixture": Entry("every document has one topic", {"none": "MixtureOfCategoricals"}),
    "sage": Entry("topics that add a few words to a background", {"none": "SAGETopics"}),
    "sage-classifier": Entry(
        "classes, the values of --target, that add a few words to a background",
        {"class": "SAGEClassifier"},
        {"class": "classes"},
    ),
    "faceted-sage": Entry(
        "what topics and the labels in the columns --target add to a background",
        {"labels": "FacetedSAGE"},
        {"labels": "classes"},
    ),
    "geo-sage": Entry(
        "regions with words of their own; --target LATITUDE,LONGITUDE", {"place": "GeoSAGE"}, {"place": "degrees"}
    ),
    "slda": Entry(
        "topics that predict the column --target, or several",
        {"number": "SLDARegressor", "class": "SLDAClassifier", "several": "TopicModel"},
    ),
    "medlda": Entry(
        "topics that keep the values of --target apart by a margin",
        {"number": "MedLDARegressor", "class": "MedLDAClassifier"},
        {"number": "epsilon_insensitive", "class": "hinge"},
    ),
    "sstm": Entry(
        "a few topics that predict --target, the others have no effect",
        {"number": "SSTMRegressor", "class": "SSTMClassifier"},
        {"number": "gaussian", "class": "probit"},
    ),
    "disclda": Entry(
        "topics of each class of --target beside shared ones",
        {"class": "DiscLDAClassifier"},
        {"class": "classes"},
        topics="n_class_topics",
    ),
    "htmm": Entry("every sentence has its topic", {"none": "HTMM"}),
}

# the options that have another name than the parameter of the estimators
PARAMETERS = {
    "iterations": "max_iter",
    "chains": "inference__n_chains",
    "sampler": "inference__sampler",
    "batch_size": "inference__batch_size",
    "regions": "n_regions",
    "seed": "random_state",
    "jobs": "n_jobs",
}
ALWAYS_GIVEN = {"seed": 0}  # defaults; ignored by models without these parameters


def model_help() -> str:
    """Return the table as a sentence, for --help."""
    return "; ".join(f"{name}: {entry.about}" for name, entry in MODELS.items()) + "."


def find_entry(name: str) -> Entry:
    """Return the entry of a model; the usage error for an unknown name suggests a similar one."""
    if name not in MODELS:
        refuse_choice("model", name, list(MODELS))
    return MODELS[name]


def check_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options (those that are not None); raise if the model does not take one of them."""
    entry = find_entry(name)
    estimator = entry.load()
    chosen = {
        option: value
        for option, value in given.items()
        if value is not None and (entry.takes(option) or ALWAYS_GIVEN.get(option) != value)
    }
    for option in chosen:
        if not entry.takes(option):
            others = [model for model, other in MODELS.items() if other.takes(option)]
            does = f"{', '.join(others) or 'no model'} {'do' if len(others) > 1 else 'does'}"
            raise typer.BadParameter(f"the model {name} does not take it; {does}.", param_hint=flag(option))
    if "inference" in chosen and chosen["inference"] not in estimator.inference_names():
        refuse_choice("inference", chosen["inference"], estimator.inference_names())
    return chosen


def build(name: str, given: Mapping[str, Any], kind: str | None = None, **more: Any) -> Any:
    """Return the estimator for a kind of response, with the given options and the other parameters in `more`."""
    chosen = check_options(name, given)
    estimator = find_entry(name).load(kind)
    takes = inspect.signature(estimator).parameters
    # a model with only one response has no parameter `response`, and a fast one has no `verbose`
    more = {key: value for key, value in more.items() if key in takes or key not in ("response", "verbose")}
    params = {find_entry(name).parameter(option): value for option, value in chosen.items()}
    of_engine = {key: params.pop(key) for key in list(params) if key.startswith("inference__")}
    return estimator(**params, **more).set_params(**of_engine)


def flag(option: str) -> str:
    """Return an option as it is typed."""
    return f"--{option.replace('_', '-')}"


def number_or_word(option: str, value: str | None, words: tuple[str, ...]) -> Any:
    """Parse the value of an option: a word such as 'auto', an integer, a fraction, or a list such as '0.1,0.2'."""
    if value is None or value in words:
        return value
    try:
        numbers = [float(part) if set(part) - set("+-0123456789 ") else int(part) for part in value.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{value!r} is neither a number nor {' or '.join(map(repr, words))}.", param_hint=flag(option)
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]


def refuse_choice(option: str, value: str, choices: list[str]) -> None:
    """Raise a usage error that lists the choices and suggests a similar one."""
    near = get_close_matches(value, choices, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.{hint}", param_hint=flag(option))
