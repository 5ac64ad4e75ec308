"""What the coefficients of topics mean: a line below tables, the same in Python and on the command line."""

from __future__ import annotations

from typing import Any

_LOG = "on the log scale (0.7 doubles it)"
_UNITS = {
    "gaussian": "in units of the target",
    "epsilon_insensitive": "in units of the target",
    "logit": "in log-odds",
    "softmax": "in log-odds against the other classes",
    "probit": "in standard deviations of a latent scale",
    "ordinal": "on the latent scale of the grades",
    **dict.fromkeys(("poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull"), _LOG),
}


def unit_line(estimator: Any) -> str:
    """A sentence: what a coefficient is relative to, on which scale, and of two classes, which one it raises."""
    response = estimator._targets[0].response if len(estimator._targets) == 1 else ""
    unit = _UNITS.get(response, "on the scale of the linear predictor")
    if getattr(estimator, "link", "auto") == "canonical":
        unit = "on the scale of the linear predictor"
    raised = raised_class(estimator)
    above = "a topic without effect" if estimator._coef_prior().sparse else "an average document"
    return (
        f"coef: what a document all of this topic has above (or below) {above}, {unit}"
        f"{'' if raised is None else f'; more speaks for {raised}'}."
    )


def raised_class(estimator: Any) -> str | None:
    """The class that a coefficient raises, where there are two; None for numbers, grades and more classes."""
    target = estimator._targets[0]
    two = len(estimator._targets) == 1 and target.classes is not None and len(target.classes) == 2
    return str(target.classes[1]) if two and target.response != "ordinal" else None
