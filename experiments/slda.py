"""sLDA with classes, counts and grades as responses, compared with baselines.

Weights of the response (`supervision`) and the SVM's C are chosen on training documents. Each row of a table uses the
test set once.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from experiments.book import Outcome, reproduces
from experiments.drawing import bars, curves, with_spread
from experiments.newsgroups import PAIR, newsgroups
from supertopic import LDA, SLDAClassifier, SLDARegressor, Vectorizer
from supertopic.datasets import docstrings, load

WEIGHTS = (1.0, 3.0, 10.0, 30.0)


def lda_svm(
    n_topics: int, X: Any, y: np.ndarray, new: Any, truth: np.ndarray, seed: int, steps: int | None = None
) -> float:
    """Accuracy of a linear SVM on the topic shares of LDA, with C by cross-validation on the training documents."""
    lda = LDA(n_topics, random_state=seed, max_iter=steps).fit(X)
    svm = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3).fit(lda.transform(X), y)
    return float(svm.score(lda.transform(new), truth))


def choose(make: Any, X: Any, y: np.ndarray, score: Any, weights: tuple[float, ...] = WEIGHTS) -> float:
    """The supervision that does best on a quarter of the training documents."""
    if len(weights) == 1:
        return weights[0]
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0)
    return max(weights, key=lambda weight: score(make(weight).fit(X[train], y[train]), X[test], y[test]))


def accuracy(model: Any, X: Any, y: np.ndarray) -> float:
    return float(model.score(X, y))


@reproduces("slda", "20 classes of newsgroups: softmax sLDA beside LDA + SVM")
def classes(quick: bool) -> Outcome:
    """The weight is chosen at the first K and kept."""
    X, y, new, truth, _ = newsgroups(step=12 if quick else 1)
    sizes, steps, weights = ((20,), 8, (30.0,)) if quick else ((50, 80, 110), 20, WEIGHTS)
    weight = choose(
        lambda w: SLDAClassifier(sizes[0], inference="vb", supervision=w, max_iter=15), X, y, accuracy, weights
    )
    found = {"LDA + SVM": np.zeros((1, len(sizes))), f"sLDA, supervision {weight:g}": np.zeros((1, len(sizes)))}
    plain, ours = found.values()
    for place, n_topics in enumerate(sizes):
        plain[0, place] = lda_svm(n_topics, X, y, new, truth, 0, steps if quick else None)
        model = SLDAClassifier(n_topics, inference="vb", supervision=weight, max_iter=steps).fit(X, y)
        ours[0, place] = accuracy(model, new, truth)
    note = (
        "20 Newsgroups, standard split, stop words and words of a single training document left out; one seed. "
        "Supervision is chosen on a quarter of the training documents at the first K, the SVM's C by cross-validation."
    )
    rows = [[name, *values[0].tolist()] for name, values in found.items()]
    claims = {} if quick else {"sLDA is above LDA + SVM at every K": bool(np.all(ours > plain))}
    figure = curves({"test accuracy": found}, sizes, "topics K")
    return Outcome(["test accuracy", *(f"K = {k}" for k in sizes)], rows, note, figure, claims)


@reproduces("slda", "two classes of newsgroups: logit sLDA beside LDA + SVM")
def binary(quick: bool) -> Outcome:
    """The weight is chosen for each K with the first seed, by `supervision="auto"` (cross-validation)."""
    X, y, new, truth, _ = newsgroups(PAIR)
    sizes, seeds = ((5,), (0, 1)) if quick else ((5, 10, 20, 30), (0, 1, 2, 3, 4))
    steps = 10 if quick else None
    found = {name: np.zeros((len(seeds), len(sizes))) for name in ("LDA + SVM", "sLDA")}
    weights = []
    for column, n_topics in enumerate(sizes):
        weight = 30.0 if quick else SLDAClassifier(n_topics, inference="vb", supervision="auto").fit(X, y).supervision_
        weights.append(weight)
        for row, seed in enumerate(seeds):
            found["LDA + SVM"][row, column] = lda_svm(n_topics, X, y, new, truth, seed, steps)
            model = SLDAClassifier(n_topics, inference="vb", supervision=weight, random_state=seed, max_iter=steps).fit(
                X, y
            )
            found["sLDA"][row, column] = accuracy(model, new, truth)
    rows = [[name, *(with_spread(v) for v in values.T)] for name, values in found.items()]
    rows.append(["supervision", *(f"{weight:g}" for weight in weights)])
    means = [values.mean(axis=0) for values in found.values()]
    claims = {} if quick else {"sLDA is above LDA + SVM at every K": bool(np.all(means[1] > means[0]))}
    note = (
        f"{' against '.join(PAIR)}, standard split; mean ± deviation over {len(seeds)} seeds. Supervision by "
        "cross-validation on the training documents. class-slda, the authors' program, was measured at 0.708 (K = 5) "
        "and 0.740 (10)."
    )
    figure = curves({"test accuracy": found}, sizes, "topics K")
    return Outcome(["test accuracy", *(f"K = {k}" for k in sizes)], rows, note, figure, claims)


def texts_with_counts(quick: bool) -> dict[str, tuple[list[str], np.ndarray]]:
    talks, functions = load("ted_talks", os.environ["SUPERTOPIC_DATA"]), docstrings()
    found = {
        "TED talks, comments": (list(talks.text), talks.frame["num_comments"].to_numpy().astype(float)),
        "docstrings, parameters": (list(functions.text), functions.n_parameters.astype(float)),
    }
    return {name: (texts[:800], y[:800]) for name, (texts, y) in found.items() if "docs" in name} if quick else found


@reproduces("slda", "counts as the response: which law knows held-out counts best")
def counts(quick: bool) -> Outcome:
    responses = ("negative_binomial", "poisson", "gaussian")
    seeds, steps = ((0,), 8) if quick else ((0, 1, 2), 25)
    found = {}
    for name, (texts, y) in texts_with_counts(quick).items():
        figures = np.zeros((len(seeds), len(responses)))
        for row, seed in enumerate(seeds):
            train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed)
            vectorizer = Vectorizer(max_features=5000, stop_words="english").fit([texts[i] for i in train])
            X, new = (vectorizer.transform([texts[i] for i in part]) for part in (train, test))
            for column, response in enumerate(responses):
                model = SLDARegressor(20, inference="vb", response=response, max_iter=steps).fit(X, y[train])
                figures[row, column] = model.log_density(new, y[test]).mean()
        found[name] = figures
    rows = [[name, *(with_spread(v, 2) for v in figures.T)] for name, figures in found.items()]
    claims = {
        f"{name}: the negative binomial knows them best": bool(figures.mean(axis=0).argmax() == 0)
        for name, figures in found.items()
    }
    note = (
        "Mean log-probability of held-out counts (log-density of the Gaussian: counts are one apart), mean ± deviation "
        f"over {len(seeds)} splits; K = 20, supervision 1, nothing tuned. The paper's counts (Digg) are not to be had."
    )
    return Outcome(["log-probability", *(name.replace("_", " ") for name in responses)], rows, note, None, claims)


@reproduces("slda", "grades as the response: ordinal, softmax and Gaussian, hotel ratings from 1 to 5")
def grades(quick: bool) -> Outcome:
    """Mean absolute error; the Gaussian's prediction is used unchanged, and rounded to the nearest rating."""
    data = load("tripadvisor", os.environ["SUPERTOPIC_DATA"])
    some = np.flatnonzero((data.frame["subset"] == "balanced5k").to_numpy())[:: 6 if quick else 1]
    train = (data.frame["split"] == "train").to_numpy()[some]
    texts, y = np.array(data.text, dtype=object)[some], data.frame["rating"].to_numpy()[some]
    vectorizer = Vectorizer(stop_words=None, max_features=5000, min_df=5).fit(list(texts[train]))
    X, new = vectorizer.transform(list(texts[train])), vectorizer.transform(list(texts[~train]))
    n_topics, steps, weights = (10, 8, (10.0,)) if quick else (20, 30, WEIGHTS)

    def error(model: Any, X: Any, y: np.ndarray) -> float:
        return float(np.abs(model.predict(X) - y).mean())

    makes = {
        "ordinal": lambda w: SLDAClassifier(
            n_topics, inference="vb", response="ordinal", supervision=w, max_iter=steps
        ),
        "softmax": lambda w: SLDAClassifier(
            n_topics, inference="vb", response="softmax", supervision=w, max_iter=steps
        ),
        "Gaussian": lambda w: SLDARegressor(n_topics, inference="vb", supervision=w, max_iter=steps),
    }
    rows, found = [], {}
    for name, make in makes.items():
        weight = choose(make, X, y[train], lambda *given: -error(*given), weights)
        predicted = make(weight).fit(X, y[train]).predict(new)
        for rule in ("", ", rounded") if name == "Gaussian" else ("",):
            wrong = np.abs((np.clip(np.rint(predicted), 1, 5) if rule else predicted) - y[~train])
            found[f"{name}{rule}"] = [float(wrong.mean())]
            rows.append([f"{name}{rule}", f"{weight:g}", float(wrong.mean()), float(wrong.std() / np.sqrt(len(wrong)))])
    least = min(found, key=lambda name: found[name][0])
    claims = {"always saying 3 is worse": max(v[0] for v in found.values()) < np.abs(3 - y[~train]).mean()}
    if not quick:
        claims["the ordinal response has the least error"] = least == "ordinal"
    note = (
        f"Hotel reviews (`tripadvisor`, balanced5k), standard split, K = {n_topics}, one seed; supervision chosen on a "
        "quarter of the training documents."
    )
    columns = ["response", "supervision", "mean absolute error", "its standard error"]
    return Outcome(columns, rows, note, bars(found, "mean absolute error"), claims)
