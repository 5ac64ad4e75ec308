"""The M-step of a generalised linear model's coefficients, from statistics that add up over documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import add
from typing import Any

import numpy as np

from supertopic.backends.base import Backend, Combine, Spread, reads_only, total
from supertopic.coefficients import CoefPrior
from supertopic.inference.batches import Partition
from supertopic.inference.design import Design
from supertopic.inference.regression import (
    Equations,
    Labelled,
    Total,
    contrast_information,
    fetched,
    follow,
    information,
    regress,
    solve,
)
from supertopic.model import DocumentTerms, Model, NoCoefStep, State, Stats
from supertopic.responses.base import Response
from supertopic.responses.classes import Softmax

_TURNS, _JOINT_TURNS = 10, 3  # of the M-step in one step of batch inference; of columns that climb together

_LARGEST = 3000  # coefficients of all classes whose joint covariance is computed


class GLMStep(NoCoefStep):
    """First the response's own parameters given the coefficients, then the coefficients.

    Where a step sees all documents, and the tokens of a document are alike, the two alternate: that costs little, and
    a single step towards coefficients that are far away would take one more E-step each time. In stochastic inference,
    the normal equations are averaged over steps, and solved once a step.
    """

    sums_equations = True

    def update(
        self, model: Model, before: State, after: State, stats: Stats, spread: Spread, terms: DocumentTerms,
        backend: Backend, scale: float, rate: float,
    ) -> tuple[State, DocumentTerms]:  # fmt: skip
        response, prior, coef = model.response, model.coef_prior, before.coef.astype(np.float64)
        over: Total = partial(over_partitions, spread)
        if rate == 1.0 and scale == 1.0 and not model.per_token:
            if backend.remote and not response.least_squares:  # these need no document: the E-step has summed them up
                over = fetched(over, int(stats.n_documents) * coef.shape[1])
            turns, found = _JOINT_TURNS if response.joint else _TURNS, Equations(stats.gram, stats.cross)
            given = (response, prior, over, coef, before.dispersion)
            coef, precision, dispersion = regress(*given, max_iter=turns, tol=1e-5, known=(stats.response, found))
        else:
            dispersion = response.update(stats.response, before.dispersion, rate)
            found = Equations(
                (1.0 - rate) * before.gram + rate * scale * stats.gram,
                (1.0 - rate) * before.cross + rate * scale * stats.cross,
            )
            coef, precision = solve(response, prior, over, found, coef), found.gram
        learned = {"gram": found.gram, "cross": found.cross, "information": precision, "dispersion": dispersion}
        return replace(after, coef=coef.astype(np.float32), **learned), terms

    def refit(self, model: Model, state: State, terms: DocumentTerms, documents: Total) -> tuple[State, DocumentTerms]:
        response, prior = model.response, model.coef_prior
        limits: dict[str, Any] = {"max_iter": 1000, "tol": 1e-11, "together": True} if response.coupled else {}
        coef, _, found = regress(response, prior, documents, state.coef, state.dispersion, **limits)
        dispersion = self.refitted_dispersion(response, state.dispersion, found)
        coef = follow(response, model.n_topics, coef, found, dispersion)
        precision = information_at(response, prior, documents, coef, dispersion)
        return replace(state, coef=coef.astype(np.float32), information=precision, dispersion=dispersion), terms

    def refitted_dispersion(self, response: Response, before: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The dispersion after a refit, from that before it and that of the regression."""
        return found


def information_at(
    response: Response, prior: CoefPrior, documents: Total, coef: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(C, n, n) what standard errors come from; of a softmax's classes, that of their contrasts to the mean."""
    if isinstance(response, Softmax) and coef.size <= _LARGEST:
        return contrast_information(response, prior, documents, coef, dispersion)
    return documents(information, response, coef, dispersion)


def over_partitions(spread: Spread, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any:
    """The `Total` of documents in partitions, at the topic shares that the last local step found."""
    return total(spread.map(_of_labelled, combine, function, *arguments), combine)


@reads_only
def _of_labelled(
    partition: Partition, backend: Backend, combine: Combine, function: Callable[..., Any], *arguments: Any
) -> Any:
    return labelled(partition).total_by(backend.all, function, *arguments, combine=combine)


def labelled(partition: Partition) -> Labelled:
    """The documents of a partition as a regression sees them; made once for every local step."""
    found, batch = partition.found, partition.batch
    assert found is not None
    if found.labelled is None:  # "pc" has made them, of shares that are known
        assert found.prior is not None
        alpha = found.prior.by_document(found.prior.alpha)
        design = Design.of(found.doc_topic, alpha, batch.lengths, batch.extra)
        found.labelled = Labelled(design, batch.y, batch.weight)
    return found.labelled
