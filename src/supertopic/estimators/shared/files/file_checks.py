"""What a model file may hold. Every array has a declared shape, type and range, whatever the file's checksum says.

`save` and `load` make the same checks, so that what one writes the other reads. Kernels trust their arrays: an array of
another shape than its parameters say would make them read memory that is not theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from supertopic.checks import check_number, check_whole, is_text
from supertopic.model import MixtureState, Model, State
from supertopic.responses.base import registry
from supertopic.responses.several import parts_of

LARGEST = 1e30  # of a number: its square is still one
SMALLEST = 1e-37  # of a number that has to be positive: a smaller one is zero in single precision
LONGEST_NGRAM = 32
_SUM_TOLERANCE = 1e-3  # of shares in single precision


@dataclass(frozen=True)
class Spec:
    """What an array has to be.

    Letters of `shape` are sizes that follow from the model: V words, K topics of a document, T topics in all, W columns
    of the emission's parameters, C columns of the response, N coefficients of a column, Q numbers of the dispersion.
    Other letters stand for any size, the same one in all arrays of a file.
    """

    shape: str
    types: tuple[str, ...] = ("float64",)
    least: float = -LARGEST
    most: float = LARGEST
    sums: bool = False  # whether rows sum to one
    finite: bool = True
    needed: bool = True


_SINGLE, _EITHER, _WHOLE = ("float32",), ("float32", "float64"), ("int32", "int64")
_SUMS = Spec("CNN", least=-1e200, most=1e200)  # over documents, of numbers up to exp(300)

STATE = {
    "word_topic": Spec("VW", _SINGLE),
    "alpha": Spec("K", least=SMALLEST),
    "coef": Spec("CN", _SINGLE),
    "coef_cov": Spec("cKK", _SINGLE),
    "gram": _SUMS,
    "cross": Spec("CN", least=-1e200, most=1e200),
    "information": _SUMS,
    "dispersion": Spec("Q"),
    "shares": Spec("K", least=SMALLEST),
    "epsilon": Spec("1", least=SMALLEST),
}
KEPT = {
    "bound_": Spec("i", least=-np.inf, finite=False),
    "doc_topic_": Spec("DT", _EITHER, least=0.0, sums=True, needed=False),
    "_average": Spec("K", least=0.0, needed=False),
    "_word_coef": Spec("CV", _EITHER, needed=False),
    "_word_scale": Spec("V", least=0.0, needed=False),
    "_conformal": Spec("mq", least=0.0, finite=False, needed=False),
    "_topic_error": Spec("C", least=1.0, needed=False),
    "_softmax_heat": Spec("m2", needed=False),
    "_softmax_zero": Spec("C", needed=False),
    "_member_topics": Spec("gVW", _SINGLE, needed=False),
    "_member_coef": Spec("gCN", _SINGLE, needed=False),
    "_scaled": Spec("z", needed=False),
    "_climb": Spec("4VW", _SINGLE, needed=False),
    "_climb_steps": Spec("1", _WHOLE, least=0.0, needed=False),
    "dual_coef_": Spec("DC", needed=False),
    "_support": Spec("D", ("bool",), needed=False),
    "n_support_": Spec("s", _WHOLE, least=0.0, needed=False),
    "background_": Spec("V"),
    "_eta_data": Spec("e", _SINGLE),
    "_eta_indices": Spec("e", _WHOLE, least=0.0),
    "_eta_indptr": Spec("r", _WHOLE, least=0.0),
    "_combinations": Spec("AF", ("int64",), least=0.0),
    "_shares": Spec("A", least=SMALLEST),
    "_region_mean": Spec("A2"),
    "_region_cov": Spec("A22"),
    "region_posterior_": Spec("DA", _EITHER, least=0.0, sums=True, needed=False),
}
DRAWS = {
    "alpha": Spec("aK", least=SMALLEST),
    "coef": Spec("dCU"),
    "intercept": Spec("dC"),
    "coef_scale": Spec("d", finite=False),
    "dispersion": Spec("dQ"),
    "inclusion": Spec("CN", least=0.0),
    "best_inclusion": Spec("CN", least=0.0),
    "log_joint": Spec("j", least=-np.inf, finite=False),
}
_UNKNOWN = Spec("*", ("float64", "float32", "int64", "int32", "bool"), needed=False)


def check_arrays(estimator: Any, model: Model, kept: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays that do not fit the model, each other, or their declared range.

    estimator : with its parameters, State and draws
    kept : arrays of the estimator that are not part of the State
    """
    sizes = _sizes(estimator, model)
    if isinstance(estimator._state, MixtureState) != model.one_topic:
        raise ValueError("state.shares are there for a model whose documents have several topics, or missing")
    for name, array in estimator._state.arrays().items():
        _check(f"state.{name}", array, STATE.get(name, _UNKNOWN), sizes)
    own = (*getattr(estimator, "_kept_arrays", ()), "bound_", "doc_topic_")
    for name in own:
        needed = KEPT.get(name, _UNKNOWN).needed or (name == "doc_topic_" and sizes["T"] != sizes["K"])
        if name not in kept and needed:
            raise ValueError(f"the array {name} is missing")
    for name, array in kept.items():
        if name not in own:
            raise ValueError(f"the array {name!r:.60} is none of a {type(estimator).__name__}")
        _check(name, array, KEPT.get(name, _UNKNOWN), sizes)
    if ("_word_coef" in kept) != ("_word_scale" in kept):
        raise ValueError("the arrays _word_coef and _word_scale belong together")
    if ("_member_topics" in kept) != ("_member_coef" in kept):
        raise ValueError("the arrays _member_topics and _member_coef belong together")
    if ("_climb" in kept) != ("_climb_steps" in kept):
        raise ValueError("the arrays _climb and _climb_steps belong together")
    for name, array in estimator.draws_.items():
        _check(f"draws.{name}", array, DRAWS.get(name, _UNKNOWN), sizes)
    _check_covariance(estimator._state, sizes)


def check_topics(estimator: Any, model: Model) -> None:
    """Refuse parameters of an emission that make no distributions over words, or labels without components."""
    if model.emission.name == "dirichlet":
        if float(estimator._state.word_topic.min(initial=0.0)) < 0:
            raise ValueError("state.word_topic holds a negative number")
    else:
        _require_weights(estimator._weights(), axis=1)
    if hasattr(estimator, "_design"):
        _check_components(estimator)


def check_response(estimator: Any, model: Model) -> None:
    """Refuse coefficients or a dispersion that predict no number for a document of one topic."""
    if model.response.n_columns == 0:
        return
    _check_heat(estimator, len(parts_of(model.response)))
    state = estimator._state
    score = state.coef[:, : model.n_topics].T.astype(np.float64)
    moment = np.where(model.response.is_product, np.exp(np.minimum(score, 300.0)), score**2)
    drawn = estimator.draws_.get("dispersion", state.dispersion)
    for part in parts_of(model.response):
        for dispersion in (state.dispersion, drawn):
            part.response.check_dispersion(dispersion[..., part.numbers])
        given = (score[:, part.columns], moment[:, part.columns], state.dispersion[part.numbers])
        with np.errstate(all="ignore"):
            found = np.asarray(part.response.predict(*given))
            if not np.isfinite(found).all():
                raise ValueError("state.coef and state.dispersion predict a number that is not finite")
            try:
                ends = part.response.interval(*given, 0.9)
            except TypeError:  # classes, and losses, have none
                ends = (found, found)
            if not (ends[0] <= ends[1]).all():
                raise ValueError("state.dispersion makes no intervals")


def _check_heat(estimator: Any, n_responses: int) -> None:
    """Refuse heats of a softmax (`certainty.softmax_heat`) that are not one for each response."""
    heat = getattr(estimator, "_softmax_heat", None)
    if (heat is None) != (getattr(estimator, "_softmax_zero", None) is None):
        raise ValueError("_softmax_heat and _softmax_zero: one of them is missing")
    if heat is not None and len(heat) != n_responses:
        raise ValueError(f"_softmax_heat: got {len(heat)} rows, expected {n_responses}")
    for level, power in () if heat is None else heat.tolist():
        _check_temperature(level, power)


def _check_temperature(level: float, power: float) -> None:
    if not (0 < level <= LARGEST and 0 <= power <= 1):
        raise ValueError(f"temperature: got {level!r} and {power!r}, expected a level > 0 and a power from 0 to 1")


def check_labels(estimator: Any) -> None:
    """Refuse classes, labels of facets and targets that no fit has."""
    for target in getattr(estimator, "_targets", ()):
        _check_target(target)
    if hasattr(estimator, "classes_"):
        of_columns = estimator.classes_.values() if isinstance(estimator.classes_, dict) else [estimator.classes_]
        for classes in of_columns:
            _check_classes(classes)
    labels = getattr(estimator, "labels_", {})
    for values in labels.values():
        _check_classes(values, least=1)
    known = ["topic", *labels]
    for names in getattr(estimator, "interactions_", ()):
        places = [known.index(name) for name in names]  # ValueError where there is no such name
        if len(places) < 2 or sorted(set(places)) != places:
            raise ValueError("the interactions are none of the facets")
    _check_temperature(*getattr(estimator, "temperature_", (1.0, 0.0)))
    if hasattr(estimator, "_log_shares"):
        shares = np.exp(estimator._log_shares)
        if shares.shape != estimator.classes_.shape or not abs(shares.sum() - 1.0) < _SUM_TOLERANCE:
            raise ValueError("log_shares are no shares of the classes")
    if hasattr(estimator, "_n_covariates"):
        own = len(estimator._scaling.mean) + bool(getattr(estimator, "_has_intercept", lambda: False)())
        if estimator._n_covariates != own:
            raise ValueError(f"n_covariates: got {estimator._n_covariates}, expected {own}, a constant included")
        if not 0 <= float(estimator.supervision_) <= LARGEST:
            raise ValueError(f"supervision: got {estimator.supervision_!r}, expected a number >= 0")


def check_params(estimator: Any) -> None:
    """Refuse parameters outside their range, as a fit does."""
    params = estimator.get_params(deep=False)
    _check_n_topics(estimator, params)
    jobs = params.get("n_jobs")
    if jobs is not None and (not isinstance(jobs, Integral) or int(jobs) == 0):
        raise ValueError(f"n_jobs: got {jobs!r:.40}, expected a whole number other than 0")
    if estimator.engines:
        estimator._engine().read(estimator)
    if hasattr(estimator, "_check"):
        estimator._check()
    if "word_weight" in params:
        check_number("word_weight", estimator.word_weight, above_zero=True)
    with estimator._backend(1):
        pass


def _check_n_topics(estimator: Any, params: Mapping[str, Any]) -> None:
    """The number of topics is that of the fit; a larger one would make arrays of any size."""
    there = len(estimator._state.alpha)
    if "n_topics" in params:
        check_whole("n_topics", estimator.n_topics)
        if int(estimator.n_topics) != there:
            raise ValueError(f"n_topics: got {estimator.n_topics}, but the model was fitted with {there}")
    if "n_class_topics" in params:
        check_whole("n_class_topics", estimator.n_class_topics)
        check_whole("n_shared_topics", estimator.n_shared_topics, least=0, or_none=True)
        if int(estimator.n_class_topics) + estimator._n_shared() != there:
            raise ValueError(f"n_class_topics, n_shared_topics: expected {there} in all, as in the fit")


def check_vectorizer(vectorizer: Any, n_features: int) -> None:
    """Refuse settings that would make the counting of words endless, and another number of words."""
    if not isinstance(vectorizer.lowercase, bool | np.bool_):
        raise ValueError(f"lowercase: got {vectorizer.lowercase!r:.40}, expected True or False")
    if vectorizer.ngram_range[1] > LONGEST_NGRAM:
        raise ValueError(f"ngram_range: got {vectorizer.ngram_range!r:.60}, expected at most {LONGEST_NGRAM} words")
    check_whole("n_documents", vectorizer.n_documents_, least=0)
    check_whole("n_pruned", vectorizer.n_pruned_, least=0)
    if len(vectorizer.vocabulary_) != n_features:
        raise ValueError(f"the vocabulary has {len(vectorizer.vocabulary_)} words, expected {n_features}")
    if not all(isinstance(word, str) for word in (*vectorizer.vocabulary_, *vectorizer.ignored_)):
        raise ValueError("the vocabulary holds something that is no text")


def n_doc_topics(estimator: Any, model: Model) -> int:
    """T, the columns of `doc_topic_`: a DiscLDA has more topics than a document of one class."""
    return int(estimator._structure().n_topics if hasattr(estimator, "_structure") else model.n_topics)


def _sizes(estimator: Any, model: Model) -> dict[str, int]:
    check_whole("n_features", estimator.n_features_in_)
    topics, columns = n_doc_topics(estimator, model), model.response.n_columns
    sizes = {"V": estimator.n_features_in_, "K": int(model.n_topics), "T": topics, "C": columns}
    sizes |= {"N": int(model.n_topics) + model.n_covariates, "Q": model.response.n_dispersion}
    apart = hasattr(estimator, "_has_intercept") and estimator._has_intercept() and estimator._constant_apart
    sizes["U"] = sizes["N"] - int(apart)  # coefficients of users, whose intercept is none of them
    width = {"dirichlet": topics, "sage": 2 * topics + 1}.get(model.emission.name)
    return sizes if width is None else {**sizes, "W": width}


def _check(name: str, array: np.ndarray, spec: Spec, sizes: dict[str, int]) -> None:
    if array.dtype.name not in spec.types:
        raise ValueError(f"{name} has the type {array.dtype}, expected {' or '.join(spec.types)}")
    if spec.shape != "*":
        expected = [int(letter) if letter.isdigit() else sizes.get(letter, -1) for letter in spec.shape]
        if array.ndim != len(expected) or any(e not in (-1, n) for e, n in zip(expected, array.shape, strict=True)):
            shown = ", ".join("any" if size == -1 else str(size) for size in expected)
            raise ValueError(f"{name} has the shape {array.shape}, expected ({shown})")
        sizes.update({one: n for one, n in zip(spec.shape, array.shape, strict=True) if not one.isdigit()})
    if not array.size or array.dtype.kind == "b":
        return
    low, high = float(array.min()), float(array.max())  # NaN where one is in the array
    if spec.finite and not (low >= -spec.most and high <= spec.most):
        raise ValueError(f"{name} holds NaN, infinity or a number beyond {spec.most:g}")
    if low < spec.least:
        raise ValueError(f"{name} holds {low:g}, expected numbers of at least {spec.least:g}")
    if spec.sums and np.abs(array.sum(axis=-1, dtype=np.float64) - 1.0).max() > _SUM_TOLERANCE:
        raise ValueError(f"{name} has rows that do not sum to one")


def _check_covariance(state: State, sizes: dict[str, int]) -> None:
    if sizes["c"] not in (0, sizes["C"]):
        raise ValueError(f"state.coef_cov has {sizes['c']} matrices, expected {sizes['C']} or none")
    if hasattr(state, "epsilon") and float(state.epsilon[0]) > 1:
        raise ValueError("state.epsilon holds a number above 1")


def _check_target(target: Any) -> None:
    known = registry().get(target.response) if isinstance(target.response, str) else None
    if known is None or not isinstance(target.name, str) or not isinstance(target.link, str):
        raise ValueError(f"a target has the response {target.response!r:.40}, which this version does not know")
    if known.kind == ("class" if target.classes is None else "number"):
        raise ValueError(f"the target {target.name!r:.40} has classes where it has numbers, or the other way round")
    if target.classes is not None:
        _check_classes(target.classes)
    for name, value in target.options.items():
        number = isinstance(value, int | float) and 0 <= value <= LARGEST
        if not number and value not in ("n", "1"):
            raise ValueError(f"the target's option {name!r:.40} is {value!r:.40}, expected a number >= 0")


def _check_classes(classes: np.ndarray, least: int = 2) -> None:
    """Classes are sorted, since their places are found by bisection."""
    if classes.ndim != 1 or classes.dtype.kind not in "iufbU" or len(classes) < least:
        raise ValueError("the classes are not a list of numbers or of texts")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("one of the classes is no finite number")
    if classes.dtype.kind == "U" and not all(map(is_text, classes)):
        raise ValueError("one of the classes is no text, but half of a character")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not sorted, or one of them is there twice")


def _check_components(estimator: Any) -> None:
    """The deviations of topics, labels and interactions: a sparse matrix with a row per component."""
    indptr, indices = estimator._eta_indptr, estimator._eta_indices
    n_words = estimator.n_features_in_
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
        raise ValueError("_eta_indptr does not cut _eta_data into rows")
    if int(indices.max(initial=0)) >= n_words:
        raise ValueError("_eta_indices holds a word beyond the vocabulary")
    combinations = getattr(estimator, "_combinations", None)
    if combinations is not None:
        sizes = [len(values) for values in estimator.labels_.values()]
        if combinations.shape[1] != len(sizes) or len(combinations) == 0 or np.any(combinations >= sizes):
            raise ValueError("_combinations are none of the facets' labels")
        if len(np.unique(combinations, axis=0)) < len(combinations):
            raise ValueError("_combinations holds one of them twice")
    else:
        _check_regions(estimator)
    design = estimator._design()
    if design.n_components != len(indptr) - 1:
        raise ValueError(f"the deviations have {len(indptr) - 1} rows, expected {design.n_components}")
    _require_weights(estimator._parts().tables(design).astype(np.float32), axis=0)


def _check_regions(estimator: Any) -> None:
    mean, cov = estimator._region_mean, estimator._region_cov
    if len(mean) == 0 or np.any(np.abs(mean) > (90.0, 180.0)):
        raise ValueError("_region_mean holds a latitude beyond 90 or a longitude beyond 180 degrees")
    if not np.allclose(cov, np.swapaxes(cov, 1, 2)) or np.linalg.eigvalsh(cov).min() <= 0:
        raise ValueError("_region_cov is no covariance")
    if abs(estimator._shares.sum() - 1.0) > _SUM_TOLERANCE:
        raise ValueError("_shares do not sum to one")


def _require_weights(weights: np.ndarray, axis: int) -> None:
    """p(word | topic): finite, and every word is possible in some topic."""
    most = weights.max(axis=axis, initial=0.0)
    if not (np.isfinite(most).all() and (most > 0).all() and float(weights.min(initial=0.0)) >= 0):
        raise ValueError("the topics are no distributions over the words")
