"""Maximum entropy discrimination LDA (Zhu, Ahmed & Xing 2012): topics for a max-margin regression or classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from supertopic.estimators.shared.labels import Target, as_codes, as_numbers, class_weights
from supertopic.estimators.shared.max_margin import MaxMarginEstimator
from supertopic.metrics import predictive_r2
from supertopic.model import Model

_DOC_TOPIC_TOTAL = 25.0  # of a regression's default alpha, of which no topic has more than 1
_CLASS_ALPHA = 0.5  # that of a classification


class MedLDARegressor(RegressorMixin, MaxMarginEstimator):
    """theta, z, w as in LDA, eta ~ N(0, coef_scale²), and topics that also keep |y - E[eta·Zbar]| <= epsilon:

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
        Words join the topics in the linear predictor: an epsilon-SVR on tf-idf rows, and the topics' own predictor. A
        quarter of the documents, held out of a fit of its own, says how much either may say.
    emission : {"dirichlet", "sage"}
        How topics make words; "sage": sparse deviations from a background.
    coef_prior : {"normal", "laplace"}
        "laplace" makes coefficients exactly zero; with likelihood="lda" only.
    coef_scale : float
        Standard deviation of the prior on eta, or mean absolute value, of y standardised.
    inference : {"vb", "cvb0", "gibbs"}
        Variational EM, whose E-step hears the duals; the same with topics and shares integrated out and at the mean of
        their counts (collapsed, of order zero); or a collapsed Gibbs sampler with exp(-C loss) for a likelihood.
    doc_topic_prior : float, K floats, "symmetric" or "auto", optional
        alpha, by default as in `SLDARegressor`.
    topic_word_prior, max_iter, tol, init, n_init, max_doc_iter, doc_tol
        As in `SLDARegressor`; `max_iter` is 40 EM steps by default, and it stops when five of them together gain less
        than `tol`; or 100 sweeps of the sampler.
    burn_in, thin : int
        Of the sampler: sweeps before any is kept (half of them), and every how many-th is.
    exact : bool
        EM by steps that never lower the objective (`bound_`): documents solve their own problems, multipliers and all.
        Several times slower; for those who want to see it converge.
    vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    coef_ : (K,) ndarray, E[eta] on the scale of y; coef_std_ : its standard errors given the topics ("slda")
    support_ : documents that carry the topics: those with a dual variable that is not zero in the last step
    n_support_ : (n_iter_,) ndarray, how many there were after each step
    dual_coef_ : (D, 1) ndarray, mu - mu*, averaged over the last steps: what drew the documents' topics
    word_coef_ : (1, V) ndarray, with `words=True`
    dispersion_ : float, the variance of y around the prediction
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`; `bound_` is the objective above per token.
    """

    def __init__(
        self,
        n_topics: int = 20,
        *,
        C: float = 100.0,
        epsilon: float = 0.1,
        likelihood: str = "slda",
        refit: bool = True,
        words: bool = False,
        emission: str = "dirichlet",
        coef_prior: str = "normal",
        coef_scale: float = 10.0,
        inference: str = "vb",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray | None = None,
        topic_word_prior: float = 0.05,
        max_iter: int | None = None,
        tol: float = 1e-4,
        init: str = "online",
        n_init: int = 1,
        burn_in: int | None = None,
        thin: int = 5,
        exact: bool = False,
        max_doc_iter: int = 100,
        doc_tol: float = 1e-2,
        vectorizer: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        backend: str = "threads",
    ) -> None:
        self.n_topics = n_topics
        self.C = C
        self.epsilon = epsilon
        self.likelihood = likelihood
        self.refit = refit
        self.words = words
        self.emission = emission
        self.coef_prior = coef_prior
        self.coef_scale = coef_scale
        self.inference = inference
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.burn_in = burn_in
        self.thin = thin
        self.exact = exact
        self.max_doc_iter = max_doc_iter
        self.doc_tol = doc_tol
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.backend = backend

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        who = type(self).__name__
        if table.shape[1] != 1:
            raise ValueError(f"y has shape {table.shape}; {who} takes one column of numbers")
        if self.likelihood not in ("slda", "lda"):
            raise ValueError(f"likelihood: got {self.likelihood!r}, expected 'slda' or 'lda'")
        options = {"C": self._at_least_zero("C"), "epsilon": self._at_least_zero("epsilon")}
        options["likelihood"] = self.likelihood == "slda"
        self._check_prior()
        if self.coef_prior == "laplace" and self.likelihood == "slda":
            raise ValueError("coef_prior: got 'laplace' with likelihood='slda'; expected 'normal', or likelihood='lda'")
        numbers = as_numbers(table[:, 0], who)
        return numbers[:, None], [Target(names[0], "epsilon_insensitive", options=options)]

    def _alpha(self) -> Any:
        return min(1.0, _DOC_TOPIC_TOTAL / self.n_topics) if self.doc_topic_prior is None else self.doc_topic_prior

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        self.coef_ = self._columns_coef[0]
        if self.likelihood == "slda":
            self.coef_std_ = self._columns_std[0]
        self.dispersion_ = float(model.response.spread(self._state.learned()[1]))

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """E[y] of new documents (D,); `return_interval=0.9` adds the ends of intervals that hold nine of ten."""
        (mean,), found = self._predicted(X)
        if return_interval is None:
            return mean
        if not 0 < return_interval < 1:
            raise ValueError(f"return_interval: got {return_interval!r}, expected a probability between 0 and 1")
        ends = self._response().interval(found.score, found.moment, self._state.learned()[1], return_interval)
        return mean, *ends

    def score(self, X: Any, y: Any = None) -> float:
        """Predictive R²."""
        return float(predictive_r2(y, self.predict(X)))


class MedLDAClassifier(ClassifierMixin, MaxMarginEstimator):
    """theta, z, w as in LDA, eta ~ N(0, coef_scale²), and topics that keep the classes apart by the margin `cost`:

    max  evidence bound of the words  -  C sum_d max_c [cost 1(c != y_d) - E[(eta_{y_d} - eta_c)·Zbar_d]]

    Two classes have one eta, for the second of them: C sum_d max(0, cost ∓ E[eta·Zbar_d]).

    Parameters
    ----------
    n_topics : int
        K.
    C : float
        Weight of a document's loss against the words' log-likelihood; per document, not divided by their number.
    cost : float
        ℓ, the margin asked for, which is what a wrong class costs. More makes topics serve the classes.
    slack : {"n", "1"}
        A slack for every document, solved by coordinate descent; or one for all, by cutting planes. The same optimum.
    class_weight : dict, "balanced" or None
        Weights of the classes' losses.
    refit : bool
        Solve for the coefficients once more on topics inferred without y, as they are at prediction.
    words : bool
        Words join the topics in the discriminant: an SVM on tf-idf rows, and the topics' own. A quarter of the
        documents, held out of a fit of its own, says how much either may say.
    emission : {"dirichlet", "sage"}
        As in `MedLDARegressor`.
    coef_prior : {"normal", "laplace"}
        "laplace" makes coefficients exactly zero.
    coef_scale : float
        Standard deviation of the prior on eta, or mean absolute value.
    doc_topic_prior : float, K floats, "symmetric" or "auto", optional
        alpha, by default 0.5 for each topic.
    inference : {"cvb0", "vb", "gibbs"}
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
    coef_ : (M, K) ndarray, or (1, K) for two classes
        E[eta]: a topic with a large one speaks for its class (the second of two).
    word_coef_ : (M, V) or (1, V) ndarray, with `words=True`
    support_ : documents that carry the topics: those with a dual variable that is not zero in the last step
    n_support_ : (n_iter_,) ndarray, how many there were after each step
    dual_coef_ : (D, M) or (D, 1) ndarray, 1(c = y_d) sum_b mu_d^b - mu_d^c, averaged over the last steps
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`; `bound_` is the objective above per token.

    Notes
    -----
    Fits from several starts predict better together than each alone (two newsgroups, C = 2, cost = 32, alpha = 1,
    uniform start: eight have 0.842 of the test documents right, one 0.828). scikit-learn has them:
    `BaggingClassifier(MedLDAClassifier(10), n_estimators=8, bootstrap=False)`, whose `decision_function` is their mean,
    and whose `predict` counts votes.
    """

    def __init__(
        self,
        n_topics: int = 20,
        *,
        C: float = 4.0,
        cost: float = 64.0,
        slack: str = "n",
        class_weight: Mapping[Any, float] | str | None = None,
        refit: bool = True,
        words: bool = False,
        emission: str = "dirichlet",
        coef_prior: str = "normal",
        coef_scale: float = 1.0,
        inference: str = "cvb0",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray | None = None,
        topic_word_prior: float = 0.05,
        max_iter: int | None = None,
        tol: float = 1e-3,
        init: str = "online",
        n_init: int = 1,
        burn_in: int | None = None,
        thin: int = 5,
        exact: bool = False,
        max_doc_iter: int = 100,
        doc_tol: float = 5e-2,
        vectorizer: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        backend: str = "threads",
    ) -> None:
        self.n_topics = n_topics
        self.C = C
        self.cost = cost
        self.slack = slack
        self.class_weight = class_weight
        self.refit = refit
        self.words = words
        self.emission = emission
        self.coef_prior = coef_prior
        self.coef_scale = coef_scale
        self.inference = inference
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.burn_in = burn_in
        self.thin = thin
        self.exact = exact
        self.max_doc_iter = max_doc_iter
        self.doc_tol = doc_tol
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.backend = backend

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        who = type(self).__name__
        if table.shape[1] != 1:
            raise ValueError(f"y has shape {table.shape}; {who} takes one column of labels")
        self._check_prior()
        if self.slack not in ("n", "1"):
            raise ValueError(f"slack: got {self.slack!r}, expected 'n' or '1'")
        options = {"C": self._at_least_zero("C"), "cost": self._at_least_zero("cost"), "slack": self.slack}
        codes, self.classes_ = as_codes(table[:, 0], who)
        name = "hinge_each" if self.inference == "gibbs" else "hinge"
        return codes[:, None], [Target(names[0], name, classes=self.classes_, options=options)]

    def _alpha(self) -> Any:
        return _CLASS_ALPHA if self.doc_topic_prior is None else self.doc_topic_prior

    def _label_weight(self, numbers: np.ndarray) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, numbers)

    def _restore(self, saved: dict[str, Any]) -> None:
        super()._restore(saved)
        classes = self._targets[0].classes
        assert classes is not None
        self.classes_ = classes

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        self.coef_ = self._columns_coef

    def decision_function(self, X: Any) -> np.ndarray:
        """E[eta·Zbar]: (D, M), or (D,) for two classes, positive for the second."""
        (_,), found = self._predicted(X)
        return found.score[:, 0] if found.score.shape[1] == 1 else found.score

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest decision value."""
        check_is_fitted(self, "_state")
        (scores,), _ = self._predicted(X)
        return self.classes_[scores.argmax(axis=1)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of documents whose class is predicted."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as naive Bayes for counts: only the mix of features speaks to it
        return tags
