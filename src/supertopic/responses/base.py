"""The contract of a response: how topics make y, and what y says back to the E-step.

A response has C columns of coefficients; column c of document d has the linear predictor s = coef_c·Zbar_d. To the
E-step and to the sampler it speaks through two (D, C) arrays, in one of two languages per column
(`supertopic.kernels.e_step_words` has the formulas):

    quadratic   E[log p(y)] = const + slope·E[s] - curvature/2·E[s²]
    product     E[log p(y)] = const + slope·E[s] - curvature·E[exp s]

A Gibbs sampler knows s itself, and asks for random (slope, curvature), given which the same holds exactly (`augment`).
A document without a label has slope = curvature = 0. A new response is one class in one file that registers itself;
tests, documentation, command line and estimators walk `registry()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

_REGISTRY: dict[str, type[Response]] = {}
LOG_SPREAD = (
    2.0  # a sampler's prior on what dispersion is positive (but a variance): its logarithm is N(0, LOG_SPREAD²)
)


class Draws(Protocol):
    """Random numbers as a sampler hands them to a response: arrays, of the shape of the parameters."""

    def polya_gamma(self, shape: np.ndarray, tilt: np.ndarray) -> np.ndarray: ...

    def truncated_normal(self, location: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray: ...

    def gamma(self, shape: np.ndarray, rate: np.ndarray) -> np.ndarray: ...

    def poisson(self, rate: np.ndarray) -> np.ndarray: ...

    def slice(self, log_density: Callable[[float], float], start: float) -> float: ...


def draw_log_normal(draw: Draws, log_likelihood: Callable[[float], float], start: float) -> float:
    """A positive number under the prior log x ~ N(0, LOG_SPREAD²), by a slice sampler's step in log x."""

    def log_density(log_x: float) -> float:
        return log_likelihood(float(np.exp(log_x))) - 0.5 * (log_x / LOG_SPREAD) ** 2

    return float(np.exp(draw.slice(log_density, float(np.log(start)))))


def draw_latents(
    draw: Draws, score: np.ndarray, lower: np.ndarray, upper: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """(D, 1) the sum of `weight` (D,) draws of N(s, 1) between lower and upper: P(lower < N(s, 1) < upper)^weight has
    so many latents, and is a function of their sum; a weight is a whole number.
    """
    total = np.zeros_like(score)
    for number in range(int(weight.max(initial=0.0))):
        total += np.where(weight[:, None] > number, draw.truncated_normal(score, lower, upper), 0.0)
    return total


class Response:
    """What every response overrides; as it stands, no response at all: zero columns.

    A response has no state. What it learns beside the coefficients (variance, cut-points, …) is the vector `dispersion`
    of P numbers, which the engine keeps in its State and hands to every method. Missing labels are NaN in y.
    """

    name: ClassVar[str] = "none"
    kind: ClassVar[str] = "none"  # "number", "class", "margin": what y holds, and so which estimators offer it
    is_product: np.ndarray = np.zeros(0, dtype=bool)  # (C,): the language of each column
    constant_slopes: ClassVar[bool] = False  # whether slope and curvature are the same whatever the scores
    two_classes: ClassVar[bool] = False  # whether it is for two classes only
    ordered: ClassVar[bool] = False  # whether classes have to come in an order
    max_margin: ClassVar[bool] = False  # whether duals in the State speak for it, beside `slope_and_curvature`
    n_dispersion: ClassVar[int] = 0  # P
    sampled: bool = False  # whether a Gibbs sampler can take it …
    whole_weights: ClassVar[bool] = False  # … with weights of labels that are whole numbers

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            _REGISTRY[cls.name] = cls

    def __init__(self, n_classes: int = 0) -> None:
        """n_classes : of a response of kind "class"; y then holds 0 … n_classes - 1."""
        self.n_classes = n_classes

    @property
    def n_columns(self) -> int:
        return len(self.is_product)

    @property
    def sampled_power(self) -> np.ndarray:
        """(C,): to a sampler, column c speaks of x = power·s instead of s, as a product column where that is not 0."""
        return np.where(self.is_product, 1.0, 0.0)

    @property
    def is_probit(self) -> np.ndarray:
        """(C,): columns with p(y | s) = Phi(s) for y = 1 and Phi(-s) for y = 0, which a sampler may use as it is."""
        return np.zeros(self.n_columns, dtype=bool)

    def signs(self, y: np.ndarray) -> np.ndarray:
        """(D, C): 1 for y = 1, -1 for y = 0, 0 for a missing one; of probit columns only."""
        return np.zeros((len(y), self.n_columns))

    def check(self, y: np.ndarray) -> None:
        """ValueError in one sentence when the numbers y (NaN: missing) cannot come from this response."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """First dispersion."""
        return np.zeros(0)

    def start_coef(self, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(C,) first coefficient of all topics: what fits y best without knowing them, or zero where that will do."""
        return np.zeros(self.n_columns)

    def step(self, coef: np.ndarray, found: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """The next coefficients (C, n) on the way from `coef` to `found`, which moves some s by `reach` (C,).

        A quadratic column goes all the way. A Newton step for exp gains for sure while no s moves by more than 1.
        """
        whole = coef + (found - coef) / np.maximum(reach, 1.0)[:, None]
        return np.where(self.is_product[:, None], whole, found)

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

    def update(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float,
    ) -> np.ndarray:  # fmt: skip
        """The dispersion that fits best, or (rate < 1) part of the way there."""
        return dispersion

    def check_sampler(self, weight: np.ndarray) -> None:
        """ValueError in one sentence when no Gibbs sampler can take this response, or these weights (D,) of labels."""
        if not self.sampled:
            names = ", ".join(repr(name) for name, response in _REGISTRY.items() if response.sampled)
            raise ValueError(
                f"inference: got 'gibbs', which has no sampler for response={self.name!r} with this link; "
                f"expected one of {names}"
            )
        if self.whole_weights and np.any(weight != np.round(weight)):
            raise ValueError(
                f"inference: got 'gibbs' with weights of labels (supervision times sample_weight and class_weight) "
                f"other than whole numbers, which response={self.name!r} cannot take; 'logit' and 'softmax' can"
            )

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """(slope, curvature), each (D, C): drawn given s such that, given them, p(y | s)^weight is a function of s in
        each column's language (`sampled_power`), exactly. As it stands for a response that speaks so already, with
        nothing to draw.
        """
        slope, curvature = self.slope_and_curvature(y, score, score, dispersion)
        return weight[:, None] * slope, weight[:, None] * curvature

    def augment_column(
        self, y: np.ndarray, score: np.ndarray, column: int, weight: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(slope, curvature), each (D,): quadratic in the s of one column given the others; None where none is known.

        Enough to draw the coefficients of a column, but not for topics, which move all columns at once.
        """
        return None

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """Dispersion drawn given s, whatever `augment` draws being integrated out."""
        return dispersion

    def log_likelihood(self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> float:
        """sum_d weight log p(y | s), exactly: bounds are tight where s is known."""
        moment = np.where(self.is_product, np.exp(np.minimum(score, 300.0)), score**2)
        return float(weight @ self.log_density(y, score, moment, dispersion))

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """E[y] (D,) of documents without a label; (D, n_classes) probabilities for a response of kind "class"."""
        raise TypeError(f"a model with response {self.name!r} has nothing to predict")

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """(D,) the class to bet on, for a response of kind "class"."""
        return probabilities.argmax(axis=1)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends (D,), (D,) of intervals that hold y with the given probability."""
        raise TypeError(f"a model with response {self.name!r} has no intervals")

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and their standard errors on the scale that users know."""
        return coef, deviation

    def spread(self, dispersion: np.ndarray) -> float | np.ndarray:
        """The dispersion as users know it: one number, or cut-points."""
        return float(dispersion[0]) if len(dispersion) else 1.0


class NoResponse(Response):
    """The zero case under a name of its own: topics for their own sake."""

    name = "none"


def registry() -> dict[str, type[Response]]:
    """All responses by name."""
    return dict(_REGISTRY)


def only_known(y: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays, zero in the rows where y is missing."""
    known = ~np.isnan(y)
    return tuple(np.where(known[:, None] if array.ndim == 2 else known, array, 0.0) for array in arrays)


def known_mean(y: np.ndarray, weight: np.ndarray) -> float:
    """The weighted mean of the labels there are; weights of zero throughout leave all of them alike."""
    known = ~np.isnan(y)
    some = known & (weight > 0)
    return float(np.average(y[some], weights=weight[some]) if some.any() else y[known].mean())


def product_variance(score: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Var[s] from E[s] and E[exp s], as if s were normal; none where E[exp s] is too small for a number."""
    return np.where(moment > 1e-300, np.maximum(2.0 * (np.log(np.maximum(moment, 1e-300)) - score), 0.0), 0.0)


def exp_of_product(score: np.ndarray, moment: np.ndarray, power: float) -> np.ndarray:
    """E[exp(power·s)] from E[s] and E[exp s], as if s were normal."""
    return np.exp(np.minimum(power * score + 0.5 * power**2 * product_variance(score, moment), 300.0))
