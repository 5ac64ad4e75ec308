"""Collapsed Gibbs sampling with a response: topic shares and topics are integrated out, everything else is drawn.

A sweep draws, each given all others,

    dispersion | s                          by the response (`draw_dispersion`), augmentation variables integrated out
    coef | slope, curvature, Zbar           N(P^-1 l, P^-1),  P = Zbar' diag(curvature) Zbar + prior precision,
                                            l = Zbar' slope; a product column by `draw_log_linear`
    slope, curvature | s                    by the response (`augment`), once for the coefficients, once for the tokens
    z | slope, curvature, coef              every token (`kernels.gibbs_documents`, `kernels.gibbs_likelihood`)

with s = coef·(Zbar, covariates), where Zbar are the topic shares of a document's tokens. Under a Laplace prior, the
coefficients are normal given their precisions, 1/lambda_k ~ InverseGaussian(1/(scale |coef_k|), 1/scale²) (Park &
Casella 2008).

With a budget, each column has an active set of B topics; the coefficients of all other topics are zero (a spike and
slab prior with a known number of slabs). All sets of B topics are equally likely before the data, and the set is drawn,
too (`draw_support`). With `spike`, the number of active topics is not known either (`draw_inclusion`).

Corpora of 50,000 tokens and more are swept by groups of documents and words, on the threads of the backend
(`sweep_groups`). The number of groups depends on the corpus alone, and so do the draws: they are the same for every
number of threads. The counts n_k of the topics then lag by a part of a sweep, as in the sampler of plain LDA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, gammaln

from supertopic.backends import make_backend
from supertopic.backends.base import Backend
from supertopic.backends.cpu.groups import sweep_groups
from supertopic.coefficients import CoefPrior
from supertopic.emissions.dirichlet import integrable_prior, seeds_of
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import first_state
from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.inference.gibbs.averages import Sample, Sums
from supertopic.inference.gibbs.coefficients import (
    draw_center,
    draw_coefficients,
    draw_inclusion,
    draw_log_linear,
    draw_support,
)
from supertopic.inference.gibbs.sampling import FIRST_ALPHA, Sampling
from supertopic.inference.requirements import integrable_topics, on_the_cpu, one_process, whole_counts
from supertopic.inference.task import Fit, Task
from supertopic.inference.variational.local import sum_by_row
from supertopic.kernels import gibbs_documents, gibbs_likelihood
from supertopic.kernels import gibbs_layout as layout
from supertopic.model import Model, State
from supertopic.priors.base import Rows

_START_SWEEPS = 1 << 40  # the numbers of the start's sweeps begin here, so that no other sweep has their random numbers
RATE_PRIOR = (2.0, 1.0)  # shape and rate of the gamma prior on 1/scale, where the scale is learned
_FLAT = 1e-6  # the precision used for a flat prior: the coefficient of a topic without tokens needs a proper one


@dataclass(frozen=True)
class SamplerOptions:
    """Options of the sampler that sparse models (SSTM) use."""

    integrate_latents: bool = False  # draw topics given Phi(s) in probit columns (the paper's partial collapse)
    learn_scale: bool = False  # of a Laplace prior: 1/scale ~ Gamma(*RATE_PRIOR)
    learn_topic_prior: bool = False  # beta, by Minka's fixed point
    budget: int | None = None  # the number of topics per column that have a coefficient
    late_constant: bool = False  # the last covariate, a constant, has no coefficient in the start with few topics
    spike: bool = False  # each topic has a coefficient, or has none, by a probability that is drawn, too

    @property
    def selects(self) -> bool:
        """Whether the topics that have a coefficient are drawn."""
        return self.spike or self.budget is not None


PLAIN = SamplerOptions()


def response_can_be_sampled(task: Task) -> None:
    task.model.response.check_sampler(task.weight)


class SupervisedGibbs(Sampling):
    """The means over the sweeps that are kept, and their draws.

    The draws are `coef` (S, C, K + P), `dispersion` (S, …) and `coef_scale` (S,), and of every tenth sweep `log_joint`
    per token and `alpha`. `shares` holds the mean Zbar of each document. With a Laplace prior, `inclusion` (C, K + P)
    is the share of the draws in which a coefficient is not zero; where all of them are drawn, in which its mode, given
    all other variables, is not.
    """

    requires = (
        one_process("this sampler"), on_the_cpu("this sampler"), whole_counts, response_can_be_sampled,
        integrable_topics,
    )  # fmt: skip

    def __init__(self, task: Task, options: SamplerOptions = PLAIN) -> None:
        super().__init__(task)
        self.sampler = SupervisedSampler(task.model, task.batch, task.seed, options, task.backend)
        self.sums = Sums(self.sampler.sample())
        self.alphas: list[list[float]] = []

    def start(self) -> None:
        task, sampler, options = self.task, self.sampler, self.sampler.options
        n_topics = task.model.n_topics
        if task.start is not None:
            sampler.start(task.start.copy())
            if options.selects:
                sampler.active[:, :n_topics] = task.start.coef[:, :n_topics] != 0
        elif options.budget is not None and options.budget < n_topics:
            start_concentrated(sampler, task)
        else:
            sampler.start(first_state(task))

    def sweep(self, number: int) -> None:
        self.sampler.sweep(number)

    def look(self, number: int) -> float:
        sampler = self.sampler
        if number >= FIRST_ALPHA:
            sampler.learn_alpha()
            sampler.learn_beta()
        self.alphas.append(sampler.alpha.tolist())
        return sampler.log_joint() / max(len(sampler.topic), 1)

    def keep(self) -> None:
        self.sums.add(self.sampler.sample())

    def result(self) -> Fit:
        sampler = self.sampler
        state, draws = self.sums.means(self.task.model, sampler.lengths, sampler.alpha, sampler.beta)
        draws |= {"log_joint": np.asarray(self.trace), "alpha": np.asarray(self.alphas)}
        terms = self.task.model.coef_step.document_terms(len(self.task.batch), self.task.model.response.n_columns)
        return Fit(state, self.trace, self.done, draws, terms)

    def arrays(self) -> dict[str, np.ndarray]:
        sampler = self.sampler
        state = {name: getattr(sampler, name) for name in ("topic", "coef", "dispersion", "alpha", "active")}
        return {**state, "priors": np.array([sampler.beta, sampler.coef_prior.scale]), **self.sums.arrays()}

    def numbers(self) -> dict[str, Any]:
        return {"alphas": self.alphas}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        sampler, self.alphas = self.sampler, numbers["alphas"]
        sampler.take(**{name: arrays.pop(name) for name in ("topic", "coef", "dispersion", "alpha")})
        sampler.active = arrays.pop("active")
        sampler.beta, scale = arrays.pop("priors").tolist()
        sampler.coef_prior = replace(sampler.coef_prior, scale=scale)
        self.sums.resume(arrays)


fit_supervised_gibbs = SupervisedGibbs.fit


def start_concentrated(sampler: SupervisedSampler, task: Task) -> None:
    """Start with as many topics as the budget allows, all of them active; the other topics start without tokens.

    The active topics then explain all words at first, and the other topics take over the words that the response does
    not need. In the opposite order, the response would have to draw its words away from topics that already fit them
    closely, against the hundreds of words of each document. With several columns, the small model has a budget of
    topics for each column. All of them are active in all columns at first, and each column keeps those that explain
    most of its predictor's variance. The small model runs for half as many sweeps as the burn-in. It has no intercept
    for two classes, so that both of them get topics; with one, the topics of one class would do.
    """
    model, budget = task.model, sampler.options.budget or task.model.n_topics
    n_columns = model.response.n_columns
    n_few = min(model.n_topics, max(2, budget * n_columns))  # with a single topic all shares are 1
    prior = model.doc_topic_prior.first_topics(n_few)
    few = replace(task, model=replace(model, n_topics=n_few, doc_topic_prior=prior))
    small = SupervisedSampler(few.model, task.batch, task.seed, sampler.options, task.backend)
    small.active[:, budget if n_columns == 1 else n_few : n_few] = False
    small.active[:, small.coef.shape[1] - int(sampler.options.late_constant) :] = False
    small.start(first_state(few))
    small.coef[~small.active] = 0.0
    for number in range(max(1, task.settings.burn_in // 2)):
        small.sweep(_START_SWEEPS + 2 + number)
    coef = np.zeros_like(sampler.coef)
    coef[:, :n_few], coef[:, model.n_topics :] = small.coef[:, :n_few], small.coef[:, n_few:]
    effect = np.abs(small.coef[:, :n_few]) * small.design[:, :n_few].std(axis=0)
    sampler.active[:, : model.n_topics] = False
    np.put_along_axis(sampler.active, np.argsort(-effect, axis=1, kind="stable")[:, :budget], True, axis=1)
    sampler.take(small.topic, np.where(sampler.active, coef, 0.0), small.dispersion, sampler.alpha)
    sampler.coef_prior = small.coef_prior


class SupervisedSampler:
    """The topics of the tokens, the coefficients, the dispersion, and the counts that follow from the topics."""

    def __init__(
        self, model: Model, batch: Batch, seed: int, options: SamplerOptions = PLAIN, backend: Backend | None = None,
        groups: int | None = None,
    ) -> None:  # fmt: skip
        """backend : None is one thread; groups : of documents and words, None is the usual number for the corpus."""
        self.options, self.coef_prior, self.batch, counts = options, model.coef_prior, batch, batch.counts
        self.model, self.seed, self.beta = model, seed, integrable_prior(model.emission)
        self.backend = make_backend("threads", 1) if backend is None else backend
        self.tokens = layout.lay_out_documents(counts.indptr, counts.indices, counts.data, counts.shape[1], groups)
        self.lengths = self.tokens.doc_length
        self.y, self.covariates = batch.y, batch.extra
        self.weight = np.where(self.lengths > 0, batch.weight, 0.0)  # a document without words has no Zbar
        n_columns = model.response.n_columns
        self.coef = np.zeros((n_columns, model.n_topics + model.n_covariates))
        self.active = np.ones(self.coef.shape, dtype=bool)  # the coefficients that are drawn; all others are zero
        self.dispersion = np.zeros(0)
        self.alpha = model.doc_topic_prior.start.copy()
        self.gram = np.zeros((n_columns, self.coef.shape[1], self.coef.shape[1]))
        self.cross = np.zeros(self.coef.shape)
        self.word_topic = np.zeros((counts.shape[1], model.n_topics), dtype=np.int32)
        self.doc_topic = np.zeros((len(self.lengths), model.n_topics), dtype=np.float32)
        doc_ptr, doc_bounds = self.tokens.doc_ptr, self.tokens.doc_bounds
        self._sizes = np.diff(doc_ptr[:, doc_bounds], axis=1).T  # tokens of document group i in word group j
        shape = (model.n_topics, n_columns)
        self._quadratic_scratch = [gibbs_documents.make_scratch(*shape) for _ in doc_ptr]
        self._likelihood_scratch = [gibbs_likelihood.make_scratch(*shape) for _ in doc_ptr]

    def start(self, state: State) -> None:
        """Draw the tokens' topics given the topics of a State, without y; take its coefficients and dispersion."""
        assert state.dispersion is not None
        topic = np.empty(len(self.tokens.word), dtype=np.uint16)
        layout.random_topics(self.seed, self.model.n_topics, 0, len(topic), topic)
        self.take(topic, state.coef.astype(np.float64), state.dispersion, state.alpha)
        topics = self.model.emission.probabilities(state.word_topic, by_word=True)
        zeros = np.zeros((len(self.lengths), len(self.coef)))
        for number in range(2):
            self._sweep_quadratic(zeros, zeros, topics, _START_SWEEPS + number)
        self.take(self.topic, self.coef, self.dispersion, self.alpha)

    def take(self, topic: np.ndarray, coef: np.ndarray, dispersion: np.ndarray, alpha: np.ndarray) -> None:
        """Set the topics of the tokens and all parameters, and count."""
        self.topic, self.coef, self.dispersion, self.alpha = topic, coef, dispersion, alpha
        self.word_topic[:] = 0
        layout.add_words(self.tokens.word, topic, 0, len(topic), self.word_topic)
        seeds_of(self.model.emission).add_to(self.word_topic)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        self.backend.over_range(
            len(self.lengths),
            lambda start, stop: layout.count_document_topics(start, stop, self.tokens.doc_ptr, topic, self.doc_topic),
        )
        self.design = self._make_design()

    def sample(self) -> Sample:
        """The variables of this sweep that are averaged or kept."""
        return Sample(
            self.word_topic, self.doc_topic, self.coef, self.dispersion, self.gram, self.cross, self.coef_prior,
            self.options.selects,
        )  # fmt: skip

    def _make_design(self) -> np.ndarray:
        """(D, K + P): Zbar and the covariates. `design` keeps it until the topics are drawn again."""
        shares = self.doc_topic.astype(np.float64) / np.maximum(self.lengths, 1)[:, None]
        return np.hstack([shares, self.covariates])

    def sweep(self, number: int) -> None:
        """Draw every variable once."""
        response, draw = self.model.response, SweepDraws(self.seed, number, self.backend)
        score = self.design @ self.coef.T
        self.dispersion = response.draw_dispersion(self.y, score, self.weight, self.dispersion, draw)
        self.draw_coef(draw)
        self.draw_scale(draw)
        score = self.design @ self.coef.T
        slope, curvature = response.augment(self.y, score, self.weight, self.dispersion, draw)
        self.draw_topics(slope, curvature, number)

    def draw_coef(self, draw: SweepDraws) -> None:
        """The coefficients of all columns, given the topics and the dispersion."""
        response, design = self.model.response, self.design
        score = design @ self.coef.T
        precision = prior_precision(self.coef_prior, self.without_level(draw), draw)
        if not self.active.all():
            precision = np.where(self.active, precision, inactive_precision(self.coef_prior, self.coef.shape, draw))
        slope, curvature = response.augment(self.y, score, self.weight, self.dispersion, draw)
        for c, active in enumerate(self.active):
            own = response.augment_column(self.y, score, c, self.weight, draw)
            power = response.sampled_power[c]
            if own is None and power:
                columns = design[:, active] * power
                args = (columns, slope[:, c], curvature[:, c], self.coef_prior.precision(precision[c, active]))
                coef = draw_log_linear(*args, self.coef[c, active], draw)
                weight = curvature[:, c] * np.exp(np.minimum(columns @ coef, 300.0))
                gram = weighted_gram(columns, weight)
                cross = columns.T @ (slope[:, c] - weight) + gram @ coef
            else:
                linear, weight = (slope[:, c], curvature[:, c]) if own is None else own
                if self.options.spike or not active.all():
                    draw_active = draw_inclusion if self.options.spike else draw_support
                    normal = (weighted_gram(design, weight), design.T @ linear, precision[c])
                    active[:] = draw_active(*normal, active, self.model.n_topics, draw)
                columns = design if active.all() else design[:, active]
                gram, cross = weighted_gram(columns, weight), columns.T @ linear
                stream = (self.seed, draw.sweep, draw.purpose())
                coef = draw_coefficients(gram + self.coef_prior.precision(precision[c, active]), cross, *stream)
            self.coef[c], self.cross[c], self.gram[c] = 0.0, 0.0, 0.0
            self.coef[c, active], self.cross[c, active], self.gram[c][np.ix_(active, active)] = coef, cross, gram
            score[:, c] = design @ self.coef[c]

    def without_level(self, draw: SweepDraws) -> np.ndarray:
        """The coefficients less a draw of their level, which the precisions under a Laplace prior depend on."""
        n_level = self.coef_prior.n_level
        if not (self.coef_prior.sparse and n_level):
            return self.coef
        coef = self.coef.copy()
        for row in coef:
            row[:n_level] -= draw_center(row[:n_level], self.coef_prior.scale, draw)
        return coef

    def draw_scale(self, draw: SweepDraws) -> None:
        """1/scale ~ Gamma(a + number of active coefficients, b + sum |coef|), with their precisions integrated out."""
        if self.options.learn_scale:
            shape, rate = RATE_PRIOR[0] + self.active.sum(), RATE_PRIOR[1] + np.abs(self.coef).sum()
            inverse = draw.gamma(np.array([shape]), np.array([rate]))[0]
            self.coef_prior = replace(self.coef_prior, scale=float(1.0 / inverse))

    def draw_topics(self, slope: np.ndarray, curvature: np.ndarray, number: int) -> None:
        """The topic of every token, given the slope and curvature of each document and column."""
        response = self.model.response
        power = response.sampled_power
        coef = np.where(power == 0, 1.0, power)[:, None] * self.coef
        offset = self.covariates @ coef[:, self.model.n_topics :].T
        kind = np.where(power != 0, gibbs_likelihood.PRODUCT, gibbs_likelihood.QUADRATIC)
        if self.options.integrate_latents:
            kind[response.is_probit] = gibbs_likelihood.PROBIT
            signs = response.signs(self.y) * self.weight[:, None]
            slope, curvature = np.where(response.is_probit, signs, slope), np.where(response.is_probit, 1.0, curvature)
        if np.any(kind != gibbs_likelihood.QUADRATIC):
            self._sweep_likelihood(kind, slope, curvature, offset, coef[:, : self.model.n_topics], number)
        else:
            self._sweep_quadratic(slope - curvature * offset, curvature, np.zeros((0, 0), dtype=np.float32), number)
        self.design = self._make_design()

    def _sweep_quadratic(self, slope: np.ndarray, curvature: np.ndarray, topics: np.ndarray, number: int) -> None:
        """Draw every token where all columns are quadratic; topics are integrated out, or given (V, K)."""
        columns = (slope, curvature, self.coef[:, : self.model.n_topics])
        slope, curvature, coef = (np.ascontiguousarray(array, dtype=np.float32) for array in columns)
        rows, beta = self.rows, np.float32(self.beta)
        beta_sum, collapsed = np.float32(self.beta * len(self.word_topic)), len(topics) == 0

        def call(i: int, j: int, topic_count: np.ndarray) -> tuple[Any, ...]:
            return (
                gibbs_documents.sweep_documents, *self._documents(i), self.tokens.doc_ptr[j], self.lengths,
                self.tokens.word, self.topic, self.doc_topic, slope, curvature, coef, self.word_topic, topic_count,
                topics, rows.single, rows.which, beta, beta_sum, collapsed, self.seed, number,
                self._quadratic_scratch[i],
            )  # fmt: skip

        self.topic_count = sweep_groups(self.backend, self.topic_count, self._sizes, call)

    def _sweep_likelihood(
        self, kind: np.ndarray, slope: np.ndarray, curvature: np.ndarray, offset: np.ndarray, coef: np.ndarray,
        number: int,
    ) -> None:  # fmt: skip
        """Draw every token where some column is not quadratic; topics are integrated out."""
        slope, curvature, offset, coef = (np.ascontiguousarray(a) for a in (slope, curvature, offset, coef))
        rows = self.rows

        def call(i: int, j: int, topic_count: np.ndarray) -> tuple[Any, ...]:
            return (
                gibbs_likelihood.sweep_likelihood, *self._documents(i), self.tokens.doc_ptr[j], self.lengths,
                self.tokens.word, self.topic, self.doc_topic, kind, slope, curvature, offset, coef, self.word_topic,
                topic_count, rows.alpha, rows.which, self.beta, self.seed, number, self._likelihood_scratch[i],
            )  # fmt: skip

        self.topic_count = sweep_groups(self.backend, self.topic_count, self._sizes, call)

    def _documents(self, group: int) -> tuple[int, int]:
        """The first document of a group, and the one after its last."""
        return int(self.tokens.doc_bounds[group]), int(self.tokens.doc_bounds[group + 1])

    @property
    def rows(self) -> Rows:
        """alpha of each document."""
        return self.model.doc_topic_prior.rows(self.alpha, self.batch)

    def topic_histogram(self) -> np.ndarray:
        """(K, L): documents that hold topic k exactly n times."""
        counts = self.doc_topic.astype(np.int64)
        size = int(counts.max(initial=0)) + 1
        return np.stack([np.bincount(column, minlength=size) for column in counts.T])

    def log_theta(self, rows: Rows) -> np.ndarray:
        """(R, K) the sum of E[log theta | topics of the tokens] over documents with the same alpha."""
        return sum_by_row(rows, rows.by_document(rows.single) + self.doc_topic, self.backend)

    def learn_alpha(self) -> None:
        self.alpha = self.model.doc_topic_prior.learn(self.alpha, self.batch, self)

    def learn_beta(self) -> None:
        """Minka's fixed point on the word counts of the topics; beta is the same for all words."""
        if not self.options.learn_topic_prior:
            return
        counts, n_words = self.word_topic[self.word_topic > 0], len(self.word_topic)
        for _ in range(20):
            by_word = (digamma(counts + self.beta) - digamma(self.beta)).sum()
            total = n_words * (digamma(self.topic_count + n_words * self.beta) - digamma(n_words * self.beta)).sum()
            self.beta = float(np.clip(self.beta * by_word / total, 1e-6, 1e3))

    def log_joint(self) -> float:
        """log p(words, topics of the tokens, y, coef), with topic shares and topics integrated out."""
        total = self.beta * len(self.word_topic)
        words = (gammaln(total) - gammaln(self.topic_count + total)).sum()
        words += (gammaln(self.word_topic[self.word_topic > 0] + self.beta) - gammaln(self.beta)).sum()
        documents = self.rows.log_evidence(self.doc_topic)
        score = self.design @ self.coef.T
        labels = self.model.response.log_likelihood(self.y, score, self.weight, self.dispersion)
        return float(words + documents) + labels + self.coef_prior.log_density(self.coef) + self._log_active()

    def _log_active(self) -> float:
        """log p(active set) of a spike and slab prior, and what normalises the slabs: their number varies."""
        if not self.options.spike:
            return 0.0
        n_topics = self.model.n_topics
        n_in = self.active[:, :n_topics].sum(axis=1)
        slabs = -np.log(2.0 * self.coef_prior.scale) * n_in
        return float((betaln(1.0 + n_in, 1.0 + n_topics - n_in) + slabs).sum())


def weighted_gram(columns: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """columns' diag(weight) columns. A product of one array with itself is symmetric, and BLAS computes half of it."""
    scaled = columns * np.sqrt(weight)[:, None]
    return scaled.T @ scaled


def prior_precision(prior: CoefPrior, coef: np.ndarray, draw: SweepDraws) -> np.ndarray:
    """The prior precisions of the coefficients; under a Laplace prior they are drawn given the coefficients."""
    if prior.sparse:
        mean = 1.0 / (prior.scale * np.maximum(np.abs(coef), 1e-300))
        return draw.inverse_gaussian(np.minimum(mean, 1e300), np.full(coef.shape, prior.scale**-2.0))
    return np.full(coef.shape, prior.own or _FLAT)


def inactive_precision(prior: CoefPrior, shape: tuple[int, ...], draw: SweepDraws) -> np.ndarray:
    """The prior precisions of inactive coefficients: for a Laplace prior 1/lambda_k, where lambda_k has mean 2 scale².

    They are drawn from their prior, because a coefficient of zero says nothing about its precision.
    """
    if prior.sparse:
        return 1.0 / draw.gamma(np.ones(shape), np.full(shape, 0.5 * prior.scale**-2.0))
    return np.full(shape, prior.own or _FLAT)
