"""Further fits of the same Spec, on documents drawn again and with other seeds, or on some of the documents.

They say what depends on the topics that happened to be found: how often a topic is found again, and how far its
coefficient moves (`Others`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from supertopic.fitted.certainty.folds import Fold, FoldCoefficients
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.side_by_side import fit_side_by_side
from supertopic.fitted.spec import Finish
from supertopic.inference.gibbs.chains import match_topics
from supertopic.progress import track


def with_refits(fitted: Fitted, n: int, seed: int) -> Fitted:
    """With n fits, all that follows the topics included, which say how often topics and coefficients come back.

    Documents are drawn with replacement, or groups of them are. Warnings of few groups or labels are
    silenced: the first fit gave them.
    """
    training = fitted.training
    if training is None:
        raise ValueError(f"refits: this {fitted.spec.name} no longer holds the documents of its fit")
    rows = drawn_again(len(training.corpus), None if training.groups is None else training.groups.values, n, seed)
    coef = FoldCoefficients(fitted, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (one, _) in enumerate(fits_of_rows(fitted, "refit", rows, seed, fitted.spec.finish)):
            coef.take(Fold(number, rows[number][:0], rows[number], one), one.state)
    return replace(fitted, others=coef.others(), notes={**fitted.notes, "refits": n})


def drawn_again(n_documents: int, groups: np.ndarray | None, n: int, seed: int) -> list[np.ndarray]:
    """n times the rows of documents, or of groups (D,), drawn with replacement."""
    unit = np.arange(n_documents) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    rng = np.random.default_rng([seed, 41])
    return [np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))]) for _ in range(n)]


def fits_of_rows(
    fitted: Fitted, what: str, rows: list[np.ndarray], seed: int, finish: Finish
) -> Iterator[tuple[Fitted, np.ndarray]]:
    """A fit to each of some rows, with a seed of its own, and the order in which its topics are those of `fitted`."""
    spec, training = fitted.spec, fitted.training
    assert training is not None

    def one(number: int, n_jobs: int | None) -> Fitted:
        return fit(spec.part(what, number, n_jobs, finish=finish), training.rows(rows[number]), seed + 1 + number)

    parts: list[Callable[[int | None], Fitted]] = [partial(one, number) for number in range(len(rows))]
    with track(f"{spec.name} {what}s", len(rows), int(spec.place.verbose)) as report:
        for number, found in enumerate(fit_side_by_side(spec.place, parts, training.corpus.counts.nnz)):
            yield found, match_topics(fitted.weights, found.weights)
            report(number + 1)
