"""GeoSAGE: latent regions that generate words and coordinates (Eisenstein, Ahmed & Xing 2011, application 4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.corpus import warn_empty
from supertopic.documents.known import Known
from supertopic.estimators.beyond.components import CellDesign
from supertopic.estimators.beyond.faceted import FACETS, FacetedEstimator
from supertopic.estimators.beyond.regions import Regions, distance_km, nearest_on_average
from supertopic.estimators.shared.reading.checks import require_number, require_whole
from supertopic.fitted.fitted import Fitted

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

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import GeoSAGE
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> places = np.array([[48.0, 16.0], [52.0, 13.0]] * 20) + np.linspace(0, 0.3, 40)[:, None]
    >>> model = GeoSAGE(2, n_regions=2).fit(texts, places)
    >>> model.predict(["a dog and a cat"]).round(-1).tolist()
    [[50.0, 20.0]]
    """

    elsewhere: ClassVar[str] = (
        "GeoSAGE has word probabilities for every topic in every region, which are too many for a page. For new texts "
        "use Python: model.predict([text])."
    )
    more_arrays: ClassVar[tuple[str, ...]] = (*FACETS, "region_mean", "region_cov", "region_posterior", "shares")

    n_topics: int = field(default=5, kw_only=False)
    n_regions: int | None = None
    max_regions: int = 30
    interactions: bool = True
    word_weight: float = 0.3
    max_iter: int = 50

    def fit(
        self, X: object, y: object = None, *, metadata: object = None, groups: object = None, times: object = None
    ) -> Self:
        """Learn regions, and the deviations of topics, regions and their interactions.

        X : counts, strings, or a Corpus
        y : (D, 2) latitude and longitude in degrees, or a frame with these columns; NaN where not known
        metadata, groups, times : as in `LDA.fit`
        """
        beside = {"metadata": metadata, "groups": groups, "times": times}
        prior = self._check()
        require_whole(self, "n_regions", or_none=True)
        require_whole(self, "max_regions")
        require_number(self, "word_weight", above_zero=True)
        corpus, vocabulary = self._read(X)
        place = _places(y, len(corpus))
        known = Known.of_corpus(corpus, y=y, **beside)
        seed = self._seed_of_fit()
        regions = Regions.of(place, self.n_regions, self.max_regions, seed)
        design = self._design_of(len(regions.mean))
        fitted, fit = self._fit_labels(corpus, vocabulary, place, regions, design, prior, known, seed)
        more = {"region_mean": fit.labels.mean, "region_cov": fit.labels.cov, "region_posterior": fit.posterior}
        self._take(replace(fitted, more={**fitted.more, **more, "shares": fit.labels.shares}))
        warn_empty(corpus)
        return self

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.region_posterior_ = fitted.more["region_posterior"]

    def _check_labels(self, fitted: Fitted) -> None:
        require_number(self, "word_weight", above_zero=True)
        mean, cov = fitted.more["region_mean"], fitted.more["region_cov"]
        if len(mean) == 0 or np.any(np.abs(mean) > (90.0, 180.0)):
            raise ValueError("region_mean holds a latitude beyond 90 or a longitude beyond 180 degrees")
        if not np.allclose(cov, np.swapaxes(cov, 1, 2)) or np.linalg.eigvalsh(cov).min() <= 0:
            raise ValueError("region_cov is no covariance")
        if abs(fitted.more["shares"].sum() - 1.0) > 1e-3:
            raise ValueError("shares do not sum to one")

    def predict(self, X: object) -> np.ndarray:
        """(D, 2) latitude and longitude: the place with the least expected distance to the regions' means."""
        return nearest_on_average(self.predict_region(X), self.fitted_.more["region_mean"])

    def predict_region(self, X: object) -> np.ndarray:
        """(D, R) posterior over the regions, given the words."""
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        fitted = self._now
        logs = np.tile(self._label_logs(fitted), (len(corpus), 1))
        with fitted.spec.place.open() as backend:
            posterior = self._infer_labels(fitted, corpus, logs, backend)[0]
        odds = self.word_weight * (np.log(np.maximum(posterior, 1e-300)) - logs) + logs
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def errors_km(self, X: object, y: object) -> np.ndarray:
        """(D,) distance in kilometres between predicted and true place; NaN where the true one is not known."""
        found = self.predict(X)
        return distance_km(found, _places(y, len(found), some=False))

    def score(self, X: object, y: object = None) -> float:
        """Minus the mean distance in kilometres: higher is better, as scikit-learn expects."""
        return -float(np.nanmean(self.errors_km(X, y)))

    @property
    def regions_(self) -> pd.DataFrame:
        """Centre, share and size of each region."""
        check_is_fitted(self, "fitted_")
        more = self.fitted_.more
        latitude, longitude = more["region_mean"].T
        shrink = np.cos(np.radians(latitude)) ** 2
        spread = 111.2 * np.sqrt(more["region_cov"][:, 0, 0] + shrink * more["region_cov"][:, 1, 1])
        columns = {"latitude": latitude, "longitude": longitude, "share": more["shares"], "spread_km": spread}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(latitude), name="region"))

    def _design(self, fitted: Fitted) -> CellDesign:
        return self._design_of(len(fitted.more["region_mean"]))

    def _design_of(self, n_regions: int) -> CellDesign:
        together = [("topic", "region")] if self.interactions else []
        return CellDesign.of(self.n_topics, {"region": n_regions}, np.arange(n_regions)[:, None], together)

    def _label_logs(self, fitted: Fitted) -> np.ndarray:
        return np.log(fitted.more["shares"])

    def _names(self, factor: str) -> list[int]:
        return list(range(self.n_topics if factor == "topic" else len(self.fitted_.more["region_mean"])))

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
