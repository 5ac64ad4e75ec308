"""The effect of SAGE's interactions of topics and labels on the accuracy of predicted labels, and of their prior.

For held-out blogs (`sage.figure6`) the paper reports substantially lower accuracy without interactions. Here training
and test documents have the same authors, so only the number of documents limits what the interactions can add.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from experiments.book import Outcome, reproduces
from supertopic import FacetedSAGE
from supertopic.datasets import load
from supertopic.documents.corpus import log_counts

NONE, JEFFREYS, OWN = "no interactions", "Jeffreys, as topics and labels", "a prior of their own, the default"
PRIORS: dict[str, dict[str, Any]] = {NONE: {"interactions": []}, JEFFREYS: {"interaction_gamma": None}, OWN: {}}
DEBATES = ("alt.atheism", "soc.religion.christian", "talk.")
SHARES = (0.125, 0.25, 0.5, 0.75)
FIRST_SPLIT = 200  # the rates were chosen on other splits


def _blogs(column: str) -> tuple[sp.csr_matrix, np.ndarray]:
    data = load("poliblog5k_bow", os.environ["SUPERTOPIC_DATA"])
    return data.counts.counts, data.frame[column].to_numpy()


def _debates() -> tuple[sp.csr_matrix, np.ndarray]:
    """Newsgroups on politics and religion, with terms in at least ten documents."""
    data = load("20newsgroups_bow", os.environ["SUPERTOPIC_DATA"])
    group = data.frame["label"].to_numpy().astype(str)
    kept = np.array([name.startswith(DEBATES) for name in group])
    counts = data.counts.counts[kept]
    counts = counts[:, np.bincount(counts.indices, minlength=counts.shape[1]) >= 10]
    some = np.diff(counts.indptr) > 0
    return counts[some], group[kept][some]


def _accuracies(
    counts: sp.csr_matrix, label: np.ndarray, share: float, n_topics: int, n_splits: int
) -> dict[str, np.ndarray]:
    """Accuracy by prior, on half of the documents, or on a quarter if more than half are used for training."""
    logs = log_counts(counts)
    found: dict[str, list[float]] = {name: [] for name in PRIORS}
    for split in range(n_splits):
        place = np.random.default_rng(FIRST_SPLIT + split).random(len(label))
        test, train = place >= 0.75 if share > 0.5 else place >= 0.5, place < share
        for name, how in PRIORS.items():
            model = FacetedSAGE(n_topics, **how, random_state=split, n_jobs=2)
            model.fit(logs[train], pd.DataFrame({"label": label[train]}))
            found[name].append(model.score(logs[test], pd.DataFrame({"label": label[test]})))
    return {name: np.array(values) for name, values in found.items()}


@reproduces("sage", "section 5: what interactions add to the accuracy of labels, by the prior they have")
def interactions(quick: bool) -> Outcome:
    sides = _blogs("rating")
    if quick:  # few posts to learn from: there, a prior of their own is better in each of four splits
        tasks = {"blogs by side, an eighth of the posts, K = 5": (sides[0][::4], sides[1][::4], 0.125, 5, 2)}
    else:
        tasks = {f"blogs by side, {share:.1%} of the posts, K = 10": (*sides, share, 10, 5) for share in SHARES}
        tasks["blogs by side, 75.0% of the posts, K = 30"] = (*sides, 0.75, 30, 5)
        tasks["blogs by author, 50.0% of the posts, K = 10"] = (*_blogs("blog"), 0.5, 10, 3)
        tasks["six newsgroups, 50.0% of the articles, K = 10"] = (*_debates(), 0.5, 10, 3)
    found = {}
    for name, given in tasks.items():
        found[name] = _accuracies(*given)
        print(name, {prior: values.round(3) for prior, values in found[name].items()}, flush=True)
    rows = [[name, *(_text(values[prior], values[NONE]) for prior in PRIORS)] for name, values in found.items()]
    gain = {prior: [(values[OWN] - values[prior]).mean() for values in found.values()] for prior in (NONE, JEFFREYS)}
    claims = {"a prior of their own does better than Jeffreys', on average": np.mean(gain[JEFFREYS]) > 0}
    if not quick:
        claims["they do better than none, on average"] = np.mean(gain[NONE]) > 0
        claims["accuracy falls without them everywhere"] = min(gain[NONE]) > 0
    return Outcome(["accuracy", *PRIORS], rows, NOTE, _bars(found), claims)


def _text(values: np.ndarray, without: np.ndarray) -> str:
    if values is without:
        return f"{values.mean():.3f}"
    gain = 100 * (values - without)
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return f"{values.mean():.3f} ({gain.mean():+.1f} ± {error:.1f})"


NOTE = (
    "Accuracy on a random half of the documents, a quarter where 75 % are learned from, of the authors learned from "
    "(`poliblog5k_bow`, `20newsgroups_bow`: politics and religion, terms of ten articles or more); log counts; in "
    "brackets the gain over no interactions in points, mean and standard error over five random splits (three for "
    "authors and newsgroups). The default rate, 10, was chosen among 0.3 to 100 on other splits of these corpora and "
    "of BBC news, where all do alike."
)


def _bars(found: dict[str, dict[str, np.ndarray]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 0.7 + 0.6 * len(found)), layout="constrained")
    axes = figure.subplots()
    for shift, prior, ink in ((0.15, JEFFREYS, "tab:gray"), (-0.15, OWN, "tab:blue")):
        for place, values in enumerate(found.values()):
            gain = 100 * (values[prior] - values[NONE])
            axes.plot(gain, [shift - place] * len(gain), ".", color=ink, alpha=0.5)
            axes.plot(gain.mean(), shift - place, "|", color=ink, markersize=14, markeredgewidth=2,
                      label=None if place else prior)  # fmt: skip
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(-np.arange(len(found)), list(found))
    axes.set_xlabel("accuracy over that of no interactions, points")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure
