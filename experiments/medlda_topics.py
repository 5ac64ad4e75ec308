"""The MedLDA paper's figures of topics on 20 Newsgroups: documents in the plane, topics of classes, entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier

from experiments.book import Outcome, reproduces
from experiments.medlda import NEWS, VB, chosen, curves, fitted, table, twenty
from supertopic.metrics import doc_topic_entropy


def _thetas(n_topics: int, quick: bool) -> dict[str, tuple[Any, np.ndarray]]:
    """Return MedLDA and LDA with their topic shares of the test documents."""
    data = twenty(quick)
    models = {
        "MedLDA": chosen(VB, n_topics, quick).best_estimator_,
        "LDA": fitted("LDA + SVM", n_topics, quick).model[0],
    }
    return {name: (model, model.transform(data.new)) for name, model in models.items()}


@reproduces("medlda", "figure 2: test documents in the plane by t-SNE of their topic shares, MedLDA and LDA")
def figure2(quick: bool) -> Outcome:
    n_topics, most = (10, 400) if quick else (70, 2500)
    label = twenty(quick).truth
    some = np.random.default_rng(0).permutation(len(label))[:most]
    placed, rows = {}, []
    for name, (_, theta) in _thetas(n_topics, quick).items():
        place = TSNE(init="pca", perplexity=30, random_state=0, n_jobs=1, max_iter=300 if quick else 750)
        placed[name] = place.fit_transform(theta[some])
        near = KNeighborsClassifier(11).fit(placed[name], label[some]).kneighbors(return_distance=False)[:, :10]
        alike = float(np.mean(label[some][near] == label[some][:, None]))
        rows.append([name, alike, float(silhouette_score(theta[some], label[some]))])
    claims = {"MedLDA groups documents of a class better than LDA": rows[0][1] > rows[1][1] and rows[0][2] > rows[1][2]}
    note = (
        f"{NEWS}; K = {n_topics} (the paper: 110), {len(some)} test documents drawn at random, seed 0. The paper "
        "shows the picture only; the figures are the share of a document's ten nearest in the plane that have its "
        "class, and the silhouette of the classes in topic space."
    )
    return Outcome(["", "neighbours alike", "silhouette"], rows, note, _planes(placed, label[some]), claims)


def _planes(placed: dict[str, np.ndarray], label: np.ndarray) -> Any:
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.6))
    colour = colormaps["tab20"]
    for axes, (name, place) in zip(figure.subplots(1, 2), placed.items(), strict=True):
        for number, group in enumerate(np.unique(label)):
            of = label == group
            axes.plot(*place[of].T, ".", markersize=3, color=colour(number % 20), label=group)
        axes.set(title=name, xlabel="t-SNE 1", ylabel="t-SNE 2", xticks=[], yticks=[])
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="center left", bbox_to_anchor=(0.91, 0.5), fontsize=7, markerscale=3, frameon=False
    )
    return figure


@reproduces("medlda", "figure 3: top topics of four classes, and the classes' mean topic shares")
def figure3(quick: bool) -> Outcome:
    n_topics, data = 10 if quick else 70, twenty(quick)
    groups = np.unique(data.truth)
    groups = (
        groups if quick else np.array(["comp.graphics", "sci.electronics", "talk.politics.mideast", "misc.forsale"])
    )
    rows, profiles, entropies = [], {}, {}
    for name, (model, theta) in _thetas(n_topics, quick).items():
        for group in groups:
            mean = theta[data.truth == group].mean(axis=0)
            profiles[name, group] = np.sort(mean)[::-1]
            entropies[name, group] = -float((mean * np.log(mean + 1e-12)).sum())
            for k in np.argsort(-mean)[:3]:
                words = " ".join(data.terms[np.argsort(-model.components_[k], kind="stable")[:10]])
                rows.append([group, name, f"T{k}", float(mean[k]), words])
    sharper = [entropies["MedLDA", group] < entropies["LDA", group] for group in groups]
    claims = {"MedLDA's mean shares of a class are sharper (lower entropy), in every class shown": all(sharper)}
    note = f"{NEWS}; K = {n_topics} (the paper: 110), seed 0; shares are means over a class's test documents."
    return Outcome(["class", "model", "topic", "share", "words"], rows, note, _profiles(profiles, groups), claims)


def _profiles(profiles: dict[tuple[str, str], np.ndarray], groups: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 2.9))
    for axes, group in zip(figure.subplots(1, len(groups), sharey=True), groups, strict=True):
        for name, marker in (("MedLDA", "o"), ("LDA", "s")):
            shares = profiles[name, group][:15]
            axes.plot(np.arange(1, len(shares) + 1), shares, marker=marker, markersize=3, label=name)
        axes.set_title(group, fontsize=9)
        axes.set_xlabel("topics by share")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("mean share in the class")
    figure.axes[0].legend(frameon=False)
    figure.tight_layout()
    return figure


@reproduces("medlda", "figure 4: mean entropy of the test documents' topic shares against K")
def figure4(quick: bool) -> Outcome:
    sizes, data = (10,) if quick else (40, 70), twenty(quick)
    found: dict[str, dict[int, list[float]]] = {}
    for n_topics in sizes:
        models = {name: model for name, (model, _) in _thetas(n_topics, quick).items()}
        if n_topics == sizes[0]:  # takes minutes with more topics
            models["sLDA"] = fitted("sLDA", n_topics, quick).model
        if not quick:
            models["DiscLDA"] = fitted("DiscLDA", n_topics, quick).model
        for name, model in models.items():
            found.setdefault(name, {})[n_topics] = [doc_topic_entropy(model.transform(data.new))]
    rows = table(sizes, found, {"MedLDA": "lowest", "LDA": "higher", "sLDA": "higher", "DiscLDA": "high"})
    others = [name for name in found if name not in ("MedLDA", "DiscLDA")]
    claims = {f"MedLDA's is lower than {name}'s at every K": all(
        found["MedLDA"][k][0] < found[name][k][0] for k in found[name]
    ) for name in others}  # fmt: skip
    note = f"{NEWS}; in nats, of test documents (inferred without labels), seed 0; models as in medlda.figure5b."
    figure = curves(sizes, found, {}, "mean entropy of θ")
    return Outcome(["nats", "paper", *(f"K = {k}" for k in sizes)], rows, note, figure, claims)
