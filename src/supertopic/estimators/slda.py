"""Supervised latent Dirichlet allocation (Blei & McAuliffe 2007): topics that explain a response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.documents.labels import (
    Read,
    Target,
    as_codes,
    as_numbers,
    class_weights,
    find_response,
    guess_response,
    one_each,
    require_order,
)
from supertopic.estimators.shared.answers import Classes, Numbers
from supertopic.estimators.shared.counts import check_counts
from supertopic.estimators.shared.default_priors import default_alpha, default_smoothing
from supertopic.estimators.shared.reading.checks import check_folds
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.fitted.certainty.chains import diagnose
from supertopic.fitted.certainty.honest import HonestCoefficients
from supertopic.fitted.certainty.levels import own_class_levels, own_levels
from supertopic.fitted.finish import Coefficients
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import users_dispersion
from supertopic.fitted.spec import Finish, Schema
from supertopic.inference.after.class_sets import classes_within, classes_within_own
from supertopic.inference.gibbs.supervised import fit_supervised_gibbs
from supertopic.inference.methods import Method
from supertopic.inference.settings import EMSettings, Engine, GibbsSettings, PredictionSettings, StochasticSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.prediction_constrained import PredictionStep, fit_prediction
from supertopic.inference.variational.stochastic import fit_stochastic
from supertopic.model import CoefStep
from supertopic.responses.base import Response, registry


@dataclass(kw_only=True, eq=False, repr=False)
class SLDA(SupervisedEstimator):
    """The parameters and engines that `SLDARegressor`, `SLDAClassifier` and `TopicModel` share.

    scikit-learn reads parameters off the signature of `__init__`, which a dataclass writes from its fields.
    """

    papers: ClassVar[str] = "Blei & McAuliffe 2007"

    engines: ClassVar[dict[str, Engine]] = {
        "vb": Engine(fit_batch, EMSettings, 60),
        "svi": Engine(fit_stochastic, StochasticSettings, 10, short=3),
        "gibbs": Engine(fit_supervised_gibbs, GibbsSettings, 500, short=100, without=("sampler",)),
        "pc": Engine(fit_prediction, PredictionSettings, 40, longest_fold=6, collapsed=True, at_mode=True),
    }

    response: str | Sequence[str] | Mapping[str, str] = "auto"
    supervision: float | Literal["auto"] = 1.0
    words: bool = False
    cross_fit: int = 5
    honest: float = 0.0
    ensemble: int = 1
    coef_prior: Literal["flat", "normal", "laplace", "jeffreys"] = "normal"
    coef_scale: float = 10.0
    inference: Literal["auto", "pc", "vb", "svi", "gibbs"] | Method = "auto"
    counts: Literal["auto", "raw", "log"] = "auto"
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray | None = None
    topic_word_prior: float | None = None
    emission: Literal["dirichlet", "sage"] = "dirichlet"
    tol: float = 1e-4

    def _n_folds(self) -> int:
        n_folds = check_folds(self.cross_fit)
        return n_folds if self.refit else 0

    @classmethod
    def inference_names(cls) -> list[str]:
        return ["auto", *cls.engines]

    def _inference(self) -> str:
        """The name of the engine; "auto" is the one that predicts best of those that can fit the model."""
        if self.inference != "auto":
            return super()._inference()
        return "vb" if isinstance(self.doc_topic_prior, str) or self.emission != "dirichlet" else "pc"

    def _engine(self) -> Engine:
        engine = super()._engine()
        check_counts(self.counts, self._inference(), engine.at_mode)
        return engine

    def _finish(self, schema: Schema) -> Finish:
        if share := self._honest_share():
            return HonestCoefficients(share, self._n_folds(), Coefficients(bool(self.refit)))
        return super()._finish(schema)

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.inference_ = fitted.spec.inference
        chains = diagnose(fitted) if "coef" in fitted.draws else (None, None)
        for name, value in zip(("r_hat_", "n_effective_"), chains, strict=True):
            self._show(name, value)

    def _honest_share(self) -> float:
        if not isinstance(self.honest, Real) or isinstance(self.honest, bool) or not 0 <= float(self.honest) < 1:
            raise ValueError(f"honest: got {self.honest!r}, expected a share of the labels, at least 0 and below 1")
        for name, plain in (("words", False), ("refit", True), ("ensemble", 1)):
            if self.honest and (value := getattr(self, name)) != plain:
                raise ValueError(f"honest: got {self.honest:g} with {name}={value!r}; expected {name}={plain!r}")
        if self.honest and isinstance(self.supervision, str):
            raise ValueError(
                f"honest: got {self.honest:g} with supervision='auto', which looks at all labels; expected a number"
            )
        return float(self.honest)

    def _coef_step(self, response: Response) -> CoefStep:
        return PredictionStep() if self._engine().at_mode else GLMStep()

    def _coef_prior(self) -> CoefPrior:
        return CoefPrior.parse(self.coef_prior, self.coef_scale, self.n_topics)

    def _alpha(self, schema: Schema) -> Any:
        given = self.doc_topic_prior
        focus = getattr(self._method(), "focus", "balance")
        return default_alpha(schema.tokens, self.n_topics, schema.response, focus) if given is None else given

    def _topic_word_prior(self, schema: Schema, response: Response) -> float:
        given = self.topic_word_prior
        return default_smoothing(schema.tokens, response) if given is None else given


@dataclass(kw_only=True, eq=False, repr=False)
class SLDARegressor(Numbers, SLDA):
    """theta ~ Dirichlet(alpha);  z, w as in LDA;  y ~ response(eta·Zbar), Zbar the document's topic frequencies.

    Parameters
    ----------
    n_topics : int
        K.
    response : {"auto", "gaussian", "poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull"}
        How topics make y: a number, a count, a positive number. "auto" takes whole numbers from about zero on, a few of
        which are far above the others, for counts ("negative_binomial") and all others for "gaussian"; where whole
        numbers might be something else, a warning says so. For a y of several columns, one name for all, a list of one
        per column, or a mapping by the columns' names. Counts and positive numbers have a log link, E[y] =
        exp(eta·Zbar). "gamma:canonical" and "inverse_gaussian:canonical" have 1/(eta·Zbar) and 1/sqrt(eta·Zbar).
    supervision : float or "auto"
        Weight of the response's log-likelihood against the words'; more makes topics serve y. "pc" weighs the mean
        log-likelihood of a label against that of a word, so that 1 is much already. For the other engines a label
        weighs as much as one word of its document, as in the paper, and 10 often predicts better.
        "auto" chooses among 1, 3, 10, 30 and 100 on the training documents, by fits without a third of them: short
        ones, which cost about two more fits; or for "pc" whole ones, up to the first weight that is no better: two more
        fits, without their folds, for each weight.
    refit : bool
        Fit the coefficients once more on topics inferred without y, as they are at prediction.
    words : bool
        Word features (tf-idf) join the topics in the linear predictor, with a sparse prior: `word_coef_`. They stand
        beside what topics say about documents that they have not seen (`cross_fit`), and the topics' weight is chosen
        on a quarter of these. With `cross_fit=0`, a second fit that does not see a quarter of the labels chooses it.
    cross_fit : int
        Folds behind what the model says about certainty. Fits without a fold's documents predict them; near duplicates
        are in one fold. These predictions give the model's slope (it is then neither too bold nor too flat),
        `dispersion_`, intervals that hold what they promise, and `coef_std_`. Five folds cost up to 1.5 times the fit;
        those of "pc", which come as far as the fit by longer steps, 0.9 to 1.3 times with 4,000 documents, and 1.3 to
        1.9 with 1,000. 0: all of this comes from documents that the topics were fitted to, and intervals and errors are
        too narrow where `supervision` is above 1 (`dispersion_` of "pc" comes from the documents that `PC` holds out).
        So it is for `partial_fit`, streams and `refit=False`.
    honest : float
        Sample splitting, for coefficients that are to be published: this share of the labels (0.5, say) is set aside.
        Topics see neither these labels nor the words of their documents, and `coef_`, `coef_std_`, `dispersion_` and
        intervals come from them alone, by an ordinary regression. Fits without a fold (`cross_fit`) then only say how
        much further coefficients move than that, where they find the topics again. Topics learn from fewer documents.
        0 sets none aside.
    ensemble : int
        Fits from different starts, whose linear predictors are averaged; 3 predict better than one. `components_`,
        `coef_`, `transform` and the topics of `explain` are those of the first; its contributions are means over all
        fits. The cost is that of as many fits, cross-fitting included, which goes over the mean.
    coef_prior, coef_scale : {"flat", "normal", "laplace"}, float
        Prior on the differences of eta from a common level (for "gaussian", of y standardised), and its scale. The
        level itself, which is the base rate of y, is not shrunk. "laplace" puts topics exactly at the level.
    inference : {"auto", "pc", "vb", "svi", "gibbs"}, or PC, VB, SVI, Gibbs with parameters of their own
        "pc" (prediction-constrained) trains the topics for prediction: shares are inferred without y, and topics follow
        the gradient of y's log-likelihood through that inference. The response is then that of theta, the mode of the
        shares, instead of Zbar, and `doc_topic_prior` is the prior's pseudo-count. It also learns from Streams.
        "vb" is variational EM for the paper's model, "svi" its stochastic version, "gibbs" collapsed Gibbs sampling,
        which keeps draws of eta; that takes whole counts, and all responses but those with a canonical link.
        "auto" is "pc", which predicts best; but "vb" for what "pc" cannot fit: `emission="sage"` and an alpha that
        is learned.
    counts : {"auto", "raw", "log"}
        "log" ("pc" only) takes log2(1 + count) for every count: that a document repeats a word then says less than its
        first use. "auto" is "log" where documents repeat seldom words 1.9 times as often as topics explain, as whole
        texts do; "pc" predicts them better with it. Simulated documents, and texts of a line or two, stay "raw".
    doc_topic_prior : float, K floats, "symmetric" or "auto", optional
        alpha, by default 25/K for each topic, but 1 at most ("pc": n/K, if the mean document has n < 25 tokens). That
        spreads documents over topics, and predicts better than what "auto" learns, which puts them into few.
    prevalence, seed_words
        As in `LDA`; "pc" learns how shares depend on metadata before it trains.
    topic_word_prior : float, optional
        Smoothing of the topics, by default 0.05. For "pc", but not for "softmax", it is D min(n, 200)/200V if that is
        more, for D documents of n tokens on average and V words.
    emission : {"dirichlet", "sage"}
        How topics make words: Dirichlet topics, or sparse deviations from a background as in `SAGETopics` (its
        exponential prior; "vb" and "svi" only).
    max_iter : int, optional
        EM steps (default 60), epochs (10; for "pc" at most 40, and 0 keeps the topics that it starts from) or sweeps
        (500).
    tol
        As in `LDA`.
    prevalence, vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    intercept_ : float, or (M,) for several responses
        The linear predictor of the average training document (the mean of `doc_topic_`, and of the covariates). It is
        E[y] ("gaussian"); log E[y] (counts and positive numbers; "weibull": the logarithm of the scale); 1/E[y] or
        1/E[y]² (a canonical link).
    coef_ : (K,) ndarray, or (M, K) for several responses
        What a topic adds to it: the linear predictor of a document is `intercept_` + shares·`coef_`, and the average of
        `coef_` over the training documents is zero. With coef_prior="laplace", the intercept is the level that the
        prior puts topics at, and a zero is a topic without effect.
    coef_std_ : like `coef_`, standard errors of this difference. They are those given the topics; where half of the
        topics or more are found again in every fold (`cross_fit`), wider by the error of the topics.
    response_ : str, or a list for several responses: what y was taken for
    inference_ : str, the engine: which one "auto" took; counts_ : str, "raw" or "log"
    dispersion_ : float, or (M,): the variance of y around the prediction, r, 1/shape …
    supervision_ : float, the weight used; supervision_scores_ : dict, what "auto" saw
    covariate_coef_, covariate_std_ : (M, P) ndarray, with covariates, per unit of each, or a DataFrame with their names
    covariate_mean_ : (P,) ndarray or Series, the covariates for which `intercept_` holds:
        covariate_coef·(x - covariate_mean) joins the linear predictor
    covariate_names_ : list of P names, `section=sport` for a dummy; covariate_references_ : dict of the categories
        that the dummies of a column are compared with
    word_coef_ : (M, V) ndarray, with `words=True`
    draws_ : dict of ndarray ("gibbs"): intercept (S, M) and coef (S, M, K + P) in the meaning of `intercept_` and
        `coef_`, dispersion (S, …), and log_joint per token and alpha every tenth sweep. Draws belong to topics that
        have seen y; `coef_` after a `refit` does not.
    r_hat_, n_effective_ : (M, K) ndarray ("gibbs"): R̂ of the draws of `coef`, near 1 where chains and their halves
        agree, and how many independent draws they are worth
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`; for "pc", `bound_` is the mean log-likelihood of the labels held out, up to the epoch that is kept;
        it chooses the epoch, and is no measure of certainty, since numbers, two classes and ordered ones (as
        numbers) are drawn half way to what regressions on words expect of them.

    Examples
    --------
    >>> from supertopic import SLDARegressor
    >>> texts = ["superb funny film", "dull boring plot", "funny warm superb story", "boring dull waste"] * 10
    >>> stars = [4.5, 1.5, 4.0, 1.0] * 10
    >>> model = SLDARegressor(2).fit(texts, stars)
    >>> (model.predict(["superb and funny", "a boring waste"]) > 3).tolist()
    [True, False]
    >>> low, high = model.coef_.min(), model.coef_.max()  # what the two topics add to the average, intercept_
    >>> bool(low < 0 < high)
    True
    >>> model.explain("superb and unheard of")["word"].tolist()  # what each word adds; unknown words at the end
    ['superb', 'and', 'unheard', 'of']
    """

    takes: ClassVar[tuple[str, ...]] = ("number",)
    several: ClassVar[bool] = True

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        who = type(self).__name__
        responses = one_each(self.response, names)
        numbers = np.column_stack([as_numbers(column, who) for column in table.T])
        found = [
            guess_response(column, name, who, ("number",)) if response == "auto" else response
            for column, name, response in zip(table.T, names, responses, strict=True)
        ]
        targets = [
            Target(name, *find_response(response, ("number",))) for name, response in zip(names, found, strict=True)
        ]
        return Read(numbers, tuple(targets))

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table, targets = self.coefficients_, fitted.spec.schema.targets
        assert table.std is not None
        single = len(targets) == 1
        self.response_ = targets[0].response if single else [target.response for target in targets]
        self.coef_ = table.coef[0] if single else table.coef
        self.coef_std_ = table.std[0] if single else table.std
        self.intercept_ = float(table.intercept[0]) if single else table.intercept
        self.dispersion_ = users_dispersion(fitted)


@dataclass(kw_only=True, eq=False, repr=False)
class SLDAClassifier(Classes, SLDA):
    """As `SLDARegressor`, for documents of two or more classes: P(y = class) = response(eta·Zbar).

    Parameters
    ----------
    response : {"auto", "logit", "probit", "softmax", "ordinal"}
        "auto" is "logit" for two classes, "ordinal" for ratings (three to eleven consecutive whole numbers, such as 1
        to 5, but not 0, 1, 2 …; a warning says so), and "softmax" for more classes. "ordinal" is for classes in an
        order, which it predicts by the median; its labels are numbers, or an ordered pandas categorical, whose places
        0, 1, … are then the classes.
    class_weight : dict, "balanced" or None
        Weights of the classes' responses.
    inference : {"auto", "pc", "vb", "svi", "gibbs"}, or PC, VB, SVI, Gibbs with parameters of their own
        As in `SLDARegressor`. "pc" tells classes apart better than "vb", many classes above all: there it starts from
        the topics of a quick max-margin fit (`MedLDAClassifier`).
    n_topics, supervision, refit, coef_prior, coef_scale, ...
        As in `SLDARegressor`.

    Attributes
    ----------
    classes_ : (C,) ndarray
    response_ : str, what y was taken for
    inference_ : str, the engine: which one "auto" took; counts_ : str, "raw" or "log"
    intercept_ : (1,) ndarray, or (C,) for "softmax"
        The linear predictor of the average training document, as in `SLDARegressor`.
    coef_, coef_std_ : (1, K) ndarray, or (C, K) for "softmax"
        What a topic adds to it: a topic with a large coefficient is evidence for the second of two classes, for its
        class ("softmax"), for the upper classes ("ordinal").
        "softmax": the difference to the mean over the classes, with the standard error of this difference (after a
        refit of up to 3,000 coefficients; beyond, and without a refit, those given the other classes). With
        coef_prior="laplace" no mean is taken, so that zeros are those of the prior.
    cutpoints_ : (C - 1,) ndarray ("ordinal" only), also as `dispersion_`: P(y <= class c) = Phi(cutpoint_c - s), with s
        the linear predictor, which is `intercept_` for the average document
    draws_ : dict of ndarray ("gibbs"), as in `SLDARegressor`
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`.

    Examples
    --------
    >>> from supertopic import SLDAClassifier
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = SLDAClassifier(2).fit(texts, ["pets", "money", "pets", "money"] * 10)
    >>> model.predict(["a dog and a cat", "stock market"]).tolist()
    ['pets', 'money']
    """

    takes: ClassVar[tuple[str, ...]] = ("class",)

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        who = type(self).__name__
        codes, classes = as_codes(table[:, 0], who)
        auto = isinstance(self.response, str) and self.response == "auto"
        given = guess_response(table[:, 0], names[0], who, ("class",)) if auto else self.response
        name, _ = find_response(given, ("class",))
        found = registry()[name]
        if found.two_classes and len(classes) > 2:
            raise ValueError(
                f"response: got {name!r}, which is for two classes, but y holds {len(classes)}; use 'softmax' or "
                "'ordinal'"
            )
        if found.ordered:
            require_order(classes, name)
        return Read(codes[:, None], (Target(names[0], name, classes=classes),), classes)

    def _check_batches(self) -> None:
        super()._check_batches()
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight: got 'balanced', which needs all documents at once; expected weights")

    def _label_weight(self, numbers: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
        assert classes is not None
        return class_weights(self.class_weight, classes, numbers)

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        table, (target, *_) = self.coefficients_, fitted.spec.schema.targets
        assert target.classes is not None
        self.classes_, self.response_ = target.classes, target.response
        self.coef_, self.coef_std_, self.intercept_ = table.coef, table.std, table.intercept
        if fitted.spec.response.n_dispersion:
            self.dispersion_ = self.cutpoints_ = fitted.spec.response.spread(fitted.state.dispersion)

    def predict_proba(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """Probabilities of the classes, (D, C), in the order of `classes_`."""
        return self._predicted(X, covariates, metadata, embeddings).means[0]

    def decision_function(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """The linear predictor: (D,), positive for the second of two classes; one column per class for "softmax"."""
        found = self._predicted(X, covariates, metadata, embeddings)
        if found.scores.score.shape[1] == 1:
            return found.scores.score[:, 0]
        logs = np.log(found.means[0])
        return logs if logs.shape[1] > 2 else logs[:, 1] - logs[:, 0]

    def predict_set(
        self,
        X: object,
        probability: float = 0.9,
        *,
        covariates: object = None,
        metadata: object = None,
        embeddings: object = None,
        by_class: bool = False,
    ) -> np.ndarray:
        """(D, C) bool: the classes of each document's prediction set, in the order of `classes_`.

        Sets hold the true class of new documents with the given probability; this needs `cross_fit`. A document that is
        told apart easily has one class in its set, a hard one several; a set may be empty. A class of few documents is
        hardly ever in a set, unless by_class=True: each class is then held with the given probability, and sets are
        larger. A class of fewer than nine documents (of 0.9) is in all of them.
        """
        if not 0 < probability < 1:
            raise ValueError(f"probability: got {probability!r}, expected a number between 0 and 1")
        chances = self.predict_proba(X, covariates=covariates, metadata=metadata, embeddings=embeddings)
        if self.fitted_.certainty.levels is None:
            raise ValueError("predict_set needs out-of-fold predictions: fit with cross_fit=5")
        if by_class:
            return classes_within_own(chances, own_class_levels(self.fitted_), probability)
        return classes_within(chances, own_levels(self.fitted_, 0), probability)
