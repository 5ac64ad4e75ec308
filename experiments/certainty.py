"""What is promised about coefficients, intervals, sets and probabilities, on simulated and real documents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.book import Outcome, reproduces
from experiments.calibration import calibration_error
from experiments.slda_prediction import with_texts
from supertopic import SAGEClassifier, SLDAClassifier, SLDARegressor, SSTMRegressor, Vectorizer
from supertopic.datasets import load

Row = tuple[
    str, list[float], float, float
]  # what, one figure per draw, and from where to where its mean is as promised
Promise = Callable[[int], Iterator[Row]]
TOO_FAR = 1.645  # standard errors: of one finding in ten, where there is none
COLUMNS = ["what", "mean", "standard error", "draws", "promised", "held"]


def documents(n: int, seed: int, n_topics: int = 5, n_words: int = 400) -> tuple[sp.csr_matrix, np.ndarray]:
    """(counts, shares) of simulated documents of 40 words."""
    rng = np.random.default_rng(seed)
    topics, shares = rng.dirichlet(np.full(n_words, 0.05), n_topics), rng.dirichlet(np.full(n_topics, 0.3), n)
    return sp.csr_matrix(np.stack([rng.multinomial(40, share @ topics) for share in shares])), shares


def findings(model: Any) -> float:
    """The share of the topics' coefficients that are more than 1.645 errors from their mean."""
    return float((np.abs((model.coef_ - model.coef_.mean()) / model.coef_std_) > TOO_FAR).mean())


def covariates(n_draws: int) -> Iterator[Row]:
    """A randomised covariate of 0.3 beside topics that tell nothing, or something."""
    for told in (0.0, 0.5):
        estimate, held = [], []
        for seed in range(n_draws):
            counts, shares = documents(400, seed)
            rng = np.random.default_rng(1000 + seed)
            x, part = rng.normal(size=400), shares @ rng.normal(size=5)
            y = 0.3 * x + told * (part - part.mean()) / part.std() + rng.normal(size=400)
            model = SLDARegressor(20, random_state=seed).fit(counts, y, covariates=x[:, None])
            coef, error = float(model.covariate_coef_[0, 0]), float(model.covariate_std_[0, 0])
            estimate.append(coef)
            held.append(float(abs(coef - 0.3) < TOO_FAR * error))
        yield f"covariate of 0.3, text tells {told:g}", estimate, 0.25, 0.35
        yield f"… 90 % intervals hold it, text tells {told:g}", held, 0.8, 1.0


def groups(n_draws: int) -> Iterator[Row]:
    """Noise drawn per group; half of 60 groups are new."""
    found, held = [], []
    for seed in range(n_draws):
        counts, _ = documents(1200, seed, n_topics=10)
        rng = np.random.default_rng(seed)
        code = rng.permutation(np.arange(1200) % 60)
        y, known = rng.normal(size=60)[code] + 0.7 * rng.normal(size=1200), code < 30
        beside = {"groups": code[known]}
        honest = SLDARegressor(15, honest=0.5, random_state=seed).fit(counts[known], y[known], **beside)
        plain = SLDARegressor(15, random_state=seed).fit(counts[known], y[known], **beside)
        _, low, high = plain.predict(counts[~known], return_interval=0.9)
        found.append(findings(honest))
        held.append(float(((low <= y[~known]) & (y[~known] <= high)).mean()))
    yield "noise by group, honest=0.5: findings", found, 0.0, 0.15
    yield "… 90 % intervals hold documents of new groups", held, 0.87, 1.0


def laws(n_draws: int) -> Iterator[Row]:
    """Overdispersed noise taken for Poisson's."""
    found = []
    for seed in range(n_draws):
        y = np.random.default_rng(seed).negative_binomial(0.5, 1 / 11.0, 500).astype(float)
        model = SLDARegressor(10, response="poisson", honest=0.5, random_state=seed)
        found.append(findings(model.fit(documents(500, seed)[0], y)))
    yield 'overdispersed noise under "poisson", honest=0.5: findings', found, 0.0, 0.15


def sets(n_draws: int) -> Iterator[Row]:
    """Sets where topics tell nothing, and of a class of 1 in 100."""
    held, rare = [], []
    for seed in range(n_draws):
        counts, shares = documents(1500, seed)
        rng = np.random.default_rng(seed)
        y, seen = rng.integers(0, 2, 1500), np.arange(1500) < 500
        model = SLDAClassifier(8, response="logit", random_state=seed).fit(counts[seen], y[seen])
        held.append(float(model.predict_set(counts[~seen])[np.arange(1000), y[~seen]].mean()))
        labels = (shares[:, 0] > shares[:, 1]).astype(int)
        labels[np.argsort(-shares[:, 2])[:15]] = 2
        half = np.isin(np.arange(1500), rng.permutation(1500)[:1000]) if seed else np.arange(1500) % 3 > 0
        model = SLDAClassifier(8, random_state=seed).fit(counts[half], labels[half])
        own = model.predict_set(counts[~half], by_class=True)[labels[~half] == 2, 2]
        rare += own.astype(float).tolist()
    yield "sets of 0.9 hold, topics tell nothing", held, 0.89, 1.0
    yield "sets by class hold a class of 1 in 100 (each document)", rare, 0.8, 1.0


def sparse(n_draws: int) -> Iterator[Row]:
    """SSTM: intervals of its posterior, in the units of y."""
    held = []
    for seed in range(n_draws):
        counts, shares = documents(400, seed)
        y = 2.0 * shares[:, 0] - 2.0 * shares[:, 1] + 0.5 * np.random.default_rng(seed).normal(size=400)
        model = SSTMRegressor(5, max_iter=200, random_state=seed).fit(counts, y)
        table = model.summary().loc[[f"topic {k}" for k in range(5)]]
        held += ((table["lower"] <= table["coef"]) & (table["coef"] <= table["upper"])).astype(float).tolist()
    yield "SSTM: the estimate lies in its interval", held, 1.0, 1.0


def deciles(n_draws: int) -> Iterator[Row]:
    """The worst tenth of new documents by prediction, and by length."""
    for name, target in (("yelp_restaurants25k", "rating"), ("wine_price", "log_price"))[: max(n_draws // 2, 1)]:
        counts, y, new, truth = with_texts(name, target)
        rows = np.random.default_rng(0).permutation(len(y))[: 600 * n_draws]
        mean, low, high = SLDARegressor(30).fit(counts[rows], y[rows]).predict(new, return_interval=0.9)
        inside = (low <= truth) & (truth <= high)
        for what, by in (("prediction", mean), ("length", np.asarray(new.sum(axis=1)).ravel())):
            tenths = np.array_split(np.argsort(by, kind="stable"), 10)
            yield f"{name}: worst tenth by {what}", [min(float(inside[one].mean()) for one in tenths)], 0.85, 1.0


def classes(n_draws: int) -> Iterator[Row]:
    """Calibration error of 23 classes of abstracts."""
    corpus = load("ohsumed23")
    data = corpus.frame.assign(text=corpus.text)
    train, test = (data[data["split"] == part] for part in ("train", "test"))
    vectorizer = Vectorizer(min_df=3)
    counts, new = vectorizer.fit_transform(train["text"].tolist()), vectorizer.transform(test["text"].tolist())
    for model in (SAGEClassifier(), SLDAClassifier(40))[: 1 if n_draws < 4 else 2]:
        chances = model.fit(counts, train["label"].to_numpy()).predict_proba(new)
        right = model.classes_[chances.argmax(axis=1)] == test["label"].to_numpy()
        yield f"ohsumed23, {type(model).__name__}: error", [calibration_error(chances.max(axis=1), right)], 0.0, 0.04


PROMISES: dict[str, Promise] = {
    "covariates": covariates, "groups": groups, "laws": laws, "sets": sets, "sparse": sparse, "deciles": deciles,
    "classes": classes,
}  # fmt: skip
QUICK = ("laws", "sparse")


@reproduces("slda", "do intervals, errors, sets and probabilities hold what they promise?")
def certainty(quick: bool) -> Outcome:
    """Takes less than an hour on two cores; the quick version a few seconds."""
    rows: list[list[Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in QUICK if quick else PROMISES:
            for what, found, low, high in PROMISES[name](2 if quick else 12):
                mean, n = float(np.mean(found)), len(found)
                error = float(np.std(found, ddof=1) / np.sqrt(n)) if n > 1 else None
                held = low <= mean + 2 * (error or 0.0) and mean - 2 * (error or 0.0) <= high
                rows.append([what, mean, error, n, f"{low:g} to {high:g}", "yes" if held else "no"])
    note = (
        "Simulated documents have 40 words of five topics or ten. A promise is held where its range is reached within "
        "two standard errors of the mean; figures of one split have none."
    )
    return Outcome(COLUMNS, rows, note, None, {} if quick else {row[0]: row[5] == "yes" for row in rows})
