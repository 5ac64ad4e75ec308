"""What the file of a predictor may hold: every number and array is checked before it is used, whatever its checksum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from supertopic.checks import check_choice, check_whole
from supertopic.documents.covariates import Columns, Scaling
from supertopic.documents.phrases import Phrases
from supertopic.documents.splitting import Splitting
from supertopic.documents.tokenizers import check_tokenizer, make_tokenizer
from supertopic.plain_values import decode
from supertopic.responses.base import LARGEST_COEF, Response, known_moment, registry
from supertopic.responses.several import Part, Several, parts_of
from supertopic.responses.temperature import Heat, Temperature
from supertopic.serving.scores import Line, Words
from supertopic.serving.shares import Topics

FORMS = ("shares", "one", "rest", "named", "posterior")
_LARGEST = 1e30
_MOST_MEMBERS, _LONGEST_NGRAM, _MOST_PASSES = 1000, 32, 10_000
_FLAGS = ("collapsed", "at_mode", "log_counts", "one_topic")
_BESIDE = {  # arrays that a model may lack, and their shapes: letters stand for one size each, "*" for any
    "beside": "CP", "levels": "M*", "knots": "MFN", "widths": "MFN", "heat": "M3", "zero": "C", "word_coef": "VC",
    "word_scale": "V", "log_shares": "A", "class_columns": "AK", "temperature": "3", "scaling": "*", "dispersion": "Q",
    "mean": "P", "factor": "P", "doc_topic": "**",
}  # fmt: skip


class Parts(NamedTuple):
    """What a predictor is made of."""

    words: dict[str, int] | None
    n_words: int
    splitting: Splitting | None
    lines: tuple[Line, ...]
    topics: Topics
    outcomes: list[tuple[str, Part, np.ndarray | None]]
    classes: np.ndarray | None
    columns: Columns
    scaling: Scaling
    word_part: Words | None
    temperature: Temperature


def read_parts(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Parts:
    """All of it; a ValueError for what no model makes."""
    check_choice("form", manifest["form"], FORMS)
    check_whole("members", manifest["members"], least=1)
    if manifest["members"] > _MOST_MEMBERS or type(manifest["constant"]) is not bool:
        raise ValueError("members or constant is no number that a model has")
    names, classes = manifest["words"], _classes(manifest["classes"])
    outcomes, response = _outcomes(manifest["targets"])
    topics = [_topics(manifest, arrays, place) for place in range(manifest["members"])]
    n_words, n_topics = topics[0].weights.shape
    sizes = {"V": n_words, "K": n_topics, "C": response.n_columns, "M": len(outcomes), "Q": response.n_dispersion}
    own = {f"{name}_{place}" for place in range(manifest["members"]) for name in ("weights", "coef", "alpha")}
    for name, array in arrays.items():
        if name not in own:
            _check_array(name, array, sizes)
    _check_form(manifest["form"], outcomes, classes, arrays)
    lines = tuple(
        Line(one, _coef(arrays, place, response, one), response.is_product, response.uses_moments)
        for place, one in enumerate(topics)
    )
    _check_predictions(lines, outcomes, arrays)
    word_part = Words(arrays["word_coef"], arrays["word_scale"]) if "word_coef" in arrays else None
    scaling = Scaling(arrays.get("mean", np.zeros(0)), arrays.get("factor", np.zeros(0)))
    columns = Columns.restore(decode(manifest["columns"]))
    _check_covariates(columns, scaling, manifest["constant"], arrays)
    words = _words(names, n_words)
    splitting = None if manifest["splitting"] is None else _splitting(manifest["splitting"])
    temperature = _temperature(arrays.get("temperature", np.array([1.0, 0.0, 1.0])))
    return Parts(
        words, n_words, splitting, lines, topics[0], outcomes, classes, columns, scaling, word_part, temperature
    )


def _check_array(name: str, array: np.ndarray, sizes: dict[str, int]) -> None:
    if name not in _BESIDE:
        raise ValueError(f"{name!r:.60} is no array of a predictor")
    shape = _BESIDE[name]
    expected = [int(size) if size.isdigit() else None if size == "*" else sizes.get(size) for size in shape]
    fits = array.ndim == len(shape) and all(e in (None, n) for e, n in zip(expected, array.shape, strict=True))
    if not fits or array.dtype.kind not in ("i" if name == "class_columns" else "f"):
        raise ValueError(f"{name} has the shape {array.shape} and the type {array.dtype}, which do not fit the model")
    sizes.update({letter: size for letter, size in zip(shape, array.shape, strict=True) if letter.isalpha()})
    known = array[~np.isnan(array)] if name == "levels" else array
    if known.size and not np.abs(known).max() <= _LARGEST:
        raise ValueError(f"{name} holds NaN, infinity or a number beyond {_LARGEST:g}")


def _topics(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray], place: int) -> Topics:
    about, weights, alpha = manifest["topics"], arrays[f"weights_{place}"], arrays[f"alpha_{place}"]
    if not all(type(about[name]) is bool for name in _FLAGS):
        raise ValueError("topics: the flags are not true or false")
    check_whole("max_passes", about["max_passes"])
    if about["max_passes"] > _MOST_PASSES or type(about["tol"]) is not float or not 0 < about["tol"] < 1:
        raise ValueError("topics: passes or tol are out of range")
    first = arrays["weights_0"].shape
    if weights.dtype.name != "float32" or weights.ndim != 2 or not weights.size or weights.shape[0] != first[0]:
        raise ValueError(f"weights_{place} has the shape {weights.shape}, expected one row of float32 for each word")
    if alpha.dtype.name != "float64" or alpha.shape != weights.shape[1:]:
        raise ValueError(f"alpha_{place} has the shape {alpha.shape}, expected one number for each topic")
    most = weights.max(axis=1)
    if not (np.isfinite(most).all() and weights.min() >= 0 and (most > 0).all()):
        raise ValueError(f"weights_{place} holds no probabilities")
    if not (np.isfinite(alpha).all() and (alpha > 0).all() and alpha.max() <= _LARGEST):
        raise ValueError(f"alpha_{place} holds numbers that are not positive")
    flags = {name: about[name] for name in _FLAGS}
    return Topics(weights, alpha, max_passes=about["max_passes"], tol=about["tol"], **flags)


def _coef(arrays: Mapping[str, np.ndarray], place: int, response: Response, topics: Topics) -> np.ndarray:
    shape = (response.n_columns, len(topics.alpha))
    if response.n_columns == 0:
        return np.zeros(shape, dtype=np.float32)
    coef = arrays[f"coef_{place}"]
    if coef.dtype.name != "float32" or coef.shape != shape or not np.abs(coef).max() <= LARGEST_COEF:
        raise ValueError(f"coef_{place} has the shape {coef.shape}, expected finite numbers of shape {shape}")
    return coef


def _outcomes(targets: list[dict[str, Any]]) -> tuple[list[tuple[str, Part, np.ndarray | None]], Response]:
    """The responses with their names and classes, and all of them as one."""
    made, about = [], []
    for target in targets:
        name, kind, classes = target["name"], registry().get(target["response"]), _classes(target["classes"])
        if kind is None or not isinstance(name, str) or kind.kind == ("class" if classes is None else "number"):
            raise ValueError(f"a target has the response {target['response']!r:.40}, which this version does not know")
        if classes is not None and kind.two_classes and len(classes) != 2:
            raise ValueError(f"the response {kind.name!r} is for two classes, but {name:.40} has {len(classes)}")
        link = target["link"]
        if classes is not None:
            made.append(kind(len(classes)))
        else:
            made.append(kind() if link == "auto" else kind(link=link))  # type: ignore[call-arg]
        about.append((name, classes))
    if not made:
        return [], Response()
    if len({name for name, _ in about}) < len(about):
        raise ValueError("two of the targets have one name")
    response = made[0] if len(made) == 1 else Several(made)
    return [(name, part, one) for (name, one), part in zip(about, parts_of(response), strict=True)], response


def _classes(saved: object) -> np.ndarray | None:
    if saved is None:
        return None
    found = decode(saved)
    if not isinstance(found, np.ndarray) or found.ndim != 1 or not len(found):
        raise ValueError("classes are not given as an array")
    return found


def _check_form(form: str, outcomes: list[Any], classes: np.ndarray | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a form that the responses and classes contradict."""
    n_topics, columns = arrays["weights_0"].shape[1], arrays.get("class_columns")
    n_classes = 0 if classes is None else len(classes)
    right = {
        "shares": not outcomes,
        "one": len(outcomes) == 1 or (len(outcomes) > 1 and all(one is None for _, _, one in outcomes)),
        "rest": len(outcomes) == n_classes > 0,
        "named": len(outcomes) >= 1,
        "posterior": not outcomes and n_classes > 0,
    }[form]
    if columns is not None:
        inside = bool((columns >= 0).all() and (columns < n_classes * n_topics).all())
        right = right and form == "posterior" and inside and len(columns) == n_classes and "log_shares" in arrays
    elif form == "posterior":
        right = right and n_classes == n_topics
    if not right:
        raise ValueError(f"form: got {form!r}, which is not what the responses and classes are")


def _check_predictions(lines: tuple[Line, ...], outcomes: list[Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse coefficients or a dispersion that predict no number for a document of one topic."""
    knots, heat = arrays.get("knots"), arrays.get("heat")
    if knots is not None and (np.diff(knots) < 0).any():
        raise ValueError("knots holds numbers that do not ascend")
    if ("knots" in arrays) != ("widths" in arrays) or ("heat" in arrays) != ("zero" in arrays):
        raise ValueError("knots stand without widths, or heat without zero")
    if heat is not None:
        for numbers in heat.tolist():
            Heat(*numbers).check()
    if not outcomes:
        return
    score = lines[0].coef.T.astype(np.float64)
    moment = known_moment(score, lines[0].is_product)
    for _, part, _ in outcomes:
        dispersion = arrays.get("dispersion", np.zeros(0))[part.numbers]
        part.response.check_dispersion(dispersion)
        with np.errstate(all="ignore"):
            if not np.isfinite(
                part.response.predict(score[:, part.columns], moment[:, part.columns], dispersion)
            ).all():
                raise ValueError("coefficients and dispersion predict a number that is not finite")


def _check_covariates(columns: Columns, scaling: Scaling, constant: bool, arrays: Mapping[str, np.ndarray]) -> None:
    n_columns = arrays["beside"].shape[1] if "beside" in arrays else 0
    if len(scaling.mean) != len(scaling.factor) or len(scaling.mean) + constant != n_columns:
        raise ValueError(f"covariates: got {len(scaling.mean)} columns, but coefficients of {n_columns}")
    if columns.names and len(columns.labels) != len(scaling.mean):
        raise ValueError(f"covariates: {len(columns.labels)} names for {len(scaling.mean)} columns")


def _words(names: object, n_words: int) -> dict[str, int] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != n_words or not all(isinstance(word, str) for word in names):
        raise ValueError(f"words: expected a list of {n_words} texts")
    return {word: place for place, word in enumerate(names)}


def _splitting(saved: dict[str, Any]) -> Splitting:
    """The rules of a file; its patterns are searched in bounded time."""
    low, high = saved["ngram_range"]
    check_whole("ngram_range", low)
    check_whole("ngram_range", high, least=low)
    check_tokenizer(saved["tokenizer"], of_file=True)
    make_tokenizer(saved["tokenizer"], saved["token_pattern"])
    texts = [*saved["stop_words"], *saved["phrases"]]
    if type(saved["lowercase"]) is not bool or high > _LONGEST_NGRAM or not all(isinstance(one, str) for one in texts):
        raise ValueError("splitting: the rules are not those of a vectorizer")
    return Splitting(
        saved["lowercase"], saved["token_pattern"], saved["tokenizer"], saved["stem"], frozenset(saved["stop_words"]),
        (low, high), Phrases(saved["phrases"]),
    )  # fmt: skip


def _temperature(numbers: np.ndarray) -> Temperature:
    found = Temperature(*map(float, numbers))
    if not (0 < found.level <= _LARGEST and 0 <= found.power <= 1 and 0 <= found.weight <= 1):
        raise ValueError(f"temperature: got {found}, expected a level > 0, and a power and a weight from 0 to 1")
    return found
