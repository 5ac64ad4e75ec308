"""Regression of y on topic shares and covariates, by statistics that add up over documents.

Each statistic is a function of a `Labelled` part of the documents, and a `Total` adds it over all parts, wherever they
are: in blocks that threads take in turns, in the partitions of a backend, or in a file. `regress` asks a `Total` for
statistics until it gains no more. What one document contributes stands in `supertopic.inference.design`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from supertopic.backends.base import Combine, Run, in_turn
from supertopic.coefficients import CoefPrior
from supertopic.inference.design import Design
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of

_FETCHED = 1 << 22  # numbers at most
_MEMORY = 4  # turns before the last one that take part in the next
_FIRST = 4  # turns without mixing: Newton's steps are at their end by then


class Total(Protocol):
    """Statistics of all documents, wherever these are: total(function, *arguments) combines function(part, *arguments)
    over all parts of the documents, by default by adding.
    """

    def __call__(self, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any: ...


@dataclass
class Labelled:
    """Documents as a regression sees them: what their linear predictors are made of, y, and its weights (D,)."""

    design: Design
    y: np.ndarray
    weight: np.ndarray
    _moments: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None  # of the last coefficients
    _gram: tuple[np.ndarray, np.ndarray] | None = None  # (curvature, its gram) where scores do not change the former

    def total(self, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any:
        """The `Total` of documents that are all here."""
        return self.total_by(in_turn, function, *arguments, combine=combine)

    def total_by(self, run: Run, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any:
        """The same. `run` does the blocks in any order; what they say is added up in theirs, and not kept for long."""
        if combine is join or len(self.design.blocks) < 2:
            return function(self, *arguments)
        blocks = self._blocks
        early: dict[int, Any] = {}  # what blocks have said before their turn
        found: list[Any] = []
        n_added, turn = 0, threading.Lock()

        def one(place: int) -> None:
            nonlocal n_added
            value = function(blocks[place], *arguments)
            with turn:
                early[place] = value
                while n_added in early:
                    found[:] = [combine(found[0], early.pop(n_added)) if found else early.pop(n_added)]
                    n_added += 1

        run([(one, place) for place in range(len(blocks))])
        return found[0]

    @cached_property
    def _blocks(self) -> list[Labelled]:
        return [Labelled(self.design.rows(some), self.y[some], self.weight[some]) for some in self.design.blocks]

    def moments(self, coef: np.ndarray, is_product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `Design.moments`; kept, since several statistics are taken at the same coefficients."""
        if self._moments is None or self._moments[0] is not coef:
            self._moments = coef, self.design.moments(coef, is_product)
        return self._moments[1]

    def slopes(self, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature) times the weights."""
        score, moment = self.moments(coef, response.is_product)
        slope, curvature = response.slope_and_curvature(self.y, score, moment, dispersion)
        return self.weight[:, None] * slope, self.weight[:, None] * curvature

    def gram(self, coef: np.ndarray, response: Response, moment: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """(C, n, n) of the normal equations."""
        nothing = np.zeros_like(curvature)
        return self.design.normal_equations(coef, response.is_product, moment, nothing, curvature)[0]


def itself(part: Labelled) -> Labelled:
    return Labelled(part.design, part.y, part.weight)  # without what it keeps, since it may travel


def join(one: Labelled, other: Labelled) -> Labelled:
    """Two sets of documents as one."""
    names = ("mean", "lengths", "covariates")
    design = Design(*(np.concatenate([getattr(part.design, name) for part in (one, other)]) for name in names))
    return Labelled(design, np.concatenate([one.y, other.y]), np.concatenate([one.weight, other.weight]))


def fetched(total: Total, n_numbers: int) -> Total:
    """The Total of documents that lie elsewhere, whose shares are so many numbers. A regression asks dozens of times,
    so that a few documents are better fetched once.
    """
    return total if n_numbers > _FETCHED else total(itself, combine=join).total


@dataclass(frozen=True)
class Equations:
    """Normal equations gram coef = cross; those of two sets of documents add up."""

    gram: np.ndarray  # (C, n, n)
    cross: np.ndarray  # (C, n)

    def __add__(self, other: Equations) -> Equations:
        return Equations(self.gram + other.gram, self.cross + other.cross)


# Statistics of documents, each a function of a `Labelled` part.


def scores(part: Labelled, coef: np.ndarray) -> list[np.ndarray]:
    """(D, C) the linear predictors, in a list: those of the next documents come after them."""
    return [part.design.predictors(coef)]


def dispersion_summary(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """What the response's own parameters are updated from."""
    score, moment = part.moments(coef, response.is_product)
    return response.summarise(part.y, score, moment, part.weight, dispersion)


def dispersion_at_mean(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """The same, for a search along which the predicted means stay."""
    score, moment = part.moments(coef, response.is_product)
    return response.summarise_at_mean(part.y, score, moment, part.weight, dispersion)


def log_likelihood(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> float:
    """sum_d weight E[log p(y | s)]."""
    score, moment = part.moments(coef, response.is_product)
    return float((part.weight * response.log_density(part.y, score, moment, dispersion)).sum())


def equations(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> Equations:
    """The normal equations at these coefficients."""
    slope, curvature = part.slopes(response, coef, dispersion)
    moment = part.moments(coef, response.is_product)[1]
    return Equations(*part.design.normal_equations(coef, response.is_product, moment, slope, curvature))


def newton(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> Equations:
    """Normal equations whose solution is Newton's step, for columns that do not depend on one another.

    The steps of the response's own, those of a bound, may be far too short.
    """
    slope, curvature = part.slopes(response, coef, dispersion)
    moment = part.moments(coef, response.is_product)[1]
    gram = information(part, response, coef, dispersion)
    cross = np.einsum("cij,cj->ci", gram, coef)
    cross += part.design.gradient(coef, response.is_product, moment, slope, curvature)
    if not response.coupled_columns.any():
        return Equations(gram, cross)
    own, alone = equations(part, response, coef, dispersion), ~response.coupled_columns
    return Equations(np.where(alone[:, None, None], gram, own.gram), np.where(alone[:, None], cross, own.cross))


def value_and_gradient(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """(1 + C n,): the log-likelihood and its gradient. A bound that is tight where it stands has the slope of what it
    bounds, so that slope and curvature give the gradient.
    """
    slope, curvature = part.slopes(response, coef, dispersion)
    moment = part.moments(coef, response.is_product)[1]
    gradient = part.design.gradient(coef, response.is_product, moment, slope, curvature)
    return np.concatenate([[log_likelihood(part, response, coef, dispersion)], gradient.ravel()])


def information(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """(C, n, n) minus the second derivative of the log-likelihood."""
    score, moment = part.moments(coef, response.is_product)
    found = part.weight[:, None] * response.information(part.y, score, moment, dispersion)
    curvature = np.where(response.is_product, found / np.maximum(moment, 1e-300), found)
    if not response.constant_slopes or response.is_product.any():
        return part.gram(coef, response, moment, curvature)
    if part._gram is None:
        part._gram = curvature, part.gram(coef, response, moment, curvature)
    kept, gram = part._gram  # its cost grows with the square of the topics, and turns differ in the dispersion alone
    return gram * (curvature.sum(axis=0) / np.maximum(kept.sum(axis=0), 1e-300))[:, None, None]


def joint_information(part: Labelled, response: Response, coef: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """(C, C, n, n) minus the second derivative of a softmax's log-likelihood in the coefficients of two classes.

    sum_d w p_c (1(b = c) - p_b) x x',   for shares that are known exactly
    """
    _, moment = part.moments(coef, response.is_product)
    share, columns = moment / np.maximum(moment.sum(axis=1, keepdims=True), 1e-300), part.design.columns
    weight = np.where(np.isnan(part.y), 0.0, part.weight)
    n_classes, n_coef = coef.shape
    found = np.empty((n_classes, n_classes, n_coef, n_coef))
    for c in range(n_classes):
        for b in range(c + 1):
            own = weight * share[:, c] * ((b == c) - share[:, b])
            found[c, b] = found[b, c] = (columns * own[:, None]).T @ columns
    return found


def contrast_information(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(C, n, n): what `CoefPrior.deviation` makes the standard errors of coef_c - mean over classes of coef_b of.

    The covariance of all classes together is the inverse of their joint information and the prior's precision. Given
    the other classes, errors would be too small; without a contrast, they would be those of a number that y says
    nothing of.
    """
    cov = joint_covariance(response, prior, total, coef, dispersion).transpose(0, 2, 1, 3)
    across, mean = cov.mean(axis=1), cov.mean(axis=(0, 1))
    contrast = np.stack([cov[c, c] - across[c] - across[c].T + mean for c in range(len(coef))])
    return np.linalg.inv(contrast) - prior.precision(np.full(coef.shape[1], prior.own))


def joint_covariance(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(C, n, C, n) of the coefficients of all classes together."""
    joint = total(joint_information, response, coef, dispersion)
    n_classes, n_coef = coef.shape
    size, own = n_classes * n_coef, np.full(coef.shape[1], prior.own)
    precision = joint.transpose(0, 2, 1, 3).reshape(size, size).copy()
    tiny = 1e-6 * max(float(np.trace(precision)) / size, 1e-12)
    precision += np.kron(np.eye(n_classes), prior.precision(own)) + tiny * np.eye(size)
    return np.linalg.inv(precision).reshape(n_classes, n_coef, n_classes, n_coef)


def reach(part: Labelled, move: np.ndarray) -> np.ndarray:
    """(C,) how far a move of the coefficients (C, n) moves a document's linear predictors at most."""
    return np.abs(part.design.predictors(move)).max(axis=0, initial=0.0)


def total_weight(part: Labelled) -> float:
    return float(part.weight.sum())


def solve(response: Response, prior: CoefPrior, total: Total, found: Equations, coef: np.ndarray) -> np.ndarray:
    """The next coefficients (C, n): towards the solution of the equations, as far as the response allows."""
    best = np.array([prior.solve(*column) for column in zip(found.gram, found.cross, coef, strict=True)])
    return response.step(coef, best, total(reach, best - coef, combine=np.maximum))


def regress(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray, max_iter: int = 200,
    tol: float = 1e-8, together: bool = False, known: tuple[np.ndarray, Equations] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(coef, information, dispersion) of a regression of y on topic shares and covariates, until it gains no more.

    Every statistic adds up over documents, so that these may lie in several partitions. Columns that depend on one
    another (softmax) climb together along gradients, where they are many or where this is asked for (`together`); all
    others solve their own equations.

    known : the summary for the dispersion and the normal equations at `coef`, if an E-step has made them; least squares
        then ask no document, and other responses do not use it
    """
    coef = coef.astype(np.float64)
    given = (response, prior, total, coef, dispersion, max_iter, tol)
    if response.least_squares:
        return _least_squares(*given, known)
    joint = (response.joint or together) and not prior.sparse
    coef, dispersion = _climb(*given) if joint else _solve_by_turns(*given)
    return coef, total(information, response, coef, dispersion), dispersion


def _least_squares(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray, max_iter: int,
    tol: float, known: tuple[np.ndarray, Equations] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(coef, information, dispersion) of a Gaussian: its variance and its coefficients, in turns.

    The documents are asked once at most. Squares at other coefficients follow from the normal equations at variance v:

        sum_d w E[(u - s')²]  =  sum_d w E[(u - s)²] + v (d' gram d - 2 (cross - gram coef)·d),     d = coef' - coef
    """
    if known is None:
        known = tuple(total(function, response, coef, dispersion) for function in (dispersion_summary, equations))
    (weight, squares), found = known
    variance = dispersion[0]
    gram, cross = variance * found.gram[0], variance * found.cross[0]
    rest, there, before = cross - gram @ coef[0], coef[0], -np.inf
    for _ in range(max_iter):
        step = there - coef[0]
        left = squares + step @ gram @ step - 2.0 * (rest @ step)
        dispersion = response.update(np.array([weight, left]), dispersion, 1.0)
        variance = dispersion[0]
        value = -0.5 * (weight * np.log(variance) + left / variance) + prior.log_density(there)
        if value - before < tol * abs(value):
            break
        there, before = prior.solve(gram / variance, cross / variance, there), value
    return there[None], gram[None] / variance, dispersion


def _solve_by_turns(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray, max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The response's own parameters, then the coefficients, in turns.

    Where the topics' level is free, it follows the former, so that predicted means stay. Cut-points, and columns that
    depend on one another, still make turns many. So the next coefficients are mixed from those of the last turns
    (`_mix`), as long as the value rises.
    """
    before, plain = -np.inf, (coef, dispersion)
    points: list[np.ndarray] = []
    images: list[np.ndarray] = []
    for _ in range(max_iter):
        coef, dispersion = _own_parameters(response, prior, total, coef, dispersion)
        value = _value(response, prior, total, coef, dispersion)
        if len(points) > 1 and not value >= before:  # mixing led down: the turn without it
            coef, dispersion = _own_parameters(response, prior, total, *plain)
            value = _value(response, prior, total, coef, dispersion)
            points, images = [], []
        if value - before < tol * abs(value):
            break
        there = _higher(response, prior, total, coef, dispersion, value)
        points, images = [*points[-_MEMORY:], coef], [*images[-_MEMORY:], there]
        before, plain = value, (there, dispersion)
        coef = there if prior.sparse else _mix(response, points, images)  # mixing has no exact zeros
    return coef, dispersion


def _mix(response: Response, points: list[np.ndarray], images: list[np.ndarray]) -> np.ndarray:
    """Anderson's mixing: of the last turns, from `points` to `images`, the combination whose steps cancel best.

    Each response of classes has a combination of its own: the columns of one do not depend on those of another. Turns
    of numbers are few without.
    """
    found = images[-1].copy()
    for part in parts_of(response) if len(points) >= _FIRST else ():
        if part.response.kind != "class":
            continue
        after = np.array(images)[:, part.columns]
        step = (after - np.array(points)[:, part.columns]).reshape(len(after), -1)
        weight = np.linalg.lstsq(np.diff(step, axis=0).T, step[-1], rcond=1e-10)[0]
        found[part.columns] -= np.tensordot(weight, np.diff(after, axis=0), 1)
    return found


def _own_parameters(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(coef, dispersion): the latter as it fits best; the topics' level follows it, where it is free."""
    if not prior.n_level:
        return coef, response.update(total(dispersion_summary, response, coef, dispersion), dispersion, 1.0)
    found = response.update(total(dispersion_at_mean, response, coef, dispersion), dispersion, 1.0)
    return follow(response, prior.n_level, coef, dispersion, found), found


def follow(response: Response, n_topics: int, coef: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The coefficients (C, n) at the topics' level that leaves predicted means as they are under another dispersion."""
    level = response.level(before, after)
    if not level.any():
        return coef
    return (coef + np.outer(level, np.arange(coef.shape[1]) < n_topics)).astype(coef.dtype)


def _value(response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray) -> float:
    return float(total(log_likelihood, response, coef, dispersion)) + prior.log_density(coef)


def _higher(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray, value: float
) -> np.ndarray:
    """Coefficients that are no worse: by Newton's step, or where it leads down, by that of the response's bound."""
    if not response.coupled_columns.all():
        there = solve(response, prior, total, total(newton, response, coef, dispersion), coef)
        if _value(response, prior, total, there, dispersion) >= value:
            return there
    return solve(response, prior, total, total(equations, response, coef, dispersion), coef)


def _climb(
    response: Response, prior: CoefPrior, total: Total, coef: np.ndarray, dispersion: np.ndarray, max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """All columns together, by L-BFGS."""
    scale = max(total(total_weight), 1e-300)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        there = flat.reshape(coef.shape)
        found = total(value_and_gradient, response, there, dispersion)
        value, gradient = found[0] + prior.log_density(there), found[1:] + prior.gradient(there).ravel()
        return -value / scale, -gradient / scale

    # by default, L-BFGS also ends at a gradient of 1e-5, which is too early for a small tol
    options = {"maxiter": max_iter, "ftol": tol, "gtol": min(1e-5, 1e3 * tol)}
    found = minimize(loss, coef.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(coef.shape), dispersion
