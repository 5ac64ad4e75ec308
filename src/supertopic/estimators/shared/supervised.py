"""What estimators with a response share: reading y, fitting with it, scores of new documents, explanations."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from supertopic.checkpoint import Checkpoint
from supertopic.coefficients import CoefPrior
from supertopic.documents.corpus import Corpus, warn_empty
from supertopic.documents.covariates import Columns, Scaling
from supertopic.documents.labels import Target, as_table
from supertopic.documents.streams import Stream
from supertopic.emissions.base import make_emission
from supertopic.estimators.shared.base import TopicEstimator, has_stochastic_engine
from supertopic.estimators.shared.certainty.cross_fit import KEPT as CERTAINTY
from supertopic.estimators.shared.certainty.cross_fit import cross_fit
from supertopic.estimators.shared.certainty.honest import fit_coefficients, set_aside, without_labels
from supertopic.estimators.shared.certainty.softmax_heat import heated
from supertopic.estimators.shared.fitting import ensemble
from supertopic.estimators.shared.fitting.priors import Tokens, look_at, restored_look, saved_look
from supertopic.estimators.shared.fitting.streaming import (
    check_batches,
    first_targets,
    fit_labelled_stream,
    learns_nothing,
)
from supertopic.estimators.shared.fitting.supervision import choose_supervision
from supertopic.estimators.shared.fitting.training import Training
from supertopic.estimators.shared.fitting.words_beside import add_words_beside, scored
from supertopic.estimators.shared.results import summaries, users_view
from supertopic.estimators.shared.results.effects import Effects, find_effects
from supertopic.estimators.shared.results.explanation import explained
from supertopic.estimators.shared.results.word_contributions import covariate_contributions, with_contributions
from supertopic.inference.after import prediction
from supertopic.inference.after.likelihood_words import LikelihoodWords
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.after.words import ScoredDocuments, WordStep, word_part
from supertopic.inference.batches import Batch
from supertopic.inference.task import Fit
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.model import CoefStep, DocumentTerms, Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.base import Response
from supertopic.responses.several import Part, Several, parts_of

_OF_ONE_FIT = ("_word_coef", "_word_scale", "_climb", "_climb_steps", *CERTAINTY, *ensemble.KEPT)


class SupervisedEstimator(TopicEstimator):
    """Base of estimators with a response."""

    _kept_arrays: ClassVar[tuple[str, ...]] = ("_average", *_OF_ONE_FIT)

    _targets: list[Target]
    _n_covariates: int = 0
    _columns = Columns()  # of the covariates
    _scaling = Scaling()
    _terms: DocumentTerms  # what the last fit knows of each training document
    supervision_: float = 1.0
    counts_: str = "raw"
    _tokens: Tokens | None = None  # of the documents that were fitted
    _mean_shares: np.ndarray  # (D, K) Zbar of the training documents, averaged over a sampler's draws

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        """The columns of y as numbers (D, M), NaN where missing, and what they are; refuses what this is not for."""
        raise NotImplementedError

    def _label_weight(self, numbers: np.ndarray) -> np.ndarray:
        """(D,) weights that follow from y itself."""
        return np.ones(len(numbers))

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Find topics in X that explain y; documents whose y is missing take part without it.

        Parameters
        ----------
        X : counts, strings, a Corpus, or (``inference="svi"`` or ``"pc"``) a Stream of documents with their responses
        y : (D,), or (D, M) for several responses; None or NaN: missing. A Stream has its own.
        sample_weight : (D,) weights of the documents' responses
        covariates : (D, P) numbers, or a frame, that join the topics in the linear predictor, on any scale: they are
            centred and scaled to unit variance inside, which is also the scale of their prior. Constant columns have
            no part. A frame's columns are known by name from then on, in any order. Its columns of text or categories
            become dummies, one for each category but the first, the reference (`covariate_names_`,
            `covariate_references_`).
        """
        engine = self._engine()
        settings = engine.read(self)
        self._check_supervision()
        self._check_words()
        _ = self._honest_share(), self._n_folds(), ensemble.n_members(self)  # refuses nonsense before any work
        if isinstance(X, Stream):
            self._check_batches()
            beside = {"y": y, "sample_weight": sample_weight, "covariates": covariates}
            return fit_labelled_stream(self, X, settings, beside)
        corpus = self._read(X)
        numbers = self._read_y(y, len(corpus))
        weight = _check_sample_weight(sample_weight, corpus.counts, ensure_non_negative=True).astype(np.float64)
        self._columns = Columns.of(covariates)
        self._scaling = Scaling.of(self._columns.encode(covariates, len(corpus)), self._columns.labels)
        extra = self._read_covariates(covariates, len(corpus))
        self._n_covariates = extra.shape[1]
        asked, seed = self._supervision(), self._seed_of_fit()
        look_at(self, corpus)
        if isinstance(asked, str):
            given = None if covariates is None else self._columns.encode(covariates, len(corpus))
            self.supervision_ = choose_supervision(self, corpus.counts, y, numbers, weight, given, seed)
        else:
            self.supervision_ = float(asked)
        training = Training(corpus, numbers, weight * self._label_weight(numbers), extra)
        self._fit_training(training, seed)
        self._n_seen = len(corpus)
        warn_empty(corpus)
        return self

    def _fit_training(self, training: Training, seed: int) -> None:
        """Topics and coefficients; the coefficients once more on topics that have not seen y; words beside them."""
        engine = self._engine()
        model = self._check_model(training.corpus)
        self._forget_words()
        seen, after = training, partial(self._after_fit, training)
        if share := self._honest_share():
            aside = set_aside(training, share, seed)
            seen, after = without_labels(training, aside), partial(fit_coefficients, self, training, aside)
        batch = seen.batch(self.n_topics, self.supervision_, self.counts_)
        self._run(engine, self._task(model, batch, engine.read(self), seed=seed), training.corpus, after)

    def _after_fit(self, training: Training, seed: int) -> None:
        """What follows a fit: refitted coefficients, words beside the topics, and what is said about certainty."""
        if self.refit:
            self._refit(training)
        ensemble.fit_members(self, training, seed)
        n_folds = self._n_folds()
        unseen = cross_fit(self, training, n_folds, seed) if n_folds else None
        if self.refit and self._has_words():
            add_words_beside(self, training, seed, unseen)

    def _n_folds(self) -> int:
        """Folds behind what is said about certainty; 0 for none."""
        return 0

    def _honest_share(self) -> float:
        """The share of the labels that are set aside for the coefficients; 0 for none."""
        return 0.0

    def _sibling(self, part: tuple[str, int], training: Training, seed: int, more: Any = (), **params: Any) -> Self:
        """An estimator with the same parameters but those given, and more settings, fitted to a `part` of this fit."""
        checkpoint = Checkpoint.aside(self.checkpoint, *part)
        alone = {"vectorizer": None, "verbose": 0, "warm_start": False, "random_state": seed, "checkpoint": checkpoint}
        alone_too = (("words", False), ("cross_fit", 0), ("honest", 0.0), ("n_chains", 1))
        off = {name: value for name, value in alone_too if name in self.get_params(deep=False)}
        other = clone(self).set_params(**{**alone, **off, **params})
        other._has_errors, other.vectorizer_, other._more_settings = False, None, dict(more)
        for name in ("_targets", "_n_covariates", "counts_", "_tokens", "_columns", "_scaling", "supervision_"):
            setattr(other, name, getattr(self, name))
        if hasattr(self, "classes_"):
            other.classes_ = self.classes_
        other._remember_words(training.corpus)
        other._fit_training(training, seed)
        return other

    def _refit(self, training: Training) -> None:
        """The coefficients once more (`supertopic.inference.after.refit`)."""
        model = self._model()
        with self._backend() as backend:
            shares = prediction.frequencies(self._point_model(), self.doc_topic_, training.corpus.lengths, backend)
            known = backend.form(with_known_shares)(shares, training.covariates, training.y, training.weight)
            over = partial(known.total_by, backend.all)
            self._state, self._terms = model.coef_step.refit(model, self._state, self._terms, over)
            self._derive(model)

    def _shares_without_y(self, training: Training) -> np.ndarray:
        """(D, K) topic shares of the training documents, as at prediction."""
        return self._scores(training.corpus, training.covariates).mean_topics

    def _supervision(self) -> Any:
        """The weight of y against the words that the user asks for: a number, or "auto"."""
        return self.supervision

    def _check_supervision(self) -> None:
        value = self._supervision()
        wrong = not isinstance(value, Real) or not 0 <= float(value) < np.inf
        if wrong and not (isinstance(value, str) and value == "auto"):
            raise ValueError(f"supervision: got {value!r}, expected a number >= 0, or 'auto'")

    # --- words beside topics ------------------------------------------------------------------------------------

    def _has_words(self) -> bool:
        """Whether words join the topics in the linear predictor."""
        return bool(self.words)

    def _check_words(self) -> None:
        if self._has_words() and not self.refit:
            raise ValueError("words: got True with refit=False, but words are fitted with the refitted coefficients")

    def _word_step(self) -> WordStep:
        return LikelihoodWords(self._response())

    def _forget_words(self) -> None:
        """An earlier fit's words, levels and other members have no part in this one."""
        for name in ("word_coef_", *_OF_ONE_FIT):
            self.__dict__.pop(name, None)

    def _fit_pilot(self, training: Training, held_out: np.ndarray, seed: int) -> ScoredDocuments:
        """All documents scored by a fit that has not seen the labels of those held out."""
        pilot = copy(self)
        pilot.words, pilot.cross_fit, pilot.verbose = False, 0, 0
        pilot.checkpoint = Checkpoint.aside(self.checkpoint, "pilot", 0)
        pilot._fit_training(without_labels(training, held_out), seed)
        return scored(pilot, training)

    # --- batches as they come -----------------------------------------------------------------------------------

    def _check_batches(self) -> None:
        check_batches(self)

    @available_if(has_stochastic_engine)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, covariates: Any = None
    ) -> Self:
        """One stochastic step on a batch; the first batch decides the vocabulary and what y is.

        classes : all classes there will be, with the first batch, where y holds classes
        sample_weight, covariates : as in `fit`; coefficients are those of the steps, without a refit. The first batch
            decides how covariates are centred and scaled.
        """
        self._check_supervision()
        self._check_batches()
        corpus, first = self._read_batch(X)
        if learns_nothing(self, corpus, first):
            return self
        if first:
            self._targets = first_targets(self, y, len(corpus), classes)
            self.supervision_ = float(self._supervision())
            look_at(self, corpus, getattr(self, "total_documents", None))
        numbers = self._new_labels(y, len(corpus))
        self._response().check(numbers)
        weight = _check_sample_weight(sample_weight, corpus.counts, ensure_non_negative=True).astype(np.float64)
        if first:
            self._columns = Columns.of(covariates)
            self._scaling = Scaling.of(self._columns.encode(covariates, len(corpus)), self._columns.labels, True)
        extra = self._read_covariates(covariates, len(corpus))
        self._n_covariates = extra.shape[1]
        training = Training(corpus, numbers, weight * self._label_weight(numbers), extra)
        model = self._check_model(corpus, batch=True)
        batch = training.batch(self.n_topics, self.supervision_, self.counts_)
        return self._partial_step(model, batch, first)

    # --- reading ------------------------------------------------------------------------------------------------

    def _read_y(self, y: Any, n_documents: int) -> np.ndarray:
        table, names = as_table(y, n_documents, type(self).__name__)
        numbers, self._targets = self._read_targets(table, names)
        for column, target in zip(numbers.T, self._targets, strict=True):
            if np.isnan(column).all():
                raise ValueError(f"{target.name} is missing for every document; expected some labels")
        numbers = numbers[:, 0] if len(self._targets) == 1 else numbers
        self._response().check(numbers)
        return numbers

    def _read_covariates(self, covariates: Any, n_documents: int) -> np.ndarray:
        """(D, P): what joins the topics in the linear predictor, centred and scaled."""
        return self._scaling.apply(self._columns.encode(covariates, n_documents))

    def _new_labels(self, y: Any, n_documents: int) -> np.ndarray:
        """Labels of new documents as numbers, classes by their place among those of the fit."""
        table, _ = as_table(y, n_documents, type(self).__name__)
        if table.shape[1] != len(self._targets):
            raise ValueError(f"y has {table.shape[1]} columns, expected {len(self._targets)} as in fit")
        pairs = zip(self._targets, table.T, strict=True)
        numbers = np.column_stack([target.encode(column, type(self).__name__) for target, column in pairs])
        return numbers[:, 0] if len(self._targets) == 1 else numbers

    def _fits(self, batch: Batch) -> bool:
        return super()._fits(batch) and self._emission.name == self._emission_name()

    # --- the model ----------------------------------------------------------------------------------------------

    def _model(self) -> Model:
        response = self._response()
        if (self._n_covariates or self._has_words()) and getattr(response, "link", "log") == "canonical":
            which = "covariates" if self._n_covariates else "words"
            raise ValueError(f"{which}: a canonical link needs a positive linear predictor; use link='log'")
        collapsed = self._engine().collapsed
        return Model(
            n_topics=self.n_topics,
            emission=make_emission(
                self._emission_name(), topic_word_prior=self._topic_word_prior(), collapsed=collapsed
            ),
            doc_topic_prior=DirichletPrior.parse(self._alpha(), self.n_topics),
            response=response,
            coef_prior=self._coef_prior(),
            coef_step=self._coef_step(response),
            per_token=self._per_token(),
            collapsed=collapsed,
            n_covariates=self._n_covariates,
        )

    def _emission_name(self) -> str:
        """How topics make words."""
        return str(self.emission)

    def _per_token(self) -> bool:
        """Whether the E-step gives every token its own term of the response."""
        return False

    def _topic_word_prior(self) -> float:
        return self.topic_word_prior

    def _coef_prior(self) -> CoefPrior:
        return CoefPrior.parse(self.coef_prior, self.coef_scale)

    def _coef_step(self, response: Response) -> CoefStep:
        """The M-step of the coefficients."""
        return GLMStep()

    def _alpha(self) -> Any:
        return self.doc_topic_prior

    def _response(self) -> Response:
        parts = [target.make() for target in self._targets]
        return parts[0] if len(parts) == 1 else Several(parts)

    def _parts(self) -> list[tuple[Target, Part]]:
        return list(zip(self._targets, parts_of(self._response()), strict=True))

    # --- using --------------------------------------------------------------------------------------------------

    def _scores(self, corpus: Corpus, extra: np.ndarray) -> prediction.Scores:
        """Moments of the linear predictors, inferred without y."""
        state, response = self._state, self._response()
        topics = np.ascontiguousarray(state.coef[:, : self.n_topics])
        with self._backend() as backend:
            given = (self._point_model(), self._weights(), topics, response, corpus.counts, backend)
            found = ensemble.with_members(self, prediction.score(*given), corpus.counts, backend)
        offset = extra @ ensemble.covariate_coef(self).T + word_part(self).score(corpus.counts)
        return found.shifted(offset, response.is_product)

    def _predicted(self, X: Any, covariates: Any = None) -> tuple[list[np.ndarray], prediction.Scores]:
        """What each response predicts, and the scores behind it."""
        check_is_fitted(self, "_state")
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        extra = self._read_covariates(covariates, len(corpus))
        found, dispersion = self._scores(corpus, extra), self._state.dispersion
        score, moment = heated(self, found.score, found.moment)
        means = [
            part.response.predict(score[:, part.columns], moment[:, part.columns], dispersion[part.numbers])
            for _, part in self._parts()
        ]
        return means, found

    def log_density(self, X: Any, y: Any, covariates: Any = None) -> np.ndarray:
        """(D,) log p(y | document), or its bound, of new documents; zero where y is missing."""
        _, found = self._predicted(X, covariates)
        numbers = self._new_labels(y, len(found.score))
        return self._response().log_density(numbers, *heated(self, found.score, found.moment), self._state.dispersion)

    def _column_names(self) -> list[str]:
        """One per column of coefficients: the class for classes, the response's name among several."""
        names = []
        for target, part in self._parts():
            several = part.columns.stop - part.columns.start > 1
            labels = [str(label) for label in target.classes] if several and target.classes is not None else [""]
            names += [f"{target.name if len(self._targets) > 1 else ''} {label}".strip() for label in labels]
        return names

    def explain(self, doc: Any, n_topics: int | None = 3, covariates: Any = None) -> pd.DataFrame:
        """What each word of one document adds to the linear predictor, and which topics it speaks for.

        The column `contribution` (one per class or response where there are several) is relative to the average
        training document: with `intercept_`, it adds up to the linear predictor of the document. The words with the
        largest contributions come first, the covariates follow, such as ``age=30``. Words that the model does not know
        stand at the end: they add nothing.

        Parameters
        ----------
        doc : one text, or the counts of one document
        n_topics : int or None
            How many topics have a column: the largest ones of the document, in this order, and "other topics". None:
            all topics, in their own order. The shares of a row sum to one.
        covariates : a frame of one row, or a dict such as ``{"age": 30}``, for a model that was fitted with covariates
            What is not given is at its mean, or has its most frequent category.
        """
        words = self._explain_words(doc)
        beside = None if covariates is None else covariate_contributions(self, covariates)
        return explained(self, doc, words, n_topics, beside)

    def _explain_words(self, doc: Any) -> pd.DataFrame:
        """With columns of contributions behind word and count."""
        return with_contributions(self, doc, super()._explain_words(doc))

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training documents, its coefficients, and its n most probable words.

        A column of coefficients for each response or class; if there is one only, the largest comes first. Printed
        tables say below what a coefficient means, and have the coefficients of covariates there.
        """
        frame = super().topics(n)
        for place, (name, column) in enumerate(zip(self._column_names(), self._columns_coef, strict=True)):
            frame.insert(1 + place, f"coef {name}".strip(), column)
        frame.attrs["below"] = summaries.lines_below(self)
        return frame.sort_values("coef", ascending=False) if "coef" in frame else frame

    def summary(self, n: int = 6, probability: float = 0.9) -> pd.DataFrame:
        """A table of the coefficients: a row for the intercept, for each topic and for each covariate.

        Columns are coef, its standard error std, the ends lower and upper of an interval that holds it with the given
        probability, the share of a topic, and its words; std, lower and upper where the model has errors. Topics with
        the largest coefficients come first. Several responses, or classes with coefficients of their own, follow one
        another. `coef_cov_` is the covariance.
        """
        check_is_fitted(self, "_state")
        if not 0 < probability < 1:
            raise ValueError(f"probability: got {probability!r}, expected a number between 0 and 1")
        return summaries.coefficient_table(self, n, probability)

    def _coef_ends(
        self, coef: np.ndarray, errors: np.ndarray | None, probability: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The ends of intervals, each (C, n), for the intercepts and coefficients (C, n)."""
        return summaries.normal_ends(coef, errors, probability)

    @property
    def coef_cov_(self) -> Any:
        """The covariance of the intercept and the coefficients of topics and covariates (see `coef_std_`): a frame with
        the rows of `summary` as rows and columns; a dict of them, by response or class, where there are several.
        """
        check_is_fitted(self, "_state")
        if getattr(self, "coef_std_", None) is None:
            raise AttributeError(f"coef_cov_: this {type(self).__name__} has no errors of its coefficients")
        return summaries.covariance_frames(self)

    # --- keeping ------------------------------------------------------------------------------------------------

    def _keep(self, model: Model, fit: Fit) -> None:
        if "shares" in fit.draws:
            self._mean_shares = fit.draws.pop("shares")
        self._own_draws = fit.draws.pop("coef", None)  # on the model's own scale, until `_derive`
        self._terms = fit.terms
        super()._keep(model, fit)

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        users_view.derive_draws(self)
        found = self._effects(self._state.coef, self._state.dispersion, self._average_shares())
        error = users_view.standard_errors(self)
        self._columns_intercept, self._columns_coef = found.intercept, found.topics
        self._columns_intercept_std, self._columns_std = error[:, 0], error[:, 1 : 1 + self.n_topics]
        if self._n_covariates:
            users_view.name_covariates(self, found.others, error[:, 1 + self.n_topics :])
        if hasattr(self, "_word_coef"):
            self.word_coef_ = users_view.word_effects(self)

    def _centre_draws(self) -> None:
        users_view.centre_draws(self)

    def _effects(self, coef: np.ndarray, dispersion: np.ndarray, shares: np.ndarray) -> Effects:
        """What users see of a model's own coefficients (C, K + P); shares (K,) of the average document."""
        found = find_effects(self._response(), self._coef_prior(), coef, dispersion, shares)
        return replace(found, others=self._scaling.users(found.others))

    def _effects_covariance(self) -> np.ndarray:
        """(C, 1 + K + P, 1 + K + P) of the intercept, the topics' coefficients and those of the covariates."""
        return users_view.covariance(self)

    def _saved(self) -> dict[str, Any]:
        targets = [{**vars(t), "classes": None if t.classes is None else t.classes.tolist()} for t in self._targets]
        return {
            "targets": targets, "n_covariates": self._n_covariates, "supervision": self.supervision_,
            "scaling": self._scaling.saved(), "covariates": self._columns.saved(), **saved_look(self),
        }  # fmt: skip

    def _restore(self, saved: dict[str, Any]) -> None:
        self._targets = [
            Target(**{**t, "classes": None if t["classes"] is None else np.asarray(t["classes"])})
            for t in saved["targets"]
        ]
        self._n_covariates, self.supervision_ = saved["n_covariates"], saved["supervision"]
        self.counts_, self._tokens = restored_look(saved, self._engine().at_mode)
        self._columns = Columns.restore(saved.get("covariates"))
        self._scaling = Scaling.restore(saved.get("scaling"), self._n_covariates)
        if self._columns.names and len(self._columns.labels) != len(self._scaling.mean):
            raise ValueError(f"covariates: {len(self._columns.labels)} names for {len(self._scaling.mean)} columns")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
