"""Every cell of the grid: emission × response × prior × inference, over every estimator.

A cell either fits a tiny corpus, predicts finite numbers and gives the same predictions after it was saved and loaded,
or it refuses with one sentence before any work is done. `refusal` is the whole list of what is refused.

`make test` runs all cells that are refused, and so many of those that fit that any two choices meet. `make test-all`
and `pytest tests/test_grid.py` run every cell.
"""

import re
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

import supertopic
from supertopic import SVI, VB, Gibbs, load
from supertopic.inference import task
from supertopic.responses.base import registry
from tests.cases import cases

N_DOCUMENTS, N_WORDS, N_NEW = 36, 15, 7
EMISSIONS, PRIORS, ALPHAS = ("dirichlet", "sage"), ("flat", "normal", "laplace"), (0.3, "symmetric", "auto")
NUMBERS = [name for name, kind in registry().items() if kind.kind == "number"]
CLASSES = [name for name, kind in registry().items() if kind.kind == "class"]
CANONICAL = [name for name in NUMBERS if "canonical" in getattr(registry()[name], "links", ())]
SEVERAL = ["gamma", "ordinal"]
STEPS = {"vb": 2, "cvb0": 2, "svi": 1, "gibbs": 6, "pc": 1}


# --- the corpus -----------------------------------------------------------------------------------------------------


@cache
def counts():
    """Documents of three topics with five words each; one document is empty."""
    rng = np.random.default_rng(4)
    topics = np.repeat(np.eye(3), 5, axis=1) / 5 * 0.8 + 0.2 / N_WORDS
    shares = rng.dirichlet(np.full(3, 0.5), size=N_DOCUMENTS)
    found = np.stack([rng.multinomial(14, row @ topics) for row in shares])
    found[3] = 0
    return found


def labels(kind):
    """y that follows the words; some of it is missing."""
    score = (counts()[:, :5].sum(1) - counts()[:, 5:10].sum(1)) / 5.0
    if kind == "several":
        return pd.DataFrame({name: labels(kind_of(name)) for name in SEVERAL})
    if kind == "places":
        return np.column_stack([40 + 5 * score, -90 + np.arange(N_DOCUMENTS) % 7.0])
    y = {
        "two classes": score > 0,
        "classes": np.digitize(score, [-0.6, 0.6]),
        "count": np.round(np.exp(0.5 * score)),
        "positive": np.exp(0.5 * score) + 0.1,
        "number": score,
    }[kind].astype(np.float64)
    y[::9] = np.nan
    return y


def kind_of(response):
    """The kind of y that a response is for."""
    one = registry()[response]
    if one.kind == "class":
        return "two classes" if one.two_classes else "classes"
    return {"poisson": "count", "negative_binomial": "count", "gaussian": "number"}.get(response, "positive")


# --- the cells: name → (estimator, kind of y, parameters) -------------------------------------------------------------


def engine_of(params):
    asked = params.get("inference", "vb")
    return getattr(asked, "name", asked)


def unsupervised():
    for engine, alpha, sampler in product(("vb", "cvb0", "svi", "gibbs"), ALPHAS, ("collapsed", "partial")):
        if sampler == "collapsed" or engine == "gibbs":
            yield (
                "LDA",
                None,
                {"inference": Gibbs(sampler=sampler) if engine == "gibbs" else engine, "doc_topic_prior": alpha},
            )
    for engine in ("vb", "cvb0", "svi", "gibbs"):
        yield "LDA", None, {"inference": engine, "topic_word_prior": 0.0}
    for engine, alpha in product(("vb", "svi", "gibbs"), (1.0, "auto")):
        yield "MixtureOfCategoricals", None, {"inference": engine, "doc_topic_prior": alpha}
    for engine, prior, alpha in product(("vb", "svi"), ("jeffreys", "exponential"), ALPHAS):
        yield "SAGETopics", None, {"inference": engine, "prior": prior, "doc_topic_prior": alpha}
    for epsilon, alpha in product(("auto", 0.5), (0.5, "auto")):
        yield "HTMM", None, {"epsilon": epsilon, "doc_topic_prior": alpha}


def of_classes():
    for prior, background, damped in product(("jeffreys", "exponential"), ("fitted", "corpus"), ("raw", "log")):
        yield "SAGEClassifier", "classes", {"prior": prior, "background": background, "counts": damped}
    for prior, alpha, n_shared in product(("empirical", "uniform"), ALPHAS, (0, 2)):
        params = {"class_prior": prior, "doc_topic_prior": alpha, "n_class_topics": 1, "n_shared_topics": n_shared}
        yield "DiscLDAClassifier", "classes", {**params, "cross_fit": 0}
    for prior, background, interactions in product(("jeffreys", "exponential"), ("fitted", "corpus"), (None, ())):
        yield "FacetedSAGE", "classes", {"prior": prior, "background": background, "interactions": interactions}
        params = {"prior": prior, "background": background, "interactions": interactions is None, "n_regions": 2}
        yield "GeoSAGE", "places", params


def slda():
    for emission, prior, engine in product(EMISSIONS, PRIORS, ("vb", "svi", "gibbs", "pc")):
        shared = {"emission": emission, "coef_prior": prior, "inference": engine, "cross_fit": 0}
        for name in NUMBERS:
            yield "SLDARegressor", kind_of(name), {"response": name, **shared}
        for name in CANONICAL:
            yield "SLDARegressor", kind_of(name), {"response": f"{name}:canonical", **shared}
        for name in CLASSES:
            yield "SLDAClassifier", kind_of(name), {"response": name, **shared}
        yield "SLDAClassifier", "two classes", {"response": "softmax", **shared}
        yield "TopicModel", "several", {"response": SEVERAL, **shared}
    for alpha, engine in product(("symmetric", "auto"), ("vb", "svi", "gibbs", "pc")):
        yield "SLDARegressor", "number", {"doc_topic_prior": alpha, "inference": engine, "cross_fit": 0}
    for name, engine in product(NUMBERS + CLASSES, (VB, SVI)):
        kind = "SLDARegressor" if name in NUMBERS else "SLDAClassifier"
        yield kind, kind_of(name), {"response": name, "inference": engine(per_token=True), "cross_fit": 0}


def margins():
    for emission, prior, engine, exact in product(EMISSIONS, PRIORS, ("vb", "cvb0", "gibbs"), (False, True)):
        shared = {"emission": emission, "coef_prior": prior, "inference": engine, "exact": exact}
        for likelihood in ("slda", "lda"):
            yield "MedLDARegressor", "number", {"likelihood": likelihood, "C": 1.0, **shared}
        for kind, slack in product(("two classes", "classes"), ("n", "1")):
            yield "MedLDAClassifier", kind, {"slack": slack, "cross_fit": 0, **shared}
    for kind, budget, collapsed in product(("number", "two classes", "classes"), (None, 2), (True, False)):
        name = "SSTMRegressor" if kind == "number" else "SSTMClassifier"
        for concentrate in (True, False):
            yield name, kind, {"max_nonzero": budget, "collapsed": collapsed, "concentrate": concentrate}
    yield "SSTMRegressor", "number", {"coef_scale": 0.5, "sigma": 0.7, "topic_word_prior": "auto"}
    yield "SSTMClassifier", "two classes", {"coef_scale": 0.5, "sigma": 2.0, "fit_intercept": True}


def name_of(cell):
    kind, y, params = cell
    shown = [y or ""] + [
        key if value is True else f"{key}={value}" if key in ("exact", "doc_topic_prior") else str(value)
        for key, value in params.items()
        if value not in (False, None) and key not in ("cross_fit", "C") and not isinstance(value, list)
    ]
    return " ".join([kind, *filter(None, shown)])


CELLS = {name_of(cell): cell for cells in (unsupervised, of_classes, slda, margins) for cell in cells()}


def refusal(kind, y, params):
    """How the sentence of a refused cell begins; None for a cell that fits."""
    engine, has = params.get("inference"), params.get
    if has("exact") and (engine != "vb" or has("emission") != "dirichlet"):
        return "exact: got True, which needs inference='vb' and emission='dirichlet'"
    if kind.startswith("MedLDA") and has("coef_prior") == "flat":
        return "coef_prior: got 'flat', expected 'normal' or 'laplace'"
    if has("coef_prior") == "laplace" and has("likelihood") == "slda":
        return "coef_prior: got 'laplace' with likelihood='slda'"
    if str(has("response")).endswith(":canonical") and engine == "gibbs":
        return f"inference: got 'gibbs', which has no sampler for response='{has('response')}'"
    if has("emission") == "sage" and engine in ("gibbs", "pc"):
        return f"inference: got '{engine}', which needs Dirichlet topics, but the emission is 'sage'"
    if has("per_token") and engine == "pc":
        return "per_token: got True, but inference='pc' infers topics without y"
    if has("doc_topic_prior") in ("auto", "symmetric"):
        if engine == "pc":
            return "doc_topic_prior: inference='pc' does not learn it"
        if kind in ("MixtureOfCategoricals", "HTMM"):
            return "doc_topic_prior: got 'auto', expected a positive number"
    if has("topic_word_prior") == 0 and engine == "gibbs":
        return "topic_word_prior: got 0, but inference='gibbs' needs a number > 0"
    return None


def pairs_of(kind, y, params):
    """All pairs of choices that a cell makes: estimator, kind of y, parameters."""
    choices = {"estimator": kind, "y": y, **params}
    return set(combinations(sorted((name, str(value)) for name, value in choices.items()), 2))


def pairwise(pairs):
    """Names of a few cells that have all the pairs: each next one has the most that are missing."""
    missing, chosen = set().union(*pairs.values()), []
    while missing:
        chosen.append(max(pairs, key=lambda name: len(pairs[name] & missing)))
        missing -= pairs[chosen[-1]]
    return chosen


FITS = {name: pairs_of(*cell) for name, cell in CELLS.items() if refusal(*cell) is None}
IN_SHORT = (CELLS.keys() - FITS.keys()).union(pairwise(FITS))


def test_any_two_choices_meet_in_a_cell_of_the_short_run():
    assert set().union(*(FITS.get(name, ()) for name in IN_SHORT)) == set().union(*FITS.values())
    short = [CELLS[name] for name in FITS.keys() & IN_SHORT]
    assert 100 < len(short) < len(FITS) / 3
    engines = {(str(params.get("response")), engine_of(params)) for _, _, params in short}
    assert engines >= set(product([*NUMBERS, *CLASSES], ("vb", "svi", "gibbs", "pc")))


# --- what every cell has to do ----------------------------------------------------------------------------------------


def estimator(kind, params):
    model = getattr(supertopic, kind)(random_state=1) if kind != "SAGEClassifier" else supertopic.SAGEClassifier()
    known = model.get_params()
    engine = engine_of(params)
    size = {"n_topics": 3, "max_iter": STEPS[engine]}
    if kind.startswith("SSTM"):
        size["max_iter"] = 6
    model.set_params(**{name: value for name, value in size.items() if name in known}, **params)
    return (
        model.set_params(inference__burn_in=1, inference__thin=1)
        if "gibbs" in (engine, known.get("inference"))
        else model
    )


def predictions(model, X):
    """All numbers that a model tells about new documents, by method."""
    found = {"transform": model.transform(X)}
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            values = getattr(model, name)(X)
            found[name] = np.hstack(list(values.values())) if isinstance(values, dict) else np.asarray(values)
    return found


def as_documents(kind, counts):
    """Counts, or texts for HTMM, which splits them into sentences."""
    if kind != "HTMM":
        return counts
    words = [np.repeat(np.arange(N_WORDS), row) for row in counts]
    return [". ".join(f"w{word:02}" for word in document) for document in words]


@pytest.fixture
def steps(monkeypatch):
    """Steps of engines that were done."""
    done = []
    monkeypatch.setattr(task.Watch, "step", lambda self, count, /, *args, **more: done.append(count))
    return done


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(CELLS, IN_SHORT))
def test_cell(name, steps, tmp_path):
    kind, y, params = CELLS[name]
    expected, model = refusal(kind, y, params), estimator(kind, params)
    X, y = as_documents(kind, counts()), None if y is None else labels(y)
    if expected is not None:
        with pytest.raises(ValueError, match=re.escape(expected)) as caught:
            model.fit(X, y)
        assert not steps and "\n" not in str(caught.value)
        return
    model.fit(X, y)
    new = as_documents(kind, counts()[:N_NEW][::-1])
    found = predictions(model, new)
    for values in found.values():
        assert len(values) == N_NEW and np.isfinite(values.astype(np.float64)).all()
    path = tmp_path / "cell.supertopic"
    model.save(path)
    for key, values in predictions(load(path), new).items():
        np.testing.assert_array_equal(values, found[key])
