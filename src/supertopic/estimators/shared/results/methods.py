"""What is asked of a fitted model: topics, words, documents, reports; and what a reader changes in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from numbers import Integral
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.names import read_labels, read_words
from supertopic.documents.rows import require_same_order
from supertopic.estimators.shared.results.comparison import Comparison, compare
from supertopic.estimators.shared.results.explanation import explained
from supertopic.estimators.shared.results.reading import (
    for_pyldavis,
    topic_correlation,
    topic_place,
    typical_documents,
    words_by_class,
)
from supertopic.estimators.shared.results.telling import card, methods
from supertopic.estimators.shared.results.topic_info import (
    ranked_words,
    topic_info,
    topic_labels,
    topic_names,
    words_in_order,
)
from supertopic.fitted import files
from supertopic.fitted.certainty.chains import to_arviz
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.regroup import merged_groups, regrouped, require_regroupable
from supertopic.fitted.small import predictor_of
from supertopic.fitted.topic_effects import TopicEffects, topic_effects
from supertopic.html_tables import TopicFrame
from supertopic.metrics import perplexity
from supertopic.plots_of import Plots
from supertopic.predictor import Predictor


def has_sampler(estimator: Any) -> bool:
    """Whether an estimator has an engine that keeps draws."""
    return "gibbs" in estimator.engines


class TopicResults(BaseEstimator):
    """The methods that every fitted model has."""

    fitted_: Fitted
    topic_labels_: list[str | None] | None  # what `set_topic_labels` was given

    def perplexity(self, X: object, method: str = "completion", **options: Any) -> float:
        """exp(-log-likelihood per token) of new documents; see `supertopic.metrics.perplexity`."""
        check_is_fitted(self)
        return float(perplexity(self, X, method, **options))

    def score(self, X: object, y: object = None) -> float:
        """Log-likelihood per held-out token (document completion): higher is better, as scikit-learn expects."""
        return -float(np.log(self.perplexity(X)))

    def top_words(self, n: int = 10, by: str = "probability") -> pd.DataFrame:
        """The n first words of each topic: columns topic, rank, word, probability; a row per word.

        by : "probability", "frex" (frequent and exclusive), "lift" (over the average document), "relevance" (of both:
            Sievert & Shirley) or "score" (R's lda); the last four have a column of their own
        """
        check_is_fitted(self)
        order, values = words_in_order(self, n, by)
        more = {} if by == "probability" else {by: values}
        return ranked_words(order, self.fitted_.vocabulary.words, probability=self.components_, **more)

    def typical_documents(
        self, topic: int | str | None = None, texts: Any = None, n: int = 5, *, threshold: float = 0.0, X: Any = None,
    ) -> pd.DataFrame:  # fmt: skip
        """The documents with the largest shares of a topic: columns topic, rank, document, share, text.

        Parameters
        ----------
        topic : number or label; None: all topics
        texts : the documents' texts, optional; of those of the fit, or of X
        n : int
            Documents of each topic.
        threshold : float
            Least share of the topic.
        X : documents, optional
            As in `transform`; by default those of the fit.
        """
        check_is_fitted(self, "fitted_")
        return typical_documents(self, topic, texts, n, threshold, X)

    def topic_correlation(self, X: Any = None) -> pd.DataFrame:
        """(K, K) how topics go together in documents: correlations of centred log-ratios of their shares.

        ``attrs["tree"]`` says which meet first, as SciPy's `linkage`; ``plot.dendrogram()`` draws it.

        X : documents, optional
            By default those of the fit.
        """
        check_is_fitted(self, "fitted_")
        return topic_correlation(self, X)

    def words_by_class(self, y: Any, topic: int | str, X: Any = None, n: int = 10) -> pd.DataFrame:
        """The words of one topic by class: how often, in a thousand tokens of the topic, documents of a class use each.

        y : (D,) a class of each document; those without one are left out
        X : documents, optional
            By default those of the fit.
        """
        return words_by_class(self._now, topic_place(self, topic), y, X, n)

    def to_pyldavis(self, X: Any = None) -> dict[str, Any]:
        """What ``pyLDAvis.prepare(**model.to_pyldavis())`` draws; X : documents, by default those of the fit."""
        return for_pyldavis(self._now, X)

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its label if you gave any, its share of the training documents, its n likeliest words.

        The largest share comes first.
        """
        top = self.top_words(n).groupby("topic")["word"].agg(", ".join)
        labels, shares = topic_labels(self), self.fitted_.average_shares
        columns: dict[str, Any] = {"label": labels} if any(labels) else {}
        columns |= {"share": shares, "words": top.to_numpy()}
        frame = TopicFrame(columns, index=pd.RangeIndex(len(top), name="topic"))
        return frame.sort_values("share", ascending=False, kind="stable")

    def topic_info(self, X: object = None, n: int = 10) -> pd.DataFrame:
        """One row per topic, by number, with all that is known of it.

        The columns are share, coef and coef_std (for each class or response, where there are any), coherence (NPMI),
        exclusivity, concentration (the share of its topic in the document where a token of it stands), moved ("pc", but
        not of three classes or more: what labels made of the topics that it starts from, by cosines: "as in LDA", from
        0.9, "moved", or "new", below 0.5), remark (hardly used, nearly the same as another, words of all topics: its
        first words have less than 0.4 of the log lift of words that are its own), words (the n most probable) and frex
        (n words both frequent and exclusive).

        Parameters
        ----------
        X : documents, optional
            Those in which the coherence of the topics is measured; by default those of the fit.
        n : int
            Words of each topic, here and behind coherence and exclusivity.
        """
        check_is_fitted(self, "fitted_")
        return topic_info(self, X, n)

    def estimate_effect(
        self, formula: str | Sequence[str], metadata: object = None, X: object = None, *, cluster: Any = None,
        refits: int = 0, honest: bool = False, method: str = "moments", draws: int = 25, permutations: int = 0,
    ) -> TopicEffects:  # fmt: skip
        """What goes with topics: shares of documents regressed on a formula of their metadata.

        The result has a `summary`, a `contrast` of two values of a column, a `curve` along one, `of_topics`, `plot`
        and `to_latex`. Needs the package formulaic.

        Parameters
        ----------
        formula : such as ``"~ party * spline(date, 5)"``, or a list of columns
            Columns of `metadata`, the operators of formulas, and spline(x, df), C(x), log(x), log1p(x), sqrt(x). Texts
            are categories, dates are years.
        metadata : a table with a row per document; by default that of the fit
        X : documents, optional
            Those of `metadata`, as in `transform`; by default the documents of the fit, which a model that was loaded
            from a file does not hold.
        cluster : name of a column, or a column
            Documents of a group go together (those of an author): errors by groups instead of documents. By default
            the `groups` of the fit, where it had some.
        refits : int
            Further fits, on documents (or groups) that are drawn again and with other seeds. Intervals hold what they
            differ by, and `found_again` is the share of them that find a topic again.
        honest : bool
            Topics from half of the documents, coefficients from the other, and the other way round.
        method : {"moments", "composition"}
            "moments": shares that lean on no prior, so that differences are not pulled toward zero. "composition":
            `draws` draws of the shares from their posterior, pooled, as R's stm does.
        permutations : int
            Add p-values by so many permutations of documents (changes of sign of groups).
        """
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        return topic_effects(
            self._now, topic_names(self), formula, metadata, X, cluster=cluster, refits=refits, honest=honest,
            method=method, draws=draws, permutations=permutations, seed=int(seed),
        )  # fmt: skip

    def explain(self, doc: object, n_topics: int | None = 3) -> pd.DataFrame:
        """The topics of each word of one document: columns word, count, and shares of topics.

        The shares of a row sum to one; weighted by the counts they add up to the document's topic counts. Words that
        the model does not know stand at the end, without shares.

        Parameters
        ----------
        doc : one text, or the counts of one document
        n_topics : int or None
            How many topics have a column: the largest ones of the document, in this order, and "other topics". None:
            all topics, in their own order.
        """
        return explained(self.vectorizer_, doc, self.explain_words(doc), n_topics)

    def explain_words(self, doc: object) -> pd.DataFrame:
        """Columns word, count, and a share per topic, for the known words of one document."""
        fitted = self._now
        counts = fitted.one_document(doc).counts
        shares = fitted.words_by_topic(counts)
        return word_table(fitted.vocabulary.words, counts, shares)

    @property
    def plot(self) -> Plots:
        """The plots of `supertopic.explore` as methods: `model.plot.topics()`; they need matplotlib."""
        return Plots(self)

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the fitted model to one file, which `supertopic.load` reads; a full disk leaves the old file.

        path : the file, or something open to be written, such as a BytesIO
        """
        files.save(self, path)

    def predictor(self, doc_topic: bool = False) -> Predictor:
        """What predictions of new documents need and no more: a value that starts at once, and threads can share.

        `predictor.save(path)` writes it; `supertopic.predictor.load_predictor` reads it without what fits models.

        doc_topic : whether it keeps the topic shares of the training documents
        """
        check_is_fitted(self, "fitted_")
        return predictor_of(self, doc_topic)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write a module of JavaScript that predicts texts as this model does: ``"model.js"``.

        ``import { loadModel } from "./model.js"``; then ``model = await loadModel()`` has ``model.predict(text)`` and
        ``model.topics(text)``. Numbers agree with those of Python to three digits at least.
        """
        check_is_fitted(self, "fitted_")
        import_module("supertopic.explore.page.export").write_script(self, path)

    def report(
        self, path: str | os.PathLike[str], X: object, y: object = None, *, metadata: object = None,
        texts: object = None, names: object = None, covariates: object = None, embeddings: object = None,
        effects: TopicEffects | None = None, compare: TopicResults | None = None, title: str | None = None,
    ) -> None:  # fmt: skip
        """Write a page that explains the model on these documents: one HTML file that needs no network.

        The page shows the topics with their coefficients, every document with its prediction and the reasons for it,
        how well the model fits, and it predicts a text as one types.

        Parameters
        ----------
        path : the file to write, such as ``"report.html"``; it is replaced at once, or not at all
        X : documents as in `transform`; new ones tell more about predictions than those of the fit
        y : what is predicted, optional; missing values are allowed
        metadata : a table with a row per document: further columns to group documents by
        texts : the texts of the documents, where X holds counts
        names : a name for each document
        covariates, embeddings : as in `predict`
        effects : what `estimate_effect` found, optional
        compare : a model that was there before, which the page shows beside this one (see `compare`)
        title : the heading of the page
        """
        require_same_order(X, y=y, metadata=metadata, texts=texts, covariates=covariates, embeddings=embeddings)
        # `explore` stands above the estimators, so that it is imported when it is asked for
        page = import_module("supertopic.explore.page")
        more = {"metadata": metadata, "texts": texts, "names": names, "covariates": covariates, "title": title}
        page.write_report(self, path, X, y, embeddings=embeddings, effects=effects, compare=compare, **more)

    def compare(self, other: TopicResults) -> Comparison:
        """What is different from another model, which was there before: topics that came and went, effects that moved.

        Topics are matched one to one by their words. An effect has moved where the errors of both models do not explain
        the difference, allowing for the number of topics. `supertopic.metrics.align_topics` matches them alone.

        Returns
        -------
        Comparison
            `str` of it is a sentence, `topics` a frame with a row for each topic (and class, or response), and
            `changed` whether anything is different.
        """
        check_is_fitted(self, "fitted_")
        if not isinstance(other, TopicResults):
            raise ValueError(f"other: got {type(other).__name__}, expected a fitted model")
        check_is_fitted(other, "fitted_")
        return compare(self, other)

    def methods(self) -> str:
        """A paragraph for a methods section: model, documents, inference, seed, version and how errors were made.

        Returns
        -------
        str
            Add what the fit cannot know: where the texts come from, and how the number of topics was chosen.
        """
        return methods(self._now, self.get_params(deep=False), self.papers)

    def card(self) -> str:
        """A model card in Markdown, for whoever is given the model: what it is for, its limits, its topics.

        Returns
        -------
        str
            Markdown.
        """
        return card(self._now, self.get_params(deep=False), self.papers, self.topics(8))

    @available_if(has_sampler)
    def to_arviz(self) -> Any:
        """The draws of `inference="gibbs"` as ArviZ's InferenceData; needs the package arviz.

        Dimensions have names: chain, draw, class (or response), topic, covariate. `intercept` and `coef` have the
        meaning of `intercept_` and `coef_`.
        """
        check_is_fitted(self, "fitted_")
        return to_arviz(self.fitted_)

    def describe(
        self, X: object = None, y: object = None, *, covariates: object = None, metadata: object = None,
        embeddings: object = None,
    ) -> Any:  # fmt: skip
        """What this model found, in a few sentences: how good it is, which topics go with what, where to be careful.

        Figures are of documents that the model has not seen: out of fold (`cross_fit`), or of X and y where these are
        given. A linear model on all words stands beside them, by the same documents, where there are some at hand.
        Where the topics do not clearly predict anything, the first sentence says so.

        Returns a Description: `str` of it is the text, `sentences` its pieces, `hardly` whether topics predict hardly
        anything, and `figures` a frame with a row for each response.
        """
        check_is_fitted(self, "fitted_")
        found = import_module("supertopic.explore.page.description")
        return found.describe(self, X, y, covariates, metadata, embeddings)

    def name_words(self, names: object) -> Self:
        """Give names to the columns of counts that came without, for `topics`, `top_words` and `explain`.

        names : the words, or what has them: a fitted vectorizer, or the steps of a pipeline before this one. Counts of
            `supertopic.Vectorizer` and frames bring their words along, and so do pipelines that are fitted as a whole;
            counts that scikit-learn's vectorizers made elsewhere do not.
        """
        check_is_fitted(self, "fitted_")
        self.feature_names_in_ = read_words(names, self.n_features_in_)
        vocabulary = replace(self.fitted_.vocabulary, names=self.feature_names_in_)
        self.fitted_ = replace(self.fitted_, vocabulary=vocabulary)
        return self

    def set_topic_labels(self, labels: object) -> Self:
        """Give names to topics; the page of `report` shows them, and a saved model keeps them.

        labels : K names, a mapping of topics to names, or the file of names that the page saves; None: no name. Topics
            that a mapping does not hold keep the names that they have
        """
        check_is_fitted(self, "fitted_")
        self.topic_labels_ = read_labels(labels, len(self.components_), self.fitted_.labels)
        self.fitted_ = replace(self.fitted_, labels=self.topic_labels_)
        return self

    def merge_topics(self, topics: Sequence[Any]) -> Self:
        """Make one topic of several, in this model: the first of them then stands for all, and those behind move up.

        topics : numbers or labels, such as [3, 5]; or several such lists
        """
        several = all(isinstance(one, Sequence) and not isinstance(one, str) for one in topics)
        groups = [[topic_place(self, one) for one in group] for group in (topics if several else [topics])]
        if not groups or min(map(len, groups)) < 2:
            raise ValueError(f"topics: got {topics!r}, expected two topics at least that become one")
        return self._regroup(merged_groups(groups, len(self.components_)))

    def drop_topics(self, topics: Sequence[Any]) -> Self:
        """Leave topics out of this model; their share of a document goes to the others, in proportion."""
        gone = {topic_place(self, one) for one in topics}
        return self._regroup([[k] for k in range(len(self.components_)) if k not in gone])

    def reorder_topics(self, order: Sequence[Any]) -> Self:
        """Give topics other numbers: order[0] becomes topic 0."""
        places = [topic_place(self, one) for one in order]
        if sorted(places) != list(range(len(self.components_))):
            raise ValueError(f"order: got {len(places)} topics, expected each of the {len(self.components_)} once")
        return self._regroup([[place] for place in places])

    def _regroup(self, groups: list[list[int]]) -> Self:
        check_is_fitted(self, "fitted_")
        require_regroupable(self.fitted_)
        if not groups:
            raise ValueError("topics: got all of them, expected some that stay")
        if not isinstance(self.doc_topic_prior, (str, float, int)):
            given = np.asarray(self.doc_topic_prior, dtype=np.float64)
            self.set_params(doc_topic_prior=[float(given[group].sum()) for group in groups])
        self.set_params(n_topics=len(groups))
        return self._take(regrouped(self.fitted_, self._spec(self.fitted_.spec.schema), groups))


def word_table(words: np.ndarray, counts: Any, shares: np.ndarray) -> pd.DataFrame:
    """Columns word, count, and a share per topic, for the words of one document; the most frequent first."""
    frame = pd.DataFrame(shares, columns=[f"topic {k}" for k in range(shares.shape[1])])
    frame.insert(0, "count", counts.data.astype(np.float64))
    frame.insert(0, "word", words[counts.indices])
    return frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)


def labelled_words(
    words: np.ndarray, counts: np.ndarray, says: np.ndarray, labels: Sequence[Any] | np.ndarray, most: int | None
) -> pd.DataFrame:
    """Columns word, count, and what it says for each label (words, labels); the most frequent word first.

    most : how many labels are shown, those with the largest sums; None: all
    """
    order = slice(None) if most is None else np.argsort(-says.sum(axis=0), kind="stable")[:most]
    frame = pd.DataFrame(says[:, order], columns=np.array([str(label) for label in labels], dtype=object)[order])
    frame.insert(0, "count", counts)
    frame.insert(0, "word", words)
    return frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)
