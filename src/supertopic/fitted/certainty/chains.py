"""Draws of a sampler by chain: whether chains agree, what is reported where they do not, and ArviZ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from supertopic.fitted.fitted import Fitted
from supertopic.inference.gibbs.chains import effective_size, rank_r_hat, split_r_hat

MIXED = 1.1  # the largest R-hat of chains that agree


def by_chain(fitted: Fitted, name: str) -> np.ndarray:
    """Draws (chains, S, …)."""
    draws = fitted.draws[name]
    return draws.reshape(fitted.spec.n_chains, -1, *draws.shape[1:])


def diagnose(fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
    """(R-hat, effective number of draws), each (C, K), of the coefficients of the topics."""
    topics = by_chain(fitted, "coef")[..., : fitted.n_topics]
    return rank_r_hat(topics), effective_size(topics)


def largest_r_hat(fitted: Fitted) -> float:
    """Of the means of the topics' coefficients: R̂ of ranks and tails is above that of few draws anyway."""
    return float(np.nanmax(split_r_hat(by_chain(fitted, "coef")[..., : fitted.n_topics]), initial=1.0))


def have_mixed(fitted: Fitted) -> bool:
    """Whether the chains may be pooled; one chain alone always may."""
    return fitted.spec.n_chains == 1 or largest_r_hat(fitted) <= MIXED


def warn_unmixed(fitted: Fitted, reported: str) -> None:
    """A warning where chains disagree, which names the number, what is reported, and what to do."""
    if have_mixed(fitted):
        return
    warnings.warn(
        f"the {fitted.spec.n_chains} chains have not mixed (largest R-hat of a coefficient "
        f"{largest_r_hat(fitted):.2f}, expected at most {MIXED}): {reported}; give more sweeps (max_iter), or other "
        "seeds if the chains have found different topics",
        ConvergenceWarning,
        stacklevel=5,
    )


def to_arviz(fitted: Fitted) -> Any:
    """The draws as ArviZ's InferenceData, with named dimensions."""
    try:
        import arviz
    except ImportError:
        raise ImportError("to_arviz needs the package arviz: pip install arviz") from None
    if not fitted.draws:
        raise ValueError(f"to_arviz needs draws, which a {fitted.spec.name} has with inference='gibbs' only")
    posterior, dims, coords = _supervised(fitted) if "coef" in fitted.draws else _of_alpha(fitted)
    found: dict[str, Any] = {"posterior": posterior or None, "dims": dims, "coords": coords}
    log_joint = fitted.draws.get("log_joint")
    if log_joint is not None and fitted.spec.n_chains == 1:
        found["sample_stats"] = {"lp": log_joint[None]}
    return arviz.from_dict(**found)


def _of_alpha(fitted: Fitted) -> tuple[dict[str, np.ndarray], dict[str, list[str]], dict[str, Any]]:
    """Of topics without a response: the prior on their shares, where it was learned."""
    draws = fitted.draws
    posterior = {"alpha": draws["alpha"][None]} if draws.get("alpha", np.zeros(0)).size else {}
    return posterior, {"alpha": ["topic"]}, {"topic": np.arange(len(fitted.prior_shares))}


def _supervised(fitted: Fitted) -> tuple[dict[str, np.ndarray], dict[str, list[str]], dict[str, Any]]:
    n_topics, coef = fitted.n_topics, by_chain(fitted, "coef")
    posterior = {"intercept": by_chain(fitted, "intercept"), "coef": coef[..., :n_topics]}
    names = [name or fitted.spec.schema.targets[0].name for name in fitted.spec.column_names]
    dims = {"intercept": ["class"], "coef": ["class", "topic"]}
    coords: dict[str, Any] = {"class": names, "topic": np.arange(n_topics)}
    if coef.shape[-1] > n_topics:
        posterior["covariate_coef"] = coef[..., n_topics:]
        dims["covariate_coef"], coords["covariate"] = ["class", "covariate"], fitted.spec.schema.covariate_names
    for name in ("dispersion", "coef_scale"):
        if fitted.draws[name].size:
            posterior[name] = by_chain(fitted, name)
    if "dispersion" in posterior:
        dims["dispersion"] = ["parameter"]
    return posterior, dims, coords
