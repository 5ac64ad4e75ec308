"""Whether a supervised sampler keeps the joint distribution of all variables: Geweke's test, and ranks of the truth.

Topics, coefficients, dispersion, words and y are drawn from the model, and then the sampler goes on from there, given
words and y. Each replicate is independent of the others. ``SUPERTOPIC_REPLICATES=20`` takes twenty times as many of
them as usual (`docs/trust.md`).
"""

import os

import numpy as np
import scipy.sparse as sp
from scipy import stats

from supertopic import coefficients
from supertopic.coefficients import CoefPrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.supervised import RATE_PRIOR, SamplerOptions, SupervisedSampler
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses import base
from supertopic.responses.margin import EpsilonInsensitive, HingeEach
from tests import naive_gibbs
from tests import naive_supervised as naive

NAMES = naive.sampled_names()
MARGINS = {  # losses: exp(-C loss) takes the place of a likelihood
    "hinge": (HingeEach(2, C=0.8, cost=0.7), np.zeros(0)),
    "hinge_each": (HingeEach(3, C=0.3, cost=0.7), np.zeros(0)),
    "epsilon": (EpsilonInsensitive(C=0.8, epsilon=0.3, likelihood=False), np.array([0.6, 0.2, 1.5])),
    "epsilon_gaussian": (EpsilonInsensitive(C=0.8, epsilon=0.3, likelihood=True), np.array([0.6, 0.2, 1.5])),
}
ALPHA, BETA = np.array([0.7, 0.5, 0.9]), 0.4
N_DOCS, LENGTH, N_WORDS = 5, 4, 4
TIMES = float(os.environ.get("SUPERTOPIC_REPLICATES", "1"))


def make(name):
    """(response, dispersion) of a name of the registry or of `MARGINS`."""
    return (MARGINS[name][0], MARGINS[name][1].copy()) if name in MARGINS else naive.make(name)


def sampler_of(
    name, counts, y, weight=None, prior=("normal", 1.0), seed=0, covariates=None, options=None, groups=None,
    backend=None,
):  # fmt: skip
    response, dispersion = make(name)
    n_covariates = 0 if covariates is None else covariates.shape[1]
    model = Model(
        len(ALPHA), DirichletTopics(BETA), DirichletPrior(ALPHA, "nothing"), response, CoefPrior(*prior),
        n_covariates=n_covariates,
    )  # fmt: skip
    weight = np.ones(len(y)) if weight is None else weight
    counts = sp.csr_matrix(counts.astype(np.float32))
    batch = Batch(counts, np.asarray(y, float), weight, len(ALPHA), covariates)
    sampler = SupervisedSampler(model, batch, seed, options or SamplerOptions(), backend, groups)
    sampler.take(np.zeros(len(sampler.tokens.word), np.uint16), sampler.coef, dispersion, ALPHA)
    return sampler


# --- draws from the model -------------------------------------------------------------------------------------------


def prior_dispersion(name, rng):
    _, dispersion = make(name)
    if name in ("gaussian", "epsilon_gaussian"):
        dispersion[0] = 0.2 / rng.gamma(2.0)
    elif name == "ordinal":
        dispersion[1] = dispersion[0] + np.exp(base.LOG_SPREAD * rng.normal())
    elif len(dispersion) and name not in MARGINS:
        dispersion[0] = np.exp(base.LOG_SPREAD * rng.normal())
    return dispersion


def draw_coef(prior, active, rng):
    """Coefficients (C, n) of a prior; those of topics may share a level."""
    kind, scale, *n_level = prior
    draw = rng.normal if kind == "normal" else rng.laplace
    coef = draw(scale=scale, size=active.shape)
    if n_level:
        coef[:, : n_level[0]] += rng.normal(size=(len(coef), 1)) / np.sqrt(coefficients._LEVEL)
    return np.where(active, coef, 0.0)


def draw_y(name, score, dispersion, rng):
    """(y, the probability with which a draw is kept): a loss tilts the distribution of all other variables."""
    if name not in MARGINS:
        return naive.draw_y(name, score, dispersion, rng), 1.0
    response = MARGINS[name][0]
    if name == "hinge":
        y = rng.integers(2, size=len(score)).astype(float)
        loss = np.maximum(response.cost - (2 * y - 1) * score[:, 0], 0.0)
    elif name == "hinge_each":
        y = rng.integers(3, size=len(score)).astype(float)
        sign = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
        loss = np.maximum(response.cost - sign * score, 0.0).sum(axis=1)
    else:
        u = rng.normal(size=len(score))
        u = score[:, 0] + np.sqrt(dispersion[0]) * u if name == "epsilon_gaussian" else u
        y = dispersion[1] + dispersion[2] * u
        loss = np.maximum(np.abs(u - score[:, 0]) - response.epsilon, 0.0)
    return y, np.exp(-response.C * loss.sum())


def one_of(shares, rng):
    """A draw from each row of shares (…, K)."""
    return (rng.random((*shares.shape[:-1], 1)) > np.cumsum(shares, axis=-1)[..., :-1]).sum(axis=-1)


def simulated(name, prior, replicate, covariates=False, options=None, groups=None):
    """A sampler all of whose variables, including words and y, have been drawn from the model."""
    rng = np.random.default_rng([replicate, 17])
    options = options or SamplerOptions()
    n_columns, n_topics, kept = make(name)[0].n_columns, len(ALPHA), -1.0
    while rng.random() > kept:
        z = one_of(np.repeat(rng.dirichlet(ALPHA, size=N_DOCS)[:, None], LENGTH, axis=1), rng)
        shares = (z[..., None] == np.arange(n_topics)).mean(axis=1)
        extra = rng.normal(size=(N_DOCS, 1)) if covariates else None
        design = shares if extra is None else np.hstack([shares, extra])
        if options.learn_scale:
            prior = (prior[0], 1.0 / rng.gamma(RATE_PRIOR[0], 1.0 / RATE_PRIOR[1]), *prior[2:])
        active = np.ones((n_columns, design.shape[1]), dtype=bool)
        for row in () if options.budget is None else active:
            row[rng.choice(n_topics, n_topics - options.budget, replace=False)] = False
        for row in active if options.spike else ():
            row[:n_topics] = rng.random(n_topics) < rng.random()
        coef, dispersion = draw_coef(prior, active, rng), prior_dispersion(name, rng)
        y, kept = draw_y(name, design @ coef.T, dispersion, rng)
    words = one_of(rng.dirichlet(np.full(N_WORDS, BETA), size=n_topics)[z], rng)
    counts = np.stack([np.bincount(row, minlength=N_WORDS) for row in words])
    given = {"prior": prior, "seed": replicate, "covariates": extra, "options": options, "groups": groups}
    sampler = sampler_of(name, counts, y, **given)
    sampler.active[:] = active
    order = np.argsort(naive_gibbs.documents_of(sampler.tokens), kind="stable")  # words of a document are in order
    topic = np.empty(z.size, np.uint16)
    topic[order] = np.take_along_axis(z, np.argsort(words, axis=1, kind="stable"), axis=1).ravel()
    sampler.take(topic, coef, dispersion, ALPHA)
    return sampler


# --- Geweke's test --------------------------------------------------------------------------------------------------


def centred(sampler):
    """(coef, linear predictors, y), less the level of each column where that may be a hundred away from zero."""
    coef, y = sampler.coef.copy(), sampler.y
    score = sampler.design @ coef.T
    if sampler.coef_prior.n_level and sampler.coef_prior.name == "laplace":
        level = coef[:, : len(ALPHA)].mean(axis=1)
        coef[:, : len(ALPHA)] -= level[:, None]
        score, y = score - level, y - y.mean()
    return coef, score, y


def statistics(sampler, name):
    """Functions of coefficients, topics, dispersion and y whose expectations must not change."""
    response = sampler.model.response
    fit = response.log_likelihood(sampler.y, sampler.design @ sampler.coef.T, sampler.weight, sampler.dispersion)
    coef, score, y = centred(sampler)
    y = np.arctan(y)
    same = (sampler.doc_topic**2).sum()
    values = [np.tanh(coef).mean(), np.tanh(coef[0, 0]), (np.tanh(coef) ** 2).mean(), same, (coef[0] * coef[-1]).sum()]
    values += [np.tanh(score[:, 0]) @ y, np.tanh(score).mean() ** 2, np.tanh(fit / 10), sampler.doc_topic[0, 0]]
    topics_alone = sampler.design[:, : len(ALPHA)] @ coef[:, : len(ALPHA)].T
    values += [column @ np.tanh(topics_alone[:, 0]) * coef[0, -1] for column in sampler.covariates.T]
    values += [np.log(sampler.coef_prior.scale), np.log(sampler.coef_prior.scale) * (np.tanh(coef) ** 2).mean()]
    if len(sampler.dispersion) and name != "ordinal":
        values += [np.log(sampler.dispersion[0]), np.log(sampler.dispersion[0]) * y.sum()]
    values += [(coef[0, k] == 0) * (1.0 + sampler.doc_topic[:, k].mean()) for k in range(len(ALPHA))]
    if name == "ordinal":
        values += [np.log(np.diff(sampler.dispersion)[0]), np.log(np.diff(sampler.dispersion)[0]) * y.sum()]
    return np.array(values)


def joint_test(name, prior, n_replicates, n_sweeps, covariates=False, options=None, groups=None):
    """|z| of paired differences: all variables drawn from the model, then after some sweeps given words and y.

    Parameters and topics before and after have the same distribution, jointly with the data (Geweke 2004, with
    independent replicates as in Gandy & Scott 2020).
    """
    differences, n_replicates = [], round(n_replicates * TIMES)
    for replicate in range(n_replicates):
        sampler = simulated(name, prior, replicate, covariates, options, groups)
        before = statistics(sampler, name)
        for number in range(n_sweeps):
            sampler.sweep(number)
        differences.append(statistics(sampler, name) - before)
    differences = np.array(differences)
    differences = differences[:, differences.any(axis=0)]  # a variable that is not drawn does not change
    return np.abs(differences.mean(0) / (differences.std(0) / np.sqrt(n_replicates) + 1e-300))


# --- ranks of the truth ---------------------------------------------------------------------------------------------


def looked_at(sampler, name):
    """Numbers whose truth is ranked among draws; none depends on the order of the topics, which tiny chains keep."""
    response = sampler.model.response
    fit = response.log_likelihood(sampler.y, sampler.design @ sampler.coef.T, sampler.weight, sampler.dispersion)
    coef, score, _ = centred(sampler)
    own = [np.diff(sampler.dispersion)[0]] if name == "ordinal" else list(sampler.dispersion[:1])
    if name == "epsilon":
        own = []
    return np.array([coef[0].max(), coef[0].min(), score[0, 0], fit, *own])


def rank_test(name, prior, n_replicates, n_draws, n_first=9, options=None):
    """p-values of simulation-based calibration (Talts et al. 2018): the rank of the truth among draws is uniform.

    The chain starts elsewhere, from topics and coefficients of another replicate, and every third sweep after the first
    ones is a draw.
    """
    ranks, n_replicates = [], round(n_replicates * TIMES)
    for replicate in range(n_replicates):
        sampler = simulated(name, prior, replicate, options=options)
        other = simulated(name, prior, replicate + n_replicates, options=options)
        truth, below = looked_at(sampler, name), 0.0
        sampler.active[:] = other.active
        sampler.coef_prior = other.coef_prior
        sampler.take(other.topic, other.coef, other.dispersion, ALPHA)
        for number in range(n_first + 3 * n_draws):
            sampler.sweep(number)
            if number >= n_first and number % 3 == 2:
                below = below + (looked_at(sampler, name) < truth)
        ranks.append(below)
    counts = [np.bincount(column.astype(int), minlength=n_draws + 1) for column in np.array(ranks).T]
    return stats.chisquare(np.array(counts), axis=1).pvalue
