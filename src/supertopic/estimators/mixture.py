"""Mixture of categoricals: all words of a document come from one topic (the model LDA improves on)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.shared.base import Fitting, TopicEstimator
from supertopic.fitted.spec import Schema
from supertopic.inference.gibbs.mixture import fit_mixture_gibbs
from supertopic.inference.methods import Method
from supertopic.inference.settings import EMSettings, Engine, GibbsSettings, StochasticSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.stochastic import fit_stochastic
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior


@dataclass(kw_only=True, eq=False, repr=False)
class MixtureOfCategoricals(Fitting, TopicEstimator):
    """theta ~ Dirichlet(alpha);  beta_k ~ Dirichlet(topic_word_prior);  z_d ~ theta;  every word of d ~ beta_{z_d}.

    Parameters
    ----------
    n_topics : int
        K.
    inference : {"vb", "svi", "gibbs"}, or VB, SVI, Gibbs with parameters of their own
        Variational EM (EM, when `topic_word_prior` is 0); the same in mini-batches; collapsed Gibbs sampling.
    doc_topic_prior : float or K floats
        alpha, the prior on the topics' shares of the corpus.
    topic_word_prior : float
        Smoothing of the topics; 0 fits them by maximum likelihood ("vb" and "svi" only).
    max_iter, tol
        As in `LDA`.
    vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    components_, doc_topic_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_, draws_
        As in `LDA`; `doc_topic_` is the posterior over the document's one topic.
    weights_ : (K,) ndarray, the topics' shares of the corpus
    alpha_ : (K,) ndarray, posterior pseudo-counts of the shares

    Examples
    --------
    >>> from supertopic import MixtureOfCategoricals
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = MixtureOfCategoricals(2).fit(texts)
    >>> model.transform(["dog cat"]).max().round(1).item()
    1.0
    """

    papers: ClassVar[str] = "Nigam et al. 2000"

    membership_ = "single"  # tells `supertopic.metrics` that the likelihood has a closed form
    engines: ClassVar[dict[str, Engine]] = {
        "vb": Engine(fit_batch, EMSettings, 100, without=("per_token",)),
        "svi": Engine(fit_stochastic, StochasticSettings, 10, without=("per_token",)),
        "gibbs": Engine(fit_mixture_gibbs, GibbsSettings, 100, without=("n_chains", "sampler")),
    }

    n_topics: int = field(default=20, kw_only=False)
    inference: Literal["vb", "svi", "gibbs"] | Method = "vb"
    doc_topic_prior: float | Sequence[float] | np.ndarray = 1.0
    topic_word_prior: float = 0.05
    max_iter: int | None = None
    tol: float = 1e-5

    def _model(self, schema: Schema) -> Model:
        prior = DirichletPrior.parse(self.doc_topic_prior, self.n_topics)
        if prior.learns:
            raise ValueError(f"doc_topic_prior: got {self.doc_topic_prior!r}, expected a positive number, or K of them")
        return Model(self.n_topics, DirichletTopics(self.topic_word_prior), prior, one_topic=True)

    @property
    def weights_(self) -> np.ndarray:
        return self.alpha_ / self.alpha_.sum()
