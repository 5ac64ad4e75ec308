"""Fitted models to and from files: parameters and words in the manifest, numbers as arrays, nothing pickled."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from supertopic.backends import name_in_files
from supertopic.checks import check_whole
from supertopic.documents.covariates import Columns, Scaling
from supertopic.documents.embeddings import Block
from supertopic.documents.labels import Target
from supertopic.documents.names import read_labels
from supertopic.documents.vectorizer import Vectorizer
from supertopic.emissions.seeds import Seeds
from supertopic.fitted.checks import check_fitted, check_params, check_schema
from supertopic.fitted.fitted import Certainty, Fitted, LeftOut, Members, Others, Vocabulary
from supertopic.fitted.seen import Seen
from supertopic.fitted.spec import Schema, Spec, Tokens
from supertopic.inference.after.words import WordPart
from supertopic.inference.methods import Method
from supertopic.inference.variational.climb import Climb
from supertopic.inference.variational.m_step_margin import Duals
from supertopic.model import DocumentTerms, restore_state
from supertopic.persistence import Place, is_storable, name_of, read_model, write_file, write_model
from supertopic.plain_values import decode, encode
from supertopic.priors.base import SharePrior, registry

_SINGLE = ("trace", "doc_topic", "doc_covariates", "average", "prior_error", "stayed")  # arrays of a Fitted itself
_VECTORIZER, _METHOD, _PRIOR = "$vectorizer", "$inference", "$prior"  # the tags of these among the parameters


class Owner(Protocol):
    """An estimator, as files know it."""

    fitted_: Fitted
    more_arrays: ClassVar[tuple[str, ...]]  # names of `Fitted.more`
    at_mode: bool

    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...

    def n_topics_of(self, schema: Schema) -> tuple[int, int]:
        """Topics of a document, and in all."""
        ...

    def spec_of_file(self, schema: Schema) -> Spec:
        """What the parameters describe; refuses those that make no sense."""
        ...

    def check_schema(self, schema: Schema) -> None:
        """Refuse responses that no fit of this estimator has."""
        ...

    def check_file(self, fitted: Fitted) -> None:
        """Refuse what no fit of this kind of model has found."""
        ...

    def from_file(self, fitted: Fitted) -> Self:
        """Take up what a file held."""
        ...


ESTIMATORS: dict[str, type] = {}  # by class name; `TopicEstimator` enters its subclasses


def save(estimator: Owner, path: Place) -> None:
    """Write a fitted estimator to one file, or to something open; a full disk leaves the old file as it was.

    All parameters come back as they are, except `checkpoint`, which belongs to one fit on one machine. A parameter that
    cannot be written is refused before anything is; where it is the fit itself, its arrays are left in a rescue file.
    """
    fitted = estimator.fitted_
    params, given = _encode_params(estimator)
    vocabulary, vectorizer = fitted.vocabulary, fitted.vocabulary.vectorizer
    try:
        _check_settings(estimator, fitted)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"the model cannot be saved: {error}") from error
    arrays = arrays_of(fitted)
    if vectorizer is not None and not hasattr(vectorizer, "to_dict"):
        kind = type(vectorizer).__name__
        raise _rescued(fitted, path, f"vectorizer: a model with a {kind} cannot be saved; use supertopic.Vectorizer")
    try:
        _check(estimator, fitted, arrays)
    except (ValueError, TypeError, OverflowError) as error:
        raise _rescued(fitted, path, f"the model cannot be saved: {error}") from error
    manifest = {
        "estimator": type(estimator).__name__,
        "params": params,
        "schema": encode(_plain_schema(fitted.spec.schema), "y"),
        "n_iter": fitted.n_iter,
        "n_seen": fitted.n_seen,
        "data": fitted.data,
        "n_words": vocabulary.n_words,
        "words": None if vocabulary.names is None else [str(name) for name in vocabulary.names],
        "vectorizer": None if vectorizer is None else _plain_vectorizer(vectorizer),
        "labels": fitted.labels,
        "notes": encode(fitted.notes, "notes"),
    }
    write_model(path, manifest, {**arrays, **given}, fitted.date)


def _rescued(fitted: Fitted, path: Place, why: str) -> ValueError:
    """Leave the arrays of a fit that cannot be saved beside the target; return the refusal, which says where."""
    if not isinstance(path, str | os.PathLike):
        return ValueError(why)
    names = fitted.vocabulary.names
    manifest = {
        "estimator": fitted.spec.name,
        "refused": why,
        "words": [] if names is None else [str(one) for one in names],
    }
    beside = f"{os.fspath(path)}.rescue"
    try:
        write_file(beside, "rescue", manifest, {k: v for k, v in arrays_of(fitted).items() if is_storable(v)})
    except (OSError, ValueError):  # no room, or words beyond what a header holds
        return ValueError(why)
    return ValueError(f"{why}. Its arrays are kept in {beside}, which any safetensors reader opens")


def restore(path: Place) -> Any:
    """The fitted estimator of a file, of whatever class was saved; everything in it is checked before it is used."""
    manifest, arrays = read_model(path)
    name = manifest.get("estimator")
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ValueError(
            f"{name_of(path)}: holds a model of kind {name!r:.60}, which this version of supertopic does not know"
        )
    try:
        return _restore(ESTIMATORS[name], manifest, arrays)
    except Exception as error:  # whatever a forged value leads to
        what = " ".join(str(error).split())[:300]
        raise ValueError(f"{name_of(path)}: is a damaged model file ({type(error).__name__}: {what})") from error


def arrays_of(fitted: Fitted) -> dict[str, np.ndarray]:
    """All arrays of a fitted model by name (`checks.ARRAYS`)."""
    found: dict[str, Any] = {name: getattr(fitted, name) for name in _SINGLE}
    groups: dict[str, dict[str, Any]] = {
        "state": fitted.state.arrays(),
        "draws": fitted.draws,
        "words": {} if fitted.words is None else vars(fitted.words),
        "members": {} if fitted.members is None else vars(fitted.members),
        "certainty": vars(fitted.certainty),
        "others": {} if fitted.others is None else vars(fitted.others),
        "seen": {} if fitted.seen is None else vars(fitted.seen),
        "left_out": {} if fitted.left_out is None else vars(fitted.left_out),
        "more": fitted.more,
    }
    if isinstance(fitted.terms, Duals) and len(fitted.terms.n_support):
        groups["duals"] = {name: getattr(fitted.terms, name) for name in ("dual", "support", "n_support")}
    if fitted.climb is not None:
        groups["climb"] = {**fitted.climb.arrays(), "steps": np.array([fitted.climb.steps])}
    for group, arrays in groups.items():
        found |= {f"{group}.{name}": array for name, array in arrays.items()}
    return {name: np.asarray(array) for name, array in found.items() if array is not None}


def _restore(kind: type, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, value in arrays.items():
        group, _, rest = name.partition(".")
        groups.setdefault(group, {})[rest] = value
    given = groups.pop("param", {})
    estimator: Owner = kind(**{name: _decode_param(value) for name, value in manifest["params"].items()}, **given)
    schema = _read_schema(manifest["schema"])
    check_schema(schema, estimator.at_mode)
    estimator.check_schema(schema)
    state = restore_state(groups.pop("state"))
    _check_n_topics(estimator, schema, state.alpha.shape[-1])
    for name in ("n_iter", "n_seen", "n_words"):
        check_whole(name, manifest[name], least=0)
    labels = manifest["labels"]
    n_topics = estimator.n_topics_of(schema)[1]
    fitted = Fitted(
        spec=estimator.spec_of_file(schema),
        vocabulary=_read_vocabulary(manifest),
        state=state,
        trace=arrays["trace"],
        n_iter=manifest["n_iter"],
        n_seen=manifest["n_seen"],
        draws=groups.pop("draws", {}),
        terms=_read_duals(groups.pop("duals", None)),
        doc_topic=arrays.get("doc_topic"),
        doc_covariates=arrays.get("doc_covariates"),
        average=arrays.get("average"),
        prior_error=arrays.get("prior_error"),
        stayed=arrays.get("stayed"),
        members=Members(**groups.pop("members")) if "members" in groups else None,
        words=WordPart(**groups.pop("words")) if "words" in groups else None,
        certainty=Certainty(**groups.pop("certainty", {})),
        others=Others(**groups.pop("others")) if "others" in groups else None,
        seen=Seen(**groups.pop("seen")) if "seen" in groups else None,
        left_out=LeftOut(**groups.pop("left_out")) if "left_out" in groups else None,
        climb=_read_climb(groups.pop("climb", None)),
        labels=None if labels is None else read_labels(labels, n_topics),
        more=groups.pop("more", {}),
        notes=decode(manifest["notes"]),
        date=_of_form("date", manifest, r"(\d{4}-\d\d-\d\d)?"),
        data=_of_form("data", manifest, r"([0-9a-f]{32})?"),
    )
    unknown = [name for name in groups if name not in _SINGLE]
    if unknown:
        raise ValueError(f"the array {unknown[0]!r:.60} is none of a {kind.__name__}")
    _check_settings(estimator, fitted)
    _check(estimator, fitted, {name: array for name, array in arrays.items() if not name.startswith("param.")})
    return estimator.from_file(fitted)


def _of_form(name: str, manifest: dict[str, Any], form: str) -> str:
    """A text that says where the fit comes from; the oldest golden files have none."""
    value = manifest.get(name, "")
    if not isinstance(value, str) or not re.fullmatch(form, value, re.ASCII):
        raise ValueError(f"{name}: got {value!r:.60}, which no fit writes")
    return value


def _check_settings(estimator: Owner, fitted: Fitted) -> None:
    """The parameters are those of a fit, and of this one."""
    check_params(estimator.get_params(deep=False))
    _check_n_topics(estimator, fitted.spec.schema, fitted.state.alpha.shape[-1])


def _check(estimator: Owner, fitted: Fitted, arrays: dict[str, np.ndarray]) -> None:
    """What a file may hold."""
    if set(fitted.more) != set(estimator.more_arrays):
        wrong = sorted(set(fitted.more) ^ set(estimator.more_arrays))[0]
        raise ValueError(f"the array more.{wrong:.60} is missing, or none of a {fitted.spec.name}")
    check_fitted(fitted, arrays, estimator.n_topics_of(fitted.spec.schema)[1])
    estimator.check_file(fitted)


def _check_n_topics(estimator: Owner, schema: Schema, there: int) -> None:
    """The number of topics is that of the fit; a larger one would make arrays of any size."""
    asked = estimator.n_topics_of(schema)[0]
    if asked != there:
        raise ValueError(f"n_topics: got {asked}, but the model was fitted with {there}")


def _encode_params(estimator: Owner) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The parameters as JSON and, where they are arrays of numbers, as arrays."""
    params: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name == "checkpoint":
            continue
        if isinstance(value, Vectorizer):
            params[name] = {_VECTORIZER: encode(value.get_params(deep=False), name)}
        elif isinstance(value, Method):
            params[name] = {_METHOD: value.to_plain()}
        elif isinstance(value, SharePrior):
            params[name] = {_PRIOR: encode(plain_prior(value), name)}
        elif type(value) is np.ndarray and is_storable(value):
            arrays[f"param.{name}"] = value
        else:
            params[name] = encode(name_in_files(value) if name == "backend" else value, name)
    return params, arrays


def _decode_param(value: object) -> Any:
    if isinstance(value, dict) and list(value) == [_VECTORIZER]:
        return Vectorizer.of_file(decode(value[_VECTORIZER]))
    if isinstance(value, dict) and list(value) == [_METHOD]:
        return Method.from_plain(value[_METHOD])
    if isinstance(value, dict) and list(value) == [_PRIOR]:
        return read_prior(decode(value[_PRIOR]))
    return decode(value)


def _plain_schema(schema: Schema) -> dict[str, Any]:
    """The values of a Schema by name."""
    return {
        "targets": [dict(vars(target)) for target in schema.targets],
        "classes": schema.classes,
        "columns": dict(vars(schema.columns)),
        "scaling": dict(vars(schema.scaling)),
        "constant": schema.constant,
        "counts": schema.counts,
        "tokens": None if schema.tokens is None else list(schema.tokens),
        "supervision": schema.supervision,
        **({} if schema.prior is None else {"prior": plain_prior(schema.prior)}),
        **({} if schema.block is None else {"block": schema.block.about()}),
        **({} if schema.seeds is None else {"seeds": dict(vars(schema.seeds))}),
    }


def _read_schema(plain: object) -> Schema:
    found = decode(plain)
    if not isinstance(found, dict) or {*found, "prior", "block", "seeds"} != {one.name for one in fields(Schema)}:
        raise ValueError("y and the covariates are not described as a fit does")
    tokens = found["tokens"]
    return Schema(
        targets=tuple(Target(**target) for target in found["targets"]),
        classes=found["classes"],
        columns=Columns.restore(found["columns"]),
        scaling=Scaling.restore(found["scaling"]),
        constant=bool(found["constant"]),
        counts=found["counts"],
        tokens=None if tokens is None else Tokens(*tokens),
        supervision=found["supervision"],
        prior=read_prior(found["prior"]) if "prior" in found else None,
        block=Block.restore(found["block"]) if "block" in found else None,
        seeds=Seeds(**found["seeds"]) if "seeds" in found else None,
    )


def plain_prior(prior: SharePrior) -> list[Any]:
    """A prior on topic shares by the name of its class."""
    return [type(prior).__name__, prior.about()]


def read_prior(plain: list[Any]) -> SharePrior:
    """What `plain_prior` gave."""
    name, about = plain
    if name not in registry():
        raise ValueError(f"the prior on topic shares is a {name!r:.60}, which this version does not know")
    return registry()[name].restore(about)


def _plain_vectorizer(vectorizer: Any) -> dict[str, Any]:
    state = vectorizer.to_dict()
    return {**state, "params": encode(state["params"], "vectorizer")}


def _read_vocabulary(manifest: dict[str, Any]) -> Vocabulary:
    words, state = manifest["words"], manifest["vectorizer"]
    if words is not None and (len(words) != manifest["n_words"] or not all(isinstance(word, str) for word in words)):
        raise ValueError(f"words: expected {manifest['n_words']} texts")
    if state is not None:
        for name in ("vocabulary", "ignored", "stop_words", "phrases"):
            if not isinstance(state[name], list) or not all(isinstance(word, str) for word in state[name]):
                raise ValueError(f"{name} of the vectorizer is no list of words")
        if len(set(state["vocabulary"])) < len(state["vocabulary"]):
            raise ValueError("a word is twice in the vocabulary")
        if words is not None and state["vocabulary"] != words:
            raise ValueError("the words are not those of the vectorizer's vocabulary")
    vectorizer = None if state is None else Vectorizer.from_dict({**state, "params": decode(state["params"])})
    names = None if words is None else np.asarray(words, dtype=object)
    return Vocabulary(manifest["n_words"], names, vectorizer)


def _read_duals(arrays: dict[str, np.ndarray] | None) -> DocumentTerms:
    if arrays is None:
        return DocumentTerms()
    planes = np.zeros((0, len(arrays["dual"])), dtype=np.int32)  # of the last step, which no further one follows
    return Duals(arrays["dual"], arrays["support"], planes, arrays["n_support"])


def _read_climb(arrays: dict[str, np.ndarray] | None) -> Climb | None:
    if arrays is None:
        return None
    steps, given = int(arrays["steps"][0]), {name: array for name, array in arrays.items() if name != "steps"}
    return Climb(**given, steps=steps, pull=0.0)  # there is no anchor
