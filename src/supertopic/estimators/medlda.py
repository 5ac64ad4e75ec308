"""Maximum entropy discrimination LDA (Zhu, Ahmed & Xing 2012): topics for a max-margin regression or classification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.checks import check_choice
from supertopic.documents.labels import Read, Target, as_codes, as_numbers, class_weights
from supertopic.estimators.shared.answers import Classes, Numbers
from supertopic.estimators.shared.default_priors import default_alpha
from supertopic.estimators.shared.reading.checks import check_folds
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.fitted.certainty.margin_probabilities import scaled_probabilities
from supertopic.fitted.finish import Coefficients
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import users_dispersion
from supertopic.fitted.spec import Finish, Schema
from supertopic.inference.after.margin_words import MarginWords
from supertopic.inference.gibbs.supervised import fit_supervised_gibbs
from supertopic.inference.methods import Method
from supertopic.inference.settings import EMSettings, Engine, GibbsSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.exact_margin import fit_exact
from supertopic.inference.variational.m_step_margin import Duals, MarginStep
from supertopic.responses.base import Response
from supertopic.responses.margin import MaxMargin

_C, _C_PER_CLASS = 4.0, 0.8  # a classification's default C: so much a class, and the first at least
_CLASS_ALPHA = 0.5  # the default alpha of a classification


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDA(SupervisedEstimator):
    """The parameters and engines that `MedLDARegressor` and `MedLDAClassifier` share (`SLDA` says why a dataclass)."""

    papers: ClassVar[str] = "Zhu, Ahmed & Xing 2012"

    engines: ClassVar[dict[str, Engine]] = {
        "vb": Engine(fit_batch, EMSettings, 40, without=("per_token",)),
        "cvb0": Engine(fit_batch, EMSettings, 40, collapsed=True),
        "gibbs": Engine(fit_supervised_gibbs, GibbsSettings, 100, without=("n_chains", "sampler")),
    }
    words: bool = False
    ensemble: int = 1
    emission: Literal["dirichlet", "sage"] = "dirichlet"
    coef_prior: Literal["normal", "laplace"] = "normal"
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray | None = None
    topic_word_prior: float = 0.05
    exact: bool = False

    def _supervision(self) -> float:
        """C weighs the losses; there is nothing else to weigh."""
        return 1.0

    def _engine(self) -> Engine:
        engine = super()._engine()
        if not self.exact:
            return engine
        if self._inference() != "vb" or self.emission != "dirichlet":
            raise ValueError("exact: got True, which needs inference='vb' and emission='dirichlet'")
        return replace(engine, fit=fit_exact)

    def _coef_step(self, response: Response) -> MarginStep:
        return MarginStep(cast(MaxMargin, response))

    def _word_step(self, response: Response) -> MarginWords:
        return MarginWords(cast(MaxMargin, response))

    def _publish(self, fitted: Fitted) -> None:
        """With the attributes that tell which documents carry the model."""
        super()._publish(fitted)
        terms = fitted.terms
        known = terms if isinstance(terms, Duals) and len(terms.n_support) else None
        self._show("dual_coef_", None if known is None else known.dual)
        self._show("support_", None if known is None else np.flatnonzero(known.support))
        self._show("n_support_", None if known is None else known.n_support)

    def _at_least_zero(self, name: str) -> float:
        value = getattr(self, name)
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a finite number >= 0")
        return float(value)

    def plot_support(self) -> Any:
        """Documents that carried the model after each step, `n_support_`: the same as `plot.trace("support")`."""
        check_is_fitted(self, "support_")
        return self.plot.trace("support")

    def log_density(
        self, X: object, y: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} has a loss, no density of y")


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDARegressor(Numbers, MedLDA):
    """theta, z, w as in LDA, eta ~ N(0, coef_scale²), and topics that also keep |y - E[eta·Zbar]| <= epsilon.

    max  evidence bound of the words (and of y ~ N(eta·Zbar, dispersion))
         - C sum_d max(0, |y_d - E[eta·Zbar_d]| - epsilon)

    Parameters
    ----------
    n_topics : int
        K.
    C : float
        Weight of a document's loss against the words' log-likelihood; per document, not divided by their number.
    epsilon : float
        Errors up to this size cost nothing; in standard deviations of y, as the loss is.
    likelihood : {"slda", "lda"}
        With sLDA's Gaussian likelihood of y beside the loss (the paper's full model), or with the loss alone.
    refit : bool
        Solve for the coefficients once more on topics inferred without y, as they are at prediction.
    words : bool
        Words join the topics in the linear predictor: an epsilon-SVR on tf-idf rows beside the topics' predictor. Their
        weights are chosen on a quarter of the documents that a second fit does not see.
    ensemble : int
        Fits from different starts, whose predictions are averaged, as in `SLDARegressor`; what is read is the first.
    emission : {"dirichlet", "sage"}
        How topics make words; "sage": sparse deviations from a background.
    coef_prior : {"normal", "laplace"}
        "laplace" makes coefficients exactly zero; with likelihood="lda" only.
    coef_scale : float
        Standard deviation of the prior on eta, or mean absolute value, of y standardised.
    inference : {"vb", "cvb0", "gibbs"}, or VB, CVB0, Gibbs with parameters of their own
        Variational EM, whose E-step uses the dual variables; the same, collapsed (topics and shares are integrated
        out, and stand at the mean of their counts); or a collapsed Gibbs sampler with exp(-C loss) as likelihood.
    doc_topic_prior : float, K floats, "symmetric" or "auto", optional
        alpha, by default as in `SLDARegressor`.
    max_iter : int, optional
        EM steps (default 40) or sweeps of the sampler (100).
    tol : float
        Stop when five steps together gain less than this share of the objective.
    prevalence, seed_words, topic_word_prior
        As in `SLDARegressor`.
    exact : bool
        EM by steps that never lower the objective (`bound_`): documents solve their own problems, multipliers and all.
        Several times slower; for those who want to see it converge.
    prevalence, vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    intercept_ : float, E[y] of the average training document (the mean of `doc_topic_`)
    coef_ : (K,) ndarray, what a topic adds to it, E[eta] less the intercept; coef_std_ : its standard errors given the
        topics ("slda"). With coef_prior="laplace", the intercept is the mean of y, and a zero a topic without effect.
    support_ : documents that carry the topics: those with a dual variable that is not zero in the last step
    n_support_ : (n_iter_,) ndarray, how many there were after each step
    dual_coef_ : (D, 1) ndarray, mu - mu*, averaged over the last steps, as the E-step uses it
    word_coef_ : (1, V) ndarray, with `words=True`
    dispersion_ : float, the variance of y around the prediction
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`; `bound_` is the objective above per token.

    Examples
    --------
    >>> from supertopic import MedLDARegressor
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = MedLDARegressor(2).fit(texts, [1.0, 3.0] * 20)
    >>> (model.predict(["a dog and a cat", "stock market"]) > 2).tolist()
    [False, True]
    """

    C: float = 100.0
    epsilon: float = 0.1
    likelihood: Literal["slda", "lda"] = "slda"
    coef_scale: float = 10.0
    inference: Literal["vb", "cvb0", "gibbs"] | Method = "vb"
    tol: float = 1e-4

    takes: ClassVar[tuple[str, ...]] = ("epsilon_insensitive",)

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        who = type(self).__name__
        check_choice("likelihood", self.likelihood, ("slda", "lda"))
        options = {"C": self._at_least_zero("C"), "epsilon": self._at_least_zero("epsilon")}
        options["likelihood"] = self.likelihood == "slda"
        check_choice("coef_prior", self.coef_prior, ("normal", "laplace"))
        if self.coef_prior == "laplace" and self.likelihood == "slda":
            raise ValueError("coef_prior: got 'laplace' with likelihood='slda'; expected 'normal', or likelihood='lda'")
        numbers = as_numbers(table[:, 0], who)
        return Read(numbers[:, None], (Target(names[0], "epsilon_insensitive", options=options),))

    def _alpha(self, schema: Schema) -> Any:
        return default_alpha(None, self.n_topics) if self.doc_topic_prior is None else self.doc_topic_prior

    def _has_errors(self) -> bool:
        return self.likelihood == "slda"

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table = self.coefficients_
        self.coef_, self.intercept_ = table.coef[0], float(table.intercept[0])
        self._show("coef_std_", None if table.std is None else table.std[0])
        self.dispersion_ = users_dispersion(fitted)


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDAClassifier(Classes, MedLDA):
    """theta, z, w as in LDA, eta ~ N(0, coef_scale²), and topics that keep the classes apart by the margin `cost`.

    max  evidence bound of the words  -  C sum_d max_c [cost 1(c != y_d) - E[(eta_{y_d} - eta_c)·Zbar_d]]

    Two classes have one eta, for the second of them: C sum_d max(0, cost ∓ E[eta·Zbar_d]).

    Parameters
    ----------
    n_topics : int
        K.
    C : float, optional
        Weight of a document's loss against the words' log-likelihood; per document, not divided by their number. By
        default 4, and 0.8 a class if that is more: of many classes each has few documents to hold its topics.
    cost : float
        ℓ, the margin asked for, which is what a wrong class costs. More makes topics serve the classes.
    slack : {"n", "1"}
        A slack for every document, solved by coordinate descent; or one for all, by cutting planes. The same optimum.
    class_weight : dict, "balanced" or None
        Weights of the classes' losses.
    cross_fit : int
        Folds behind `predict_proba`: as many more fits, each without the documents of a fold, whose decision values are
        calibrated (Platt's scaling). 0: decision values only.
    refit : bool
        Solve for the coefficients once more on topics inferred without y, as they are at prediction.
    words : bool
        Words join the topics in the discriminant: an SVM on tf-idf rows beside the topics' discriminant. Their weights
        are chosen on a quarter of the documents that a second fit does not see.
    ensemble : int
        Fits from different starts, whose decision values are averaged; what is read is the first. Of two classes
        (six corpora), three fits together had 0.001 to 0.009 more right than one.
    emission : {"dirichlet", "sage"}
        As in `MedLDARegressor`.
    coef_prior : {"normal", "laplace"}
        "laplace" makes coefficients exactly zero.
    coef_scale : float
        Standard deviation of the prior on eta, or mean absolute value.
    doc_topic_prior : float, K floats, "symmetric" or "auto", optional
        alpha, by default 0.5 for each topic.
    inference : {"cvb0", "vb", "gibbs"}, or CVB0, VB, Gibbs with parameters of their own
        As in `MedLDARegressor`. The defaults of C, cost and alpha are those of "cvb0", which tells classes apart better
        (20 newsgroups: 0.82 of the test documents, "vb" with C = 8, cost = 256, alpha = 0.1 0.805; on four other
        corpora 0.3 to 5 points more). The sampler's loss is of each class against the rest,
        sum_c max(0, cost ∓ eta_c·Zbar), and the refitted coefficients are of the loss above.
    topic_word_prior, max_iter, tol, ...
        As in `MedLDARegressor`, `exact` too; a document's inference in training (`max_doc_iter`, `doc_tol`) may be
        coarse, since the next step begins it afresh.

    Attributes
    ----------
    classes_ : (M,) ndarray
    intercept_ : (M,) ndarray, or (1,) for two classes
        The decision values of the average training document (the mean of `doc_topic_`).
    coef_ : (M, K) ndarray, or (1, K) for two classes
        What a topic adds to them, E[eta] less the intercept: a topic with a large coefficient is evidence for its class
        (the second of two). With coef_prior="laplace", the intercept is zero, and `coef_` is E[eta].
    word_coef_ : (M, V) or (1, V) ndarray, with `words=True`
    support_ : documents that carry the topics: those with a dual variable that is not zero in the last step
    n_support_ : (n_iter_,) ndarray, how many there were after each step
    dual_coef_ : (D, M) or (D, 1) ndarray, 1(c = y_d) sum_b mu_d^b - mu_d^c, averaged over the last steps
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`; `bound_` is the objective above per token.

    Examples
    --------
    >>> from supertopic import MedLDAClassifier
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> kinds = ["pets", "money", "pets", "money"] * 10
    >>> model = MedLDAClassifier(2).fit(texts, kinds)
    >>> model.predict(["a dog and a cat", "stock market"]).tolist()
    ['pets', 'money']
    """

    engines: ClassVar[dict[str, Engine]] = {  # coarser, since the next step begins each document afresh
        name: replace(engine, defaults={"doc_tol": 5e-2}) for name, engine in MedLDA.engines.items()
    }
    C: float | None = None
    cost: float = 64.0
    slack: Literal["n", "1"] = "n"
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    cross_fit: int = 0
    coef_scale: float = 1.0
    inference: Literal["cvb0", "vb", "gibbs"] | Method = "cvb0"
    tol: float = 1e-3

    takes: ClassVar[tuple[str, ...]] = ("hinge", "hinge_each")

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        who = type(self).__name__
        check_choice("coef_prior", self.coef_prior, ("normal", "laplace"))
        check_choice("slack", self.slack, ("n", "1"))
        given = None if self.C is None else self._at_least_zero("C")
        options = {"cost": self._at_least_zero("cost"), "slack": self.slack}
        codes, classes = as_codes(table[:, 0], who)
        options["C"] = max(_C, _C_PER_CLASS * len(classes)) if given is None else given
        name = "hinge_each" if self._inference() == "gibbs" else "hinge"
        return Read(codes[:, None], (Target(names[0], name, classes=classes, options=options),), classes)

    def _alpha(self, schema: Schema) -> Any:
        return _CLASS_ALPHA if self.doc_topic_prior is None else self.doc_topic_prior

    def _label_weight(self, numbers: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
        assert classes is not None
        return class_weights(self.class_weight, classes, numbers)

    def _has_errors(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_folds(self.cross_fit)

    def _finish(self, schema: Schema) -> Finish:
        return replace(cast(Coefficients, super()._finish(schema)), margin_folds=int(self.cross_fit))

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table, self.classes_ = self.coefficients_, cast(np.ndarray, fitted.classes)
        self.coef_, self.intercept_ = table.coef, table.intercept

    @property
    def predict_proba(self) -> Callable[..., np.ndarray]:
        """Probabilities of the classes, (D, M), in the order of `classes_`; after a fit with `cross_fit` only."""
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if not (self.cross_fit if fitted is None else fitted.certainty.scaling is not None):
            raise AttributeError(
                "predict_proba: a max-margin model has decision values; cross_fit=5 calibrates them into probabilities "
                "on documents left out, and SLDAClassifier has its own"
            )
        return self._predict_proba

    def _predict_proba(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """Probabilities of the classes, (D, M), in the order of `classes_`."""
        check_is_fitted(self, "fitted_")
        score = self._predicted(X, covariates, metadata, embeddings).scores.score
        return scaled_probabilities(cast(np.ndarray, self.fitted_.certainty.scaling), score)
