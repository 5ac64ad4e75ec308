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
from supertopic import DiscLDAClassifier, SAGEClassifier, SLDAClassifier, SLDARegressor, SSTMRegressor, Vectorizer
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
    for told in (0.0, 0.5, 1.5):
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


LABELS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {  # of linear predictors (n,)
    "gaussian": lambda rng, s: s + rng.normal(size=len(s)),
    "poisson": lambda rng, s: rng.poisson(np.exp(s)),
    "negative_binomial": lambda rng, s: rng.negative_binomial(3, 3 / (3 + np.exp(s))),
    "gamma": lambda rng, s: rng.gamma(4, np.exp(s) / 4),
    "inverse_gaussian": lambda rng, s: rng.wald(np.exp(s), 4.0),
    "weibull": lambda rng, s: np.exp(s) * rng.weibull(2, len(s)),
    "logit": lambda rng, s: rng.random(len(s)) < 1 / (1 + np.exp(-s)),
    "probit": lambda rng, s: s + rng.normal(size=len(s)) > 0,
    "ordinal": lambda rng, s: np.digitize(s + rng.normal(size=len(s)), [-0.7, 0.7]),
    "softmax": lambda rng, s: np.argmax(np.outer(s, [0, 1, -1]) + rng.gumbel(size=(len(s), 3)), axis=1),
}


def laws_of_covariates(n_draws: int) -> Iterator[Row]:
    """A randomised covariate of 0.3 under every response, beside topics that tell something."""
    every: list[float] = []
    for name, draw in LABELS.items():
        held = []
        for seed in range(n_draws):
            counts, shares = documents(400, seed)
            rng = np.random.default_rng(1000 + seed)
            x, part = rng.normal(size=400), shares @ rng.normal(size=5)
            y = draw(rng, 0.3 * x + 0.5 * (part - part.mean()) / part.std())
            kind = SLDAClassifier if name in ("logit", "probit", "ordinal", "softmax") else SLDARegressor
            model = kind(10, response=name, random_state=seed).fit(counts, y.astype(float), covariates=x[:, None])
            column = 1 if name == "softmax" else 0
            coef, error = float(model.covariate_coef_[column, 0]), float(model.covariate_std_[column, 0])
            held.append(float(abs(coef - 0.3) < TOO_FAR * error))
        every += held
        yield f"… 90 % intervals of 0.3 hold it, {name}", held, 0.7, 1.0
    yield "… all responses together", every, 0.86, 0.94


def new_groups(n_draws: int) -> Iterator[Row]:
    """Groups that a fit has not seen: restaurants and senators left out in turn, and each of four film authors."""
    frame = load("yelp_restaurants25k").frame
    few = frame["restaurant"].isin(frame["restaurant"].value_counts().index[20 : 20 + 5 * n_draws])
    rows = np.flatnonzero(few)[: 300 * n_draws]
    texts, owner = np.array(load("yelp_restaurants25k").text, dtype=object)[rows], frame["restaurant"].to_numpy()[rows]
    counts, y = Vectorizer(min_df=5).fit_transform(texts), frame["rating"].to_numpy(float)[rows]
    yield "… new restaurants, five parts of them", _left_out(SLDARegressor(20), counts, y, owner, 5), 0.87, 1.0
    senate = load("senate_speeches_bow")
    rows = np.random.default_rng(0).permutation(len(senate.frame))[: 250 * n_draws]
    counts, party = senate.counts.counts[rows], senate.frame["party"].to_numpy()[rows]
    owner = senate.frame["senator"].to_numpy()[rows]
    kept = party != "I"
    held = _left_out(SLDAClassifier(20), counts[kept], party[kept], owner[kept], 5)
    yield "… sets of new senators, five parts of them", held, 0.87, 1.0
    films = load("movie_reviews_scale")
    counts, y = Vectorizer(min_df=5).fit_transform(films.text), films.frame["rating"].to_numpy(float)
    held = _left_out(SLDARegressor(20), counts, y, films.frame["author"].to_numpy(), 4)
    yield "… each of four film authors, learned from three", held, 0.85, 1.0


def _left_out(model: Any, counts: sp.csr_matrix, y: np.ndarray, owner: np.ndarray, n_parts: int) -> list[float]:
    """How many labels of the groups of each part intervals or sets of 0.9 hold, by fits to the others."""
    held, order = [], np.random.default_rng(0).permutation(np.unique(owner))
    for part in np.array_split(order, n_parts):
        out = np.isin(owner, part)
        model.fit(counts[~out], y[~out], groups=owner[~out])
        if hasattr(model, "predict_set"):
            right = model.predict_set(counts[out])[np.arange(out.sum()), np.searchsorted(model.classes_, y[out])]
        else:
            _, low, high = model.predict(counts[out], return_interval=0.9)
            right = (low <= y[out]) & (y[out] <= high)
        held.append(float(right.mean()))
    return held


def blocks(n_draws: int) -> Iterator[Row]:
    """What 384 columns beside topics cost: logarithms of counts in random directions, and noise."""
    counts, y, new, truth = with_texts("airbnb_singapore_price", "log_price")
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[: 125 * n_draws]
    counts, y = counts[rows], y[rows]
    without = float(SLDARegressor(30).fit(counts, y).score(new, truth))
    directions = rng.normal(size=(counts.shape[1], 384)) / np.sqrt(counts.shape[1])
    columns = {
        "directions of words": [sp.csr_matrix(one).log1p() @ directions for one in (counts, new)],
        "noise": [rng.normal(size=(one.shape[0], 384)) for one in (counts, new)],
    }
    for name, (known, asked) in columns.items():
        model = SLDARegressor(30).fit(counts, y, embeddings=known)
        yield (
            f"listings, 384 columns, {name}: R² gained",
            [float(model.score(new, truth, embeddings=asked)) - without],
            -0.005,
            1.0,
        )


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
    asked = {"yelp_restaurants25k": "rating", "wine_price": "log_price", "imdb_ratings20k": "rating"}
    for name, target in [*asked.items(), ("airbnb_singapore_price", "log_price")][: max(n_draws // 2, 1)]:
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
    for model in (SAGEClassifier(), DiscLDAClassifier(2), SLDAClassifier(40))[: 1 if n_draws < 4 else 3]:
        chances = model.fit(counts, train["label"].to_numpy()).predict_proba(new)
        right = model.classes_[chances.argmax(axis=1)] == test["label"].to_numpy()
        yield f"ohsumed23, {type(model).__name__}: error", [calibration_error(chances.max(axis=1), right)], 0.0, 0.04


PROMISES: dict[str, Promise] = {
    "covariates": covariates, "responses": laws_of_covariates, "groups": groups, "new groups": new_groups,
    "laws": laws, "sets": sets, "sparse": sparse, "deciles": deciles, "classes": classes, "blocks": blocks,
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
