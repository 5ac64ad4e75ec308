"""What an engine reads of an estimator's parameters and its `inference`: one class of settings per kind of engine.

A field has the name of the parameter it is read from. Where there is none, or it is None, the engine has its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from supertopic.checks import check_choice, check_number, check_whole
from supertopic.inference.methods import Method
from supertopic.inference.task import Fit
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.step import Schedule

_COUNTS = "max_doc_iter", "n_init", "n_chains", "thin", "batch_size", "total_documents"
_NUMBERS = "tol", "doc_tol", "learning_delay", "learning_decay", "validation_fraction"


@dataclass(frozen=True)
class Settings:
    """What all engines have in common."""

    max_iter: int = 100
    init: str = "online"
    n_init: int = 1
    verbose: int = 0

    least_iter: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        check_choice("init", self.init, ("online", "uniform", "spectral"))
        check_whole("max_iter", self.max_iter, least=self.least_iter)
        for name, value in vars(self).items():
            if name in _COUNTS:
                check_whole(name, value, or_none=name in ("batch_size", "total_documents"))
            elif name in _NUMBERS:
                check_number(name, value)

    def lasting(self, max_iter: int) -> Self:
        """The same with another number of iterations."""
        return replace(self, max_iter=max_iter)


@dataclass(frozen=True)
class EMSettings(Settings):
    """Of EM over the whole corpus."""

    tol: float = 1e-5
    max_doc_iter: int = 100
    doc_tol: float = 1e-2

    @property
    def limits(self) -> LocalLimits:
        return LocalLimits(int(self.max_doc_iter), float(self.doc_tol))


@dataclass(frozen=True)
class StochasticSettings(EMSettings):
    """Of stochastic variational inference, in epochs or by `partial_fit`."""

    batch_size: int | None = None
    learning_delay: float = 50.0
    learning_decay: float = 0.7
    total_documents: int | None = None

    @property
    def learning(self) -> Schedule:
        return Schedule(self.learning_delay, self.learning_decay)


@dataclass(frozen=True)
class GibbsSettings(Settings):
    """Of a Gibbs sampler: sweeps, of which the first `burn_in` (half by default) are not kept."""

    n_chains: int = 1
    burn_in: Any = None  # a whole number, once it is read
    thin: int = 5
    sampler: str | None = None  # of topics: integrated out where one process draws, and else drawn

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("burn_in", self.burn_in, least=0, or_none=True)
        if self.sampler is not None:
            check_choice("sampler", self.sampler, ("collapsed", "partial"))
        if self.burn_in is None:
            object.__setattr__(self, "burn_in", int(self.max_iter) // 2)
        if self.burn_in >= self.max_iter:
            raise ValueError(f"burn_in: got {self.burn_in}, expected fewer sweeps than max_iter={self.max_iter}")

    def lasting(self, max_iter: int) -> Self:
        """The same with another number of sweeps, of which half are not kept, or as many as before."""
        half = self.burn_in == int(self.max_iter) // 2
        burn_in = max_iter // 2 if half else min(self.burn_in, max_iter - 1)
        return replace(self, max_iter=max_iter, burn_in=burn_in)


@dataclass(frozen=True)
class PredictionSettings(Settings):
    """Of prediction-constrained training: epochs of mini-batches, stopped early by documents that are held out."""

    least_iter: ClassVar[int] = 0  # no epoch: the topics that training starts from

    validation_fraction: float = 0.125
    focus: str = "balance"
    batch_size: int | None = None
    total_documents: int | None = None
    stride: float = 1.0  # how many times as long as usual steps are: a short fit comes as far as a long one
    penalties: Mapping[int, int] = field(default_factory=dict)  # of regressions to follow, known from another fit
    best_epoch: int | None = None  # known from another fit: documents are held out until then, but not asked

    @property
    def of_fold(self) -> bool:
        """Whether this fit leaves a fold out, and another one, of all documents, has found how far to go."""
        return self.best_epoch is not None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("focus", self.focus, ("predict", "balance", "describe"))
        if not self.validation_fraction < 1:
            raise ValueError(f"validation_fraction: got {self.validation_fraction!r}, expected a number below 1")


@dataclass(frozen=True)
class Engine:
    """An entry of `inference=`: how to fit, which settings that takes, and how many iterations by default.

    `collapsed` is the one place that says what "cvb0" is: the E-step of "vb" with topics and shares integrated out.
    `at_mode` says that responses are predicted from the mode of the topic shares, which they were trained for ("pc").
    """

    fit: Callable[..., Fit]  # of a Task and a Watch; what else it takes, the estimator fills in
    settings: type
    max_iter: int
    collapsed: bool = False
    short: int = 8  # iterations that the fits behind cross-fitted numbers have at least
    fold: float = 0.375  # … and as a part of the whole fit's: five fits to four fifths of the documents cost 1.5 fits
    longest_fold: int = 10**9  # epochs of these fits at most, for "pc", which takes longer steps instead
    at_mode: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of this model, other than those of the settings
    without: tuple[str, ...] = ()  # what this model does not have of the engine's own parameters

    def read(self, params: Mapping[str, Any], method: Method) -> Any:
        """The settings, from parameters of the same names; refuses values that make no sense.

        params : of the estimator; method : what it was given as `inference`
        """
        given = {"max_iter": self.max_iter, **self.defaults}
        for one in (params, method.get_params(deep=False)):
            given |= {name: value for name, value in one.items() if value is not None}
        return self.settings(**{one.name: given[one.name] for one in fields(self.settings) if one.name in given})

    def require(self, method: Method, who: str) -> None:
        """Refuse what this model does not have of the engine's own parameters."""
        for name in self.without:
            value, plain = getattr(method, name), getattr(type(method)(), name)
            if value != plain:
                raise ValueError(f"{name}: got {value!r}, which {who} does not have with inference={method.name!r}")
