"""Example corpora: docstrings of installed packages, corpus folders, simulated documents."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pkgutil
import re
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.utils import Bunch

from supertopic.documents.corpus import as_corpus
from supertopic.documents.readers import read_table, text_column

__all__ = ["docstrings", "load", "simulate"]


def docstrings(packages: Iterable[str] = ("numpy", "scipy", "sklearn"), min_words: int = 20) -> Bunch:
    """Docstrings of the public functions, classes and methods of installed packages.

    The examples (``>>>`` and their output) are left out, because they are code and would form a topic of plt, plot
    and ax. A text that occurs twice (re-exported or inherited) is kept once.

    Parameters
    ----------
    packages : iterable of str
        Names of packages; those that are not installed are left out.
    min_words : int
        Shorter documents are left out.

    Returns
    -------
    Bunch
        text (list of str), package (array of str), n_parameters (array of int), name (list of str).

    Examples
    --------
    >>> from supertopic import datasets
    >>> docs = datasets.docstrings(["json"])
    >>> sorted(docs)
    ['n_parameters', 'name', 'package', 'text']
    """
    rows, seen = [], set()
    for package in packages:
        for name, thing in _public_things(package):
            text = _prose(thing)
            if len(text.split()) >= min_words and text not in seen:
                seen.add(text)
                rows.append((text, package, _n_parameters(thing), name))
    return Bunch(
        text=[row[0] for row in rows],
        package=np.array([row[1] for row in rows], dtype=object),
        n_parameters=np.array([row[2] for row in rows], dtype=np.int64),
        name=[row[3] for row in rows],
    )


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a corpus folder: `data.parquet` with a column `text`, or with `ids` and `counts` and a file `vocab.txt`.

    Parameters
    ----------
    name : str
        The folder's name.
    data_dir : path, optional
        The folder of the corpora; by default the environment variable SUPERTOPIC_DATA.

    Returns
    -------
    Bunch
        text (list of str) or counts (Corpus), and frame (the other columns).

    Examples
    --------
    >>> import os
    >>> import pandas as pd
    >>> from supertopic import datasets
    >>> os.makedirs("corpora/pets")
    >>> pd.DataFrame({"text": ["a cat", "a dog"]}).to_parquet("corpora/pets/data.parquet")
    >>> datasets.load("pets", "corpora").text
    ['a cat', 'a dog']
    """
    root = data_dir if data_dir is not None else os.environ.get("SUPERTOPIC_DATA")
    if not root:
        raise ValueError("Pass data_dir or set SUPERTOPIC_DATA to the folder that holds the corpora.")
    names = sorted(path.parent.name for path in Path(root).glob("*/data.parquet"))
    if name not in names:
        raise ValueError(f"There is no corpus {name!r}; expected one of {', '.join(names) or '(none are there)'}.")
    frame = read_table(Path(root) / name / "data.parquet")
    if "text" in frame:
        return Bunch(text=text_column(frame, "text"), frame=frame.drop(columns="text"))
    words = (Path(root) / name / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = np.array(words[:-1] if words[-1] == "" else words, dtype=object)
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in frame["ids"]])])
    parts = np.concatenate(frame["counts"].to_list()), np.concatenate(frame["ids"].to_list()), indptr
    corpus = as_corpus(sp.csr_matrix(parts, shape=(len(frame), len(vocabulary))))
    return Bunch(counts=replace(corpus, vocabulary=vocabulary), frame=frame.drop(columns=["ids", "counts"]))


def simulate(
    n_documents: int = 500, n_topics: int = 5, n_words: int = 200, mean_length: float = 80,
    doc_topic_prior: float | np.ndarray = 0.2, topic_word_prior: float = 0.05, response: str | None = None,
    coef: np.ndarray | None = None, dispersion: float | None = None, n_classes: int = 3, seed: int = 0,
    components: np.ndarray | None = None, word_coef: np.ndarray | None = None, by_theta: bool = False,
) -> Bunch:  # fmt: skip
    """θ_d ~ Dirichlet(α), z_dn ~ θ_d, w_dn ~ φ_z with φ_k ~ Dirichlet(β), and y_d ~ p(y | η·z̄_d + η₂·w_d).

    z̄_d are the shares of the topics among the drawn tokens, as in the sLDA paper, not θ_d (unless `by_theta`).

    Parameters
    ----------
    n_documents, n_topics, n_words : int
        How many there are.
    mean_length : float
        Mean of the document lengths, which are Poisson and at least 1.
    doc_topic_prior, topic_word_prior : float (or a vector of n_topics for the first)
        α and β.
    response : str, optional
        One of `RESPONSES`.
    coef : array of shape (n_topics,), or (n_classes, n_topics) for softmax, optional
        η; by default evenly spaced over the topics, or standard normal times 3 for softmax.
    dispersion : float, optional
        Variance (gaussian), failures (negative_binomial), shape (gamma, weibull), λ (inverse_gaussian).
    n_classes : int
        Number of classes, for softmax and ordinal.
    seed : int
        Of all draws.
    components : array of shape (n_topics, n_words), optional
        φ, instead of topics drawn from Dirichlet(β).
    word_coef : array of shape (n_words,), optional
        η₂, the coefficients of the word counts; zero by default.
    by_theta : bool
        Whether y_d depends on θ_d instead of z̄_d, as in the MedLDA paper's simulations.

    Returns
    -------
    Bunch
        counts (Corpus), components (φ), doc_topic (θ), topic_shares (z̄), alpha, coef, score (η·z̄ + η₂·w), y.

    Examples
    --------
    >>> from supertopic import datasets
    >>> data = datasets.simulate(50, n_topics=3, response="poisson")
    >>> data.doc_topic.shape, data.y.shape
    ((50, 3), (50,))
    """
    _check_simulation(n_documents, n_topics, n_words, mean_length, response)
    rng = np.random.default_rng(seed)
    alpha = np.broadcast_to(np.asarray(doc_topic_prior, dtype=float), (n_topics,))
    if components is None:
        components = rng.dirichlet(np.full(n_words, float(topic_word_prior)), size=n_topics)
    components = np.asarray(components, dtype=float)
    if components.shape != (n_topics, n_words):
        raise ValueError(f"components has shape {components.shape}; expected {(n_topics, n_words)}.")
    doc_topic = rng.dirichlet(alpha, size=n_documents)
    lengths = np.maximum(rng.poisson(mean_length, n_documents), 1)
    topic_counts = rng.multinomial(lengths, doc_topic)
    counts = sum(_draw_words(rng, topic_counts[:, k], components[k]) for k in range(n_topics))
    topic_shares = topic_counts / lengths[:, None]
    result = Bunch(
        counts=replace(as_corpus(counts), vocabulary=np.array([f"word{v}" for v in range(n_words)], dtype=object)),
        components=components,
        doc_topic=doc_topic,
        topic_shares=topic_shares,
        alpha=alpha,
    )
    if response is None:
        return result
    if coef is None:
        softmax_coef = response == "softmax"
        coef = 3 * rng.standard_normal((n_classes, n_topics)) if softmax_coef else np.linspace(-2, 2, n_topics)
    coef = np.asarray(coef, dtype=float)
    if coef.shape[-1] != n_topics:
        raise ValueError(f"coef has shape {coef.shape}; expected {n_topics} (n_topics) in the last place.")
    score = (doc_topic if by_theta else topic_shares) @ coef.T
    if word_coef is not None:
        if np.shape(word_coef) != (n_words,) or score.ndim != 1:
            raise ValueError(f"word_coef has shape {np.shape(word_coef)}; expected {(n_words,)}, and one score.")
        score = score + counts @ np.asarray(word_coef, dtype=float)
    y = RESPONSES[response](rng, score, dispersion, n_classes)
    return Bunch(**result, coef=coef, score=score, y=y)


def simulate_margin(
    setting: int, mean_length: float, n_documents: int = 2000, seed: int = 0, sharpness: float | None = None,
    doc_topic_prior: float = 1.0,
) -> Bunch:  # fmt: skip
    """Words from LDA, P(y = 1) = 1/(1 + exp(-η₁·θ_d - η₂·w_d)): the three settings of the MedLDA paper, §5.2.3.

    500 words, α = 1, φ_kv ∝ Uniform(0, 1). Setting 1: 40 topics, η₁ ~ N(0, 0.1), η₂ = 0. Setting 2: 150 topics,
    η₁, η₂ ~ N(0, 0.1). Setting 3: 150 topics, η₁ ~ 150·N(0, 0.1), η₂ ~ N(0, 0.1).

    Parameters
    ----------
    setting : {1, 2, 3}
    mean_length : float
        L.
    n_documents, seed : int
    sharpness : float, optional
        Factor of η₁, instead of 1 in settings 1 and 2 and 150 in setting 3. In setting 1 as the paper defines it, η₁·θ
        has standard deviation 0.05, and the best possible classifier has an accuracy of 0.52.
    doc_topic_prior : float
        α. With the paper's α = 1, words carry almost no information about θ: the topics are so similar that N words
        explain about N/(N + 3 K²) of the variance of a θ_k, which is 6 % for N = 300 and K = 40. With α = 1/K it is
        N/(N + 6 K), 56 %.

    Returns
    -------
    Bunch, as from `simulate`
    """
    if setting not in (1, 2, 3):
        raise ValueError(f"setting is {setting!r}; expected 1, 2 or 3.")
    n_topics, n_words = (40, 500) if setting == 1 else (150, 500)
    rng = np.random.default_rng([seed, setting])
    components = rng.random((n_topics, n_words))
    sharpness = (n_topics if setting == 3 else 1.0) if sharpness is None else sharpness
    coef, word_coef = sharpness * rng.normal(0, 0.1**0.5, n_topics), rng.normal(0, 0.1**0.5, n_words)
    return simulate(
        n_documents, n_topics, n_words, mean_length, doc_topic_prior, response="logit", coef=coef, seed=seed,
        components=components / components.sum(axis=1, keepdims=True), word_coef=None if setting == 1 else word_coef,
        by_theta=True,
    )  # fmt: skip


def _gaussian(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """y ~ N(s, σ²), σ² = 0.25."""
    return rng.normal(score, np.sqrt(0.25 if dispersion is None else dispersion))


def _logit(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """P(y = 1) = 1 / (1 + exp(-s))."""
    return (rng.random(score.shape) < expit(score)).astype(np.int64)


def _probit(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """P(y = 1) = Φ(s)."""
    return (score + rng.standard_normal(score.shape) > 0).astype(np.int64)


def _softmax(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """P(y = c) ∝ exp(s_c), with one score per class."""
    below = np.cumsum(softmax(score, axis=1), axis=1)[:, :-1]
    return (rng.random((len(score), 1)) > below).sum(axis=1)


def _ordinal(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, n_classes: int) -> np.ndarray:
    """y = the number of cut points below s + ε, ε ~ N(0, 1); the cut points are quantiles of the latent values."""
    latent = score + rng.standard_normal(score.shape)
    cuts = np.quantile(latent, np.arange(1, n_classes) / n_classes)
    return np.searchsorted(cuts, latent)


def _poisson(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """y ~ Poisson(exp(s))."""
    return rng.poisson(np.exp(score))


def _negative_binomial(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """p(y) ∝ Γ(y + r) / y! · p^y (1 - p)^r with log-odds s of p, so that the mean is r exp(s); r = 3."""
    return rng.negative_binomial(3.0 if dispersion is None else dispersion, expit(-score))


def _gamma(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """Mean exp(s), shape 3."""
    shape = 3.0 if dispersion is None else dispersion
    return rng.gamma(shape, np.exp(score) / shape)


def _inverse_gaussian(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """Mean exp(s), λ = 3: variance exp(3 s) / λ."""
    return rng.wald(np.exp(score), 3.0 if dispersion is None else dispersion)


def _weibull(rng: np.random.Generator, score: np.ndarray, dispersion: float | None, _: int) -> np.ndarray:
    """Scale exp(s), shape 2: P(y > t) = exp(-(t exp(-s))^shape)."""
    return np.exp(score) * rng.weibull(2.0 if dispersion is None else dispersion, score.shape)


RESPONSES: dict[str, Callable[..., np.ndarray]] = {
    "gaussian": _gaussian,
    "logit": _logit,
    "probit": _probit,
    "softmax": _softmax,
    "ordinal": _ordinal,
    "poisson": _poisson,
    "negative_binomial": _negative_binomial,
    "gamma": _gamma,
    "inverse_gaussian": _inverse_gaussian,
    "weibull": _weibull,
}


def _draw_words(rng: np.random.Generator, tokens: np.ndarray, topic: np.ndarray) -> sp.csr_matrix:
    """Draw the word counts of one topic, with tokens[d] tokens in document d."""
    words = rng.choice(len(topic), size=tokens.sum(), p=topic)
    documents = np.repeat(np.arange(len(tokens)), tokens)
    return sp.csr_matrix((np.ones(len(words)), (documents, words)), shape=(len(tokens), len(topic)))


def _check_simulation(n_documents: int, n_topics: int, n_words: int, mean_length: float, response: str | None) -> None:
    for name, value in {"n_documents": n_documents, "n_topics": n_topics, "n_words": n_words}.items():
        if not (isinstance(value, (int, np.integer)) and value > 0):
            raise ValueError(f"{name} is {value!r}; expected a positive integer.")
    if not mean_length > 0:
        raise ValueError(f"mean_length is {mean_length!r}; expected a positive number.")
    if response is not None and response not in RESPONSES:
        raise ValueError(f"response is {response!r}; expected None or one of {', '.join(RESPONSES)}.")


# modules that are private, deprecated, or have side effects on import
_SKIPPED = frozenset(
    [
        "conftest",
        "core",
        "distutils",
        "experimental",
        "externals",
        "f2py",
        "misc",
        "setup",
        "test",
        "testing",
        "tests",
    ]
)


def _public_things(package: str) -> Iterator[tuple[str, Any]]:
    """Yield names and objects of the functions, classes and methods of a package, in alphabetical order."""
    for module in _public_modules(package):
        for name in sorted(getattr(module, "__all__", None) or vars(module)):
            thing = None if name.startswith("_") else _quietly(lambda: getattr(module, name))  # noqa: B023
            home = getattr(thing, "__module__", None) or package  # ufuncs have none
            if not callable(thing) or isinstance(thing, types.ModuleType) or home.split(".")[0] != package:
                continue
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for method in sorted(vars(thing)):
                    if not method.startswith("_") and inspect.isroutine(vars(thing)[method]):
                        found = _quietly(lambda: getattr(thing, method))  # noqa: B023
                        if found is not None:  # a descriptor may refuse to be read off its class
                            yield f"{module.__name__}.{name}.{method}", found


def _public_modules(name: str, depth: int = 2) -> Iterator[types.ModuleType]:
    module = _quietly(lambda: importlib.import_module(name))
    if module is None:
        return
    yield module
    if depth and hasattr(module, "__path__"):
        for child in sorted(info.name for info in pkgutil.iter_modules(module.__path__)):
            if not child.startswith("_") and child not in _SKIPPED:
                yield from _public_modules(f"{name}.{child}", depth - 1)


def _quietly(make: Callable[[], Any]) -> Any:
    """Return the result, or None if a package is missing or a name is deprecated."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return make()
        except Exception:  # importing an optional module may raise anything
            return None


def _prose(thing: object) -> str:
    """Return the docstring without its examples and their output."""
    text = _quietly(lambda: inspect.getdoc(thing)) or ""
    return re.sub(r"^[ ]*>>>.*(?:\n[ ]*\S.*)*", "", text, flags=re.MULTILINE)


def _n_parameters(thing: Any) -> int:
    signature = _quietly(lambda: inspect.signature(thing))
    if signature is None:  # written in C: count the entries of the section Parameters
        text = _quietly(lambda: inspect.getdoc(thing)) or ""
        section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
        return len(re.findall(r"^\w[^\n:]* :", section[1], re.MULTILINE)) if section else 0
    names = [name for name, p in signature.parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return len(names) - (names[:1] == ["self"])
