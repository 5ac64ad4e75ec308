"""Draws of a sampler by chain: whether chains agree, what is reported where they do not, and ArviZ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from supertopic.inference.gibbs.chains import effective_size, split_r_hat

MIXED = 1.1  # the largest R-hat of chains that agree


def by_chain(estimator: Any, name: str) -> np.ndarray:
    """Draws (chains, S, …)."""
    draws = estimator.draws_[name]
    return draws.reshape(int(getattr(estimator, "n_chains", 1)), -1, *draws.shape[1:])


def diagnose(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """(R-hat, effective number of draws), each (C, K), of the coefficients of the topics."""
    topics = by_chain(estimator, "coef")[..., : estimator.n_topics]
    return split_r_hat(topics), effective_size(topics)


def have_mixed(estimator: Any, r_hat: np.ndarray) -> bool:
    """Whether the chains may be pooled; one chain alone always may."""
    return int(getattr(estimator, "n_chains", 1)) == 1 or float(np.nanmax(r_hat, initial=1.0)) <= MIXED


def warn_unmixed(estimator: Any, r_hat: np.ndarray, reported: str) -> None:
    """A warning where chains disagree, which names the number, what is reported, and what to do."""
    if have_mixed(estimator, r_hat):
        return
    warnings.warn(
        f"the {estimator.n_chains} chains have not mixed (largest R-hat of a coefficient "
        f"{float(np.nanmax(r_hat)):.2f}, expected at most {MIXED}): {reported}; give more sweeps (max_iter), or other "
        "seeds if the chains have found different topics",
        ConvergenceWarning,
        stacklevel=5,
    )


def to_arviz(estimator: Any) -> Any:
    """The draws as ArviZ's InferenceData, with named dimensions."""
    try:
        import arviz
    except ImportError:
        raise ImportError("to_arviz needs the package arviz: pip install arviz") from None
    check_is_fitted(estimator, "_state")
    if not estimator.draws_:
        raise ValueError(f"to_arviz needs draws, which a {type(estimator).__name__} has with inference='gibbs' only")
    posterior, dims, coords = _supervised(estimator) if "coef" in estimator.draws_ else _of_alpha(estimator)
    found: dict[str, Any] = {"posterior": posterior or None, "dims": dims, "coords": coords}
    log_joint = estimator.draws_.get("log_joint")
    if log_joint is not None and int(getattr(estimator, "n_chains", 1)) == 1:
        found["sample_stats"] = {"lp": log_joint[None]}
    return arviz.from_dict(**found)


def _of_alpha(estimator: Any) -> tuple[dict[str, np.ndarray], dict[str, list[str]], dict[str, Any]]:
    """Of topics without a response: the prior on their shares, where it was learned."""
    draws = estimator.draws_
    posterior = {"alpha": draws["alpha"][None]} if draws.get("alpha", np.zeros(0)).size else {}
    return posterior, {"alpha": ["topic"]}, {"topic": np.arange(len(estimator.alpha_))}


def _supervised(estimator: Any) -> tuple[dict[str, np.ndarray], dict[str, list[str]], dict[str, Any]]:
    n_topics, coef = estimator.n_topics, by_chain(estimator, "coef")
    posterior = {"intercept": by_chain(estimator, "intercept"), "coef": coef[..., :n_topics]}
    names = [name or estimator._targets[0].name for name in estimator._column_names()]
    dims = {"intercept": ["class"], "coef": ["class", "topic"]}
    coords: dict[str, Any] = {"class": names, "topic": np.arange(n_topics)}
    covariates = getattr(estimator, "covariate_names_", [])
    if covariates:
        posterior["covariate_coef"] = coef[..., n_topics : n_topics + len(covariates)]
        dims["covariate_coef"], coords["covariate"] = ["class", "covariate"], covariates
    for name in ("dispersion", "coef_scale"):
        if estimator.draws_[name].size:
            posterior[name] = by_chain(estimator, name)
    if "dispersion" in posterior:
        dims["dispersion"] = ["parameter"]
    return posterior, dims, coords
