"""The sparse supervised topic model (Wang, Li & Lin): few topics that explain a response, with their uncertainty.

What it is to be compared with finds topics first and then those that matter, which is a pipeline of scikit-learn's:

    make_pipeline(LDA(50, inference="gibbs"), LogisticRegression(l1_ratio=1.0, solver="liblinear", C=0.1))
    make_pipeline(LDA(50, inference="gibbs"), LassoCV())
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, cast

import numpy as np

from supertopic.checks import check_choice
from supertopic.coefficients import CoefPrior
from supertopic.documents.labels import Read, Target, as_codes, as_numbers
from supertopic.estimators.shared.answers import Classes, Numbers
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.fitted.certainty.chains import by_chain, diagnose, have_mixed
from supertopic.fitted.coefficients import CoefficientTable, sparse_errors, table_of
from supertopic.fitted.finish import SparseChoice
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import Predicted, users_dispersion
from supertopic.fitted.spec import Finish, Schema, Spec, against_rest
from supertopic.inference.gibbs.chains import rank_r_hat
from supertopic.inference.gibbs.supervised import SamplerOptions, fit_supervised_gibbs
from supertopic.inference.methods import Method
from supertopic.inference.settings import Engine, GibbsSettings
from supertopic.responses.base import Response

_BUDGET_ALPHA, _BUDGET_SUPERVISION, _BUDGET_SWEEPS = 0.25, 10.0, 200  # where few topics have to tell classes apart
_FIRST = 0.1  # topic_word_prior before it is learned


@dataclass(kw_only=True, eq=False, repr=False)
class SSTM(SupervisedEstimator):
    """The parameters that `SSTMRegressor` and `SSTMClassifier` share, and the sparse estimate."""

    papers: ClassVar[str] = "Wang & Li, Sparse Supervised Topic Model"

    engines: ClassVar[dict[str, Engine]] = {
        "gibbs": Engine(fit_supervised_gibbs, GibbsSettings, 500, without=("sampler",))
    }

    coef_prior: Literal["spike_slab", "laplace"] = "spike_slab"
    coef_scale: float | Literal["auto"] = "auto"
    sigma: float | Literal["auto"] = "auto"
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray | None = 0.1
    topic_word_prior: float | Literal["auto"] = 0.1
    supervision: float | None = 1.0
    collapsed: bool = True
    max_nonzero: int | None = None
    sparsity: float | None = None
    concentrate: bool = True
    fit_intercept: bool = True
    inference: Literal["gibbs"] | Method = "gibbs"

    def _engine(self) -> Engine:
        """The sampler."""
        self._is_auto("sigma")
        return super()._engine()

    def _spec(self, schema: Schema) -> Spec:
        """With the options that the parameters describe, in several chains."""
        budget, spec = self._budget(), super()._spec(schema)
        options = SamplerOptions(
            integrate_latents=bool(self.collapsed),
            learn_scale=self._is_auto("coef_scale"),
            learn_topic_prior=self._is_auto("topic_word_prior"),
            budget=budget if self.concentrate else None,
            late_constant=bool(self.fit_intercept) and schema.classes is not None and len(schema.classes) == 2,
            spike=self._has_spike(),
        )
        engine = replace(spec.engine, fit=partial(fit_supervised_gibbs, options=options))
        return replace(spec, engine=engine, unit=self._sigma())

    def _finish(self, schema: Schema) -> Finish:
        return SparseChoice(bool(self.refit), self._budget(), self._has_spike(), bool(self.concentrate))

    def _has_spike(self) -> bool:
        """Whether the number of topics that have a coefficient is drawn, too."""
        check_choice("coef_prior", self.coef_prior, ("spike_slab", "laplace"))
        return self.coef_prior == "spike_slab" and not (self.concentrate and self._budget())

    def _is_auto(self, name: str) -> bool:
        """Whether a parameter is "auto"; refuses what is neither that nor a number above zero."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return True
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a number > 0, or 'auto'")
        return False

    def _check_parameters(self) -> None:
        if str(self.supervision) == "auto":
            raise ValueError("supervision: got 'auto', expected a number >= 0; GridSearchCV finds one")
        super()._check_parameters()

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

    def _has_words(self) -> bool:
        return False

    def _emission_name(self) -> str:
        return "dirichlet"

    def _topic_word_prior(self, schema: Schema, response: Response) -> float:
        return _FIRST if self._is_auto("topic_word_prior") else float(self.topic_word_prior)

    def _coef_prior(self) -> CoefPrior:
        return CoefPrior("laplace", 1.0 if self._is_auto("coef_scale") else float(self.coef_scale) / self._sigma())

    def _sigma(self) -> float:
        """The unit of the coefficients and of their prior."""
        return 1.0

    def _has_constant(self, classes: np.ndarray | None) -> bool:
        """Each of several classes is rarer than the rest."""
        return bool(self.fit_intercept) or (classes is not None and len(classes) > 2)

    def _table(self, fitted: Fitted) -> CoefficientTable:
        """With the draws that intervals come from: of all chains, or of the best alone, where they disagree."""
        chains = by_chain(fitted, "coef")[..., : fitted.n_topics]
        self.pooled_ = have_mixed(fitted)
        table = table_of(fitted, True, chains.reshape(-1, *chains.shape[2:]) if self.pooled_ else chains[0])
        return replace(table, std=sparse_errors(fitted))

    @abstractmethod
    def _shape(self, columns: np.ndarray) -> np.ndarray:
        """Numbers by column of y and topic (…, C, K) as users see them."""

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table, draws = self.coefficients_, fitted.draws
        topics = table.draws
        assert topics is not None and table.std is not None
        r_hat, n_effective = diagnose(fitted)
        found = {
            "coef_": table.coef,
            "coef_std_": table.std,
            "inclusion_": draws["inclusion" if self.pooled_ else "best_inclusion"][:, : fitted.n_topics],
            "sign_probability_": (topics > 0).mean(axis=0),
            "coef_interval_": np.quantile(topics, [0.05, 0.95], axis=0),
            "coef_mean_": topics.mean(axis=0),
            "r_hat_": r_hat,
            "inclusion_r_hat_": rank_r_hat(by_chain(fitted, "coef")[..., : fitted.n_topics] != 0),
            "n_effective_": n_effective,
        }
        for name, value in found.items():
            setattr(self, name, self._shape(value))
        self.coef_scale_ = float(draws["coef_scale"].mean() * fitted.spec.unit)


@dataclass(kw_only=True, eq=False, repr=False)
class SSTMRegressor(Numbers, SSTM):
    """eta_k = 0 or ~ Laplace(0, nu);  theta ~ Dirichlet(alpha);  z, w as in LDA;  y - intercept ~ N(eta·Zbar, sigma²).

    Collapsed Gibbs sampling as in the paper's section 3, with an intercept: the prior pulls towards it and not towards
    zero. Which coefficients are zero is drawn, too. `coef_` is one sparse estimate: topics that are in
    more than half of the draws, with their posterior mode given the averaged Zbar under the Laplace prior.

    Parameters
    ----------
    n_topics : int
        K.
    coef_prior : {"spike_slab", "laplace"}
        A topic has a coefficient with a probability that is drawn (before the data, all numbers of topics with a
        coefficient are equally likely), and the coefficient is then Laplace. "laplace" is the paper's prior: draws are
        never exactly zero, the mode may be.
    coef_scale : float or "auto"
        nu, for y standardised; "auto" draws it too, 1/nu ~ Gamma(2, 1).
    sigma : float or "auto"
        The deviation of y round the intercept plus eta·Zbar; "auto" draws it too.
    prevalence, seed_words
        As in `LDA`.
    doc_topic_prior, topic_word_prior : float, or "auto"
        alpha and beta; "auto" climbs the likelihood of the topics drawn (Minka's fixed point).
    supervision : float
        The power of y's likelihood: above 1, topics follow y more and words less, and draws are narrower than a
        posterior's. A whole number for `SSTMClassifier`.
    collapsed : bool
        For `SSTMClassifier`: integrate the probit's latent out of the topics' draws (the paper's partial collapse).
    max_nonzero, sparsity : int, float, optional
        At most so many topics, or such a share of them, may have a coefficient other than zero (per column of y).
    concentrate : bool
        Keep to the budget while sampling: so many topics have a coefficient, which ones is sampled, too, and the other
        topics explain words only. The sampler starts with the first kind alone; the others join after half as many
        sweeps as the burn-in. In this way, the subject of y stays in few topics. If False, the
        sampler knows of no budget, which chooses among the topics at the end: nu is lowered until few enough are
        left, and their coefficients are then found again at nu itself.
    fit_intercept : bool
        The linear predictor of topics without effect is found with the coefficients. False is the paper's model: it is
        the mean of y, or zero for two classes. More classes always have one.
    refit : bool
        Fit the coefficients of the chosen topics once more, on topic shares inferred without y, as at prediction.
    inference : "gibbs", or Gibbs with parameters of its own
        Of several chains (``Gibbs(n_chains=4)``) that disagree (R̂ above 1.1), intervals, means and probabilities are
        those of the best alone (`pooled_`), and a warning says so.
    max_iter : int, optional
        Sweeps (500).
    prevalence, vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    coef_ : (K,) ndarray, or (M, K) for several responses: the sparse estimate; intercept_ : float or (M,)
    inclusion_ : like `coef_`: the posterior probability that a coefficient is not zero. With coef_prior="laplace" it is
        not a probability, but the part of the draws in which the mode of a coefficient, given all else, is not zero.
    sign_probability_ : like `coef_`: the posterior probability that a coefficient is positive
    coef_interval_ : (2, …) ends of intervals that hold nine of ten draws; coef_mean_ : their mean. `summary()` shows
        these, and the deviation of the draws, so that estimate and interval are of one posterior; `coef_` is the
        estimate that predicts, and `coef_std_` its errors, of each topic beside those that have a coefficient
    r_hat_, n_effective_ : like `coef_`: rank-normalised R̂ of the draws, near 1 where chains (and their halves) agree,
        and how many independent draws they are worth. R̂ is infinite where chains stand still at different values, and
        NaN where all draws are the same; inclusion_r_hat_ : the same of whether a coefficient is zero
    pooled_ : bool, whether these are of the draws of all chains, or of the best chain alone
    coef_scale_ : float, nu, or the mean of its draws
    draws_ : dict of ndarray: coef (n_chains S, M, K + P), dispersion, coef_scale, log_joint, alpha
    components_, doc_topic_, alpha_, dispersion_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `SLDARegressor`.

    Examples
    --------
    >>> from supertopic import SSTMRegressor
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = SSTMRegressor(2, max_iter=50).fit(texts, [1.0, 3.0] * 20)
    >>> model.inclusion_.shape
    (2,)
    """

    takes: ClassVar[tuple[str, ...]] = ("gaussian",)
    several: ClassVar[bool] = True

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        options = {} if self._is_auto("sigma") else {"sigma": float(self.sigma)}
        numbers = np.column_stack([as_numbers(column, type(self).__name__) for column in table.T])
        return Read(numbers, tuple(Target(name, "gaussian", options=options) for name in names))

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.dispersion_, level = users_dispersion(fitted), self.coefficients_.intercept
        self.intercept_ = float(level[0]) if len(level) == 1 else level

    def _shape(self, columns: np.ndarray) -> np.ndarray:
        return columns[..., 0, :] if columns.shape[-2] == 1 else columns


@dataclass(kw_only=True, eq=False, repr=False)
class SSTMClassifier(Classes, SSTM):
    """As `SSTMRegressor`, for classes: P(y = 1) = Phi(eta·Zbar / sigma), by partially collapsed Gibbs sampling.

    More than two classes are one probit each against the rest, over the same topics and each with an intercept, since
    a class is rarer than the rest: every class has its own few topics (the paper's closing remark), and a zero says
    that a topic does not matter, which in a softmax, whose coefficients may be shifted, it does not.

    Parameters
    ----------
    coef_scale, sigma : float or "auto"
        nu and sigma. The likelihood knows their ratio only: sigma is the unit of `coef_`, and "auto" is 1.
    collapsed : bool
        Integrate the probit's latent out of the topics' draws (the paper's partial collapse); otherwise topics are
        drawn given it, which is faster by the sweep and mixes more slowly.
    doc_topic_prior, supervision, max_iter : optional
        By default 0.1, 1 and 500 sweeps, which is the paper's model. With `max_nonzero` or `sparsity`, which ask for
        few topics that predict, 0.25/K, 10 and 200: a document then has one or two topics, and these follow its class.
    n_topics, topic_word_prior, max_nonzero, sparsity, concentrate, refit, ...
        As in `SSTMRegressor`.

    Attributes
    ----------
    classes_ : (C,) ndarray
    coef_ : (1, K) ndarray, or (C, K) for more than two classes: the sparse estimate
    intercept_ : (1,) or (C,) ndarray, the linear predictor of topics without effect; zero without an intercept
    inclusion_, sign_probability_, coef_interval_, coef_mean_, pooled_, coef_scale_, draws_, ...
        As in `SSTMRegressor`.

    Examples
    --------
    >>> from supertopic import SSTMClassifier
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> kinds = ["pets", "money", "pets", "money"] * 10
    >>> model = SSTMClassifier(2, max_iter=50).fit(texts, kinds)
    >>> model.predict(["a dog and a cat", "stock market"]).tolist()
    ['pets', 'money']
    """

    takes: ClassVar[tuple[str, ...]] = ("probit",)

    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray | None = None
    supervision: float | None = None

    def _engine(self) -> Engine:
        engine = super()._engine()
        return engine if self._budget() is None else replace(engine, max_iter=_BUDGET_SWEEPS)

    def _alpha(self, schema: Schema) -> Any:
        if self.doc_topic_prior is not None:
            return self.doc_topic_prior
        return 0.1 if self._budget() is None else _BUDGET_ALPHA / self.n_topics

    def _supervision(self) -> Any:
        if self.supervision is not None:
            return self.supervision
        return 1.0 if self._budget() is None else _BUDGET_SUPERVISION

    def _sigma(self) -> float:
        return 1.0 if self.sigma == "auto" else float(self.sigma)

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        who = type(self).__name__
        codes, classes = as_codes(table[:, 0], who)
        if len(classes) == 2:
            return Read(codes[:, None], (Target(names[0], "probit", classes=classes),), classes)
        each = tuple(Target(str(label), "probit", classes=np.array([0, 1])) for label in classes)
        return Read(against_rest(codes, len(classes)), each, classes)

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.classes_, self.intercept_ = cast(np.ndarray, fitted.classes), self.coefficients_.intercept

    def predict_proba(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """Probabilities of the classes, (D, C): each one's against the rest, made to sum to one."""
        return self._chances(self._predicted(X, covariates, metadata, embeddings))

    def _chances(self, found: Predicted) -> np.ndarray:
        if len(found.means) == 1:
            return found.means[0]
        each = np.column_stack([one[:, 1] for one in found.means]) + 1e-300
        return each / each.sum(axis=1, keepdims=True)

    def _shape(self, columns: np.ndarray) -> np.ndarray:
        return columns
