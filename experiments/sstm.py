"""SSTM with few topics on BBC news (classes) and film reviews (ratings), compared with LDA and later selection.

Documents are split into two random halves, after dropping repeated texts. Settings are chosen in folds of the first
half (`settings`), and the second half is used once. The baseline, which fits LDA first and then selects topics, is the
pipeline of `experiments.few_topics`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from experiments.book import Outcome, reproduces
from experiments.drawing import side_by_side
from experiments.few_topics import FewLinear, FewLogistic, topics_first
from supertopic import Gibbs, SLDAClassifier, SLDARegressor, SSTMClassifier, SSTMRegressor, Vectorizer, datasets

POSITIVE = ("entertainment", "sport")
SWEEPS = 200
PAPER = {
    "coef_scale": 0.05,
    "sigma": 0.5,
    "coef_prior": "laplace",
    "fit_intercept": False,
}  # nu and sigma of its table 1
GRID = {"supervision": (1, 10), "doc_topic_prior": (0.1, 0.005)}
CHOSEN = {"supervision": 10, "doc_topic_prior": 0.005}  # by `settings`
NEWS = (
    "BBC news, entertainment and sport against politics, business and technology; repeated texts dropped, halves of "
    "1,063 and 1,064 documents, stop words and words of one document left out; ν = 0.05, σ = 0.5, β = 0.1 as in the "
    "paper, 200 sweeps; α = 0.005 and supervision 10 were chosen in folds of the first half (`sstm.settings`)"
)

CHAINS = (
    "each seed the most probable of four chains: in the folds the most probable of three had an error of 0.015, one "
    "chain 0.019 on average"
)


def sparse(n_topics: int, seed: int = 0, **params: Any) -> SSTMClassifier:
    """SSTM at the paper's nu, sigma and beta."""
    given = {"max_iter": SWEEPS, "inference": Gibbs(thin=2), **PAPER, **params}
    return SSTMClassifier(n_topics, random_state=seed, n_jobs=1, **given)


def counted(texts: np.ndarray, new: np.ndarray, **options: Any) -> tuple[Any, Any, np.ndarray]:
    """Return the counts of both over the vocabulary of the first, and this vocabulary."""
    vectorizer = Vectorizer(stop_words="english", min_df=2, **options)
    X = vectorizer.fit_transform(list(texts))
    return X, vectorizer.transform(list(new)), np.asarray(vectorizer.get_feature_names_out())


def halves(text: np.ndarray, label: np.ndarray, quick: bool) -> tuple[np.ndarray, ...]:
    """Return texts and labels of the first and of the second half; of a third of the documents if quick."""
    _, first = np.unique(text, return_index=True)
    order = np.random.default_rng(0).permutation(first)[:: 3 if quick else 1]
    cut = len(order) // 2
    return text[order[:cut]], label[order[:cut]], text[order[cut:]], label[order[cut:]]


def bbc_halves(quick: bool = False) -> tuple[np.ndarray, ...]:
    data = datasets.load("bbc_news")
    return halves(np.array(data.text, dtype=object), data.frame["label"].to_numpy(), quick)


def error(model: Any, X: Any, y: np.ndarray, new: Any, truth: np.ndarray) -> float:
    return float(np.mean(model.fit(X, y).predict(new) != truth))


@reproduces("sstm", "settings of SSTM on BBC news in folds of the training half, K = 50, six topics")
def settings(quick: bool) -> Outcome:
    texts, label, _, _ = bbc_halves(quick)
    y = np.isin(label, POSITIVE)
    parts = list(StratifiedKFold(4, shuffle=True, random_state=1).split(texts, label))[: 1 if quick else 4]
    size, sweeps, rows = (20, 20, []) if quick else (50, SWEEPS, [])
    for values in product(*GRID.values()):
        params, errors = dict(zip(GRID, values, strict=True)), []
        for train, test in parts:
            X, new, _ = counted(texts[train], texts[test])
            model = sparse(size, max_nonzero=6, max_iter=sweeps, **params)
            errors.append(error(model, X, y[train], new, y[test]))
        rows.append([*values, float(np.mean(errors)), float(np.std(errors))])
    note = "BBC news, the training half of `sstm.table1`, four folds, seed 0; the last column is the folds' deviation."
    return Outcome([*GRID, "error", "deviation"], rows, note)


def subjects(model: SSTMClassifier, X: Any, label: np.ndarray, words: np.ndarray) -> list[tuple[float, str, str]]:
    """For each topic with a coefficient: the coefficient, the subject with most of the topic, and the topic's words."""
    shares, found = model.transform(X), []
    for topic in np.flatnonzero(model.coef_[0]):
        subject = max(np.unique(label), key=lambda one: shares[label == one, topic].mean())
        listed = " ".join(words[np.argsort(-model.components_[topic])[:7]])
        found.append((float(model.coef_[0, topic]), str(subject), listed))
    return sorted(found)


@reproduces("sstm", "table 1: six of fifty topics that tell entertainment and sport from other news")
def table1(quick: bool) -> Outcome:
    texts, label, new_texts, new_label = bbc_halves(quick)
    X, new, words = counted(texts, new_texts)
    y, truth = np.isin(label, POSITIVE), np.isin(new_label, POSITIVE)
    size, sweeps, seeds, chains = (20, 60, (0,), 1) if quick else (50, SWEEPS, (0, 1, 2, 3, 4), 4)
    errors, rows, as_expected = [], [], []
    for seed in seeds:
        model = sparse(size, seed, max_nonzero=6, max_iter=sweeps, inference=Gibbs(thin=2, n_chains=chains), **CHOSEN)
        errors.append(error(model, X, y, new, truth))
        found = subjects(model, X, label, words)
        as_expected.append(
            all(
                any(subject == one and (coef > 0) == (one in POSITIVE) for coef, subject, _ in found)
                for one in np.unique(label)
            )
        )
        rows += [[seed, f"{coef:+.2f}", subject, listed] for coef, subject, listed in found]
    pipeline = [
        float(np.mean(topics_first(size, X, y, new, (6,), seed, FewLogistic, sweeps)[0] != truth)) for seed in seeds
    ]
    rows += [
        ["all", "", "error of SSTM (the paper: 0.03, one run)", _each(errors)],
        ["all", "", "error of the pipeline, six topics refitted", _each(pipeline)],
    ]
    claims = {"SSTM's error is below the pipeline's with as many topics": bool(np.mean(errors) < np.mean(pipeline))}
    if not quick:
        claims["the mean error is at most the paper's 0.03"] = bool(np.mean(errors) <= 0.03)
        claims["every subject has a topic of its own with the expected sign, in every seed"] = all(as_expected)
    return Outcome(
        ["seed", "coefficient", "subject that has most of it", "words"], rows, f"{NEWS}; {CHAINS}.", None, claims
    )


def _each(values: list[float]) -> str:
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread} ({', '.join(f'{value:.3f}' for value in values)})"


@reproduces("sstm", "figure 2: error against K where 10 % or 15 % of the topics may be used")
def figure2(quick: bool) -> Outcome:
    """All models have an intercept, because a budget of one topic needs one."""
    sizes, parts, seeds, sweeps = (
        ((20,), (0.15,), (0,), 60) if quick else ((10, 20, 30, 50, 100), (0.1, 0.15), (0, 1), 200)
    )
    found = _on_news(quick, sizes, parts, seeds, sweeps)
    texts, label, new_texts, new_label = bbc_halves(quick)
    X, new, _ = counted(texts, new_texts)
    y, truth = np.isin(label, POSITIVE), np.isin(new_label, POSITIVE)
    for size, seed in product(sizes, seeds):
        dense = SLDAClassifier(
            size, inference="vb", supervision=10, max_iter=15 if quick else 40, random_state=seed, n_jobs=1
        )
        found.setdefault(("sLDA, all topics", size, 1.0), []).append(error(dense, X, y, new, truth))
    rows = [[*key, _each(values)] for key, values in found.items()]
    below = [
        np.mean(found["SSTM", size, part]) < np.mean(found["pipeline", size, part])
        for size, part in product(sizes, parts)
    ]
    claims = {"SSTM's error is below the pipeline's at every K and sparsity": all(map(bool, below))}
    panels = {
        f"{part:.0%} of the topics": {
            name: {size: found[name, size, 1.0 if "all" in name else part] for size in sizes}
            for name in ("SSTM", "pipeline", "sLDA, all topics")
        }
        for part in parts
    }
    figure = side_by_side(panels, "topics K", "test error")
    note = f"{NEWS}; two seeds; the pipeline: LDA by Gibbs sampling, ℓ1 selection, refit without a penalty."
    return Outcome(["method", "K", "share of the topics", "test error"], rows, note, figure, claims)


@reproduces("sstm", "figure 3: error against the share of the topics that may be used, K = 30, 50, 100")
def figure3(quick: bool) -> Outcome:
    sizes, sweeps = ((20,), 60) if quick else ((30, 50, 100), SWEEPS)
    parts, seeds = ((0.1,), (0,)) if quick else ((0.05, 0.1, 0.2, 0.5, 1.0), (0, 1))
    found = _on_news(quick, sizes, parts, seeds, sweeps)
    rows = [[*key, _each(values)] for key, values in found.items()]
    below = [np.mean(found["SSTM", size, 0.1]) < np.mean(found["pipeline", size, 0.1]) for size in sizes]
    claims = {"SSTM's error is below the pipeline's where a tenth of the topics may be used": all(map(bool, below))}
    panels = {
        f"K = {size}": {name: {part: found[name, size, part] for part in parts} for name in ("SSTM", "pipeline")}
        for size in sizes
    }
    figure = side_by_side(panels, "share of the topics that may be used", "test error")
    return Outcome(["method", "K", "share of the topics", "test error"], rows, f"{NEWS}; two seeds.", figure, claims)


def _on_news(
    quick: bool, sizes: tuple[int, ...], parts: tuple[float, ...], seeds: tuple[int, ...], sweeps: int
) -> dict[tuple[str, int, float], list[float]]:
    """Test errors by seed of SSTM and of the pipeline, at each K and share of the topics."""
    texts, label, new_texts, new_label = bbc_halves(quick)
    X, new, _ = counted(texts, new_texts)
    y, truth = np.isin(label, POSITIVE), np.isin(new_label, POSITIVE)
    found: dict[tuple[str, int, float], list[float]] = {}
    for size, seed in product(sizes, seeds):
        budgets = tuple(max(1, int(part * size + 1e-9)) for part in parts)
        predicted = topics_first(size, X, y, new, budgets, seed, FewLogistic, sweeps)
        for part, labels in zip(parts, predicted, strict=True):
            model = sparse(size, seed, sparsity=part, max_iter=sweeps, fit_intercept=True, **CHOSEN)
            found.setdefault(("SSTM", size, part), []).append(error(model, X, y, new, truth))
            found.setdefault(("pipeline", size, part), []).append(float(np.mean(labels != truth)))
    return found


@reproduces("sstm", "figure 4: squared error of film ratings against K where 10 % or 60 % of the topics may be used")
def figure4(quick: bool) -> Outcome:
    data = datasets.load("movie_reviews_scale")
    texts, y, new_texts, truth = halves(np.array(data.text, dtype=object), data.frame["rating"].to_numpy(), quick)
    sizes, seeds, sweeps = ((20,), (0,), 40) if quick else ((20, 50, 100), (0, 1), SWEEPS)
    parts = (0.1,) if quick else (0.1, 0.6)
    X, new, _ = counted(texts, new_texts, max_features=5000)
    few, all_topics = (50.0, 10.0) if quick else (_supervision(rater, X, y), _supervision(dense_rater, X, y))

    def squared_error(model: Any) -> float:
        return float(np.mean((model.fit(X, y).predict(new) - truth) ** 2))

    found: dict[tuple[str, int, float], list[float]] = {}
    for size, seed in product(sizes, seeds):
        predicted = topics_first(size, X, y, new, tuple(int(part * size) for part in parts), seed, FewLinear, sweeps)
        for part, of_pipeline in zip(parts, predicted, strict=True):
            model = rater(size, few, seed).set_params(max_nonzero=None, sparsity=part, max_iter=sweeps)
            found.setdefault(("SSTM", size, part), []).append(squared_error(model))
            found.setdefault(("pipeline", size, part), []).append(float(np.mean((of_pipeline - truth) ** 2)))
        dense = squared_error(dense_rater(size, all_topics, seed))
        found.setdefault(("sLDA, all topics", size, 1.0), []).append(dense)
    rows = [[*key, _each(values)] for key, values in found.items()]
    mean = {key: np.mean(values) for key, values in found.items()}
    places = list(product(sizes, parts))
    below = [mean["SSTM", size, part] < mean["pipeline", size, part] for size, part in places]
    least = [mean["sLDA, all topics", k, 1.0] < min(mean["SSTM", k, p], mean["pipeline", k, p]) for k, p in places]
    claims = {"SSTM's error is below the pipeline's for most K": bool(np.mean(below) > 0.5)}
    if not quick:  # one seed and few sweeps do not tell the dense model from the sparse one
        claims["the dense model's error is below both"] = all(map(bool, least))
    panels = {
        f"{part:.0%} of the topics": {
            name: {size: found[name, size, 1.0 if "all" in name else part] for size in sizes}
            for name in ("SSTM", "pipeline", "sLDA, all topics")
        }
        for part in parts
    }
    note = (
        "Film reviews (`movie_reviews_scale`), halves, stop words left out, 5,000 terms; the rating itself, variance "
        f"{truth.var():.4f} in the test half; α = 0.1; supervision {few:g} (sLDA: {all_topics:g}) chosen on a quarter "
        "of the training half at K = 50 (SSTM: five topics); two seeds. The paper's two panels both say 60 %."
    )
    figure = side_by_side(panels, "topics K", "mean squared error")
    return Outcome(["method", "K", "share of the topics", "squared error"], rows, note, figure, claims)


def rater(n_topics: int, supervision: float, seed: int = 0) -> SSTMRegressor:
    return SSTMRegressor(
        n_topics, doc_topic_prior=0.1, supervision=supervision, max_nonzero=5, max_iter=SWEEPS, random_state=seed,
        n_jobs=1, fit_intercept=False,
    )  # fmt: skip


def dense_rater(n_topics: int, supervision: float, seed: int = 0) -> SLDARegressor:
    return SLDARegressor(n_topics, inference="vb", supervision=supervision, max_iter=30, random_state=seed, n_jobs=1)


def _supervision(make: Callable[[int, float], Any], X: Any, y: np.ndarray) -> float:
    """Choose supervision by the error on a quarter of these documents, with K = 50."""
    held_out = np.random.default_rng(0).random(len(y)) < 0.25
    errors = {}
    for supervision in (5.0, 20.0, 50.0):
        model = make(50, supervision).fit(X[~held_out], y[~held_out])
        errors[supervision] = float(np.mean((model.predict(X[held_out]) - y[held_out]) ** 2))
    return min(errors, key=errors.__getitem__)


@reproduces("sstm", "how long the paper's screening takes: 50 settings in five folds on BBC news")
def screening(quick: bool) -> Outcome:
    texts, label, _, _ = bbc_halves(quick)
    train, test = next(KFold(5, shuffle=True, random_state=0).split(texts))
    X, new, _ = counted(texts[train], texts[test])
    y, sweeps = np.isin(label[train], POSITIVE), 20 if quick else SWEEPS
    sparse(50, max_nonzero=6, max_iter=2, **CHOSEN).fit(X, y)  # compiles
    start = time.process_time()
    sparse(50, max_nonzero=6, max_iter=sweeps, **CHOSEN).fit(X, y).predict(new)
    seconds = time.process_time() - start
    rows = [
        ["a fit and its predictions, s", None, seconds],
        ["all on two cores, h", "48 on 64 cores", seconds * 125 / 3600],
    ]
    return Outcome(
        ["", "paper", "ours"], rows, f"K = 50, six topics, {sweeps} sweeps, one thread, seconds of that core."
    )
