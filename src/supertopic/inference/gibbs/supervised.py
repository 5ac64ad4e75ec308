"""Collapsed Gibbs sampling with a response: shares and topics integrated out, all else drawn.

A sweep draws, each given all others,

    dispersion | s                          by the response (`draw_dispersion`), what augments it integrated out
    coef | slope, curvature, Zbar           N(P^-1 l, P^-1),  P = Zbar' diag(curvature) Zbar + prior precision,
                                            l = Zbar' slope; a product column by `draw_log_linear`
    slope, curvature | s                    by the response (`augment`), once for the coefficients, once for the tokens
    z | slope, curvature, coef              every token (`kernels.gibbs_documents`, `kernels.gibbs_likelihood`)

with s = coef·(Zbar, covariates) and Zbar the shares of a document's tokens. A Laplace prior on coef is normal given
precisions of its own, 1/lambda_k ~ InverseGaussian(1/(scale |coef_k|), 1/scale²) (Park & Casella 2008).

Under a budget, B topics per column bear the response and the coefficients of all others are zero (spikes and slabs
whose number is known). Any B of K are as likely, and which they are is drawn too (`draw_support`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln

from supertopic.coefficients import CoefPrior
from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.first_topics import first_state
from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.inference.gibbs.averages import Sums
from supertopic.inference.gibbs.coefficients import draw_coefficients, draw_log_linear, draw_support
from supertopic.inference.gibbs.counts import require_whole_counts
from supertopic.inference.task import Fit, Task, Watch
from supertopic.kernels import gibbs_documents, gibbs_likelihood
from supertopic.kernels.gibbs_layout import random_topics
from supertopic.model import Model, State

_SWEEPS_BETWEEN_LOOKS = 10  # at the likelihood, and at alpha
_FIRST_ALPHA = 10  # sweeps before alpha is learned: before that it would learn the start
_BEFORE_ALL_SWEEPS = 1 << 40  # numbers of the first two sweeps, whose random numbers no other sweep uses
RATE_PRIOR = (2.0, 1.0)  # shape and rate of the gamma of 1/scale, where it is learned
_FLAT = 1e-6  # the precision that stands for a flat prior: a topic of no document has to have some coefficient


@dataclass(frozen=True)
class Options:
    """What a sampler may do beside: SSTM's part."""

    integrate_latents: bool = False  # weigh topics by Phi itself in probit columns (the paper's partial collapse)
    learn_scale: bool = False  # of a Laplace prior: 1/scale ~ Gamma(*RATE_PRIOR)
    learn_topic_prior: bool = False  # beta, by Minka's fixed point
    budget: int | None = None  # so many topics per column have a coefficient; the others explain words only


def fit_supervised_gibbs(task: Task, watch: Watch, options: Options = Options()) -> Fit:  # noqa: B008 (it is frozen)
    """`max_iter` sweeps; all is averaged over every `thin`-th sweep after `burn_in`, the last one always among them.

    The draws: `coef` (S, C, K + P), `dispersion` (S, …), `coef_scale` (S,), and every tenth sweep `log_joint` per token
    and `alpha`. `shares` are the documents' mean Zbar, and `inclusion` (C, K + P), for a Laplace prior, says in which
    part of the draws the mode of a coefficient, given all else in the draw, is not zero.
    """
    model, settings = task.model, task.settings
    require_whole_counts(task.counts)
    model.response.check_sampler(task.weight)
    given = (model, task.counts, task.y, task.weight, task.covariates, task.seed)
    sampler = SupervisedSampler(*given, options)
    sums = Sums(sampler)
    first, alphas = 0, []
    found = watch.resume()
    if found is not None:
        first, alphas = found[0]["done"], found[0]["alphas"]
        sampler.take(**{name: found[1].pop(name) for name in ("topic", "coef", "dispersion", "alpha")})
        sampler.active = found[1].pop("active")
        sampler.beta, scale = found[1].pop("priors").tolist()
        sampler.coef_prior = replace(sampler.coef_prior, scale=scale)
        sums.resume(found[1])
    elif task.start is not None:
        sampler.start(task.start.copy())
        if options.budget is not None:
            sampler.active[:, : model.n_topics] = task.start.coef[:, : model.n_topics] != 0
    elif options.budget is not None and options.budget < model.n_topics:
        start_concentrated(sampler, task)
    else:
        sampler.start(first_state(task))
    for sweep in range(first, settings.max_iter):
        sampler.sweep(sweep)
        left = settings.max_iter - 1 - sweep
        if left % _SWEEPS_BETWEEN_LOOKS == 0:
            if sweep >= _FIRST_ALPHA:
                sampler.learn_alpha()
                sampler.learn_beta()
            watch.trace.append(sampler.log_joint() / max(len(sampler.topic), 1))
            alphas.append(sampler.alpha.tolist())
        if sweep >= settings.burn_in and left % settings.thin == 0:
            sums.add(sampler)
        watch.step(sweep + 1, partial(_arrays, sampler, sums), alphas=alphas)
    return sums.fit(sampler, watch.trace, settings.max_iter, np.asarray(alphas))


def _arrays(sampler: SupervisedSampler, sums: Sums) -> dict[str, np.ndarray]:
    """All that it takes to go on."""
    state = {"topic": sampler.topic, "coef": sampler.coef, "dispersion": sampler.dispersion, "alpha": sampler.alpha}
    priors = np.array([sampler.beta, sampler.coef_prior.scale])
    return {**state, "active": sampler.active, "priors": priors, **sums.arrays()}


def start_concentrated(sampler: SupervisedSampler, task: Task) -> None:
    """Begin with no more topics than the budget allows, all of which bear the response; the others start empty.

    Topics that bear a response are then made of all the words, and the others take from them what no response needs.
    The other way round, the response would have to pull the words of what it is about out of topics that split them
    finely, against hundreds of words per document. Several columns begin with a budget of topics each, which all of
    them bear, and go on with those that say most to each. The small model runs for half as many sweeps as the burn-in.
    """
    model, budget = task.model, sampler.options.budget or task.model.n_topics
    n_columns = model.response.n_columns
    n_few = min(model.n_topics, max(2, budget * n_columns))  # one topic alone could say nothing
    prior = replace(model.doc_topic_prior, start=model.doc_topic_prior.start[:n_few])
    few = replace(task, model=replace(model, n_topics=n_few, doc_topic_prior=prior))
    given = (few.model, task.counts, task.y, task.weight, task.covariates, task.seed)
    small = SupervisedSampler(*given, sampler.options)
    small.active[:, budget if n_columns == 1 else n_few : n_few] = False
    small.start(first_state(few))
    small.coef[~small.active] = 0.0
    for number in range(max(1, task.settings.burn_in // 2)):
        small.sweep(_BEFORE_ALL_SWEEPS + 2 + number)
    coef = np.zeros_like(sampler.coef)
    coef[:, :n_few], coef[:, model.n_topics :] = small.coef[:, :n_few], small.coef[:, n_few:]
    said = np.abs(small.coef[:, :n_few]) * small.design[:, :n_few].std(axis=0)
    sampler.active[:, : model.n_topics] = False
    np.put_along_axis(sampler.active, np.argsort(-said, axis=1, kind="stable")[:, :budget], True, axis=1)
    sampler.take(small.topic, np.where(sampler.active, coef, 0.0), small.dispersion, sampler.alpha)
    sampler.coef_prior = small.coef_prior


class SupervisedSampler:
    """Tokens and their topics, coefficients and dispersion, and all counts, which follow from them."""

    def __init__(
        self, model: Model, counts: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, covariates: np.ndarray | None,
        seed: int, options: Options = Options(),  # noqa: B008 (it is frozen)
    ) -> None:  # fmt: skip
        self.options, self.coef_prior = options, model.coef_prior
        self.model, self.seed, self.beta = model, seed, integrable_prior(model.emission)
        self.lengths = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
        self.doc_ptr = np.concatenate([[0], np.cumsum(self.lengths)])
        self.token_word = np.empty(self.doc_ptr[-1], dtype=np.int32)
        gibbs_documents.expand_documents(counts.indptr, counts.indices, counts.data, self.doc_ptr, self.token_word)
        self.y = y
        self.weight = np.where(self.lengths > 0, weight, 0.0)  # a document of no words has no Zbar
        self.covariates = np.zeros((len(self.lengths), 0)) if covariates is None else covariates
        n_columns = model.response.n_columns
        self.coef = np.zeros((n_columns, model.n_topics + model.n_covariates))
        self.active = np.ones(self.coef.shape, dtype=bool)  # which coefficients are drawn; the others are zero
        self.dispersion = np.zeros(0)
        self.alpha = model.doc_topic_prior.start.copy()
        self.gram = np.zeros((n_columns, self.coef.shape[1], self.coef.shape[1]))
        self.cross = np.zeros(self.coef.shape)
        self.word_topic = np.zeros((counts.shape[1], model.n_topics), dtype=np.int32)
        self.doc_topic = np.zeros((len(self.lengths), model.n_topics), dtype=np.float32)
        self._fast = gibbs_documents.make_scratch(model.n_topics, n_columns)
        self._slow = gibbs_likelihood.make_scratch(model.n_topics, n_columns)

    def start(self, state: State) -> None:
        """Topics of the tokens drawn from a State's topics, without y; coefficients and dispersion as there."""
        assert state.dispersion is not None
        topic = np.empty(len(self.token_word), dtype=np.uint16)
        random_topics(self.seed, self.model.n_topics, 0, len(topic), topic)
        self.take(topic, state.coef.astype(np.float64), state.dispersion, state.alpha)
        topics = self.model.emission.probabilities(state.word_topic, by_word=True)
        silent = np.zeros((len(self.lengths), len(self.coef)))
        for number in range(2):
            self._sweep_fast(silent, silent, topics, _BEFORE_ALL_SWEEPS + number)
        self.take(self.topic, self.coef, self.dispersion, self.alpha)

    def take(self, topic: np.ndarray, coef: np.ndarray, dispersion: np.ndarray, alpha: np.ndarray) -> None:
        """Take these, and count."""
        self.topic, self.coef, self.dispersion, self.alpha = topic, coef, dispersion, alpha
        self.word_topic[:] = 0
        gibbs_documents.count_words(self.token_word, topic, 0, len(topic), self.word_topic)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        doc = np.repeat(np.arange(len(self.lengths)), self.lengths)
        size = len(self.lengths) * self.model.n_topics
        counts = np.bincount(doc * self.model.n_topics + topic, minlength=size)
        self.doc_topic = counts.reshape(len(self.lengths), -1).astype(np.float32)

    @property
    def design(self) -> np.ndarray:
        """(D, K + P): Zbar and the covariates."""
        shares = self.doc_topic.astype(np.float64) / np.maximum(self.lengths, 1)[:, None]
        return np.hstack([shares, self.covariates])

    def sweep(self, number: int) -> None:
        """Draw everything once."""
        response, draw = self.model.response, SweepDraws(self.seed, number)
        given = (self.y, self.design @ self.coef.T, self.weight)
        self.dispersion = response.draw_dispersion(*given, self.dispersion, draw)
        self.draw_coef(draw)
        self.draw_scale(draw)
        score = self.design @ self.coef.T
        slope, curvature = response.augment(self.y, score, self.weight, self.dispersion, draw)
        self.draw_topics(slope, curvature, number)

    def draw_coef(self, draw: SweepDraws) -> None:
        """The coefficients of all columns, given what else there is."""
        response, design = self.model.response, self.design
        score = design @ self.coef.T
        precision = prior_precision(self.coef_prior, self.coef, draw)
        if not self.active.all():
            precision = np.where(self.active, precision, unused_precision(self.coef_prior, self.coef.shape, draw))
        slope, curvature = response.augment(self.y, score, self.weight, self.dispersion, draw)
        for c, active in enumerate(self.active):
            alone = response.augment_column(self.y, score, c, self.weight, draw)
            power = response.sampled_power[c]
            if alone is None and power:
                some = design[:, active] * power
                args = (some, slope[:, c], curvature[:, c], precision[c, active])
                coef = draw_log_linear(*args, self.coef[c, active], draw)
                weight = curvature[:, c] * np.exp(np.minimum(some @ coef, 300.0))
                gram = (some * weight[:, None]).T @ some
                cross = some.T @ (slope[:, c] - weight) + gram @ coef
            else:
                linear, weight = (slope[:, c], curvature[:, c]) if alone is None else alone
                if not active.all():
                    normal = ((design * weight[:, None]).T @ design, design.T @ linear, precision[c])
                    active[:] = draw_support(*normal, active, self.model.n_topics, draw)
                some = design[:, active]
                gram, cross = (some * weight[:, None]).T @ some, some.T @ linear
                names = (self.seed, draw.sweep, draw.purpose())
                coef = draw_coefficients(gram + np.diag(precision[c, active]), cross, *names)
            self.coef[c], self.cross[c], self.gram[c] = 0.0, 0.0, 0.0
            self.coef[c, active], self.cross[c, active], self.gram[c][np.ix_(active, active)] = coef, cross, gram
            score[:, c] = design @ self.coef[c]

    def draw_scale(self, draw: SweepDraws) -> None:
        """1/scale ~ Gamma(a + number of coefficients, b + sum |coef|), their precisions integrated out."""
        if self.options.learn_scale:
            shape, rate = RATE_PRIOR[0] + self.active.sum(), RATE_PRIOR[1] + np.abs(self.coef).sum()
            inverse = draw.gamma(np.array([shape]), np.array([rate]))[0]
            self.coef_prior = replace(self.coef_prior, scale=float(1.0 / inverse))

    def draw_topics(self, slope: np.ndarray, curvature: np.ndarray, number: int) -> None:
        """The topic of every token, given what the response says in each column's language."""
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
            self._sweep_slow(kind, slope, curvature, offset, coef[:, : self.model.n_topics], number)
        else:
            self._sweep_fast(slope - curvature * offset, curvature, np.zeros((0, 0), dtype=np.float32), number)

    def _sweep_fast(self, slope: np.ndarray, curvature: np.ndarray, topics: np.ndarray, number: int) -> None:
        """Quadratic columns; topics integrated out, or given (V, K)."""
        self.doc_topic[:] = 0
        n_topics = self.model.n_topics
        said = [np.ascontiguousarray(a, dtype=np.float32) for a in (slope, curvature, self.coef[:, :n_topics])]
        gibbs_documents.sweep_documents(
            0, len(self.lengths), self.doc_ptr, self.token_word, self.topic, self.doc_topic, *said, self.word_topic,
            self.topic_count, topics, self.alpha.astype(np.float32), np.float32(self.beta),
            np.float32(self.beta * len(self.word_topic)), len(topics) == 0, self.seed, number, self._fast,
        )  # fmt: skip

    def _sweep_slow(
        self, kind: np.ndarray, slope: np.ndarray, curvature: np.ndarray, offset: np.ndarray, coef: np.ndarray,
        number: int,
    ) -> None:  # fmt: skip
        """Columns of any kind, each `gibbs_likelihood`'s."""
        self.doc_topic[:] = 0
        slope, curvature, offset, coef = (np.ascontiguousarray(a) for a in (slope, curvature, offset, coef))
        gibbs_likelihood.sweep_likelihood(
            0, len(self.lengths), self.doc_ptr, self.token_word, self.topic, self.doc_topic, kind, slope, curvature,
            offset, coef, self.word_topic, self.topic_count, self.alpha, self.beta, self.seed, number, self._slow,
        )  # fmt: skip

    def learn_alpha(self) -> None:
        """Minka's fixed point on the topic counts of the documents."""
        counts = self.doc_topic.astype(np.int64)
        size = int(counts.max(initial=0)) + 1
        histogram = np.stack([np.bincount(column, minlength=size) for column in counts.T])
        self.alpha = self.model.doc_topic_prior.update_from_counts(self.alpha, histogram, self.lengths)

    def learn_beta(self) -> None:
        """Minka's fixed point on the word counts of the topics, beta being the same for all words."""
        if not self.options.learn_topic_prior:
            return
        met, n_words = self.word_topic[self.word_topic > 0], len(self.word_topic)
        for _ in range(20):
            gain = (digamma(met + self.beta) - digamma(self.beta)).sum()
            loss = n_words * (digamma(self.topic_count + n_words * self.beta) - digamma(n_words * self.beta)).sum()
            self.beta = float(np.clip(self.beta * gain / loss, 1e-6, 1e3))

    def log_joint(self) -> float:
        """log p(words, topics of the tokens, y, coef), shares and topics integrated out."""
        total = self.beta * len(self.word_topic)
        words = (gammaln(total) - gammaln(self.topic_count + total)).sum()
        words += (gammaln(self.word_topic[self.word_topic > 0] + self.beta) - gammaln(self.beta)).sum()
        documents = (gammaln(self.alpha.sum()) - gammaln(self.lengths + self.alpha.sum())).sum()
        documents += (gammaln(self.doc_topic + self.alpha) - gammaln(self.alpha)).sum()
        score = self.design @ self.coef.T
        answers = self.model.response.log_likelihood(self.y, score, self.weight, self.dispersion)
        return float(words + documents) + answers + self.coef_prior.log_density(self.coef)


def prior_precision(prior: CoefPrior, coef: np.ndarray, draw: SweepDraws) -> np.ndarray:
    """The precisions of independent normal coefficients, drawn given the coefficients where the prior is Laplace's."""
    if prior.name == "laplace":
        mean = 1.0 / (prior.scale * np.maximum(np.abs(coef), 1e-300))
        return draw.inverse_gaussian(np.minimum(mean, 1e300), np.full(coef.shape, prior.scale**-2.0))
    return np.full(coef.shape, prior.scale**-2.0 if prior.name == "normal" else _FLAT)


def unused_precision(prior: CoefPrior, shape: tuple[int, ...], draw: SweepDraws) -> np.ndarray:
    """The precisions of coefficients there are none of, from the prior: 1/lambda_k, lambda_k of mean 2 scale²."""
    if prior.name == "laplace":
        return 1.0 / draw.gamma(np.ones(shape), np.full(shape, 0.5 * prior.scale**-2.0))
    return np.full(shape, prior.scale**-2.0 if prior.name == "normal" else _FLAT)
