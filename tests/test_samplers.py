"""Every sampler × response × prior keeps the joint distribution of its variables, and ranks the truth evenly.

Few replicates each, so that the whole grid is quick; ``SUPERTOPIC_REPLICATES=20`` takes twenty times as many. The cells
of normal priors on the coefficients themselves have more of them in `tests/test_supervised_gibbs.py`, and the
unsupervised samplers' joint distribution is in `tests/test_kernels_gibbs.py`. A flat prior is no distribution that
coefficients could be drawn from, so that these tests do not exist for it; its draws are those of a normal prior of a
tiny precision.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from supertopic import coefficients
from supertopic.inference.gibbs.supervised import SamplerOptions
from supertopic.kernels.one_topic import sweep_documents
from supertopic.responses import base
from tests.cases import cases
from tests.joint import ALPHA, MARGINS, NAMES, TIMES, joint_test, rank_test
from tests.test_kernels_gibbs import MODES, Chain, geweke_statistics

SCALES = {"logit": 4.0, "softmax": 3.0}  # s has to be large for the tilt of a Pólya-Gamma to matter
LEVEL = len(ALPHA)
CELLS = [
    *((name, "laplace", ("laplace", 0.7 * SCALES.get(name, 1.0))) for name in NAMES),
    *((name, "normal level", ("normal", SCALES.get(name, 1.0), LEVEL)) for name in NAMES),
    ("gaussian", "laplace level", ("laplace", 0.7, LEVEL)),
    *((name, "normal", ("normal", 1.3)) for name in MARGINS),
    *((name, "laplace", ("laplace", 1.0)) for name in MARGINS),
]
SPARSE = {
    "learned scale": SamplerOptions(integrate_latents=True, learn_scale=True),
    "budget": SamplerOptions(integrate_latents=True, learn_scale=True, budget=2),
}


SHORT = [*CELLS[0 : len(NAMES) : 2], *CELLS[len(NAMES) + 1 : 2 * len(NAMES) : 2], *CELLS[2 * len(NAMES) :: 2]]


def named(cell):
    """In `make test` each response meets one of the two priors."""
    marks = () if cell in SHORT else pytest.mark.release
    return pytest.param(cell, id=f"{cell[0]} {cell[1]}", marks=marks)


@pytest.fixture(params=map(named, CELLS))
def cell(request, monkeypatch):
    """(name, prior) of a supervised sampler.

    The prior on the common level of the coefficients is nearly flat, N(0, 100²), under which most responses would be
    at their extremes. It is N(0, 1) here, except under a Laplace prior, where the sampler's draw of the level takes its
    prior for flat: there y is Gaussian, which has no extremes.
    """
    name, kind, prior = request.param
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    if kind == "normal level":
        monkeypatch.setattr(coefficients, "_LEVEL", 1.0)
    return name, prior


@pytest.mark.slow
def test_sweeps_keep_the_joint_distribution(cell):
    name, prior = cell
    z = joint_test(name, prior, 200, 3, covariates=name not in MARGINS)  # max-margin models have no covariates
    assert z.max() < 4.0, z


@pytest.mark.slow
@pytest.mark.release  # the test above holds the same samplers to the same model
def test_the_truth_ranks_evenly_among_the_draws(cell):
    name, prior = cell
    p = rank_test(name, prior, 40, 4, n_first=6)
    assert p.min() > 1e-3, p


@pytest.mark.slow
@pytest.mark.release  # `test_supervised_gibbs` holds their joint distribution
@pytest.mark.parametrize("options", SPARSE)
@pytest.mark.parametrize("name", ["gaussian", "probit"])
def test_the_truth_ranks_evenly_in_sparse_models(name, options):
    p = rank_test(name, ("laplace", 1.0), 40, 4, n_first=6, options=SPARSE[options])
    assert p.min() > 1e-3, p


# --- unsupervised -----------------------------------------------------------------------------------------------------


def lda_words(rng, alpha, beta, n_docs=4, length=5, n_words=4):
    """(topics of the tokens, counts): tokens by document and word."""
    phi = rng.dirichlet(np.full(n_words, beta), size=len(alpha))
    z = np.stack([rng.choice(len(alpha), size=length, p=rng.dirichlet(alpha)) for _ in range(n_docs)])
    words = np.array([rng.choice(n_words, p=phi[k]) for k in z.ravel()]).reshape(z.shape)
    z = np.take_along_axis(z, np.argsort(words, axis=1, kind="stable"), axis=1)
    return z.ravel(), np.stack([np.bincount(row, minlength=n_words) for row in words])


def uniform_ranks(ranks, n_draws):
    """The smallest p-value of ranks (replicates, numbers) from 0 to n_draws."""
    counts = [np.bincount(column.astype(int), minlength=n_draws + 1) for column in np.array(ranks).T]
    return stats.chisquare(np.array(counts), axis=1).pvalue.min()


@pytest.mark.slow
@pytest.mark.parametrize(("dense", "partial"), cases(MODES, [(True, True), (False, False)]))
def test_the_truth_ranks_evenly_in_lda(dense, partial):
    alpha, beta, n_draws, ranks = np.array([0.3, 0.9, 0.5]), 0.6, 4, []
    for replicate in range(round(200 * TIMES)):
        rng = np.random.default_rng([replicate, 3])
        z, counts = lda_words(rng, alpha, beta)
        chain = Chain(counts, alpha, beta, seed=replicate, dense=dense, partial=partial)
        docs, words = chain.tokens.doc, np.repeat(np.arange(len(counts.T)), np.diff(chain.tokens.word_ptr[0]))
        ties = rng.random(3) * 1e-9  # ranks among equal numbers are drawn

        def looked_at(topic, docs=docs, words=words):
            return np.array(geweke_statistics(topic, docs, words, 3))[[0, 1, 3]]

        truth, below = looked_at(z[np.argsort(np.argsort(docs, kind="stable"), kind="stable")]), 0.0
        for number in range(6 + 3 * n_draws):
            chain.sweep()
            if number >= 6 and number % 3 == 2:
                below = below + (looked_at(chain.topic.astype(int)) + rng.random(3) * 1e-9 < truth + ties)
        ranks.append(below)
    assert uniform_ranks(ranks, n_draws) > 1e-3


class Mixture:
    """A sampler of the mixture of categoricals, all of whose variables have been drawn from the model."""

    alpha, prior, n_words = np.array([0.7, 1.5, 0.4]), 0.4, 4

    def __init__(self, replicate):
        rng = np.random.default_rng([replicate, 5])
        shares, phi = rng.dirichlet(self.alpha), rng.dirichlet(np.full(self.n_words, self.prior), size=3)
        self.topic = rng.choice(3, size=6, p=shares).astype(np.int32)
        self.counts = sp.csr_matrix(np.stack([rng.multinomial(4, phi[k]) for k in self.topic]).astype(np.float32))
        self.seed = replicate

    def count(self):
        self.word_topic = np.zeros((self.n_words, 3))
        np.add.at(self.word_topic.T, self.topic, self.counts.toarray())
        return self.word_topic, self.word_topic.sum(0), np.bincount(self.topic, minlength=3).astype(float)

    def sweep(self, number):
        given = (self.counts.indptr, self.counts.indices, self.counts.data, self.alpha, self.prior, self.seed, number)
        sweep_documents(*given, self.topic, *self.count())

    def looked_at(self):
        same = self.topic[:, None] == self.topic
        alike = (self.counts @ self.counts.T).toarray()
        return np.array([same.mean(), (same * alike).sum(), (self.topic == 1).mean()])


@pytest.mark.slow
def test_sweeps_of_the_mixture_keep_the_joint_distribution():
    differences = []
    for replicate in range(round(1500 * TIMES)):
        mixture = Mixture(replicate)
        before = mixture.looked_at()
        for number in range(2):
            mixture.sweep(number)
        differences.append(mixture.looked_at() - before)
    z = np.mean(differences, axis=0) / np.std(differences, axis=0) * np.sqrt(len(differences))
    assert np.abs(z).max() < 4.0, z


@pytest.mark.slow
def test_the_truth_ranks_evenly_in_the_mixture():
    """Without the number of a topic, which tiny chains seldom change."""
    n_draws, ranks = 4, []
    for replicate in range(round(300 * TIMES)):
        mixture, rng = Mixture(replicate), np.random.default_rng([replicate, 6])
        truth, below = mixture.looked_at()[:2] + rng.random(2) * 1e-9, 0.0  # ranks among equal numbers are drawn
        mixture.topic[:] = rng.integers(3, size=len(mixture.topic))
        for number in range(9 + 3 * n_draws):
            mixture.sweep(number)
            if number >= 9 and number % 3 == 2:
                below = below + (mixture.looked_at()[:2] + rng.random(2) * 1e-9 < truth)
        ranks.append(below)
    assert uniform_ranks(ranks, n_draws) > 1e-3
