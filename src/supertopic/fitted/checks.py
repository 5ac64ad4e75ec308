"""What a model file may hold. Every array has a declared shape, type and range, whatever the file's checksum says.

`save` and `load` make the same checks, so that what one writes the other reads. Kernels trust their arrays: an array of
another shape than its parameters say would make them read memory that is not theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from supertopic.checks import check_choice, check_number, check_whole, is_text
from supertopic.documents.labels import Target, require_order
from supertopic.fitted.certainty.figures import N_FIGURES
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.spec import Schema
from supertopic.inference.methods import Method
from supertopic.model import MixtureState
from supertopic.priors.base import SharePrior
from supertopic.responses.base import LARGEST_COEF, known_moment, registry
from supertopic.responses.several import parts_of
from supertopic.responses.temperature import Heat

LARGEST = 1e30  # of a number: its square is still one
SMALLEST = 1e-37  # of a number that has to be positive: a smaller one is zero in single precision
LONGEST_NGRAM = 32
_AT_LEAST = {
    "max_iter": 0, "max_doc_iter": 1, "batch_size": 1, "total_documents": 1, "n_init": 1, "burn_in": 0, "thin": 1,
    "n_chains": 1, "ensemble": 1,
}  # fmt: skip
_MOST = 2**53  # of a whole number: all below have a float of their own
_NUMBERS = {"tol", "doc_tol", "learning_delay", "learning_decay", "validation_fraction"}
_FLAGS = {"refit", "words", "per_token", "warm_start", "collapsed", "concentrate", "fit_intercept"}
_SUM_TOLERANCE = 1e-3  # of shares in single precision


@dataclass(frozen=True)
class Shape:
    """What an array has to be.

    Letters of `shape` are sizes that follow from the model: V words, K topics of a document, T topics in all, W columns
    of the emission's parameters, C columns of the response, N coefficients of a column, U those of users, Q numbers of
    the dispersion, P covariates, M responses, B means: one
    for each number, one for each class. Other letters stand for any size, the same one in all arrays of a file.
    """

    shape: str
    types: tuple[str, ...] = ("float64",)
    least: float = -LARGEST
    most: float = LARGEST
    sums: bool = False  # whether rows sum to one
    finite: bool = True


_SINGLE, _EITHER, _WHOLE = ("float32",), ("float32", "float64"), ("int32", "int64")
_COEF = Shape("CN", _SINGLE, least=-LARGEST_COEF, most=LARGEST_COEF)
_SUMS = Shape("CNN", least=-1e200, most=1e200)  # over documents, of numbers up to exp(300)

ARRAYS = {
    "state.word_topic": Shape("VW", _SINGLE),
    "state.alpha": Shape("*"),  # what the prior on shares says
    "state.coef": _COEF,
    "state.coef_cov": Shape("cKK", _SINGLE),
    "state.gram": _SUMS,
    "state.cross": Shape("CN", least=-1e200, most=1e200),
    "state.information": _SUMS,
    "state.dispersion": Shape("Q"),
    "state.shares": Shape("K", least=SMALLEST),
    "state.epsilon": Shape("1", least=SMALLEST),
    "trace": Shape("i", least=-np.inf, finite=False),
    "doc_topic": Shape("DT", _EITHER, least=0.0, sums=True),
    "doc_covariates": Shape("DP", _SINGLE),
    "average": Shape("K", least=0.0),
    "prior_error": Shape("LK", least=0.0),
    "stayed": Shape("K", least=0.0, most=1.001),
    "words.coef": Shape("CV", _EITHER),
    "words.scale": Shape("V", least=0.0),
    "members.topics": Shape("gVW", _SINGLE),
    "members.coef": replace(_COEF, shape="gCN"),
    "certainty.levels": Shape("Mq", least=0.0, finite=False),
    "certainty.knots": Shape("M2k"),
    "certainty.widths": Shape("M2k", least=-50.0, most=50.0),
    "certainty.coef_cov": _SUMS,
    "certainty.topic_error": Shape("C", least=1.0),
    "certainty.heat": Shape("M3"),
    "certainty.zero": Shape("C"),
    "certainty.scaling": Shape("z"),
    "seen.ends": Shape("22", least=0.0),
    "seen.frequent": Shape("V", ("bool",)),
    "seen.unknown": Shape("1", least=0.0, most=1.0),
    "others.coef": Shape("aCN", _SINGLE),
    "others.similar": Shape("aK", _SINGLE, least=-1.0),
    "left_out.rows": Shape("l", _WHOLE, least=0.0),
    "left_out.fold": Shape("l", _WHOLE, least=0.0),
    "left_out.group": Shape("l", _WHOLE),
    "left_out.y": Shape("lM", finite=False),
    "left_out.means": Shape("lB", _SINGLE),
    "certainty.figures": Shape("Mf", finite=False),
    "climb.logits": Shape("VW", _SINGLE),
    "climb.mean": Shape("VW", _SINGLE),
    "climb.square": Shape("VW", _SINGLE),
    "climb.average": Shape("VW", _SINGLE),
    "climb.steps": Shape("1", _WHOLE, least=0.0),
    "duals.dual": Shape("DC"),
    "duals.support": Shape("D", ("bool",)),
    "duals.n_support": Shape("s", _WHOLE, least=0.0),
    "draws.alpha": Shape("*"),
    "draws.coef": Shape("dCU"),
    "draws.intercept": Shape("dC"),
    "draws.coef_scale": Shape("d", finite=False),
    "draws.dispersion": Shape("dQ"),
    "draws.inclusion": Shape("CN", least=0.0),
    "draws.best_inclusion": Shape("CN", least=0.0),
    "draws.log_joint": Shape("j", least=-np.inf, finite=False),
    "more.log_shares": Shape("G"),
    "more.background": Shape("V"),
    "more.eta_data": Shape("e", _SINGLE),
    "more.eta_indices": Shape("e", _WHOLE, least=0.0),
    "more.eta_indptr": Shape("r", _WHOLE, least=0.0),
    "more.combinations": Shape("AF", ("int64",), least=0.0),
    "more.shares": Shape("A", least=SMALLEST),
    "more.region_mean": Shape("A2"),
    "more.region_cov": Shape("A22"),
    "more.region_posterior": Shape("DA", _EITHER, least=0.0, sums=True),
}
TOGETHER = ("words", "members", "climb", "duals", "left_out", "others", "seen")  # groups of arrays that belong together
PAIRS = (
    ("certainty.heat", "certainty.zero"), ("certainty.knots", "certainty.widths"), ("draws.coef", "draws.intercept"),
    ("draws.coef", "draws.dispersion"),
)  # fmt: skip
_UNKNOWN = Shape("*", ("float64", "float32", "int64", "int32", "bool"))


def check_fitted(fitted: Fitted, arrays: Mapping[str, np.ndarray], n_topics: int) -> None:
    """Refuse arrays that do not fit the model, each other, or their declared range, and numbers that predict none.

    arrays : all of the fitted model, by name; n_topics : of the columns of `doc_topic`
    """
    check_arrays(fitted, arrays, n_topics)
    _check_topics(fitted)
    _check_seeds(fitted)
    _check_response(fitted)
    if fitted.vocabulary.vectorizer is not None:
        _check_vectorizer(fitted.vocabulary.vectorizer, fitted.vocabulary.n_words)


def check_arrays(fitted: Fitted, arrays: Mapping[str, np.ndarray], n_topics: int) -> None:
    """Refuse arrays that do not fit the model, each other, or their declared range."""
    model, state, sizes = fitted.spec.model, fitted.state, _sizes(fitted, n_topics)
    if isinstance(state, MixtureState) != model.one_topic:
        raise ValueError("state.shares are there for a model whose documents have several topics, or missing")
    _check_prior(model.doc_topic_prior, arrays)
    for group in TOGETHER:
        here = {name for name in arrays if name.startswith(f"{group}.")}
        if here and here != {name for name in ARRAYS if name.startswith(f"{group}.")}:
            raise ValueError(f"the arrays of {group} belong together, and one of them is missing")
    for pair in PAIRS:
        if (pair[0] in arrays) != (pair[1] in arrays):
            raise ValueError(f"{pair[0]} and {pair[1]}: one of them is missing")
    for name, array in arrays.items():
        if name not in ARRAYS and not name.startswith(("draws.", "state.")):
            raise ValueError(f"the array {name!r:.60} is none of a {fitted.spec.name}")
        _check(name, array, ARRAYS.get(name, _UNKNOWN), sizes)
    if "doc_topic" not in arrays and sizes["T"] != sizes["K"]:
        raise ValueError("the array doc_topic is missing")
    if sizes.get("D") == 0:
        raise ValueError("there are arrays of documents, but no documents")
    if sizes["c"] not in (0, sizes["C"]):
        raise ValueError(f"state.coef_cov has {sizes['c']} matrices, expected {sizes['C']} or none")
    if "state.epsilon" in arrays and float(arrays["state.epsilon"][0]) > 1:
        raise ValueError("state.epsilon holds a number above 1")


def _check_prior(prior: SharePrior, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse parameters of the prior on topic shares of another shape, or that make no alpha."""
    shape = prior.start.shape
    for name, expected in (("state.alpha", shape), ("draws.alpha", (None, *shape)), ("prior_error", shape)):
        found = arrays.get(name)
        if found is None:
            continue
        if found.ndim != len(expected) or found.shape[-len(shape) :] != shape or found.dtype != np.float64:
            raise ValueError(f"{name} has the shape {found.shape}, expected {shape} as the prior on topic shares")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} holds NaN or infinity")
        if name != "prior_error":
            prior.check(found)


def _check_seeds(fitted: Fitted) -> None:
    """Refuse pseudo-counts of words or topics that are not there."""
    seeds = fitted.spec.schema.seeds
    if seeds is None:
        return
    limits = {"words": fitted.vocabulary.n_words, "topics": fitted.n_topics, "counts": 1 << 40}
    for name, most in limits.items():
        found = getattr(seeds, name)
        if found.dtype != np.int64 or found.shape != seeds.words.shape or found.ndim != 1:
            raise ValueError(f"the seed words have {name} of another shape or type")
        if len(found) and not 0 <= found.min() <= found.max() < most:
            raise ValueError(f"the seed words have {name} outside of their range")


def _check_topics(fitted: Fitted) -> None:
    """Refuse parameters of an emission that make no distributions over words."""
    if fitted.spec.model.emission.name != "dirichlet":
        require_weights(fitted.weights, axis=1)
    elif float(fitted.state.word_topic.min(initial=0.0)) < 0:
        raise ValueError("state.word_topic holds a negative number")


def require_weights(weights: np.ndarray, axis: int) -> None:
    """p(word | topic): finite, and every word is possible in some topic."""
    most = weights.max(axis=axis, initial=0.0)
    if not (np.isfinite(most).all() and (most > 0).all() and float(weights.min(initial=0.0)) >= 0):
        raise ValueError("the topics are no distributions over the words")


def _check_response(fitted: Fitted) -> None:
    """Refuse coefficients or a dispersion that predict no number for a document of one topic."""
    response, state, heat = fitted.spec.response, fitted.state, fitted.certainty.heat
    if (n_groups := fitted.notes.get("n_groups")) is not None:
        check_whole("n_groups", n_groups, least=1)
    beside = fitted.notes.get("beside", {})
    if not isinstance(beside, dict) or not all(isinstance(name, str) for name in [*beside, *beside.values()]):
        raise ValueError("the names of the groups and times are no texts")
    if response.n_columns == 0:
        return
    if heat is not None:
        for numbers in heat.tolist():
            Heat(*numbers).check()
    if (figures := fitted.certainty.figures) is not None and figures.shape[1] != N_FIGURES:
        raise ValueError(f"certainty.figures has {figures.shape[1]} columns, expected {N_FIGURES}")
    if (knots := fitted.certainty.knots) is not None and (np.diff(knots) < 0).any():
        raise ValueError("certainty.knots holds numbers that do not ascend")
    score = fitted.topic_coef.T.astype(np.float64)
    moment = known_moment(score, response.is_product)
    drawn = fitted.draws.get("dispersion", state.dispersion)
    for part in parts_of(response):
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


def check_temperature(level: float, power: float, weight: float) -> None:
    """Refuse what is no temperature of probabilities."""
    if not (0 < level <= LARGEST and 0 <= power <= 1 and 0 <= weight <= 1):
        got = f"{level!r}, {power!r} and {weight!r}"
        raise ValueError(f"temperature: got {got}, expected a level > 0, and a power and a weight from 0 to 1")


def check_schema(schema: Schema, at_mode: bool) -> None:
    """Refuse targets, classes and columns that no fit has."""
    for target in schema.targets:
        _check_target(target)
    if len({target.name for target in schema.targets}) < len(schema.targets):
        raise ValueError("two of the targets have one name")
    if schema.classes is not None:
        check_classes(schema.classes)
    if len(schema.covariate_names) != len(schema.scaling.mean):
        raise ValueError(f"covariates: {len(schema.covariate_names)} names for {len(schema.scaling.mean)} columns")
    check_choice("counts", schema.counts, ("raw", "log") if at_mode or not schema.targets else ("raw",))
    if not isinstance(schema.supervision, float) or not 0 <= schema.supervision <= LARGEST:
        raise ValueError(f"supervision: got {schema.supervision!r:.40}, expected a number >= 0")
    tokens = [] if schema.tokens is None else list(schema.tokens)
    if len(tokens) not in (0, 3) or not all(type(one) is float and 0 <= one < np.inf for one in tokens):
        raise ValueError(f"tokens: got {tokens!r:.60}, expected three numbers >= 0")


def check_params(params: Mapping[str, Any]) -> None:
    """Refuse parameters outside their range, whether this fit reads them or not: a later one may."""
    method = params.get("inference")
    own = method.get_params(deep=False) if isinstance(method, Method) else {}
    for name, value in {**params, **own}.items():
        if name in _AT_LEAST:
            check_whole(name, value, least=_AT_LEAST[name], or_none=True)
            if value is not None and int(value) > _MOST:
                raise ValueError(f"{name}: got {float(value):g}, expected a whole number of at most {_MOST:,}")
        elif name in _NUMBERS and value is not None:
            check_number(name, value)
        elif name in _FLAGS and not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name}: got {value!r:.40}, expected True or False")
    weight, jobs = params.get("class_weight"), params.get("n_jobs")
    if not (weight is None or isinstance(weight, Mapping) or (isinstance(weight, str) and weight == "balanced")):
        raise ValueError(f"class_weight: got {weight!r:.40}, expected 'balanced' or a mapping of classes to weights")
    if jobs is not None and (not isinstance(jobs, Integral) or int(jobs) == 0):
        raise ValueError(f"n_jobs: got {jobs!r:.40}, expected a whole number other than 0")


def _check_vectorizer(vectorizer: Any, n_features: int) -> None:
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


def _sizes(fitted: Fitted, n_topics: int) -> dict[str, int]:
    model, schema = fitted.spec.model, fitted.spec.schema
    columns = model.response.n_columns
    sizes = {"V": fitted.vocabulary.n_words, "K": int(model.n_topics), "T": n_topics, "C": columns}
    sizes |= {"N": int(model.n_topics) + model.n_covariates, "Q": model.response.n_dispersion}
    sizes["U"] = sizes["N"] - int(schema.constant)  # coefficients of users, whose intercept is none of them
    sizes |= {"P": len(schema.scaling.mean), "M": len(schema.targets)}
    sizes["B"] = sum(1 if one.classes is None else len(one.classes) for one in schema.targets)
    width = {"dirichlet": n_topics, "sage": 2 * n_topics + 1}.get(model.emission.name)
    return sizes if width is None else {**sizes, "W": width}


def _check(name: str, array: np.ndarray, spec: Shape, sizes: dict[str, int]) -> None:
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


def _check_target(target: Target) -> None:
    known = registry().get(target.response) if isinstance(target.response, str) else None
    if known is None or not isinstance(target.name, str) or not isinstance(target.link, str):
        raise ValueError(f"a target has the response {target.response!r:.40}, which this version does not know")
    if known.kind == ("class" if target.classes is None else "number"):
        raise ValueError(f"the target {target.name!r:.40} has classes where it has numbers, or the other way round")
    if target.classes is not None:
        check_classes(target.classes)
        if known.two_classes and len(target.classes) > 2:
            raise ValueError(f"the response {target.response!r} has {len(target.classes)} classes, expected two")
        if known.ordered:
            require_order(target.classes, target.response)
    for name, value in target.options.items():
        number = isinstance(value, int | float) and 0 <= value <= LARGEST
        if not number and value not in ("n", "1"):
            raise ValueError(f"the target's option {name!r:.40} is {value!r:.40}, expected a number >= 0")


def check_classes(classes: np.ndarray, least: int = 2) -> None:
    """Classes are sorted, since their places are found by bisection."""
    if classes.ndim != 1 or classes.dtype.kind not in "iufbU" or len(classes) < least:
        raise ValueError("the classes are not a list of numbers or of texts")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("one of the classes is no finite number")
    if classes.dtype.kind == "U" and not all(map(is_text, classes)):
        raise ValueError("one of the classes is no text, but half of a character")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not sorted, or one of them is there twice")
