"""Latent Dirichlet allocation (Blei, Ng & Jordan 2003; Griffiths & Steyvers 2004; Hoffman et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.shared.base import Fitting, TopicEstimator
from supertopic.estimators.shared.reading.seed_words import SeedWords
from supertopic.fitted.spec import Schema
from supertopic.inference.gibbs.lda import fit_gibbs
from supertopic.inference.methods import Method
from supertopic.inference.settings import EMSettings, Engine, GibbsSettings, StochasticSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.stochastic import fit_stochastic
from supertopic.model import Model
from supertopic.priors.base import SharePrior


@dataclass(kw_only=True, eq=False, repr=False)
class LDA(Fitting, TopicEstimator):
    """theta_d ~ Dirichlet(alpha);  beta_k ~ Dirichlet(topic_word_prior);  z ~ theta_d;  w ~ beta_z.

    Parameters
    ----------
    n_topics : int
        K.
    inference : {"vb", "cvb0", "svi", "gibbs"}, or VB, CVB0, SVI, Gibbs with parameters of their own
        Variational EM over the whole corpus; the same with topics and shares integrated out and at the mean of their
        counts (collapsed, of order zero); stochastic variational inference in mini-batches (streams, `partial_fit`);
        collapsed Gibbs sampling, whose topics are averaged over sweeps (whole counts only).
    doc_topic_prior : float, K floats, "symmetric" or "auto"
        alpha. "auto" learns all K numbers, "symmetric" one number for all topics.
    prevalence : str, list of str or a prior on topic shares, optional
        How topic shares depend on metadata: a formula such as ``"~ party + spline(date, 5)"`` or columns of `metadata`;
        ``supertopic.Prevalence(formula, spread)`` says how far coefficients may go. alpha of a document is then
        exp(x·Lambda) (Dirichlet-multinomial regression), and that of the average document starts at `doc_topic_prior`.
    seed_words : dict or file, optional
        Words that the first topics begin with, by the names of these topics: ``{"sport": ["match", "coach*"], …}``, or
        with weights, ``{"sport": {"match": 2, "coach*": 1}}``; JSON, or lines such as ``sport: match, coach*``. A word
        of weight 1 has as many pseudo-counts in its topic as there are tokens of it.
    topic_word_prior : float
        Smoothing of the topics; 0 fits them by maximum likelihood, in all but "gibbs".
    max_iter : int, optional
        EM steps (default 100), epochs (10) or sweeps (500).
    tol : float
        "vb" and "cvb0": stop when the bound gains less than this share of itself.
    vectorizer : Vectorizer, optional
        Counts the words when X is text; travels with the saved model. None: ``Vectorizer()``, which leaves out the
        stop words of English texts (``Vectorizer(stop_words=None)`` keeps them).
    n_jobs : int, optional
        Threads; the result does not depend on it.
    random_state : int, RandomState or None
        Seed of first topics and draws: the same number gives the same result.
    verbose : int
        1: a progress bar on a terminal, and a line now and then elsewhere; 2: a line per iteration.
    warm_start : bool
        Go on from the last fit's topics, which keep their places when words come and go.
    checkpoint : path or Checkpoint, optional
        A fit that was killed and is started again with the same data and parameters goes on from here. A path is
        written every 30 seconds, ``supertopic.Checkpoint(path, every_seconds)`` as often as it says.
    backend : {"threads", "cuda"} or dask.distributed.Client
        Where the work is done. "cuda" is a GPU (``pip install 'supertopic[gpu]'``, docs/scaling.md). The workers of a
        Dask client get partitions of the documents and run the same kernels; the model is the threads' up to rounding.
        "gibbs" draws topics there (``Gibbs(sampler="partial")``). A saved model has "threads".

    Attributes
    ----------
    components_ : (K, V) ndarray, rows are distributions over words
    doc_topic_ : (D, K) ndarray, topic shares of the training documents
    alpha_ : (K,) ndarray, with `prevalence` of the average document
    prevalence_coef_ : DataFrame with `prevalence`: topic, term, coef (what a unit adds to log alpha), std_error
    bound_ : ndarray, the evidence bound per token, by iteration ("cvb0": log p(words, topics, shares) at the mode under
        priors one larger, comparable where alpha is the same; "gibbs": log p(words, topics) every tenth sweep)
    n_iter_, n_features_in_, feature_names_in_, vectorizer_
    draws_ : dict of ndarray ("gibbs": log_joint and alpha, every tenth sweep)

    Examples
    --------
    >>> from supertopic import LDA
    >>> model = LDA(2).fit(["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10)
    >>> model.transform(["dog cat"]).shape
    (1, 2)
    >>> sorted(model.topics(2)["words"])  # doctest: +SKIP
    ['bond, stock', 'cat, dog']
    """

    engines: ClassVar[dict[str, Engine]] = {
        "vb": Engine(fit_batch, EMSettings, 100, without=("per_token",)),
        "cvb0": Engine(fit_batch, EMSettings, 100, collapsed=True),
        "svi": Engine(fit_stochastic, StochasticSettings, 10, without=("per_token",)),
        "gibbs": Engine(fit_gibbs, GibbsSettings, 500, defaults={"thin": 10}, without=("n_chains",)),
    }

    n_topics: int = field(default=20, kw_only=False)
    inference: Literal["vb", "cvb0", "svi", "gibbs"] | Method = "vb"
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray = "auto"
    prevalence: str | Sequence[str] | SharePrior | None = None
    seed_words: SeedWords | None = None
    topic_word_prior: float = 0.05
    max_iter: int | None = None
    tol: float = 1e-4

    def _model(self, schema: Schema) -> Model:
        prior = self._share_prior(schema, self.doc_topic_prior)
        collapsed = self._engine().collapsed
        emission = DirichletTopics(self.topic_word_prior, collapsed, schema.seeds)
        return Model(self.n_topics, emission, prior, collapsed=collapsed)
