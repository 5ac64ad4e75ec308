"""The contract of a response: the law of y given the topics, as the engines need it.

A response has C columns of coefficients. Column c of document d has the linear predictor s = coef_c·Zbar_d. The engines
see a response through two (D, C) arrays, slope and curvature. A column is of one of two kinds, and
`supertopic.kernels.e_step_token` has the formulas of both:

    quadratic column   E[log p(y)] = const + slope·E[s] - curvature/2·E[s²]
    product column     E[log p(y)] = const + slope·E[s] - curvature·E[exp s]

How to write a new response: derive a class from `Response` and give it a `name`, which enters it into `registry()`.
Estimators, the command line and the tests find it there. Its methods take these arguments:

    y           (D,) labels, NaN where missing
    score       (D, C) E[s]
    moment      (D, C) E[s²] of a quadratic column, E[exp s] of a product column
    weight      (D,) weights of the labels
    dispersion  (P,) what is learned beside the coefficients: a variance, a shape, cut-points

It overrides these attributes and methods:

    kind, is_product              what y holds; the kind of each column
    slope_and_curvature           the two arrays; zero where y is missing
    log_density                   E[log p(y | s)], or the bound that the two arrays belong to
    predict                       E[y], or the probabilities of the classes
    check, interval               which labels are impossible; intervals for y

With a dispersion of P numbers, it overrides these as well:

    n_dispersion, ranges          P; the least and the largest value of each, in fits and in files
    start                         the first dispersion, from a summary of the labels (`describe`)
    n_summary, summarise, update  the dispersion that fits best, from sums over documents

The other methods have defaults that serve most responses. A Gibbs sampler needs `sampled = True`, `augment` and, with
a dispersion, `draw_dispersion`; without them, a fit by Gibbs sampling is refused. `tests/test_new_response.py` has a
complete example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from supertopic.responses.label_summary import LabelSummary

_ROUNDING = 1e-6  # of a number at the end of its range
_REGISTRY: dict[str, type[Response]] = {}
LARGEST_LABEL = 1e15  # responses square y and sum the squares; a larger y belongs in another unit
LARGEST_COEF = 1e18  # of a coefficient: squares are taken in single precision
LOG_SPREAD = 2.0  # samplers have the prior log x ~ N(0, LOG_SPREAD²) on a positive dispersion x (not on a variance)


def register(response: type[Response]) -> None:
    """Enter a response into the registry; defining a class with a name does so."""
    _REGISTRY[response.name] = response


def unregister(name: str) -> None:
    """Take a response out of the registry."""
    del _REGISTRY[name]


def registry() -> dict[str, type[Response]]:
    """All responses by name."""
    return dict(_REGISTRY)


class Draws(Protocol):
    """The random numbers that a sampler offers to a response: arrays of the shape of the parameters."""

    def polya_gamma(self, shape: np.ndarray, tilt: np.ndarray) -> np.ndarray: ...

    def truncated_normal(self, location: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray: ...

    def gamma(self, shape: np.ndarray, rate: np.ndarray) -> np.ndarray: ...

    def poisson(self, rate: np.ndarray) -> np.ndarray: ...

    def slice(self, log_density: Callable[[float], float], start: float) -> float: ...


def draw_log_normal(
    draw: Draws, log_likelihood: Callable[[float], float], start: float, least: float, most: float
) -> float:
    """One step of a slice sampler in log x, for x from `least` to `most` with the prior log x ~ N(0, LOG_SPREAD²)."""

    def log_density(log_x: float) -> float:
        if not np.log(least) <= log_x <= np.log(most):
            return -np.inf
        return log_likelihood(float(np.exp(log_x))) - 0.5 * (log_x / LOG_SPREAD) ** 2

    return float(np.exp(draw.slice(log_density, float(np.log(start)))))


def draw_latents(
    draw: Draws, score: np.ndarray, lower: np.ndarray, upper: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """(D, 1) the sum of `weight` (D,) draws of N(s, 1) between lower and upper; weights are whole numbers.

    P(lower < N(s, 1) < upper)^weight has `weight` latent variables and depends on them through their sum.
    """
    total = np.zeros_like(score)
    for number in range(int(weight.max(initial=0.0))):
        total += np.where(weight[:, None] > number, draw.truncated_normal(score, lower, upper), 0.0)
    return total


class Response:
    """The base class. As it stands it is no response at all: zero columns.

    A response has no state: the engine keeps coefficients and dispersion, and passes them to every method.
    """

    name: ClassVar[str] = "none"
    kind: ClassVar[str] = "none"  # "number", "class", "margin": what y holds, and so which estimators offer it
    is_product: np.ndarray = np.zeros(0, dtype=bool)  # (C,): product columns, as opposed to quadratic ones
    constant_slopes: bool = False  # whether slope and curvature are the same for all scores
    least_squares: ClassVar[bool] = False  # whether it is a Gaussian: `summarise` sums weights, and squares around s
    follows_means: ClassVar[bool] = False  # whether "pc" may be given estimates of E[y] to follow, instead of y
    two_classes: ClassVar[bool] = False  # whether it is for two classes only
    ordered: ClassVar[bool] = False  # whether the classes need an order
    shares_shift: ClassVar[bool] = False  # whether a number that is added to all columns changes nothing
    max_margin: ClassVar[bool] = False  # whether the State holds duals, which add to the slopes
    lowest: ClassVar[float] = -np.inf  # of the numbers that y may be …
    grain: ClassVar[float] = 0.0  # … and how far two of them are apart at least
    uses_moments: ClassVar[bool] = True  # whether predictions need second moments of the linear predictor
    log_link: bool = False  # whether log E[y] is linear in s, so that effects are ratios
    n_dispersion: int = 0  # P
    ranges: ClassVar[tuple[tuple[float, float], ...]] = ()  # of the dispersion, from the least to the largest value
    n_summary: int = 0  # the length of what `summarise` returns
    sampled: bool = False  # whether a Gibbs sampler can take it …
    whole_weights: ClassVar[bool] = False  # … only with weights of labels that are whole numbers

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            register(cls)

    def __init__(self, n_classes: int = 0) -> None:
        """n_classes : of a response of kind "class"; y then holds 0 … n_classes - 1."""
        self.n_classes = n_classes

    @property
    def n_columns(self) -> int:
        return len(self.is_product)

    @property
    def joint(self) -> bool:
        """Whether columns depend on one another, so that the M-step climbs along gradients of all of them together."""
        return False

    @property
    def coupled(self) -> bool:
        """Whether columns depend on one another: a refit then climbs along all of them together, until it converges."""
        return False

    @property
    def coupled_columns(self) -> np.ndarray:
        """(C,) which columns they are."""
        return np.full(self.n_columns, self.coupled)

    @property
    def sampled_power(self) -> np.ndarray:
        """(C,): the power of exp s in which a sampler's column is a product column; 0 for a quadratic column.

        With a power a, the column is a product column in x = a·s.
        """
        return np.where(self.is_product, 1.0, 0.0)

    @property
    def is_probit(self) -> np.ndarray:
        """(C,): columns with p(y | s) = Phi(s) for y = 1 and Phi(-s) for y = 0, which a sampler may use as it is."""
        return np.zeros(self.n_columns, dtype=bool)

    def signs(self, y: np.ndarray) -> np.ndarray:
        """(D, C): 1 for y = 1, -1 for y = 0, 0 where y is missing; for probit columns only."""
        return np.zeros((len(y), self.n_columns))

    def check(self, y: np.ndarray) -> None:
        """ValueError in one sentence when the numbers y (NaN: missing) cannot come from this response."""

    def describe(self, y: np.ndarray, weight: np.ndarray) -> LabelSummary:
        """What `start` and `start_coef` need to know of the labels; summaries of two sets of documents add up."""
        return LabelSummary.of(y, weight, 0 if self.kind == "number" else self.n_classes)

    def start(self, labels: LabelSummary) -> np.ndarray:
        """(P,) the first dispersion."""
        return np.zeros(0)

    def check_dispersion(self, dispersion: np.ndarray) -> None:
        """ValueError in one sentence when these numbers (..., P) are beyond their ranges."""
        for place, (least, most) in enumerate(self.ranges):
            numbers = np.atleast_1d(dispersion[..., place])
            low, high = least - _ROUNDING * abs(least), most + _ROUNDING * abs(most)
            wrong = numbers[~((numbers >= low) & (numbers <= high))]
            if len(wrong):
                raise ValueError(
                    f"the dispersion of response={self.name!r} is {wrong[0]:g} in place {place}, "
                    f"expected {least:g} to {most:g}; give y in another unit"
                )

    def start_coef(self, labels: LabelSummary, dispersion: np.ndarray) -> np.ndarray:
        """(C,) the first coefficient, the same for all topics: the one that fits y best, or zero where that will do."""
        return np.zeros(self.n_columns)

    def step(self, coef: np.ndarray, found: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """The next coefficients (C, n) between `coef` and `found`; at `found` some s has moved by `reach` (C,).

        A quadratic column goes all the way. In a product column, where `found` comes from a Newton step, the objective
        is sure to rise while no s moves by more than 1.
        """
        whole = coef + (found - coef) / np.maximum(reach, 1.0)[:, None]
        return np.where(self.is_product[:, None], whole, found)

    def trained_as(self, y: np.ndarray, weight: np.ndarray) -> tuple[Response, np.ndarray]:
        """(response, y) that "pc" trains topics for, with the same columns; coefficients are those of `self`."""
        return self, y

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature), each (D, C), at the current E[s] and E[s²] or E[exp s]; zero where y is missing."""
        return np.zeros_like(score), np.zeros_like(score)

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D,) E[log p(y | s)], or the bound that `slope_and_curvature` belongs to; zero where y is missing."""
        return np.zeros(len(score))

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D, C) -d²/ds² E[log p(y | s)], for standard errors; a bound is steeper than what it bounds."""
        _, curvature = self.slope_and_curvature(y, score, moment, dispersion)
        return np.where(self.is_product, curvature * moment, curvature)

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """(n_summary,) sums over documents that `update` finds the next dispersion from, given the present one."""
        return np.zeros(0)

    def summarise_at_mean(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """The same, for a search along which the predicted means stay as they are: `level` says how s has to move."""
        return self.summarise(y, score, moment, weight, dispersion)

    def level(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(C,) what is to be added to s so that the predicted means stay, as the dispersion moves."""
        return np.zeros(self.n_columns)

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        """The dispersion that fits best, or (rate < 1) part of the way there.

        It is the same for a multiple of the summary, and stays as it is for a summary of no labels.
        """
        return dispersion

    def fit_dispersion(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float = 1.0,
    ) -> np.ndarray:  # fmt: skip
        """`update` where all documents are at hand; as often as it takes, where one is not the whole search."""
        return self.update(self.summarise(y, score, moment, weight, dispersion), dispersion, rate)

    def fit_dispersion_at_mean(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """The same along means that stay: s is to move by `level`."""
        return self.fit_dispersion(y, score, moment, weight, dispersion)

    def check_sampler(self, weight: np.ndarray) -> None:
        """ValueError in one sentence when the Gibbs sampler cannot take this response, or these weights (D,)."""
        if not self.sampled:
            names = ", ".join(repr(name) for name, response in _REGISTRY.items() if response.sampled)
            canonical = ":canonical" if getattr(self, "link", "log") == "canonical" else ""
            which = f"response={self.name + canonical!r}"
            raise ValueError(f"inference: got 'gibbs', which has no sampler for {which}; expected one of {names}")
        if self.whole_weights and np.any(weight != np.round(weight)):
            raise ValueError(
                f"inference: got 'gibbs' with weights of labels (supervision times sample_weight and class_weight) "
                f"other than whole numbers, which response={self.name!r} cannot take; 'logit' and 'softmax' can"
            )

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature), each (D, C), drawn given s = score.

        Given them, log p(y | s)^weight is exactly that of a quadratic or a product column (`sampled_power`). As it
        stands, for a response with such a log-density: there is nothing to draw.
        """
        slope, curvature = self.slope_and_curvature(y, score, score, dispersion)
        return weight[:, None] * slope, weight[:, None] * curvature

    def augment_column(
        self, y: np.ndarray, score: np.ndarray, column: int, weight: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(slope, curvature), each (D,), of a quadratic column in the s of one column, given the others.

        None where no such augmentation is known. It serves to draw the coefficients of a column. It does not serve to
        draw topics, which move all columns at once.
        """
        return None

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """A draw of the dispersion given s; what `augment` draws is integrated out."""
        return dispersion

    def log_likelihood(self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> float:
        """sum_d weight log p(y | s). It is exact: bounds are tight where s is known."""
        moment = known_moment(score, self.is_product)
        return float(weight @ self.log_density(y, score, moment, dispersion))

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """E[y] (D,) of documents without a label; (D, n_classes) probabilities for a response of kind "class"."""
        raise TypeError(f"a model with response {self.name!r} has nothing to predict")

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """(D,) the predicted class, for a response of kind "class"."""
        return probabilities.argmax(axis=1)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends, each (D,), of intervals that hold y with the given probability."""
        raise TypeError(f"a model with response {self.name!r} has no intervals")

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and their standard errors on the scale that users see."""
        return coef, deviation

    def origin_and_unit(self, dispersion: np.ndarray) -> tuple[float, float]:
        """(origin, unit) such that origin + unit·s means the same in fits with other dispersions (see `units`)."""
        zero, one = self.unscale(np.array([0.0, 1.0]), np.zeros(2), dispersion)[0]
        return float(zero), float(one - zero)

    def spread(self, dispersion: np.ndarray) -> float | np.ndarray:
        """The dispersion as users see it: one number, or cut-points."""
        return float(dispersion[0]) if len(dispersion) else 1.0


class NoResponse(Response):
    """No response, under a name of its own: topics alone."""

    name = "none"


def only_labelled(y: np.ndarray, weight: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """y, the weights and the arrays, without the documents that have no label or a weight of zero."""
    rows = ~np.isnan(y) & (weight > 0)
    given = (y, weight, *arrays)
    return given if rows.all() else tuple(array[rows] for array in given)


def only_known(y: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays, zero in the rows where y is missing."""
    known = ~np.isnan(y)
    return tuple(np.where(known[:, None] if array.ndim == 2 else known, array, 0.0) for array in arrays)


def known_moment(score: np.ndarray, is_product: np.ndarray) -> np.ndarray:
    """E[exp s] of product columns and E[s²] of the others, of linear predictors s that are known."""
    return np.where(is_product, np.exp(np.minimum(score, 300.0)), score**2)


def product_variance(score: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Var[s] from E[s] and E[exp s], as if s were normal; none where E[exp s] is too small for a number."""
    return np.where(moment > 1e-300, np.maximum(2.0 * (np.log(np.maximum(moment, 1e-300)) - score), 0.0), 0.0)


def exp_of_product(score: np.ndarray, moment: np.ndarray, power: float) -> np.ndarray:
    """E[exp(power·s)] from E[s] and E[exp s], as if s were normal."""
    return np.exp(np.minimum(power * score + 0.5 * power**2 * product_variance(score, moment), 300.0))
