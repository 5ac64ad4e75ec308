"""The M-step on known shares is any generalised linear model: against statsmodels, and scipy's optimisers."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import digamma

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

from supertopic import SLDARegressor
from supertopic.coefficients import CoefPrior
from supertopic.fitted.coefficients import effects_covariance, find_effects
from supertopic.inference import regression
from supertopic.inference.design import Design
from supertopic.inference.regression import Labelled, contrast_information, dispersion_summary, equations, regress
from supertopic.responses.several import Several
from tests.cases import cases
from tests.naive_responses import EXAMPLES, build, moments

K, D, FLAT = 3, 300, CoefPrior("flat")
FOREVER = {"max_iter": 500, "tol": 0.0}  # until the value no longer rises at all


@dataclass
class Data:
    design: Design
    y: np.ndarray

    @property
    def columns(self):
        return self.design.columns


def known(shares, covariates):
    return Design(shares, np.full(len(shares), np.inf), covariates)


def simulate(key, n_covariates=0, strength=1.0):
    """Documents with known shares, and y from the law that `naive_responses` writes in scipy."""
    rng = np.random.default_rng(17)
    design = known(rng.dirichlet(np.full(K, 0.5), size=D), rng.normal(size=(D, n_covariates)))
    response, example = build(key), EXAMPLES[key]
    coef = rng.normal(size=(response.n_columns, K + n_covariates)) * strength
    if "canonical" in key:
        coef = 0.5 + np.abs(coef)
    law = example.law(design.columns @ coef.T, np.array(example.dispersion))
    if example.n_classes:
        return Data(design, (rng.random((D, 1)) > np.cumsum(law, axis=1)).sum(axis=1).astype(float))
    return Data(design, law.rvs(random_state=rng).astype(float))


def first(response, design, y, weight):
    """Where an engine starts: (coef, dispersion)."""
    dispersion = response.start(response.describe(y, weight))
    coef = np.zeros((response.n_columns, design.columns.shape[1]))
    coef[:, :K] = response.start_coef(response.describe(y, weight), dispersion)[:, None]
    return coef, dispersion


def fit(response, data, prior=FLAT, weight=None, **how):
    weight = np.ones(len(data.y)) if weight is None else weight
    start = first(response, data.design, data.y, weight)
    return regress(response, prior, Labelled(data.design, data.y, weight).total, *start, **(how or FOREVER))


def users(response, found):
    """(coef, standard errors) of a response with one column, as users see them; a shift of s is the topics' alone."""
    coef, gram, dispersion = found
    outside, error = response.unscale(coef[0], FLAT.deviation(gram[0]), dispersion)
    shift = response.unscale(np.zeros(1), np.zeros(1), dispersion)[0]
    outside[K:] -= shift
    return outside, error


FAMILIES = {
    "poisson": lambda: sm.families.Poisson(),
    "gamma": lambda: sm.families.Gamma(sm.families.links.Log()),
    "gamma canonical": lambda: sm.families.Gamma(sm.families.links.InversePower()),
    "inverse_gaussian": lambda: sm.families.InverseGaussian(sm.families.links.Log()),
    "inverse_gaussian canonical": lambda: sm.families.InverseGaussian(sm.families.links.InverseSquared()),
    "gaussian": lambda: sm.families.Gaussian(),
    "logit": lambda: sm.families.Binomial(),
    "probit": lambda: sm.families.Binomial(sm.families.links.Probit()),
}


@pytest.mark.parametrize(
    ("key", "n_covariates"), [(key, p) for key in FAMILIES for p in (0, 2) if p == 0 or "canonical" not in key]
)
def test_it_is_a_generalised_linear_model(key, n_covariates):
    response, data = build(key), simulate(key, n_covariates)
    found = fit(response, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a canonical link may leave its domain, says statsmodels
        model = sm.GLM(data.y, data.columns, family=FAMILIES[key]())
        expected = model.fit(tol=1e-12)
    coef, error = users(response, found)
    np.testing.assert_allclose(coef, expected.params, rtol=1e-4, atol=1e-4 * np.abs(expected.params).max())
    spread = 1.0 if key in ("logit", "probit") else response.spread(found[2])
    observed = key != "inverse_gaussian"  # with the log link its information is the expected one, which is never < 0
    information = -model.hessian(expected.params, scale=spread, observed=observed)
    np.testing.assert_allclose(error, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-3)
    mean, y = expected.fittedvalues, data.y
    if key.startswith("gaussian"):
        assert response.spread(found[2]) == pytest.approx(np.mean((y - mean) ** 2), rel=1e-4)
    if key.startswith("inverse_gaussian"):
        assert response.spread(found[2]) == pytest.approx(np.mean((y - mean) ** 2 / (mean**2 * y)), rel=1e-4)
    if key.startswith("gamma"):  # the likelihood's own equation for the shape
        shape = 1 / response.spread(found[2])
        assert np.log(shape) - digamma(shape) == pytest.approx(np.mean(y / mean - 1 - np.log(y / mean)), rel=1e-4)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_negative_binomial_regression(n_covariates):
    """statsmodels has the mean r exp(s) as exp(x·params), and 1/r."""
    response, data = build("negative_binomial"), simulate("negative_binomial", n_covariates)
    coef, information, dispersion = fit(response, data)
    peer = sm.NegativeBinomial(data.y, data.columns).fit(disp=0, maxiter=500, method="bfgs", gtol=1e-8)
    expected = peer.params
    assert dispersion[0] == pytest.approx(1 / expected[-1], rel=1e-3)
    params = expected[:-1].copy()
    params[:K] -= np.log(dispersion[0])
    np.testing.assert_allclose(coef[0], params, rtol=1e-3, atol=1e-3)
    shares = data.design.mean.mean(axis=0)
    shown = find_effects(response, FLAT, coef, dispersion, shares)
    apart = np.vstack([np.zeros(len(expected) - 1), np.eye(len(expected) - 1)])  # intercept, topics, covariates
    apart[0, :K], apart[1 : K + 1, :K] = shares, np.eye(K) - shares
    found = np.concatenate([shown.intercept, shown.topics[0], shown.others[0]])
    np.testing.assert_allclose(found, apart @ expected[:-1], rtol=1e-3, atol=1e-3)  # log E[y], as there …
    own = FLAT.covariance(information[0])[None]
    errors = np.sqrt(np.diag(effects_covariance(response, FLAT, own, dispersion, shares)[0]))
    cov = np.asarray(peer.cov_params())[:-1, :-1]
    np.testing.assert_allclose(
        errors, np.sqrt(np.diag(apart @ cov @ apart.T)), rtol=0.02
    )  # … where r is estimated, too


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_softmax_regression(n_covariates):
    """Coefficients are known up to what all classes share."""
    response, data = build("softmax"), simulate("softmax", n_covariates)
    coef, _, dispersion = fit(response, data)
    expected = sm.MNLogit(data.y, data.columns).fit(disp=0, method="newton", tol=1e-12)
    np.testing.assert_allclose(coef[1:] - coef[0], expected.params.T, rtol=1e-4, atol=2e-4)
    score, moment = data.design.moments(coef, response.is_product)
    np.testing.assert_allclose(response.predict(score, moment, dispersion), expected.predict(), atol=1e-5)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_errors_of_softmax_contrasts(n_covariates):
    """statsmodels has differences to the first class, and their covariance."""
    response, data = build("softmax"), simulate("softmax", n_covariates)
    labelled = Labelled(data.design, data.y, np.ones(D))
    given = (response, FLAT, labelled.total, *first(response, data.design, data.y, np.ones(D)))
    coef, alone, dispersion = regress(*given, max_iter=1000, tol=1e-11, together=True)
    joint = contrast_information(response, FLAT, labelled.total, coef, dispersion)
    peer = sm.MNLogit(data.y, data.columns).fit(disp=0, maxiter=200)
    n, n_classes = data.columns.shape[1], response.n_columns
    params = np.hstack([np.zeros((n, 1)), np.asarray(peer.params)])
    shown = find_effects(response, FLAT, coef, dispersion, np.full(K, 1 / K))
    whole = np.hstack([shown.intercept[:, None] + shown.topics, shown.others])
    np.testing.assert_allclose(whole, (params - params.mean(axis=1, keepdims=True)).T, rtol=1e-3, atol=2e-3)
    cov = np.zeros((n_classes * n, n_classes * n))
    cov[n:, n:] = np.asarray(peer.cov_params())
    apart = np.kron(np.eye(n_classes) - 1.0 / n_classes, np.eye(n))
    expected = np.sqrt(np.diag(apart @ cov @ apart.T)).reshape(n_classes, n)
    found = np.array([FLAT.deviation(one) for one in joint])
    np.testing.assert_allclose(found, expected, rtol=1e-2)
    assert not np.allclose([FLAT.deviation(one) for one in alone], expected, rtol=0.1)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_ordinal_regression(n_covariates):
    """statsmodels has no intercept, so that shares sum to one, the last one's coefficient joins the cut-points."""
    response, data = build("ordinal"), simulate("ordinal", n_covariates)
    coef, _, cuts = fit(response, data)
    others = np.delete(data.columns, K - 1, axis=1)
    model = OrderedModel(data.y.astype(int), others, distr="probit")
    expected = model.fit(disp=0, method="bfgs", gtol=1e-8, maxiter=1000).params
    relative = np.delete(coef[0] - coef[0, K - 1] * (np.arange(coef.shape[1]) < K), K - 1)
    np.testing.assert_allclose(relative, expected[: len(relative)], rtol=1e-3, atol=1e-3)
    thresholds = model.transform_threshold_params(expected)[1:-1]
    np.testing.assert_allclose(cuts - coef[0, K - 1], thresholds, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_weibull_regression(n_covariates):
    """The likelihood itself, by a general optimiser; errors for a known shape."""
    response, data = build("weibull"), simulate("weibull", n_covariates)

    def loss(parameters):
        shape = np.exp(parameters[-1])
        return -stats.weibull_min.logpdf(data.y, shape, scale=np.exp(data.columns @ parameters[:-1])).sum()

    expected = minimize(loss, np.zeros(K + n_covariates + 1), method="BFGS", options={"gtol": 1e-3}).x
    found = fit(response, data)
    coef, error = users(response, found)
    shape = response.spread(found[2])
    np.testing.assert_allclose(coef, expected[:-1], rtol=1e-3, atol=1e-3)
    assert shape == pytest.approx(np.exp(expected[-1]), rel=1e-3)
    weight = shape**2 * (data.y * np.exp(-data.columns @ coef)) ** shape
    information = (data.columns * weight[:, None]).T @ data.columns
    np.testing.assert_allclose(error, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-3)


@pytest.mark.parametrize("key", list(EXAMPLES))
def test_a_weight_counts_a_document_so_often(key):
    response, data = build(key), simulate(key)
    weight = np.arange(D) % 3
    rows = np.repeat(np.arange(D), weight)
    twice = Data(known(data.design.mean[rows], np.zeros((len(rows), 0))), data.y[rows])
    scale = slice(1, 3) if response.n_dispersion in (2, 3) and not response.n_classes else slice(0, 0)
    found = fit(response, data, weight=weight.astype(float), max_iter=200, tol=1e-12)
    expected = fit(response, twice, max_iter=200, tol=1e-12)
    np.testing.assert_allclose(found[2][scale], expected[2][scale])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3 * np.abs(theirs).max(initial=0.0))


@pytest.mark.parametrize("prior", [CoefPrior("normal", 0.4), CoefPrior("laplace", 0.05)], ids=["normal", "laplace"])
@pytest.mark.parametrize("key", [key for key in EXAMPLES if "canonical" not in key])
def test_with_a_prior_it_is_the_best_there_is(key, prior):
    """No optimiser finds better coefficients, of scipy's density times the prior's."""
    response, data = build(key), simulate(key, 2)
    coef, _, dispersion = fit(response, data, prior)
    half = coef.size

    def loss(halves):  # the coefficient as a difference of two parts, which makes the Laplace density smooth
        eta = (halves[:half] - halves[half:]).reshape(coef.shape)
        density = EXAMPLES[key].log_p(data.y, data.columns @ eta.T, dispersion).sum()
        if prior.name == "normal":
            return -density + 0.5 * (eta**2).sum() / prior.scale**2
        return -density + halves.sum() / prior.scale

    start = np.concatenate([np.maximum(coef.ravel(), 0.0), np.maximum(-coef.ravel(), 0.0)])
    best = minimize(loss, start + 0.05, method="L-BFGS-B", bounds=[(0, None)] * (2 * half), options={"maxiter": 5000})
    assert loss(start) <= best.fun + 2e-3
    eta = (best.x[:half] - best.x[half:]).reshape(coef.shape)
    np.testing.assert_allclose(coef, eta, atol=0.01)
    if prior.name == "laplace":
        assert np.all(np.abs(eta[coef == 0]) < 1e-3)


def climb(response, design, y, prior, n_iter):
    """(values, predictions) over single iterations from where an engine starts."""
    weight = np.ones(len(y))
    coef, dispersion = first(response, design, y, weight)
    values, predictions = [], []
    for _ in range(n_iter):
        coef, _, dispersion = regress(response, prior, Labelled(design, y, weight).total, coef, dispersion, max_iter=1)
        score, moment = design.moments(coef, response.is_product)
        values.append(response.log_density(y, score, moment, dispersion).sum() + prior.log_density(coef))
        predictions.append(response.predict(score, moment, dispersion))
    return np.array(values), np.array(predictions)


@pytest.mark.parametrize("length", [np.inf, 5.0])
@pytest.mark.parametrize("key", [key for key, example in EXAMPLES.items() if example.how != "delta"])
def test_the_value_never_falls(key, length):
    """From the start of an engine, with covariates, strong effects, shares known exactly or five tokens of them."""
    response, data = build(key), simulate(key, 1, strength=2.0)
    design = Design(data.design.mean, np.full(D, length), data.design.covariates)
    for prior in (FLAT, CoefPrior("normal", 0.5) if length == 5.0 else CoefPrior("laplace", 0.1)):
        values, _ = climb(response, design, data.y, prior, 40)
        assert np.all(np.isfinite(values))
        assert np.diff(values).min() > -1e-7 * np.abs(values).max()
        assert values[-1] > values[0]


# iterations to 1e-6 of the last prediction; cut-points and classes that are solved apart (softmax) take their time
ITERATIONS = {
    "gaussian": 2, "poisson": 5, "gamma": 5, "gamma canonical": 5, "inverse_gaussian": 8,
    "inverse_gaussian canonical": 5, "weibull": 12, "logit": 4, "softmax": 12, "probit": 5, "ordinal": 15,
    "negative_binomial": 4,
}  # fmt: skip


@pytest.mark.parametrize("key", list(EXAMPLES))
def test_iterations_to_get_there(key):
    """Where the topics' level is free, as in every estimator."""
    data = simulate(key)
    _, predictions = climb(build(key), data.design, data.y, CoefPrior("flat", 1.0, K), 250)
    off = np.abs(predictions - predictions[-1]) / np.maximum(np.abs(predictions[-1]), 1e-3)
    needed = int(np.argmax(off.reshape(len(off), -1).max(axis=1) < 1e-6)) + 1
    assert needed <= ITERATIONS[key]


@pytest.mark.parametrize(("key", "most"), [("ordinal", 6), ("softmax", 8)])
def test_turns_are_mixed(key, most, monkeypatch):
    """Cut-points and classes take turns with the coefficients. Mixed from the last ones, turns are few."""
    data, response, weight = simulate(key), build(key), np.ones(D)
    turns, higher = [], regression._higher
    monkeypatch.setattr(regression, "_higher", lambda *given: turns.append(1) or higher(*given))
    total, start = Labelled(data.design, data.y, weight).total, first(response, data.design, data.y, weight)
    given = (response, CoefPrior("normal", 0.5, K), total, *start)
    mixed = regression._solve_by_turns(*given, 200, 1e-8)
    assert len(turns) <= most
    monkeypatch.setattr(regression, "_FIRST", 1000)
    turns.clear()
    plain = regression._solve_by_turns(*given, 200, 1e-12)
    assert len(turns) > 1.5 * most
    for one, other in zip(mixed, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize(
    "key", cases(EXAMPLES, ["gaussian", "poisson", "softmax", "ordinal", "weibull", "gamma canonical"])
)
def test_shares_of_a_few_tokens(key):
    """At the end the value is flat: moments of five tokens' mean shares and their normal equations belong together."""
    response, data = build(key), simulate(key, 0 if "canonical" in key else 1)
    design = Design(data.design.mean, np.full(D, 5.0), data.design.covariates)
    whole = Data(design, data.y)
    coef, _, dispersion = fit(response, whole, CoefPrior("normal", 1.0), max_iter=400, tol=-np.inf)

    def value(eta, at=None):
        """For the delta method the density keeps its expansion where the coefficients are."""
        score, moment = design.moments(eta, response.is_product)
        density = response.log_density(data.y, score, moment, dispersion)
        if EXAMPLES[key].how == "delta":
            slope, curvature = at
            density = slope[:, 0] * score[:, 0] - 0.5 * curvature[:, 0] * moment[:, 0]
        return density.sum() - 0.5 * (eta**2).sum()

    at = response.slope_and_curvature(data.y, *design.moments(coef, response.is_product), dispersion)
    step = 1e-5
    for index in np.ndindex(coef.shape):
        along = np.zeros_like(coef)
        along[index] = step
        assert abs(value(coef + along, at) - value(coef - along, at)) / (2 * step) < 0.02


@pytest.mark.parametrize(
    "prior", [FLAT, CoefPrior("normal", 0.7, K), CoefPrior("laplace", 0.3, K)], ids=lambda p: p.name
)
@pytest.mark.parametrize("sigma", [None, 0.8])
def test_a_gaussian_asks_the_documents_once(prior, sigma):
    """Variance and coefficients from one gram are those of turns over the documents."""
    rng = np.random.default_rng(3)
    design = Design(rng.dirichlet(np.full(K, 0.5), D), rng.integers(3, 40, D).astype(float), rng.normal(size=(D, 2)))
    y = 50 + 4 * (design.columns @ rng.normal(size=K + 2)) + rng.normal(size=D)
    y[::7], weight = np.nan, rng.uniform(0.0, 2.0, D)
    response, asked = build("gaussian"), []
    response.sigma = sigma
    start, documents = first(response, design, y, weight), Labelled(design, y, weight)

    def total(function, *arguments, **how):
        asked.append(function)
        return documents.total(function, *arguments, **how)

    found = regress(response, prior, total, *start, **FOREVER)
    assert len(asked) == 2
    coef, dispersion = regression._solve_by_turns(response, prior, documents.total, *start, *FOREVER.values())
    np.testing.assert_allclose(found[0], coef, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[2], dispersion, rtol=1e-7)
    given = (documents, response, found[0], found[2])
    np.testing.assert_allclose(found[1], regression.information(*given), rtol=1e-9)
    assert bool(dispersion[0] == start[1][0]) == (sigma is not None)


def test_a_gaussian_takes_what_the_e_step_has_summed_up(monkeypatch):
    """The documents, asked once more, would say the same: words, covariates, weights, missing labels."""
    rng, steps = np.random.default_rng(4), []
    X, y = rng.poisson(0.3, size=(80, 30)), rng.normal(size=80)
    y[::9] = np.nan

    def compared(response, prior, total, coef, dispersion, known, **limits):
        asked = [total(function, response, coef, dispersion) for function in (dispersion_summary, equations)]
        np.testing.assert_allclose(known[0], asked[0], rtol=1e-6)
        np.testing.assert_allclose(known[1].gram, asked[1].gram, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(known[1].cross, asked[1].cross, rtol=1e-6, atol=1e-9)
        found = regress(response, prior, lambda *asks: pytest.fail("asked"), coef, dispersion, known=known, **limits)
        steps.append(found)
        return found

    monkeypatch.setattr("supertopic.inference.variational.m_step_glm.regress", compared)
    model = SLDARegressor(3, inference="vb", max_iter=4, tol=0, refit=False, cross_fit=0, random_state=0)
    model.fit(X, y, covariates=rng.normal(size=(80, 2)), sample_weight=rng.uniform(0.5, 2.0, 80))
    assert len(steps) == 4


def test_several_responses_are_each_alone():
    """Two columns and more at once, one of them missing here and there: block by block what each finds alone."""
    keys = ["poisson", "softmax", "gamma", "ordinal"]
    data, parts = [simulate(key, 1) for key in keys], [build(key) for key in keys]
    y = np.column_stack([one.y for one in data])
    y[::3, 0] = y[1::4, 1] = y[5:90, 3] = np.nan
    design, weight, together = data[0].design, np.linspace(0.5, 2.0, D), Several(parts)
    rule = {"max_iter": 200, "tol": -np.inf}  # the search for a shape is exact to 1e-7
    start = first(together, design, y, weight)
    coef, gram, dispersion = regress(together, FLAT, Labelled(design, y, weight).total, *start, **rule)
    for part in together.parts():
        own = y[:, part.label]
        start = first(part.response, design, own, weight)
        alone = regress(part.response, FLAT, Labelled(design, own, weight).total, *start, **rule)
        for found in (coef[part.columns], alone[0]):
            if len(found) > 1:  # what all classes share is not known
                found -= found.mean(axis=0)
        np.testing.assert_allclose(coef[part.columns], alone[0], rtol=1e-6)
        np.testing.assert_allclose(gram[part.columns], alone[1], rtol=1e-6)
        np.testing.assert_allclose(dispersion[part.numbers], alone[2], rtol=1e-6, atol=1e-7)  # a cut-point is near 0
        seen = ~np.isnan(own)
        fewer = known(design.mean[seen], design.covariates[seen])
        start = first(part.response, fewer, own[seen], weight[seen])
        without = regress(part.response, FLAT, Labelled(fewer, own[seen], weight[seen]).total, *start, **rule)
        if len(without[0]) > 1:
            without[0][:] -= without[0].mean(axis=0)
        np.testing.assert_allclose(coef[part.columns], without[0], rtol=1e-4, atol=1e-4)


def test_moments_of_the_mean_of_a_few_draws():
    """E[s], E[s²] and E[exp s] of s = coef·(Zbar, x), against all outcomes of three tokens."""
    rng = np.random.default_rng(2)
    mean, covariates, coef = rng.dirichlet(np.ones(K), size=4), rng.normal(size=(4, 2)), rng.normal(size=(2, K + 2))
    lengths, is_product = np.full(4, 3.0), np.array([False, True])
    score, moment = Design(mean, lengths, covariates).moments(coef, is_product)
    draws = np.array(list(np.ndindex(K, K, K)))
    zbar = np.stack([(draws == k).mean(axis=1) for k in range(K)], axis=1)
    probability = mean[:, draws].prod(axis=2)  # (4, outcomes)
    s = (zbar @ coef[:, :K].T)[None] + (covariates @ coef[:, K:].T)[:, None]  # (4, outcomes, 2)
    np.testing.assert_allclose(score, np.einsum("do,doc->dc", probability, s))
    np.testing.assert_allclose(moment[:, 0], np.einsum("do,do->d", probability, s[..., 0] ** 2))
    np.testing.assert_allclose(moment[:, 1], np.einsum("do,do->d", probability, np.exp(s[..., 1])))
    exact = known(mean, covariates).moments(coef, is_product)
    np.testing.assert_allclose(exact[1], moments(Several([build("logit"), build("poisson")]), score, 0.0))


def test_shares_known_exactly_are_the_limit_of_long_documents():
    """Moments and gradient have a way of their own there; a document of 1e9 tokens takes the other."""
    rng = np.random.default_rng(2)
    mean, covariates, coef = rng.dirichlet(np.ones(4), 30), rng.normal(size=(30, 2)), rng.normal(size=(3, 6))
    is_product = np.array([True, False, True])
    slope, curvature = rng.normal(size=(30, 3)), rng.random((30, 3))
    exact, long = (Design(mean, np.full(30, n), covariates) for n in (np.inf, 1e9))
    assert exact.is_exact and not long.is_exact
    moments = [design.moments(coef, is_product) for design in (exact, long)]
    for one, other in zip(*moments, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    given = coef, is_product, moments[0][1], slope, curvature
    np.testing.assert_allclose(exact.gradient(*given), long.gradient(*given), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("key", ["gaussian", "poisson", "softmax"])
def test_documents_in_blocks_say_what_all_say_together(key, monkeypatch):
    """Whoever does the blocks, and in whichever order: the sum is the same, bit for bit."""
    data, response = simulate(key, n_covariates=1), build(key)
    whole = Labelled(data.design, data.y, np.ones(D))
    coef, dispersion = (
        np.random.default_rng(0).normal(size=(response.n_columns, K + 1)),
        response.start(response.describe(data.y, np.ones(D))),
    )
    statistics = (regression.value_and_gradient, dispersion_summary, regression.information)
    expected = [function(whole, response, coef, dispersion) for function in statistics]
    monkeypatch.setattr("supertopic.inference.design._BLOCK", 64)
    sizes = []

    def backwards(calls):
        sizes.append(len(calls))
        for function, *arguments in reversed(calls):
            function(*arguments)

    for function, value in zip(statistics, expected, strict=True):
        part = Labelled(data.design, data.y, np.ones(D))
        found = part.total(function, response, coef, dispersion)
        np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(part.total_by(backwards, function, response, coef, dispersion), found)
    most = whole.total_by(backwards, regression.reach, coef, combine=np.maximum)
    np.testing.assert_array_equal(most, np.abs(data.columns @ coef.T).max(axis=0))
    assert sizes == [5] * 4
    assert whole.total(regression.itself, combine=regression.join).y is data.y
