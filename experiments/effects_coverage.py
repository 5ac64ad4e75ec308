"""Whether effects on topics are found, and their intervals hold: data sets whose truth is known, fitted whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from experiments.book import Outcome, reproduces
from supertopic import LDA
from supertopic.metrics import align_topics

N_DOCUMENTS, N_WORDS, LENGTH, N_AUTHORS, PROBABILITY = 400, 200, 40, 30, 0.9
SLOPES = np.array([0.8, -0.8, 0.4, 0.0])  # Lambda: what x = 1 adds to log alpha
LEVEL, HABIT = np.log(0.5), 0.5  # log alpha where x = 0; the deviation of what an author adds
COLUMNS = ["documents", "intervals", "hold the true difference", "standard error", "mean of their length, points"]
SETS, FEW = 200, 20


class World(NamedTuple):
    counts: np.ndarray  # (D, V)
    frame: pd.DataFrame  # x and author
    topics: np.ndarray  # (K, V)


def world(seed: int, nested: bool) -> World:
    """Documents with x = 0 or 1; nested: x and habits are those of thirty authors."""
    rng = np.random.default_rng(seed)
    author = rng.integers(0, N_AUTHORS, N_DOCUMENTS) if nested else np.arange(N_DOCUMENTS)
    x = rng.permutation(np.arange(author.max() + 1) % 2)[author]
    habits = HABIT * nested * rng.normal(size=(author.max() + 1, len(SLOPES)))[author]
    alpha = np.exp(LEVEL + x[:, None] * SLOPES + habits)
    gammas = rng.standard_gamma(alpha)
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), len(SLOPES))
    chances = (gammas / gammas.sum(axis=1, keepdims=True)) @ topics
    counts = rng.multinomial(rng.poisson(LENGTH, N_DOCUMENTS), chances)
    return World(counts, pd.DataFrame({"x": x.astype(float), "author": [f"a{one}" for one in author]}), topics)


def difference(nested: bool) -> np.ndarray:
    """(K,) of the mean shares of all documents there could be."""
    habits = HABIT * nested * np.random.default_rng(99).normal(size=(200_000, len(SLOPES)))
    means = []
    for x in (0.0, 1.0):
        alpha = np.exp(LEVEL + x * SLOPES + habits)
        means.append((alpha / alpha.sum(axis=1, keepdims=True)).mean(axis=0))
    return means[1] - means[0]


def plain_interval(shares: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ends) of least squares on point estimates, as if documents were independent."""
    columns = np.column_stack([np.ones(len(x)), x])
    coef = np.linalg.lstsq(columns, shares, rcond=None)[0]
    variance = ((shares - columns @ coef) ** 2).sum(axis=0) / (len(x) - 2)
    reach = norm.ppf(0.5 + PROBABILITY / 2) * np.sqrt(variance * np.linalg.inv(columns.T @ columns)[1, 1])
    return coef[1] - reach, coef[1] + reach


def one_set(seed: int, nested: bool, truth: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """((2, K) by kind of interval: whether it holds the truth, and its length; (2, K) Lambda found, and its error)."""
    given, n_topics = world(seed, nested), len(SLOPES)
    ends, coef = {}, np.empty(0)
    for name, prevalence in (("LDA", None), ("LDA with prevalence", "~ x")):
        model = LDA(n_topics, prevalence=prevalence, n_jobs=1, random_state=seed).fit(
            given.counts, metadata=given.frame
        )
        order = align_topics(given.topics, model.components_).order
        table = model.estimate_effect("~ x", given.frame, cluster="author" if nested else None).summary(PROBABILITY)
        own = table.set_index("topic").loc[order]
        ends[f"estimate_effect, {name}"] = (own["lower"].to_numpy() / 100, own["upper"].to_numpy() / 100)
        if prevalence is None:
            shares = model.doc_topic_[:, order].astype(float)
            ends["least squares on doc_topic_, LDA"] = plain_interval(shares, given.frame["x"].to_numpy())
        else:
            told = model.prevalence_coef_
            coef = told[told["term"] == "x"].set_index("topic").loc[order, ["coef", "std_error"]].to_numpy().T
    found = {name: np.stack([(low <= truth) & (truth <= high), high - low]) for name, (low, high) in ends.items()}
    return found, coef


@reproduces("lda", "effects on topics whose truth is known: what intervals hold, and coefficients of prevalence")
def effects_coverage(quick: bool) -> Outcome:
    """Takes some minutes on one core."""
    n_sets, rows, told, claims = FEW if quick else SETS, [], [], {}
    for nested in (False, True):
        truth, held, slopes = difference(nested), {}, []
        for seed in range(n_sets):
            found, coef = one_set(seed, nested, truth)
            slopes.append(coef)
            for name, one in found.items():
                held.setdefault(name, []).append(one)
        which = f"of {N_AUTHORS} authors" if nested else "independent"
        for name, sets in held.items():
            by_set = np.array([one[0].mean() for one in sets])
            error, length = float(by_set.std(ddof=1) / np.sqrt(n_sets)), 100 * float(np.mean([one[1] for one in sets]))
            rows.append([which, name, float(by_set.mean()), error, length])
        share = {row[1].split(",")[0]: row[2] for row in rows if row[0] == which}
        if not quick:
            ours = [row[2] for row in rows if row[0] == which and row[1].startswith("estimate")]
            claims[f"{which}: 90 % intervals hold the truth in 0.87 to 0.93"] = all(0.87 <= one <= 0.93 for one in ours)
            claims[f"{which}: least squares on point estimates does not"] = share["least squares on doc_topic_"] < 0.87
        coefs = np.array(slopes)[:, 0]
        coefs, wanted = coefs - coefs.mean(axis=1, keepdims=True), SLOPES - SLOPES.mean()
        told.append(f"{which} {', '.join(f'{one:+.2f}' for one in coefs.mean(axis=0))}")
    note = (
        f"{n_sets} data sets of {N_DOCUMENTS} documents, {len(SLOPES)} topics, {N_WORDS} words, about {LENGTH} "
        "tokens a document; LDA with prevalence, topics matched by their words. Shares are Dirichlet with log alpha = "
        "log 0.5 + x Lambda; "
        f"authors have a common x, and habits of deviation {HABIT} on log alpha. The truth is the difference of mean "
        f"shares between x = 1 and 0. Lambda less its mean is {', '.join(f'{one:+.2f}' for one in wanted)}; found on "
        f"average: {'; '.join(told)}. Standard errors are those over data sets."
    )
    return Outcome(COLUMNS, rows, note, claims=claims)
