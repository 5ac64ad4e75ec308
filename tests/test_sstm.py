"""The sparse supervised topic model: exact zeros, budgets, uncertainty, classes."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_ndtr

from supertopic import Gibbs, SSTMClassifier, SSTMRegressor, datasets, load
from supertopic.inference.after.sparse_choice import mode_within_budget, sparse_mode
from supertopic.inference.gibbs.chains import _match, effective_size, match_topics, rank_r_hat, split_r_hat
from supertopic.inference.gibbs.supervised import SupervisedSampler
from supertopic.inference.task import Fit
from supertopic.kernels.lasso import descend
from supertopic.responses.binary import Probit
from supertopic.responses.continuous import Gaussian
from supertopic.responses.counts import Poisson

COEF = np.array([3.0, -3.0, 0.0, 0.0, 0.0, 0.0])


def regression(response, seed=0):
    rng = np.random.default_rng(seed)
    design = rng.dirichlet(np.full(8, 0.3), size=300)
    s = design @ np.array([2.0, -2.0, 1.0, 0, 0, 0, 0, 0])
    if isinstance(response, Gaussian):
        return design, s + 0.5 * rng.normal(size=300), np.array([0.25, 0.0, 1.0])
    if isinstance(response, Probit):
        return design, (s + rng.normal(size=300) > 0).astype(float), np.zeros(0)
    return design, rng.poisson(np.exp(s)).astype(float), np.zeros(0)


@pytest.mark.parametrize("response", [Gaussian(), Probit(), Poisson()], ids=lambda response: response.name)
def test_the_mode_satisfies_the_conditions_of_an_l1_problem(response):
    """The gradient is at most the penalty in size, and equals penalty times sign where a coefficient is not zero."""
    design, y, dispersion = regression(response)
    y[:10] = np.nan
    weight = np.random.default_rng(1).uniform(0.5, 2, size=300)
    for penalty in (0.5, 4.0):
        coef, _ = sparse_mode(response, design, y, weight, dispersion, np.full(8, penalty), np.zeros(8))
        s = design @ coef
        if response.name == "gaussian":
            slope = (y - s) / 0.25
        elif response.name == "poisson":
            slope = y - np.exp(s)
        else:
            towards = (2 * y - 1) * s
            slope = (2 * y - 1) * np.exp(-0.5 * towards**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(towards))
        gradient = design.T @ np.nan_to_num(weight * slope)
        used = coef != 0
        np.testing.assert_allclose(gradient[used], penalty * np.sign(coef[used]), rtol=1e-3)
        assert np.all(np.abs(gradient[~used]) <= penalty * (1 + 1e-6))
        assert 0 < used.sum() < 8 or penalty < 1


def test_coordinate_descent_keeps_to_what_is_ruled_out():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(20, 5))
    gram, cross, coef = root.T @ root, rng.normal(size=5) * 10, rng.normal(size=5)
    penalty = np.array([0.0, 0.0, np.inf, 0.0, 0.0])
    descend(gram, cross, penalty, coef, np.empty(5), 2000, 1e-12)
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(coef[kept], np.linalg.solve(gram[np.ix_(kept, kept)], cross[kept]))
    assert coef[2] == 0


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_a_budget_keeps_the_topics_that_matter_most(budget):
    design, y, dispersion = regression(Gaussian())
    weight = np.ones(300)
    coef, _, scale = mode_within_budget(Gaussian(), design, y, weight, dispersion, 100.0, 8, budget)
    assert 0 < np.count_nonzero(coef) <= budget and scale < 100
    assert set(np.flatnonzero(coef)) <= {0, 1, 2}
    chosen = np.flatnonzero(coef)
    ridge = np.linalg.lstsq(design[:, chosen], y, rcond=None)[0]
    np.testing.assert_allclose(coef[chosen], ridge, atol=0.02)  # not shrunk by the selection penalty


@pytest.fixture(scope="module")
def numbers():
    return datasets.simulate(400, 6, 100, 60, response="gaussian", coef=COEF, dispersion=0.25, seed=1)


@pytest.fixture(scope="module")
def labels():
    return datasets.simulate(400, 6, 100, 60, response="probit", coef=COEF, seed=1)


def order(model, data):
    """The fitted topic that matches each true topic."""
    return (np.sqrt(model.components_) @ np.sqrt(data.components).T).argmax(axis=0)


def test_a_budget_of_two_finds_the_two_topics_that_make_y(numbers):
    model = SSTMRegressor(6, max_iter=240, inference=Gibbs(thin=2), max_nonzero=2).fit(
        numbers.counts, 100 + 10 * numbers.y
    )
    found = order(model, numbers)
    assert set(np.flatnonzero(model.coef_)) == set(found[:2])
    np.testing.assert_allclose(model.coef_[found[:2]], [30, -30], atol=6)
    assert abs(model.intercept_ - 100) < 3
    assert np.all(model.inclusion_[found[:2]] == 1)
    np.testing.assert_allclose(model.sign_probability_[found[:2]], [1, 0])
    low, high = model.coef_interval_
    active = found[:2]
    assert np.all((low[active] < model.coef_mean_[active]) & (model.coef_mean_[active] < high[active]))
    assert not np.delete(model.draws_["coef"][:, 0], active, axis=1).any()  # the others have none at all
    assert np.mean((low[found] < 10 * COEF + 1.0) & (high[found] > 10 * COEF - 1.0)) > 0.6
    predicted = model.predict(numbers.counts)
    np.testing.assert_allclose(predicted, model.intercept_ + model.doc_topic_ @ model.coef_, atol=2.0)
    assert np.corrcoef(predicted, numbers.y)[0, 1] > 0.9


def broad(n_documents=500):
    """Counts and y; the documents of each class mix six topics of that class."""
    rng = np.random.default_rng(3)
    topics, y = rng.dirichlet(np.full(240, 0.1), size=12), rng.integers(2, size=n_documents)
    shares = np.zeros((n_documents, 12))
    for share, own in zip(shares, y, strict=True):
        share[6 * own : 6 * own + 6] = rng.dirichlet(np.full(6, 0.3))
    return np.stack([rng.multinomial(60, share @ topics) for share in shares]), y


def test_a_sampler_within_its_budget_keeps_together_what_y_is_about():
    counts, y = broad()
    params = dict(
        max_iter=100, inference=Gibbs(thin=2), max_nonzero=2, coef_scale=1.0, doc_topic_prior=0.02, supervision=5
    )
    params["coef_prior"] = "laplace"  # without a budget in the sampler, all topics have a coefficient
    found = [SSTMClassifier(12, concentrate=one, **params).fit(counts[:300], y[:300]) for one in (True, False)]
    scores = [model.score(counts[300:], y[300:]) for model in found]
    assert scores[0] > 0.9 and scores[0] > scores[1] + 0.05, scores
    assert np.all((found[0].draws_["coef"] != 0).sum(axis=2) == 2) and np.all(found[1].draws_["coef"] != 0)
    assert all(np.count_nonzero(model.coef_) <= 2 for model in found)


def test_a_budget_has_defaults_of_its_own(labels):
    y = labels.y.astype(int)
    model = SSTMClassifier(6, max_nonzero=2, max_iter=4).fit(labels.counts, y)
    assert model.supervision_ == 10 and np.allclose(model.alpha_, 0.25 / 6) and model._engine().max_iter == 200
    model = SSTMClassifier(6, sparsity=0.3, max_iter=4, doc_topic_prior=0.3, supervision=2).fit(labels.counts, y)
    assert model.supervision_ == 2 and np.allclose(model.alpha_, 0.3)
    model = SSTMClassifier(6, max_iter=4).fit(labels.counts, y)
    assert model.supervision_ == 1 and np.allclose(model.alpha_, 0.1) and model._engine().max_iter == 500


def test_one_topic_needs_an_intercept(labels):
    y = labels.y.astype(int)
    params = dict(max_iter=60, max_nonzero=1, coef_scale=1.0)
    model = SSTMClassifier(6, **params).fit(labels.counts, y)
    assert np.count_nonzero(model.coef_) == 1 and model.intercept_[0] * model.coef_.sum() < 0
    without = SSTMClassifier(6, fit_intercept=False, **params).fit(labels.counts, y)
    assert len(set(without.predict(labels.counts))) == 1
    assert model.score(labels.counts, y) > without.score(labels.counts, y) + 0.1


@pytest.mark.parametrize("collapsed", [True, False])
def test_the_classifier_finds_the_same_two_topics(labels, collapsed):
    params = dict(max_iter=160, inference=Gibbs(thin=2), sparsity=0.34, collapsed=collapsed, coef_scale=0.5, sigma=0.5)
    params["fit_intercept"] = False  # as y was made
    model = SSTMClassifier(6, **params).fit(labels.counts, np.array(["no", "yes"])[labels.y.astype(int)])
    found = order(model, labels)
    assert set(np.flatnonzero(model.coef_[0])) == set(found[:2])
    assert model.coef_[0, found[0]] > 0.5 and model.coef_[0, found[1]] < -0.5
    assert model.coef_scale_ == pytest.approx(0.5)
    probabilities = model.predict_proba(labels.counts)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    score = model.decision_function(labels.counts)
    assert np.all((score > 0) == (model.predict(labels.counts) == "yes"))
    assert np.corrcoef(score, labels.score)[0, 1] > 0.85


def test_more_than_two_classes_have_topics_of_their_own(tmp_path):
    coef = np.zeros((3, 6))
    coef[[0, 1, 2], [0, 1, 2]] = 8.0
    data = datasets.simulate(400, 6, 100, 60, response="softmax", coef=coef, seed=5)
    names = np.array(["a", "b", "c"])[data.y.astype(int)]
    model = SSTMClassifier(6, max_iter=120, max_nonzero=2).fit(data.counts, names)
    found = order(model, data)
    assert model.coef_.shape == (3, 6) and np.all((model.coef_ != 0).sum(axis=1) <= 2)
    assert len(set(found)) == 6  # all topics are found
    for c in range(3):
        assert model.coef_[c].argmax() == found[c]
    np.testing.assert_allclose(model.predict_proba(data.counts).sum(axis=1), 1)
    assert set(model.predict(data.counts)) == {"a", "b", "c"}
    assert model.log_density(data.counts[:3], names[:3]).shape == (3,) and list(model.classes_) == ["a", "b", "c"]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for name in ("coef_", "inclusion_", "coef_interval_", "classes_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.predict(data.counts), model.predict(data.counts))


def test_priors_that_are_learned_come_near_the_truth(numbers):
    params = dict(doc_topic_prior="symmetric", topic_word_prior="auto", coef_scale="auto", max_iter=120)
    model = SSTMRegressor(6, **params).fit(numbers.counts, numbers.y)
    assert 0.1 < model.alpha_[0] < 0.4  # 0.2
    assert 0.1 < model.coef_scale_ < 3
    fixed = SSTMRegressor(6, sigma=0.7, max_iter=20).fit(numbers.counts, numbers.y)
    assert fixed.dispersion_ == pytest.approx(0.49)


def test_several_responses_have_topics_of_their_own(numbers):
    shares = numbers.topic_shares
    y = np.column_stack([numbers.y, 5 * shares[:, 4] + 0.3 * np.random.default_rng(0).normal(size=len(shares))])
    model = SSTMRegressor(6, max_iter=120, max_nonzero=2).fit(numbers.counts, y)
    found = order(model, numbers)
    assert set(np.flatnonzero(model.coef_[0])) == set(found[:2])
    assert found[4] in np.flatnonzero(model.coef_[1]) and model.intercept_.shape == (2,)


@pytest.mark.parametrize("max_nonzero", [None, 3])
def test_same_seed_same_model_and_a_kill_does_no_harm(numbers, tmp_path, monkeypatch, max_nonzero):
    from supertopic.checkpoint import Checkpoint

    params = dict(max_iter=30, topic_word_prior="auto", inference=Gibbs(thin=3), max_nonzero=max_nonzero)
    whole = SSTMRegressor(6, **params).fit(numbers.counts, numbers.y)
    saved = Checkpoint.save
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)

    def save_and_die(self, state, arrays):
        saved(self, state, arrays)
        if state["done"] == 22:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", save_and_die)
    with pytest.raises(KeyboardInterrupt):
        SSTMRegressor(6, checkpoint=tmp_path / "c", **params).fit(numbers.counts, numbers.y)
    monkeypatch.setattr(Checkpoint, "save", saved)
    resumed = SSTMRegressor(6, checkpoint=tmp_path / "c", **params).fit(numbers.counts, numbers.y)
    for name in ("coef_", "inclusion_", "components_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))
    np.testing.assert_array_equal(whole.draws_["coef_scale"], resumed.draws_["coef_scale"])


def test_inclusion_is_a_probability_and_zeros_are_zeros(numbers):
    """Four of six topics have nothing to do with y: their coefficients are zero in most draws, and in `coef_`."""
    model = SSTMRegressor(6, max_iter=160, inference=Gibbs(thin=2)).fit(numbers.counts, numbers.y)
    found = order(model, numbers)
    np.testing.assert_array_equal(model.inclusion_, (model.draws_["coef"][:, 0] != 0).mean(axis=0))
    assert np.all(model.inclusion_[found[:2]] == 1) and model.inclusion_[found[2:]].max() < 0.5
    assert set(np.flatnonzero(model.coef_)) == set(found[:2])
    assert abs(model.intercept_) < 0.15  # that of topics without effect, where y has the mean -0.13
    paper = SSTMRegressor(6, coef_prior="laplace", fit_intercept=False, max_iter=20).fit(numbers.counts, numbers.y)
    assert np.all(paper.draws_["coef"] != 0) and paper.intercept_ == pytest.approx(numbers.y.mean())
    with pytest.raises(ValueError, match="coef_prior: got 'spike', expected 'spike_slab' or 'laplace'"):
        SSTMRegressor(6, coef_prior="spike").fit(numbers.counts, numbers.y)


def test_noise_has_no_findings(numbers):
    noise = np.random.default_rng(5).normal(size=400)
    model = SSTMRegressor(6, max_iter=160, inference=Gibbs(thin=2)).fit(numbers.counts, noise)
    assert model.inclusion_.max() < 0.9 and np.abs(model.predict(numbers.counts) - noise.mean()).max() < 0.35


def test_two_classes_start_without_an_intercept(labels, monkeypatch):
    """While few topics explain all words, so that both classes get topics; afterwards the intercept is drawn."""
    has_constant, sweep = {}, SupervisedSampler.sweep

    def watch(self, number):
        sweep(self, number)
        has_constant.setdefault(number > 10_000, []).append(bool(self.coef[0, -1] != 0))

    monkeypatch.setattr(SupervisedSampler, "sweep", watch)
    SSTMClassifier(6, max_nonzero=2, max_iter=8).fit(labels.counts, labels.y.astype(int))
    assert not any(has_constant[True]) and all(has_constant[False])


def test_errors_do_not_shrink_with_supervision(numbers):
    """A label that pulls ten times as hard at the topics is still one label."""
    one, ten = (SSTMRegressor(6, supervision=s, max_iter=80).fit(numbers.counts, numbers.y) for s in (1, 10))
    active = [order(model, numbers)[:2] for model in (one, ten)]
    ratio = ten.coef_std_[active[1]] / one.coef_std_[active[0]]
    assert np.all((ratio > 0.7) & (ratio < 1.4)), ratio


def test_chains_are_matched_and_compared(numbers):
    params = dict(max_iter=120, inference=Gibbs(thin=2, n_chains=2))
    model = SSTMRegressor(6, n_jobs=2, **params).fit(numbers.counts, numbers.y)
    again = SSTMRegressor(6, **params).fit(numbers.counts, numbers.y)
    np.testing.assert_array_equal(model.draws_["coef"], again.draws_["coef"])
    assert model.draws_["coef"].shape == (60, 1, 6)
    halves = model.draws_["coef"].reshape(2, 30, 6)
    found = order(model, numbers)
    np.testing.assert_allclose(halves.mean(axis=1)[:, found[:2]], [[3, -3]] * 2, atol=0.7)  # topics are the same ones
    assert not np.array_equal(halves[0], halves[1])
    assert model.r_hat_.shape == (6,) and model.r_hat_[found[:2]].max() < 1.1
    assert np.all((model.n_effective_ > 1) & (model.n_effective_ <= 60))


def test_chains_match_topics_that_bear_y_with_such():
    """Matching by words alone would exchange them."""
    words = np.eye(4)[:, :4] + 0.01
    coefs = np.array([[[1.0, 2.0, 0.0, 0.0]], [[0.0, 0.0, 5.0, 6.0]]])
    fits = [Fit(SimpleNamespace(word_topic=words), [], 1, {"coef": coef[None]}) for coef in coefs]
    assert list(_match(fits[0], fits[1])[:2]) in ([2, 3], [3, 2]) and sorted(_match(*fits)) == [0, 1, 2, 3]
    fits[1].draws["coef"] = np.array([[[0.0, 0.0, 0.0, 6.0]]])  # the numbers differ: matched by words alone
    assert list(_match(*fits)) == [0, 1, 2, 3]


def test_topics_are_matched_whatever_their_order():
    counts = np.random.default_rng(0).gamma(0.3, size=(50, 7))
    order = np.array([3, 0, 6, 2, 1, 5, 4])
    np.testing.assert_array_equal(match_topics(counts, counts[:, np.argsort(order)]), order)


def test_measures_of_mixing():
    """White noise, an autoregression with known effective sample size, and chains that have not mixed."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(4, 1000))
    assert split_r_hat(white) < 1.01 and 3000 < effective_size(white) <= 4000
    slow = np.zeros((4, 4000))
    for i in range(1, 4000):
        slow[:, i] = 0.8 * slow[:, i - 1] + rng.normal(size=4)
    assert abs(effective_size(slow) / (16000 * (1 - 0.8) / (1 + 0.8)) - 1) < 0.2
    assert split_r_hat(white + np.arange(4)[:, None]) > 1.3
    assert effective_size(white + np.arange(4)[:, None]) < 20


def test_chains_that_stand_still_do_not_pass_for_mixed():
    still = np.broadcast_to(np.array([[0.1, 0.1], [0.7, 0.1]])[:, None, :], (2, 50, 2)).copy()
    found = split_r_hat(still)
    assert found[0] == np.inf and np.isnan(found[1])
    still[1, :, 1] = np.random.default_rng(0).normal(size=50)  # one chain moves, one does not
    assert 0.95 < split_r_hat(still)[1] < 1.1
    assert np.isnan(split_r_hat(still[:, :3])).all()


@pytest.mark.filterwarnings("ignore")
def test_draws_go_to_arviz(numbers):
    arviz = pytest.importorskip("arviz")
    model = SSTMRegressor(6, max_iter=40, inference=Gibbs(thin=1, n_chains=2)).fit(numbers.counts, numbers.y)
    data = model.to_arviz()
    assert data.posterior["coef"].shape == (2, 20, 1, 6)
    ours, theirs = model.r_hat_, arviz.rhat(data, method="rank")["coef"].to_numpy()[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_summary_shows_one_posterior(numbers):
    model = SSTMRegressor(6, max_iter=80).fit(numbers.counts, numbers.y)
    table = model.summary().loc[[f"topic {k}" for k in range(6)]]
    draws = model.draws_["coef"][:, 0, :6]
    np.testing.assert_allclose(table["coef"], draws.mean(axis=0))
    np.testing.assert_allclose(table["std"], draws.std(axis=0, ddof=1))
    np.testing.assert_allclose(table[["lower", "upper"]].T, model.coef_interval_)
    assert (table["lower"] <= table["coef"]).all() and (table["coef"] <= table["upper"]).all()
    assert "of the draws of the posterior" in " ".join(model.summary().attrs["below"])
    assert model.inclusion_r_hat_.shape == (6,)


def test_errors_of_a_sparse_estimate_know_no_level(numbers):
    """They are given the level: a number that is added to all coefficients and taken from it changes nothing."""
    model = SSTMRegressor(6, max_iter=60, coef_prior="laplace").fit(numbers.counts, numbers.y)
    state, std = model.fitted_.state, model.coef_std_
    active = np.flatnonzero(model.coef_)
    for k in range(6):
        rows = np.union1d(active, [k]).tolist()
        inverse = np.linalg.inv(state.information[0][np.ix_(rows, rows)])
        unit = np.std(numbers.y)
        assert std[k] == pytest.approx(unit * np.sqrt(inverse[rows.index(k), rows.index(k)]), rel=0.02)
    assert std.max() < 3.0


def test_ranks_see_chains_that_differ_in_spread_only():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 500)) * np.array([1.0, 1.0, 1.0, 4.0])[:, None]
    assert split_r_hat(draws) < 1.01 < 1.05 < rank_r_hat(draws)
    assert rank_r_hat(rng.standard_cauchy(size=(4, 500))) < 1.01
    still = np.zeros((2, 50, 2))
    still[1, :, 1] = 1.0
    found = rank_r_hat(still)
    assert np.isnan(found[0]) and np.isinf(found[1])


REFUSED = [
    ({"inference": Gibbs(n_chains=0)}, "n_chains: got 0, expected a whole number >= 1"),
    ({"coef_scale": 0}, "coef_scale: got 0, expected a number > 0, or 'auto'"),
    ({"sigma": "large"}, "sigma: got 'large', expected a number > 0, or 'auto'"),
    ({"topic_word_prior": -1}, "topic_word_prior: got -1, expected a number > 0, or 'auto'"),
    ({"max_nonzero": 0}, "max_nonzero: got 0, expected a whole number >= 1"),
    ({"sparsity": 2}, "sparsity: got 2, expected a share of the topics between 0 and 1"),
    ({"supervision": "auto"}, "supervision: got 'auto', expected a number >= 0; GridSearchCV finds one"),
    ({"sparsity": 0.1, "max_nonzero": 3}, "sparsity: got a number beside max_nonzero"),
]


@pytest.mark.parametrize(("params", "message"), REFUSED)
def test_nonsense_is_refused_in_a_sentence(numbers, params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SSTMRegressor(6, **params).fit(numbers.counts, numbers.y)
