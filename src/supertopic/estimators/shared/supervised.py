"""What estimators with a response share: reading y, fitting with it, predictions of new documents, explanations."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from supertopic.checks import check_choice, check_whole
from supertopic.coefficients import CoefPrior
from supertopic.documents.corpus import Corpus, warn_empty
from supertopic.documents.covariates import UNKNOWN, Columns, Scaling
from supertopic.documents.known import Known
from supertopic.documents.labels import Read, as_table
from supertopic.documents.streams import Part, Stream, refuse_beside
from supertopic.emissions.base import make_emission
from supertopic.estimators.shared.base import Fitting, TopicEstimator, has_stochastic_engine
from supertopic.estimators.shared.counts import choose_counts
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.estimators.shared.reading.seed_words import SeedWords
from supertopic.estimators.shared.results import summaries
from supertopic.estimators.shared.results.answers import left_out_frame
from supertopic.estimators.shared.results.effects import effect_line, effect_order, effects_frame, plain_effects
from supertopic.estimators.shared.results.explanation import explained
from supertopic.estimators.shared.results.topic_info import topic_names
from supertopic.estimators.shared.results.word_contributions import covariate_contributions, with_contributions
from supertopic.fitted.coefficients import CoefficientTable, check_probability, table_of, word_effects
from supertopic.fitted.effects import Range
from supertopic.fitted.embeddings import EmbeddingSurvey, embedded
from supertopic.fitted.finish import Coefficients
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.pooling import pooled
from supertopic.fitted.predict import Predicted, log_density, predict
from supertopic.fitted.refits import with_refits
from supertopic.fitted.seen import warn_shifted
from supertopic.fitted.spec import Finish, Schema, Tokens
from supertopic.fitted.streaming import fit_stream, warned_unknown
from supertopic.fitted.supervision import choose_supervision
from supertopic.fitted.training import Training
from supertopic.inference.after.likelihood_words import LikelihoodWords
from supertopic.inference.after.words import WordStep
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.model import CoefStep, Model
from supertopic.priors.base import SharePrior
from supertopic.responses.base import Response, registry


@dataclass(kw_only=True, eq=False, repr=False)
class SupervisedEstimator(Fitting, TopicEstimator):
    """Base of estimators with a response."""

    takes: ClassVar[tuple[str, ...]] = ()  # names of responses, or kinds of them
    several: ClassVar[bool] = False  # whether y may have several columns

    n_topics: int = field(default=20, kw_only=False)
    refit: bool = True
    prevalence: str | Sequence[str] | SharePrior | None = None
    seed_words: SeedWords | None = None
    max_iter: int | None = None

    @abstractmethod
    def _read_targets(self, table: np.ndarray, names: list[str]) -> Read:
        """The columns of y as numbers, NaN where missing, and what they are; refuses what this is not for."""

    def _label_weight(self, numbers: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
        """(D,) weights that follow from y itself."""
        return np.ones(len(numbers))

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, *, covariates: object = None, metadata: object = None, groups: object = None,
        times: object = None, sample_weight: object = None, embeddings: object = None,
        handle_unknown: Literal["error", "ignore"] = "error",
    ) -> Self:  # fmt: skip
        """Find topics in X that explain y; documents whose y is missing take part without it.

        Parameters
        ----------
        X : counts, strings, a Corpus, or (``inference="svi"`` or ``"pc"``) a Stream of documents with their responses
        y : (D,), or (D, M) for several responses; None or NaN: missing. A Stream has its own.
        covariates : (D, P) numbers, or a frame, that join the topics in the linear predictor, on any scale: they are
            centred and scaled to unit variance inside, which is also the scale of their prior. Constant columns have
            no part. A frame's columns are known by name from then on, in any order. Its columns of text or categories
            become dummies, one for each category but the first, the reference (`covariate_names_`,
            `covariate_references_`). Coefficients of more than 30 categories, such as restaurants, are shrunk towards
            their mean, as hard as documents left out are told best (under a normal `coef_prior`; not in streams). A
            list of names stands for columns of `metadata`.
        metadata : a frame of any library, or a dict of columns: what is known of each document
        groups : (D,) who a document belongs to, such as its author; or the name of a column of `metadata`
        times : (D,) dates or numbers; or the name of a column of `metadata`
        sample_weight : (D,) weights of the documents' responses
        embeddings : (D, E) numbers, such as those of a language model, or any hundreds of columns. They stand for one
            number, or one for each class, by a ridge regression whose penalty is chosen out of fold, and join the
            linear predictor as the covariate "embeddings". More than 50 columns of `covariates` without names are taken
            as embeddings. Topics do not see them, where coefficients are regressed afterwards (`refit`).
        handle_unknown : {"error", "ignore"}
            Covariates of new documents that are missing, or of a category that was not there: refused, or taken to be
            at their mean, so that they add nothing. Missing ones of these documents are refused.
        """
        self._settings()
        self._check_parameters()
        check_choice("handle_unknown", handle_unknown, UNKNOWN)
        beside = {
            "metadata": metadata, "groups": groups, "times": times, "sample_weight": sample_weight,
            "embeddings": embeddings,
        }  # fmt: skip
        if isinstance(X, Stream):
            self._check_batches()
            refuse_beside(y=y, covariates=covariates, **beside)
            return self._fit_stream(X, handle_unknown)
        corpus, vocabulary = self._read(X)
        known = Known.of_corpus(corpus, y=y, covariates=covariates, **beside)
        read = self._read_y(y, len(corpus))
        known.require_weight()
        covariates, known = known.widened(covariates)
        schema, seed = (
            self._schema(read, corpus, **self._columns_of(covariates, known, handle_unknown)),
            self._seed_of_fit(),
        )
        schema = self._with_seeds(self._with_prior(schema, [known]), corpus, vocabulary)
        weight, numbers = known.weights * self._label_weight(read.column, read.classes), None
        if known.embeddings is not None:
            schema, numbers = embedded(schema, known, read.column, weight, seed)
        extra = schema.extra(covariates, known, numbers)
        training, scores = Training(corpus, read.column, weight, extra, known), None
        if schema.columns.pooled:
            schema, training = pooled(schema, training, self._coef_prior(), seed)
        if isinstance(self._supervision(), str):
            chosen, scores = choose_supervision(self._spec(schema), training, seed, bool(self.refit))
            schema = replace(schema, supervision=chosen)
        spec = self._spec_of(schema, corpus)
        self._warn_few_topics(schema)
        self._take(fit(spec, training, seed, vocabulary, self._start(vocabulary)))
        self._show("supervision_scores_", scores)
        warn_empty(corpus)
        return self

    def _warn_few_topics(self, schema: Schema) -> None:
        """Warn if there are fewer topics than classes in no order, and nothing else tells these apart."""
        own = [target.classes for target in schema.targets if not target.make().ordered]
        apart = [schema.classes] if schema.one_against_rest else own
        most = max((len(classes) for classes in apart if classes is not None), default=0)
        if self.n_topics < most > 2 and not self._has_words():
            warnings.warn(
                f"n_topics={self.n_topics} is less than the {most} classes of y, which then share topics: give {most}"
                " or more to tell them apart",
                UserWarning,
                stacklevel=3,
            )

    def _columns_of(
        self, covariates: object, known: Known, unknown: str = "error", more_follow: bool = False
    ) -> dict[str, Any]:
        """What covariates are called, and how they are scaled."""
        table = known.covariates(covariates)
        columns = Columns.of(table)
        if self._coef_prior().own and not more_follow:
            columns = columns.pooling()
        levels = [columns.places[name] for name in columns.pooled]
        scaling = Scaling.of(columns.encode(table, len(known)), columns.labels, more_follow, levels)
        return {"columns": replace(columns, unknown=unknown), "scaling": scaling}

    def _schema(self, read: Read, corpus: Corpus, n_documents: int | None = None, **beside: Any) -> Schema:
        """What stands beside the words; n_documents : if there will be more than those of `corpus`."""
        check_whole("total_documents", n_documents, or_none=True)
        at_mode, asked = self._engine().at_mode, self._supervision()
        counts = choose_counts(str(getattr(self, "counts", "raw")), at_mode, corpus)
        return Schema(
            read.targets,
            read.classes,
            constant=self._has_constant(read.classes),
            counts=counts,
            tokens=Tokens.of(corpus, counts, n_documents) if at_mode else None,
            supervision=1.0 if isinstance(asked, str) else float(asked),
            **beside,
        )

    def _fit_stream(self, stream: Stream, unknown: str) -> Self:
        """Labels and all that is known of documents come with the stream."""
        found = self._survey(stream, labelled=True)
        assert found.labels is not None
        read, beside = (
            self._targets(*found.labels.table()),
            {"columns": replace(found.columns, unknown=unknown), "scaling": found.scaling},
        )
        schema = self._schema(read, found.sample, found.n_documents, **beside)
        read_parts = partial(stream.parts, found.vocabulary.vectorizer, n_features=found.vocabulary.n_words)
        schema = self._with_prior(schema, (part.known for part in read_parts()))
        schema = self._with_seeds(schema, found.sample, found.vocabulary, found.n_documents)
        seed, response = self._seed_of_fit(), schema.response

        def labelled() -> Iterator[tuple[Part, Known, np.ndarray, np.ndarray]]:
            """The batches with their labels as numbers and the weights of these."""
            for part in map(Part.widened, read_parts()):
                y = schema.numbers(part.y, len(part.corpus), type(self).__name__)
                response.check(y)
                yield part, part.known, y, part.known.weights * self._label_weight(y, schema.classes)

        blocks = EmbeddingSurvey(schema.targets, seed) if found.embedded else None
        if blocks is not None:
            for _, known, y, weight in labelled():
                blocks.add(known, y, weight)
        extended = schema if blocks is None else schema.with_block(blocks.found().block)

        def batches() -> Iterator[Training]:
            for place, (part, known, y, weight) in enumerate(labelled()):
                numbers = None if blocks is None else blocks.numbers(known, place)
                yield Training(part.corpus, y, weight, extended.extra(part.covariates, known, numbers), known)

        start, refit = self._start(found.vocabulary), bool(self.refit)
        return self._take(fit_stream(self._spec(extended), found, batches, seed, start, refit))

    @available_if(has_stochastic_engine)
    def partial_fit(
        self, X: object, y: object = None, classes: Any = None, *, covariates: object = None, metadata: object = None,
        groups: object = None, times: object = None, sample_weight: object = None, embeddings: object = None,
    ) -> Self:  # fmt: skip
        """One stochastic step on a batch; the first one decides what y is. New words are learned as in `LDA`.

        classes : all classes there will be, with the first batch, where y holds classes
        covariates, metadata, groups, times, sample_weight, embeddings : as in `fit`; coefficients are those of the
            steps, without a refit. The first batch decides how covariates are centred and scaled.
        """
        self._check_parameters()
        self._check_batches()
        corpus, vocabulary, before = self._read_batch(X)
        known = Known.of_corpus(
            corpus, y=y, covariates=covariates, metadata=metadata, groups=groups, times=times,
            sample_weight=sample_weight, embeddings=embeddings,
        )  # fmt: skip
        covariates, known = known.widened(covariates)
        if before is None:
            schema = self._first_schema(y, corpus, classes, **self._columns_of(covariates, known, more_follow=True))
            schema = self._with_seeds(self._with_prior(schema, [known]), corpus, vocabulary)
        else:
            if (same := warned_unknown(before, corpus)) is not None:
                self.fitted_ = same
                return self
            schema = before.spec.schema
        require_whole(self, "n_topics")
        numbers = schema.numbers(y, len(corpus), type(self).__name__)
        schema.response.check(numbers)
        weight = known.weights * self._label_weight(numbers, schema.classes)
        if before is None and known.embeddings is not None:
            schema, block = embedded(schema, known, numbers, weight, self._seed())
            extra = schema.extra(covariates, known, block)
        else:
            extra = schema.encode(covariates, known)
        training = Training(corpus, numbers, weight, extra, known)
        return self._step(self._spec(schema), training, vocabulary, before)

    def _first_schema(self, y: object, corpus: Corpus, classes: Any, **columns: Any) -> Schema:
        """What stands beside the words, from a first batch and the classes there will be."""
        table, names = as_table(y, len(corpus), type(self).__name__)
        if classes is not None:
            more = np.empty((len(classes), table.shape[1]), dtype=object)
            more[:] = np.asarray(list(classes), dtype=object)[:, None]
            table = np.concatenate([table, more])
        total = getattr(self._method(), "total_documents", None)
        return self._schema(self._targets(table, names), corpus, total, **columns)

    # --- what the parameters ask for ----------------------------------------------------------------------------

    def _finish(self, schema: Schema) -> Finish:
        words = self._word_step(schema.response) if self._has_words() else None
        return Coefficients(bool(self.refit), self._n_members(), self._n_folds(), words)

    def _check_parameters(self) -> None:
        """Refuse nonsense before any work."""
        value = self._supervision()
        wrong = not isinstance(value, Real) or not 0 <= float(value) < np.inf
        if wrong and not (isinstance(value, str) and value == "auto"):
            raise ValueError(f"supervision: got {value!r}, expected a number >= 0, or 'auto'")
        if self._has_words() and not self.refit:
            raise ValueError("words: got True with refit=False, but words are fitted with the refitted coefficients")
        _ = self._honest_share(), self._n_folds(), self._n_members()

    def _check_batches(self) -> None:
        """Refuse what needs all documents at once."""
        if isinstance(self._supervision(), str):
            raise ValueError("supervision: got 'auto', which needs all documents at once; expected a number")
        if self._has_words():
            raise ValueError("words: got True, which needs all documents at once; expected False")
        if share := self._honest_share():
            raise ValueError(f"honest: got {share:g}, which needs all documents at once; expected 0")
        if self._n_members() > 1:
            raise ValueError("ensemble: got more than one fit, which needs all documents at once; expected 1")

    def _n_folds(self) -> int:
        """Folds behind what is said about certainty; 0 for none."""
        return 0

    def _n_members(self) -> int:
        """Fits whose linear predictors are averaged."""
        size = getattr(self, "ensemble", 1)
        check_whole("ensemble", size)
        return int(size)

    def _honest_share(self) -> float:
        """The share of the labels that are set aside for the coefficients; 0 for none."""
        return 0.0

    def _supervision(self) -> Any:
        """The weight of y against the words that the user asks for: a number, or "auto"."""
        return self.supervision

    def _has_words(self) -> bool:
        """Whether words join the topics in the linear predictor."""
        return bool(self.words)

    def _word_step(self, response: Response) -> WordStep:
        return LikelihoodWords(response)

    def _has_constant(self, classes: np.ndarray | None) -> bool:
        """Whether a constant stands behind the covariates."""
        return False

    def _has_errors(self) -> bool:
        """Whether coefficients have standard errors."""
        return True

    def _model(self, schema: Schema) -> Model:
        response = schema.response
        if (schema.n_covariates or self._has_words()) and getattr(response, "link", "log") == "canonical":
            which = "covariates" if schema.n_covariates else "words"
            raise ValueError(f"{which}: a canonical link needs a positive linear predictor; leave ':canonical' out")
        collapsed = self._engine().collapsed
        prior = self._topic_word_prior(schema, response)
        emission = make_emission(self._emission_name(), topic_word_prior=prior, collapsed=collapsed)
        return Model(
            n_topics=self.n_topics,
            emission=emission if schema.seeds is None else emission.seeded(schema.seeds),
            doc_topic_prior=self._share_prior(schema, self._alpha(schema)),
            response=response,
            coef_prior=self._coef_prior(),
            coef_step=self._coef_step(response),
            per_token=bool(getattr(self._method(), "per_token", False)),
            collapsed=collapsed,
            n_covariates=schema.n_covariates,
        )

    def _emission_name(self) -> str:
        """How topics make words."""
        return str(self.emission)

    def _topic_word_prior(self, schema: Schema, response: Response) -> float:
        return self.topic_word_prior

    def _coef_prior(self) -> CoefPrior:
        return CoefPrior.parse(self.coef_prior, self.coef_scale)

    def _coef_step(self, response: Response) -> CoefStep:
        """The M-step of the coefficients."""
        return GLMStep()

    def _alpha(self, schema: Schema) -> Any:
        return self.doc_topic_prior

    # --- reading ------------------------------------------------------------------------------------------------

    def _read_y(self, y: object, n_documents: int) -> Read:
        table, names = as_table(y, n_documents, type(self).__name__)
        read = self._targets(table, names)
        for column, target in zip(read.numbers.T, read.targets, strict=True):
            if np.isnan(column).all():
                raise ValueError(f"{target.name} is missing for every document; expected some labels")
        Schema(read.targets).response.check(read.column)
        return read

    def _targets(self, table: np.ndarray, names: list[str]) -> Read:
        if table.shape[1] != 1 and not self.several:
            what = "labels" if is_classifier(self) else "numbers"
            raise ValueError(
                f"y has shape {table.shape}; {type(self).__name__} takes one column of {what}, TopicModel several"
            )
        return self._read_targets(table, names)

    def check_schema(self, schema: Schema) -> None:
        who, n_targets = type(self).__name__, len(schema.targets)
        for target in schema.targets:
            if not {target.response, registry()[target.response].kind} & set(self.takes):
                raise ValueError(f"{who} has no response {target.response!r:.40}")
        if is_classifier(self):
            own = [schema.classes] if n_targets == 1 else [np.array([0, 1])] * n_targets  # each class against the rest
            right = schema.classes is not None and n_targets in (1, len(schema.classes))
            right = right and all(_same(one.classes, two) for one, two in zip(schema.targets, own, strict=True))
        else:
            right = schema.classes is None and (n_targets == 1 or (self.several and n_targets > 1))
        if not right:
            raise ValueError(f"the classes and responses are not those of a {who}")
        if schema.constant != self._has_constant(schema.classes):
            raise ValueError(f"constant: got {schema.constant}, which is not what the parameters of {who} say")

    # --- what was found -----------------------------------------------------------------------------------------

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        schema = fitted.spec.schema
        self.supervision_, self.counts_ = schema.supervision, schema.counts
        self.coefficients_ = self._table(fitted)
        self._show("word_coef_", word_effects(fitted))
        self._show("n_groups_", fitted.notes.get("n_groups"))
        self._show_covariates(fitted)

    def _table(self, fitted: Fitted) -> CoefficientTable:
        return table_of(fitted, self._has_errors())

    def _show_covariates(self, fitted: Fitted) -> None:
        """The coefficients of the covariates: arrays, or frames where the covariates have names."""
        table, schema = self.coefficients_, fitted.spec.schema
        columns = schema.columns
        mean: Any = schema.scaling.mean
        found: dict[str, Any] = {"covariate_coef_": table.others, "covariate_std_": table.others_std}
        if columns.labels or schema.block is not None:
            labels = schema.covariate_names
            rows = [name or fitted.spec.schema.targets[0].name for name in table.names]
            found = {
                name: None if value is None else pd.DataFrame(value, index=rows, columns=labels)
                for name, value in found.items()
            }
            mean = pd.Series(mean, index=labels)
        found |= {
            "covariate_names_": list(table.covariates),
            "covariate_references_": columns.references,
            "covariate_mean_": mean,
        }
        for name, value in found.items():
            self._show(name, value if table.covariates else None)

    # --- using --------------------------------------------------------------------------------------------------

    def _predicted(self, X: object, covariates: object, metadata: object, embeddings: object) -> Predicted:
        """What each response predicts, and the scores behind it."""
        fitted, corpus = self._now, self._as_corpus(X)
        known = Known.of_corpus(corpus, covariates=covariates, metadata=metadata, embeddings=embeddings)
        warn_empty(corpus)
        warn_shifted(fitted, corpus)
        return predict(fitted, corpus, fitted.spec.schema.encode(covariates, known), known)

    def encode_labels(self, y: object, n_documents: int) -> np.ndarray:
        """Labels of new documents as numbers, classes by their place among those of the fit."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.spec.schema.numbers(y, n_documents, type(self).__name__)

    def log_density(
        self, X: object, y: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """(D,) log p(y | document), or its bound, of new documents; zero where y is missing."""
        fitted, corpus = self._now, self._as_corpus(X)
        warn_empty(corpus)
        known = Known.of_corpus(corpus, y=y, covariates=covariates, metadata=metadata, embeddings=embeddings)
        extra = fitted.spec.schema.encode(covariates, known)
        return log_density(fitted, corpus, extra, self.encode_labels(y, len(corpus)), known)

    def explain(
        self, doc: object, n_topics: int | None = 3, covariates: object = None, embeddings: object = None
    ) -> pd.DataFrame:
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
        embeddings : (1, E), for a model that was fitted with embeddings; they have a row together
        """
        words = self.explain_words(doc)
        given = covariates is not None or embeddings is not None
        beside = covariate_contributions(self.fitted_, covariates, embeddings) if given else None
        return explained(self.vectorizer_, doc, words, n_topics, beside)

    def explain_words(self, doc: object) -> pd.DataFrame:
        """With columns of contributions behind word and count."""
        return with_contributions(self._now, doc, super().explain_words(doc))

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training documents, its effects, and its n most probable words.

        A column of effects (see `effects`) for each response or class. The largest effect comes first, or with several
        classes, those topics that go with the first class most. Printed tables say below what an effect is, and have
        the coefficients of covariates there.
        """
        frame, table, fitted = super().topics(n), self.coefficients_, self.fitted_
        found = plain_effects(fitted, table)
        before = frame.columns.get_loc("words")
        for place, name in enumerate(table.names):
            effect = pd.Series(found.effect[:, place])
            frame.insert(before + place, f"effect {name}".strip(), effect)
        frame = frame.loc[effect_order(fitted, found)]
        frame.attrs["below"] = [effect_line(fitted), *summaries.covariate_lines(table)]
        return frame

    def summary(self, n: int = 6, probability: float = 0.9, adjust: str | None = None) -> pd.DataFrame:
        """A table of the coefficients: a row for the intercept, for each topic and for each covariate.

        Columns are coef, its standard error std, the ends lower and upper of an interval that holds it with the given
        probability, the effect (see `effects`) and the share of a topic, and its words; std, lower and upper where the
        model has errors. With `cross_fit`, found_again is the share of the fits without a fold that have such a topic,
        and spread the standard deviation of its coefficient among these; `find_again` asks other fits. Topics with the
        largest effects come first. Several responses, or classes with coefficients of their own, follow one another.
        `coef_cov_` is the covariance.

        adjust : {"holm", "bh"}, optional
            A column p of p-values that hold for all topics and covariates of the table together: of those below 0.05,
            one or more is wrong with probability 0.05 at most ("holm"), or one in twenty is expected to be ("bh").
        """
        check_is_fitted(self, "fitted_")
        check_probability("probability", probability)
        about = self.topics(n).sort_index()
        return summaries.coefficient_table(self.fitted_, self.coefficients_, about, probability, adjust)

    def effects(
        self, low: float = 0.1, high: float | None = None, *, of: str = "topics", probability: float = 0.9
    ) -> pd.DataFrame:
        """What the prediction changes by when a topic goes from little to much of a document.

        Its share moves from one quantile of the training documents to another, and the other topics give way in
        proportion; the change is averaged over the documents. It is a difference in units of y, a ratio where the
        response has a log link, percentage points of each class, or the score of a margin without probabilities.

        Columns are topic, label (the one given, or the first words), share_low and share_high, effect, std_error, and
        the ends lower and upper of an interval, and found_again and spread as in `summary`; the largest effect comes
        first. Several responses, or classes, follow one another. Errors and intervals are given the topics; NaN: the
        model knows none.

        Parameters
        ----------
        low, high : float
            The quantiles. By default 0.1 and 0.9; of more than five classes the upper one is 1 - 1/(2·classes), since
            few documents are of any one of them.
        of : {"topics", "covariates"}
            Of the covariates, columns are covariate, low, high, effect, …; one that has two values goes from one to the
            other, and topics stay as they are.
        probability : float
            Of the intervals.
        """
        check_is_fitted(self, "fitted_")
        given = Range.of(self.fitted_, low, high, probability)
        return effects_frame(self.fitted_, self.coefficients_, topic_names(self), of, given)

    def find_again(self, refits: int = 10, *, seed: int = 0) -> Self:
        """Fit again, on documents drawn with replacement and with other seeds, to see which topics come back.

        From then on `summary` and `effects` have found_again (the share of these fits with such a topic) and spread
        (the standard deviation among these) from them, and no longer from the fits without a fold, which share most
        documents, and the seed. With `groups`, groups are drawn. The model itself stays as it is. Each refit costs as
        much as the fit. It needs the documents, which are there until the model is loaded from a file.
        """
        check_whole("refits", refits, least=2)
        return self._take(with_refits(self._now, int(refits), seed))

    @property
    def coef_cov_(self) -> Any:
        """The covariance of the intercept and the coefficients of topics and covariates (see `coef_std_`): a frame with
        the rows of `summary` as rows and columns; a dict of them, by response or class, where there are several.
        """
        check_is_fitted(self, "fitted_")
        if self.coefficients_.std is None:
            raise AttributeError(f"coef_cov_: this {type(self).__name__} has no errors of its coefficients")
        return summaries.covariance_frames(self.fitted_, self.coefficients_)

    @property
    def out_of_fold_(self) -> pd.DataFrame:
        """Labelled documents as fits without them predict them, to stack, plot and audit with.

        A row for each document, by its place in `fit`, and columns fold, y, prediction and residual, which is y less
        the prediction. Of classes, there is a column of probabilities for each, and the residual is 1 less that of the
        document's class. Several responses have columns with their names before them, "stars prediction". Predictions
        have the slope that is learned of all folds. With `honest`, documents are those set aside, predicted by
        regressions without a fold of them; with `words=True`, those that words have not seen. They are kept in files.
        """
        check_is_fitted(self, "fitted_")
        if self.fitted_.left_out is None:
            raise AttributeError(f"out_of_fold_: this {type(self).__name__} was fitted without folds (cross_fit)")
        return left_out_frame(self.fitted_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _same(classes: np.ndarray | None, other: np.ndarray | None) -> bool:
    return classes is not None and other is not None and np.array_equal(classes, other)
