"""The models of `supertopic fit --model`: a new model is one entry in MODELS.

What options a model takes is read off its estimator: OPTIONS says which parameter an option sets, and one that the
estimator has not is refused.
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
    """A model in a few words, and its estimators by what they learn from: "none", a "number" or a "class".

    `responses` names the one response of each kind, where there is no choice of them.
    """

    about: str
    estimators: Mapping[str, str]
    responses: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_target(self) -> bool:
        return "none" not in self.estimators

    def load(self, kind: str | None = None) -> Any:
        """The class for a kind of response, or any of them; imported here, since it takes a second."""
        import supertopic

        return getattr(supertopic, self.estimators[kind or next(iter(self.estimators))])


MODELS: dict[str, Entry] = {
    "lda": Entry("every word has its topic", {"none": "LDA"}),
    "mixture": Entry("every document has one topic", {"none": "MixtureOfCategoricals"}),
    "sage": Entry("topics that add a few words to a background", {"none": "SAGETopics"}),
    "sage-classifier": Entry(
        "classes, the values of --target, that add a few words to a background",
        {"class": "SAGEClassifier"},
        {"class": "classes"},
    ),
    "slda": Entry("topics that predict the column --target", {"number": "SLDARegressor", "class": "SLDAClassifier"}),
    "medlda": Entry(
        "topics that keep the values of --target apart by a margin",
        {"number": "MedLDARegressor", "class": "MedLDAClassifier"},
        {"number": "epsilon_insensitive", "class": "hinge"},
    ),
}

OPTIONS: dict[str, str] = {
    "--topics": "n_topics",
    "--inference": "inference",
    "--supervision": "supervision",
    "--iterations": "max_iter",
    "--doc-topic-prior": "doc_topic_prior",
    "--topic-word-prior": "topic_word_prior",
    "--sampler": "sampler",
    "--batch-size": "batch_size",
    "--seed": "random_state",
    "--jobs": "n_jobs",
    "--checkpoint": "checkpoint",
}
ALWAYS_GIVEN = {"--topics": 20, "--seed": 0}  # by default; a model that does not take them leaves them aside


def model_help() -> str:
    """The table in a sentence, for --help."""
    return "; ".join(f"{name}: {entry.about}" for name, entry in MODELS.items()) + "."


def find_entry(name: str) -> Entry:
    """The entry of a model, or a usage error that names the near one."""
    if name not in MODELS:
        refuse_choice("--model", name, list(MODELS))
    return MODELS[name]


def check_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given (those that are not None); refuses those that the model does not take."""
    estimator = find_entry(name).load()
    takes = inspect.signature(estimator).parameters
    chosen = {
        option: value
        for option, value in given.items()
        if value is not None and (OPTIONS[option] in takes or ALWAYS_GIVEN.get(option) != value)
    }
    for option in chosen:
        if OPTIONS[option] not in takes:
            others = [m for m, e in MODELS.items() if OPTIONS[option] in inspect.signature(e.load()).parameters]
            does = f"{', '.join(others) or 'no model'} {'do' if len(others) > 1 else 'does'}"
            raise typer.BadParameter(f"the model {name} does not take it; {does}.", param_hint=option)
    if "--inference" in chosen and chosen["--inference"] not in estimator.engines:
        refuse_choice("--inference", chosen["--inference"], list(estimator.engines))
    return chosen


def build(name: str, given: Mapping[str, Any], kind: str | None = None, **more: Any) -> Any:
    """The estimator for a kind of response with the options that were given, and other parameters in `more`."""
    chosen = check_options(name, given)
    estimator = find_entry(name).load(kind)
    takes = inspect.signature(estimator).parameters
    # there is nothing to choose where a model has one response, and nothing to say where it takes a moment
    more = {key: value for key, value in more.items() if key in takes or key not in ("response", "verbose")}
    return estimator(**{OPTIONS[option]: value for option, value in chosen.items()}, **more)


def number_or_word(option: str, value: str | None, words: tuple[str, ...]) -> Any:
    """'auto' and the like as they are, '5' as an integer, '0.01' as a fraction, '0.1,0.2' as a list."""
    if value is None or value in words:
        return value
    try:
        numbers = [float(part) if set(part) - set("+-0123456789 ") else int(part) for part in value.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{value!r} is neither a number nor {' or '.join(map(repr, words))}.", param_hint=option
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]


def refuse_choice(option: str, value: str, choices: list[str]) -> None:
    """A usage error that lists the choices, and names the near one."""
    near = get_close_matches(value, choices, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.{hint}", param_hint=option)
