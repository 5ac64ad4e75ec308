"""What SSTM's regressor and classifier share: parameters, the sampler within a budget, and the sparse estimate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from supertopic.coefficients import CoefPrior
from supertopic.corpus import Corpus
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.shared.base import Engine
from supertopic.estimators.shared.checks import require_whole
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.inference.after.sparse_choice import mode_within_budget, sparse_mode
from supertopic.inference.gibbs.chains import effective_size, fit_chains, split_r_hat
from supertopic.inference.gibbs.supervised import Options, fit_supervised_gibbs
from supertopic.inference.task import Settings
from supertopic.model import Model

_MIXED = 1.1  # the largest R-hat of chains that agree
_FIRST = 0.1  # topic_word_prior before it is learned


class SparseEstimator(SupervisedEstimator):
    """The parameters that regressor and classifier share, and the sparse estimate."""

    engines: ClassVar[dict[str, tuple[Engine, int]]] = {"gibbs": (fit_supervised_gibbs, 500)}
    coef_scale: Any
    doc_topic_prior: Any
    topic_word_prior: Any
    supervision: Any
    batch_size: Any
    # what other estimators let users choose
    inference, coef_prior, per_token, words, init, n_init = "gibbs", "laplace", False, False, "online", 1
    tol, batch_size, learning_delay, learning_decay, max_doc_iter, doc_tol = 0.0, None, 10.0, 0.7, 100, 1e-2
    _prior_unit: float = 1.0  # of `coef_scale`: what it is divided by
    _unit: float = 1.0  # of `coef_`: what it is multiplied by

    def __init__(
        self,
        n_topics: int = 20,
        *,
        coef_scale: float | str = "auto",
        sigma: float | str = "auto",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray = 0.1,
        topic_word_prior: float | str = 0.1,
        supervision: float = 1.0,
        collapsed: bool = True,
        max_nonzero: int | None = None,
        sparsity: float | None = None,
        concentrate: bool = True,
        refit: bool = True,
        max_iter: int | None = None,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 1,
        vectorizer: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        backend: str = "threads",
    ) -> None:
        self.n_topics = n_topics
        self.coef_scale = coef_scale
        self.sigma = sigma
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.supervision = supervision
        self.collapsed = collapsed
        self.max_nonzero = max_nonzero
        self.sparsity = sparsity
        self.concentrate = concentrate
        self.refit = refit
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.backend = backend

    def _settings(self) -> tuple[Engine, Settings]:
        _, settings = super()._settings()
        budget = self._budget()
        options = Options(
            integrate_latents=bool(self.collapsed),
            learn_scale=self._is_auto("coef_scale"),
            learn_topic_prior=self._is_auto("topic_word_prior"),
            budget=budget if self.concentrate else None,
        )
        self._is_auto("sigma")
        require_whole(self, "n_chains")
        chain = partial(fit_supervised_gibbs, options=options)
        return partial(fit_chains, engine=chain, n_chains=int(self.n_chains)), settings

    def _is_auto(self, name: str) -> bool:
        """Whether a parameter is "auto"; refuses what is neither that nor a number above zero."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return True
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a number > 0, or 'auto'")
        return False

    def _check_supervision(self) -> None:
        if self.supervision == "auto":
            raise ValueError("supervision: got 'auto', expected a number >= 0; GridSearchCV finds one")
        super()._check_supervision()

    def _budget(self) -> int | None:
        """How many topics may have a coefficient other than zero."""
        if self.max_nonzero is not None and self.sparsity is not None:
            raise ValueError("sparsity: got a number beside max_nonzero; expected one of the two")
        if self.max_nonzero is not None:
            require_whole(self, "max_nonzero")
            return int(self.max_nonzero)
        if self.sparsity is None:
            return None
        if not isinstance(self.sparsity, Real) or not 0 < float(self.sparsity) <= 1:
            raise ValueError(f"sparsity: got {self.sparsity!r}, expected a share of the topics between 0 and 1")
        return max(1, int(float(self.sparsity) * self.n_topics + 1e-9))

    def _model(self) -> Model:
        scale = 1.0 if self._is_auto("coef_scale") else float(self.coef_scale) / self._prior_unit
        return Model(
            n_topics=self.n_topics,
            emission=DirichletTopics(_FIRST if self._is_auto("topic_word_prior") else self.topic_word_prior),  # type: ignore[arg-type]
            doc_topic_prior=DocTopicPrior.parse(self.doc_topic_prior, self.n_topics),
            response=self._response(),
            coef_prior=CoefPrior("laplace", scale),
            n_covariates=self._n_covariates,
        )

    def _fit_corpus(self, corpus: Corpus, engine: Engine, settings: Settings, *labels: Any) -> Any:
        super()._fit_corpus(corpus, engine, settings, *labels)
        self._choose_topics(corpus, *labels)
        worst = float(np.nanmax(self.r_hat_, initial=1.0))
        if self.n_chains > 1 and worst > _MIXED:
            warnings.warn(
                f"the {self.n_chains} chains have not mixed (largest R-hat of a coefficient {worst:.2f}): more sweeps "
                "(max_iter), or the topics differ between chains and the draws are those of several",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _by_chain(self, name: str) -> np.ndarray:
        """Draws (chains, S, …)."""
        draws = self.draws_[name]
        return draws.reshape(int(self.n_chains), -1, *draws.shape[1:])

    def to_arviz(self) -> Any:
        """The draws as ArviZ's InferenceData: `coef`, `dispersion` and `coef_scale` by chain; needs the package."""
        try:
            import arviz
        except ImportError:
            raise ImportError("to_arviz needs the package arviz: pip install arviz") from None
        check_is_fitted(self, "_state")
        posterior = {
            name: self._by_chain(name) for name in ("coef", "dispersion", "coef_scale") if self.draws_[name].size
        }
        return arviz.from_dict(posterior)

    def _refit(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """Has been done when topics were chosen."""

    def _choose_topics(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """The mode given mean Zbar chooses topics; `refit` finds what they say, on shares inferred without y."""
        state, scale = self._state, float(self.draws_["coef_scale"].mean())
        _, dispersion = state.learned()
        coef, gram, dispersion = state.coef.astype(np.float64), np.zeros_like(state.gram), dispersion.copy()
        seen = np.hstack([self._mean_shares, extra]).astype(np.float64)
        unseen = np.hstack([self._scores(corpus, extra).mean_topics, extra]) if self.refit else seen
        weight = np.where(np.asarray(corpus.counts.sum(axis=1)).ravel() > 0, weight, 0.0)
        for _, part in self._parts():
            c, own = part.columns.start, dispersion[part.numbers]
            labels = y if y.ndim == 1 else y[:, part.label]
            given = (part.response, seen * self._mostly_used(c), labels, weight)
            coef[c], gram[c], _ = mode_within_budget(*given, own, scale, self.n_topics, self._budget())
            penalty = np.where(coef[c] == 0, np.inf, 1.0 / scale)
            for _ in range(3):  # the variance of what is left, which the penalty is weighed against
                score = (unseen @ coef[c])[:, None]
                own = part.response.update(labels, score, score**2, weight, own, 1.0)
                if not self.refit:
                    break
                coef[c], gram[c] = sparse_mode(part.response, unseen, labels, weight, own, penalty, coef[c])
            dispersion[part.numbers] = own
        self._state = replace(state, coef=coef.astype(np.float32), gram=gram, dispersion=dispersion)
        self._derive(self._model())

    def _mostly_used(self, column: int) -> np.ndarray:
        """(K + P,) the topics that have a coefficient in most draws, within the budget; without one, all."""
        used = (self.draws_["coef"][:, column] != 0).mean(axis=0)
        rank = np.argsort(np.argsort(-used[: self.n_topics], kind="stable"))
        used[: self.n_topics] *= rank < (self._budget() or self.n_topics) if self.concentrate else 1
        return used > 0

    def _unscale(
        self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As elsewhere, less the level of y itself: a topic without a say has a zero."""
        coef, deviation = super()._unscale(coef, deviation, dispersion)
        coef[:, : self.n_topics] -= self._levels(dispersion)[:, None]
        return coef * self._unit, deviation * self._unit

    def _levels(self, dispersion: np.ndarray) -> np.ndarray:
        """(C,) what a linear predictor of zero means on the scale of y."""
        nothing = np.zeros(1)
        return np.array(
            [part.response.unscale(nothing, nothing, dispersion[part.numbers])[0][0] for _, part in self._parts()]
        )

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        topics = self.draws_["coef"][:, :, : self.n_topics]
        single = np.ndim(self.coef_) == 1
        summaries = {
            "inclusion_": self.draws_["inclusion"][:, : self.n_topics],
            "sign_probability_": (topics > 0).mean(axis=0),
            "coef_interval_": np.quantile(topics, [0.05, 0.95], axis=0),
            "coef_mean_": topics.mean(axis=0),
            "r_hat_": split_r_hat(self._by_chain("coef")[..., : self.n_topics]),
            "n_effective_": effective_size(self._by_chain("coef")[..., : self.n_topics]),
        }
        for name, value in summaries.items():
            setattr(self, name, value[..., 0, :] if single else value)
        self.coef_scale_ = float(self.draws_["coef_scale"].mean() * self._prior_unit)
