"""What the coefficients of topics mean: a line below tables, the same in Python and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from supertopic.documents.labels import Target
from supertopic.fitted.fitted import Fitted

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


def unit_line(fitted: Fitted) -> str:
    """A sentence: what a coefficient is relative to, on which scale, and of two classes, which one it speaks for."""
    targets, prior = fitted.spec.schema.targets, fitted.spec.model.coef_prior
    response = targets[0].response if len(targets) == 1 else ""
    unit = _UNITS.get(response, "on the scale of the linear predictor")
    if any(target.link == "canonical" for target in targets):
        unit = "on the scale of the linear predictor"
    second = second_class(targets)
    above = "a topic without effect" if prior.sparse else "an average document"
    return (
        f"coef: what a document all of this topic has above (or below) {above}, {unit}"
        f"{'' if second is None else f'; more speaks for {second}'}."
    )


def second_class(targets: Sequence[Target]) -> str | None:
    """The class that a coefficient speaks for, where there are two; None for numbers, grades and more classes."""
    target = targets[0]
    two = len(targets) == 1 and target.classes is not None and len(target.classes) == 2
    return str(target.classes[1]) if two and target.classes is not None and target.response != "ordinal" else None
