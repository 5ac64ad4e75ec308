"""Latent regions: a mixture of Gaussians over latitude and longitude; distances in kilometres."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from supertopic.estimators.beyond.facet_engine import LabelModel

EARTH_KM = 6371.0
_PRIOR_DOCUMENTS = 3.0  # n0, the weight of the prior on the covariance of a region, in documents
_LEAST_SPREAD = 1e-3  # square degrees, a radius of three kilometres: no region is a point or a line
_SMALLEST_SHARE = 0.005  # regions with a smaller share of the documents are left out


def distance_km(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Great-circle distance between points (…, 2), latitude and longitude in degrees, by the haversine formula."""
    (lat_a, lon_a), (lat_b, lon_b) = np.moveaxis(np.radians(a), -1, 0), np.moveaxis(np.radians(b), -1, 0)
    half = np.sin((lat_b - lat_a) / 2) ** 2 + np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))


@dataclass(frozen=True)
class Regions(LabelModel):
    """r ~ Categorical(shares), place ~ N(mean_r, cov_r) in degrees.

    The covariances have a prior: the M-step is cov = (scatter + prior_cov * n0) / (n + n0).
    """

    learned: ClassVar[tuple[str, ...]] = ("shares", "mean", "cov")

    place: np.ndarray  # (D, 2), NaN where it is not known
    shares: np.ndarray  # (R,)
    mean: np.ndarray  # (R, 2)
    cov: np.ndarray  # (R, 2, 2)
    prior_cov: np.ndarray  # (2, 2)

    @classmethod
    def of(cls, place: np.ndarray, n_regions: int | None, most: int, seed: int) -> Regions:
        """A mixture of the places alone: `n_regions`, or as many as a Dirichlet process uses, `most` at most."""
        known = place[~np.isnan(place).any(axis=1)]
        number = min(most if n_regions is None else n_regions, len(known))
        kind = "dirichlet_process" if n_regions is None else "dirichlet_distribution"
        spread = np.cov(known.T)
        if np.linalg.eigvalsh(spread)[0] < _LEAST_SPREAD:  # all places on one line, or all the same
            spread = spread + _LEAST_SPREAD * np.eye(2)
        mixture = BayesianGaussianMixture(
            n_components=number,
            covariance_prior=spread,
            weight_concentration_prior_type=kind,
            random_state=seed,
            max_iter=500,
            reg_covar=1e-3,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(known)
        used = mixture.weights_ >= (_SMALLEST_SHARE if n_regions is None else 0.0)
        shares = mixture.weights_[used] / mixture.weights_[used].sum()
        prior_cov = spread / len(shares)
        return cls(place, shares, mixture.means_[used], mixture.covariances_[used], prior_cov)

    def logs(self) -> np.ndarray:
        """(D, R) log p(r, place), or log p(r) where the place is not known."""
        away = self.place[:, None] - self.mean
        inverse = np.linalg.inv(self.cov)
        square = np.einsum("dri,rij,drj->dr", away, inverse, away)
        density = -0.5 * (square + np.linalg.slogdet(self.cov)[1]) - np.log(2 * np.pi)
        return np.log(self.shares) + np.where(np.isnan(square), 0.0, density)

    def update(self, posterior: np.ndarray) -> Regions:
        """Shares come from all documents and a pseudo-document per region; the rest from documents with a place."""
        number = posterior.sum(axis=0) + 1.0
        shares = number / number.sum()
        known = ~np.isnan(self.place).any(axis=1)
        weight, place = posterior[known], self.place[known]
        number = weight.sum(axis=0)
        mean = np.where(number[:, None] > 1e-6, weight.T @ place / np.maximum(number, 1e-6)[:, None], self.mean)
        away = place[:, None] - mean
        scatter = np.einsum("dr,dri,drj->rij", weight, away, away)
        cov = (scatter + _PRIOR_DOCUMENTS * self.prior_cov) / (number + _PRIOR_DOCUMENTS)[:, None, None]
        return replace(self, shares=shares, mean=mean, cov=cov)

    def log_prior(self) -> float:
        trace = np.einsum("rij,ji->r", np.linalg.inv(self.cov), self.prior_cov)
        spread = -0.5 * _PRIOR_DOCUMENTS * (np.linalg.slogdet(self.cov)[1] + trace)
        return float(np.log(self.shares).sum() + spread.sum())


def nearest_on_average(posterior: np.ndarray, mean: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """(D, 2) the place with the least expected distance to the regions' means: their weighted geometric median.

    Computed by Weiszfeld's iterations in degrees. A degree of longitude is scaled by the cosine of the mean latitude.
    """
    scale = np.array([1.0, np.cos(np.radians(np.average(mean[:, 0])))])
    points = mean * scale
    found = posterior @ points
    for _ in range(max_iter):
        away = np.linalg.norm(found[:, None] - points, axis=2)
        weight = posterior / np.maximum(away, 1e-3)
        found, before = weight @ points / weight.sum(axis=1, keepdims=True), found
        if np.abs(found - before).max(initial=0.0) < 1e-4:
            break
    return found / scale
