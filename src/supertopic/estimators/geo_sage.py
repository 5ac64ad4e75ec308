"""GeoSAGE: latent regions that generate words and coordinates (Eisenstein, Ahmed & Xing 2011, application 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.corpus import warn_empty
from supertopic.emissions.facets import CellDesign
from supertopic.estimators.shared.reading.checks import require_number, require_whole
from supertopic.estimators.shared.reading.facets import FacetedEstimator
from supertopic.estimators.shared.reading.regions import Regions, distance_km, nearest_on_average

_COLUMNS = ("latitude", "longitude")


@dataclass(kw_only=True, eq=False, repr=False)
class GeoSAGE(FacetedEstimator):
    """r ~ shares;  place ~ N(mean_r, cov_r);  theta ~ Dirichlet(alpha);  w ~ exp(m + eta_z + eta_r + eta_(z, r)) / Z.

    Parameters
    ----------
    n_topics : int
        K.
    n_regions : int, optional
        R. By default, as many regions as a Dirichlet-process mixture of the places alone uses, at most `max_regions`.
    max_regions : int
    interactions : bool
        Whether topics have deviations of their own in each region.
    word_weight : float
        Weight of the words' evidence for a region when places are predicted; 1 is Bayes' rule. Words come in bursts, so
        that a model of independent words is too certain. On two folds of GeoText's training users (K = 5, raw counts),
        the mean error is 988 km for a weight of 1, 906 for 0.3, 880 for 0.1.
    prior, gamma, interaction_gamma, background, unseen
        As in `FacetedSAGE`.
    doc_topic_prior, max_iter, tol, max_doc_iter, doc_tol
        As in `LDA`.
    vectorizer, n_jobs, random_state, verbose, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    regions_ : frame of latitude, longitude, share, spread_km (root mean square distance), by region
    deviations_ : dict of sparse frames (words by components): what each topic, region and interaction adds
    background_, sparsity_, components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_
        As in `FacetedSAGE`.
    """

    _kept_arrays: ClassVar[tuple[str, ...]] = (
        *FacetedEstimator._kept_arrays, "_shares", "_region_mean", "_region_cov", "region_posterior_",
    )  # fmt: skip

    n_topics: int = field(default=5, kw_only=False)
    n_regions: int | None = None
    max_regions: int = 30
    interactions: bool = True
    word_weight: float = 0.3
    prior: str = "jeffreys"
    gamma: float = 1.0
    interaction_gamma: float | None = 10.0
    background: str = "fitted"
    unseen: float = 0.1
    doc_topic_prior: float | str | Sequence[float] | np.ndarray = "auto"
    max_iter: int = 50
    tol: float = 1e-4
    max_doc_iter: int = 100
    doc_tol: float = 1e-2
    vectorizer: Any = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    checkpoint: Any = None
    backend: Any = "threads"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn regions, and the deviations of topics, regions and their interactions.

        X : counts, strings, or a Corpus
        y : (D, 2) latitude and longitude in degrees, or a frame with these columns; NaN where not known
        """
        prior = self._check()
        require_whole(self, "n_regions", or_none=True)
        require_whole(self, "max_regions")
        require_number(self, "word_weight", above_zero=True)
        corpus = self._read(X)
        place = _places(y, len(corpus))
        seed = self._seed_of_fit()
        regions = Regions.of(place, self.n_regions, self.max_regions, seed)
        self._region_mean = regions.mean
        fit = self._fit_labels(corpus, place, regions, self._design(), prior, seed)
        self.region_posterior_ = fit.posterior
        self._shares, self._region_mean, self._region_cov = fit.labels.shares, fit.labels.mean, fit.labels.cov
        warn_empty(corpus)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(D, 2) latitude and longitude: the place with the least expected distance to the regions' means."""
        return nearest_on_average(self.predict_region(X), self._region_mean)

    def predict_region(self, X: Any) -> np.ndarray:
        """(D, R) posterior over the regions, given the words."""
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        logs = np.tile(self._label_logs(), (len(corpus), 1))
        with self._backend() as backend:
            posterior = self._infer_labels(corpus, logs, backend)[0]
        odds = self.word_weight * (np.log(np.maximum(posterior, 1e-300)) - logs) + logs
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def errors_km(self, X: Any, y: Any) -> np.ndarray:
        """(D,) distance in kilometres between predicted and true place; NaN where the true one is not known."""
        found = self.predict(X)
        return distance_km(found, _places(y, len(found), some=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean distance in kilometres: higher is better, as scikit-learn expects."""
        return -float(np.nanmean(self.errors_km(X, y)))

    @property
    def regions_(self) -> pd.DataFrame:
        """Centre, share and size of each region."""
        check_is_fitted(self, "_state")
        latitude, longitude = self._region_mean.T
        shrink = np.cos(np.radians(latitude)) ** 2
        spread = 111.2 * np.sqrt(self._region_cov[:, 0, 0] + shrink * self._region_cov[:, 1, 1])
        columns = {"latitude": latitude, "longitude": longitude, "share": self._shares, "spread_km": spread}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(latitude), name="region"))

    def _design(self) -> CellDesign:
        n_regions = len(self._region_mean)
        together = [("topic", "region")] if self.interactions else []
        return CellDesign.of(self.n_topics, {"region": n_regions}, np.arange(n_regions)[:, None], together)

    def _label_logs(self) -> np.ndarray:
        return np.log(self._shares)

    def _names(self, factor: str) -> list[int]:
        return list(range(self.n_topics if factor == "topic" else len(self._region_mean)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _places(y: Any, n_documents: int, some: bool = True) -> np.ndarray:
    """y as (D, 2) degrees. With `some`, y without known places is refused."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: GeoSAGE learns from coordinates")
    if hasattr(y, "columns"):
        wrong = [name for name in _COLUMNS if name not in list(y.columns)]
        if wrong:
            raise ValueError(f"y: got no column {wrong[0]!r}; expected the columns 'latitude' and 'longitude'")
    try:
        if hasattr(y, "columns"):
            y = np.column_stack([np.asarray(y[name], dtype=np.float64) for name in _COLUMNS])
        place = np.array(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("y: got values that are no numbers; expected latitude and longitude in degrees") from None
    if place.ndim != 2 or place.shape[1] != 2:
        raise ValueError(f"y: got the shape {place.shape}, expected (documents, 2): latitude and longitude in degrees")
    if len(place) != n_documents:
        raise ValueError(f"y: got {len(place)} places, expected one for each of the {n_documents} documents of X")
    known = place[~np.isnan(place).any(axis=1)]
    if some and len(known) < 2:
        raise ValueError(f"y: got {len(known)} known places, expected 2 or more")
    if np.any(np.abs(known[:, 0]) > 90) or np.any(np.abs(known[:, 1]) > 180):
        raise ValueError("y: got a latitude beyond 90 or a longitude beyond 180 degrees (latitude comes first)")
    return place
