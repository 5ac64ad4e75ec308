"""FacetedSAGE: scikit-learn's rules, facets by name, missing labels, what it shows, files."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import FacetedSAGE, load
from supertopic.backends.threads import Threads
from supertopic.datasets import load as load_corpus
from supertopic.estimators.beyond.facet_engine import Documents
from supertopic.estimators.beyond.faceted import facet_parts
from supertopic.inference.batches import Batch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.metrics import perplexity
from supertopic.metrics.heldout import completion_split, log_likelihood
from supertopic.priors.base import Rows
from tests.test_facets import simulate

TEXTS = ["tax cut freedom market growth", "tax cut fair share workers"] * 6
TEXTS += ["war troops freedom victory", "war troops home peace"] * 6
FRAME = pd.DataFrame({"party": ["right", "left"] * 12, "year": [2007] * 8 + [2008] * 16, "other": range(24)})


@pytest.fixture(scope="module")
def documents():
    counts, party, _, _ = simulate(n_documents=400)
    return counts, np.array(["left", "right"])[party.astype(int)]


@pytest.fixture(scope="module")
def two_facets(documents):
    counts, party = documents
    year = np.random.default_rng(0).integers(2001, 2004, 400)
    return counts, pd.DataFrame({"year": year, "party": party, "page": range(400)})


@parametrize_with_checks([FacetedSAGE(2, max_iter=5)])
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REFUSED = {
    "topics": ({"n_topics": 0}, "n_topics: got 0, expected a whole number >= 1"),
    "prior": ({"prior": "laplace"}, "prior: got 'laplace', expected 'jeffreys' or 'exponential'"),
    "tol": ({"tol": np.nan}, "tol: got nan, expected a number >= 0"),
    "max_iter": ({"max_iter": 0}, "max_iter: got 0, expected a whole number >= 1"),
    "label_prior": ({"label_prior": "mine"}, "label_prior: got 'mine', expected 'empirical' or 'uniform'"),
    "interaction rate": ({"interaction_gamma": 0}, "interaction_gamma: got 0, expected a number > 0"),
    "alpha": ({"doc_topic_prior": "flat"}, "doc_topic_prior: got 'flat'"),
    "facet": ({"facets": ["side"]}, "facets: got 'side', which is no column of y (party, year, other)"),
    "string": ({"facets": "party"}, "facets: got 'party', expected a list of one or more column names"),
    "topic": ({"facets": ["topic"]}, "facets: got ['topic'], expected different names, none of them 'topic'"),
    "interaction": (
        {"facets": ["party"], "interactions": [("topic", "year")]},
        "interactions: got ('topic', 'year'), expected a list of tuples of two or more of 'topic', 'party'",
    ),
    "single": (
        {"facets": ["party"], "interactions": ["topic"]},
        "interactions: got 'topic', expected a list of tuples",
    ),
    "twice": (
        {"facets": ["party"], "interactions": [("topic", "party"), ("party", "topic")]},
        "which names an interaction twice",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    given, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        FacetedSAGE(**given).fit(TEXTS, FRAME)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "y, message",
    [
        (None, "requires y to be passed"),
        (FRAME["party"][:3], "X has 24 documents, y has 3"),
        (["left"] * 24, "y holds 1 class, 'left'; FacetedSAGE needs 2 or more"),
        ([None] * 24, "y is missing for every document in 'y'; expected some labels"),
        (FRAME.to_numpy()[:, :2], "facets: got 1 names, but y has 2 columns"),
    ],
)
def test_wrong_labels_are_refused_in_a_sentence(y, message):
    facets = ["party"] if isinstance(y, np.ndarray) else None
    with pytest.raises(ValueError, match=re.escape(message)):
        FacetedSAGE(2, facets=facets).fit(TEXTS, y)


def test_labels_of_new_documents(documents):
    counts, party = documents
    model = FacetedSAGE(3, random_state=1).fit(counts[:300], party[:300])
    assert model.score(counts[300:], party[300:]) > 0.9
    found = model.predict_proba(counts[300:])
    assert found.shape == (100, 2) and list(model.classes_) == ["left", "right"]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(counts[300:]), model.classes_[found.argmax(axis=1)])
    shares = model.transform(counts[300:])
    assert shares.shape == (100, 3) and np.allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert np.diff(model.bound_).min() > -1e-4 * abs(model.bound_[-1])
    half = np.where(np.arange(300) % 2, party[:300].astype(object), None)
    assert FacetedSAGE(3).fit(counts[:300], half).score(counts[300:], party[300:]) > 0.85


def test_the_prior_on_labels(documents):
    counts, party = documents
    rows = np.concatenate([np.flatnonzero(party == "left"), np.flatnonzero(party == "right")[:40]])
    model = FacetedSAGE(2).fit(counts[rows], party[rows])
    share = model.predict_proba(counts)[:, 0]
    odds = np.divide(*model.fitted_.more["shares"])
    assert odds == pytest.approx((len(rows) - 40 + 1) / 41)
    model.set_params(label_prior="uniform")
    between = (share > 0.01) & (share < 0.99)
    assert between.any()
    even = model.predict_proba(counts)[between, 0]
    np.testing.assert_allclose(share[between] / (1 - share[between]), odds * even / (1 - even), rtol=1e-3)


def test_interactions_have_a_prior_of_their_own(documents):
    """A larger rate keeps fewer interactions, and finally none. With None they have the prior of all others."""
    counts, party = documents
    rates = {rate: FacetedSAGE(3, interaction_gamma=rate, max_iter=15).fit(counts, party) for rate in (1.0, 10.0, 1e6)}
    zeros = [model.sparsity_["topic × y"] for model in rates.values()]
    assert 0.0 < zeros[0] < zeros[1] < zeros[2] == 1.0
    none = FacetedSAGE(3, interactions=[], max_iter=15).fit(counts, party)
    apart = [np.abs(model.predict_proba(counts) - none.predict_proba(counts)).mean() for model in rates.values()]
    assert apart[0] > 1.5 * apart[1] > 3.0 * apart[2]
    same = [
        FacetedSAGE(3, prior="exponential", gamma=2.0, interaction_gamma=rate, max_iter=5).fit(counts, party)
        for rate in (None, 2.0)
    ]
    np.testing.assert_array_equal(same[0].predict_proba(counts), same[1].predict_proba(counts))
    assert not np.allclose(same[0].predict_proba(counts), rates[1.0].predict_proba(counts))


def test_facets_by_name_and_their_interactions(two_facets):
    counts, frame = two_facets
    asked = {"facets": ["party", "year"], "interactions": [("topic", "party"), ("year", "party")]}
    model = FacetedSAGE(3, max_iter=15, **asked).fit(counts, frame)
    assert list(model.labels_) == ["party", "year"] and model.labels_["year"].tolist() == [2001, 2002, 2003]
    adds = model.deviations_
    assert list(adds) == ["topic", "party", "year", "topic × party", "party × year"]
    assert adds["party"].columns.tolist() == ["left", "right"] and adds["topic"].shape == (150, 3)
    assert adds["party × year"].columns.names == ["party", "year"]
    assert adds["party × year"].columns[:2].tolist() == [("left", 2001), ("left", 2002)]
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in adds["topic × party"].dtypes)
    for part, zeros in model.sparsity_.items():
        assert zeros == pytest.approx(np.mean(adds[part].to_numpy() == 0)) and zeros > 0.3
    logs = model.background_ + adds["topic"].to_numpy().T
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, expected, rtol=1e-4)
    assert model.score(counts, frame, facet="party") > 0.8
    assert set(model.predict(counts, facet="year")) <= {2001, 2002, 2003}
    with pytest.raises(ValueError, match="facet: got 'page', expected one of 'party', 'year'"):
        model.predict(counts, facet="page")
    told = frame.astype(object).assign(party=None)  # the year is known, the party is not
    known = model.predict_proba(counts, "year", labels=told)
    np.testing.assert_allclose(known.max(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.labels_["year"][known.argmax(axis=1)], frame["year"])


def test_what_a_new_author_writes(two_facets):
    """A new facet has no deviations: predictions are those of the model without its components."""
    counts, frame = two_facets
    asked = {"facets": ["party", "year"], "interactions": [("topic", "party"), ("party", "year")]}
    model = FacetedSAGE(3, max_iter=8, **asked).fit(counts, frame)
    adds = {part: frame.to_numpy().T for part, frame in model.deviations_.items()}
    cells = adds["topic"][None] + adds["party"][:, None] + adds["topic × party"].reshape(3, 2, -1).transpose(1, 0, 2)
    tables = softmax(model.background_ + cells, axis=2).reshape(6, -1)
    logs = np.tile(np.log([share.sum() for share in np.split(model.fitted_.more["shares"], 2)]), (400, 1))
    batch = Batch(counts.astype(np.float32), logs, np.ones(len(logs)), 3)
    documents = Documents(batch, logs, LocalLimits(200, 1e-4))
    with Threads(1) as backend:
        documents.infer(tables, Rows.same(model.alpha_, len(logs)), logs, True, backend)
    found = model.predict_proba(counts, "party", new=["year"])
    np.testing.assert_allclose(found, documents.posterior, atol=1e-5)
    assert not np.allclose(found, model.predict_proba(counts, "party"), atol=1e-3)
    assert model.score(counts, frame, "party", new=["year"]) > 0.8
    for new, message in ((["party"], "new: got 'party', which is the facet to be predicted"),
                         (["page"], "new: got 'page', expected a list of some of 'party', 'year'"),
                         ("year", "new: got 'year', expected a list of some of")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.predict(counts, "party", new=new)


def simulate_blogs(seed, n_own):
    """Posts of twelve blogs, six per party. Each blog has words of its own that no party has. Blogs 8 to 11 are new."""
    rng = np.random.default_rng(seed)
    topics, party = rng.dirichlet(np.full(150, 0.5), 2), np.zeros((2, 150))
    party[0, :10] = party[1, 10:20] = 1.0
    counts, blog = [], np.repeat(np.arange(12), 40)
    for b in range(12):
        own = np.zeros(150)
        own[20 + rng.choice(40, n_own, replace=False)] = 2.0
        tables = topics * np.exp(party[b % 2] + own)
        tables /= tables.sum(axis=1, keepdims=True)
        counts += [rng.multinomial(60, share @ tables) for share in rng.dirichlet([0.5, 0.5], 40)]
    sides = np.array(["left", "right"])[blog % 2]
    return sp.csr_matrix(np.array(counts, dtype=np.float32)), pd.DataFrame({"party": sides, "blog": blog}), blog >= 8


@pytest.mark.slow
def test_a_facet_takes_from_another_what_is_its_own():
    """Prediction of the party for new blogs is better if a facet "blog" explains the words of single blogs."""
    found = []
    for seed in range(4):
        counts, frame, new = simulate_blogs(seed, 12)
        party, both = (
            FacetedSAGE(2, facets=facets, interactions=[], max_iter=20).fit(counts[~new], frame[~new])
            for facets in (["party"], ["party", "blog"])
        )
        asked = counts[new], frame[new]
        found.append([party.score(*asked), both.score(*asked), both.score(*asked, new=["blog"])])
    alone, among_those_known, as_new = np.mean(found, axis=0)
    assert as_new > max(alone, among_those_known) + 0.05


@pytest.mark.slow
def test_documents_without_labels_are_learned_from():
    """Prediction for new blogs is better if their posts take part in the fit, with their party missing."""
    found = []
    for seed in range(4):
        counts, frame, new = simulate_blogs(seed, 6)
        told = frame["party"].astype(object).where(~new, None)
        left_out = FacetedSAGE(2, max_iter=20).fit(counts[~new], told[~new])
        within = FacetedSAGE(2, max_iter=20).fit(counts, told)
        found.append([model.score(counts[new], frame["party"][new]) for model in (left_out, within)])
    left_out, within = np.mean(found, axis=0)
    assert within > left_out + 0.08


def test_only_combinations_that_occur_have_cells(two_facets):
    counts, frame = two_facets
    frame = frame.assign(year=np.where(frame["party"] == "left", 2001, 2002))
    model = FacetedSAGE(2, facets=["party", "year"], max_iter=3).fit(counts, frame)
    assert model.fitted_.more["combinations"].tolist() == [[0, 0], [1, 1]]
    never = pd.DataFrame({"party": ["left", None] * 10, "year": [None, 2001] * 5 + [None, 2002] * 5}, dtype=object)
    never.loc[0, "party"] = "right"
    model = FacetedSAGE(2, max_iter=3).fit(counts[:20], never)
    assert model.fitted_.more["combinations"].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_words_and_explanations():
    model = FacetedSAGE(2, facets=["party"], prior="exponential").fit(TEXTS, FRAME)
    assert list(model.predict(["fair workers at home", "freedom market"])) == ["left", "right"]
    top = model.adds(3, "deviation")
    assert list(top.columns) == ["part", "component", "rank", "word", "deviation"]
    assert all(isinstance(name, str) for name in top["component"]) and len(top.groupby(["part", "component"]))
    assert {"topic", "party"} <= set(top["part"]) <= {"topic", "party", "topic × party"}
    assert (top["deviation"] > 0).all()
    said = model.explain("tax freedom")
    assert list(said.columns) == ["word", "count", "left", "right"]
    assert said.set_index("word").loc["freedom", "right"] > 0.1
    np.testing.assert_allclose(said["left"] + said["right"], 0, atol=1e-9)
    with pytest.raises(ValueError, match="by: got 'magic', expected 'contribution' or 'deviation'"):
        model.adds(3, "magic")


def test_a_saved_model_is_the_same_model(tmp_path):
    model = FacetedSAGE(2, facets=["year", "party"], interactions=[("topic", "party")], max_iter=5).fit(TEXTS, FRAME)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert type(again) is FacetedSAGE and again.interactions_ == model.interactions_
    assert again.get_params()["facets"] == ["year", "party"]
    np.testing.assert_array_equal(again.predict_proba(TEXTS, "party"), model.predict_proba(TEXTS, "party"))
    np.testing.assert_array_equal(again.predict(TEXTS, "year"), model.predict(TEXTS, "year"))
    np.testing.assert_array_equal(again.components_, model.components_)
    for part, frame in model.deviations_.items():
        pd.testing.assert_frame_equal(again.deviations_[part], frame)


def test_threads_and_clones_change_nothing(documents):
    counts, party = documents
    one = FacetedSAGE(3, max_iter=6).fit(counts, party)
    several = clone(one).set_params(n_jobs=3).fit(counts, party)
    np.testing.assert_array_equal(one.predict_proba(counts), several.predict_proba(counts))
    np.testing.assert_array_equal(one.bound_, several.bound_)
    other = clone(one).set_params(random_state=5).fit(counts, party)
    assert not np.array_equal(one.components_, other.components_)


@pytest.mark.slow
def test_ideology_of_political_blogs(data_dir):
    """Two blogs are left out: accuracy above chance, sparsity as in the paper, limited time."""
    data = load_corpus("poliblog5k_bow", data_dir)
    left_out = data.frame["blog"].isin(["ha", "tp"]).to_numpy()
    model = FacetedSAGE(10, facets=["rating"], max_iter=20).fit(data.counts[~left_out], data.frame[~left_out])
    assert model.score(data.counts[left_out], data.frame[left_out]) > 0.6
    zeros = model.sparsity_
    assert zeros["rating"] > 0.6 and zeros["topic × rating"] > zeros["topic"] > 0.5


def test_perplexity_sums_over_the_labels(two_facets):
    """p(w) = sum over combinations of p(labels) p(w | labels); labels that are known take the others out."""
    counts, frame = two_facets
    model = FacetedSAGE(3, facets=["party", "year"], max_iter=15).fit(counts[:300], frame[:300])
    new, told = counts[300:], frame[300:]
    combinations, shares = (model.fitted_.more[name] for name in ("combinations", "shares"))
    tables = facet_parts(model.fitted_).tables(model._design(model.fitted_)).reshape(len(combinations), 3, -1)
    given = {"method": "left_to_right", "random_state": 5, "n_particles": 10}
    under = np.stack([log_likelihood(topics.T, model.alpha_, new, **given)[0] for topics in tables], axis=1)
    n_tokens = new.sum()
    expected = np.exp(-logsumexp(under + np.log(shares), axis=1).sum() / n_tokens)
    assert model.perplexity(new, **given) == pytest.approx(expected, rel=1e-9)
    assert perplexity(model, new, **given) == pytest.approx(expected, rel=1e-9)
    values = [model.labels_["party"][combinations[:, 0]], model.labels_["year"][combinations[:, 1]]]
    own = [np.flatnonzero((values[0] == p) & (values[1] == y))[0] for p, y in told[["party", "year"]].to_numpy()]
    known = np.exp(-under[np.arange(len(own)), own].sum() / n_tokens)
    assert model.perplexity(new, labels=told[["party", "year"]], **given) == pytest.approx(known, rel=1e-9)
    half = model.perplexity(new)
    seen, rest = completion_split(new, 0)
    posterior = model._posterior(seen, None, model._view([]))
    by_hand = np.stack([log_likelihood(topics.T, model.alpha_, new, random_state=0)[0] for topics in tables], axis=1)
    expected = np.exp(-logsumexp(by_hand, b=posterior, axis=1).sum() / rest.sum())
    assert half == pytest.approx(expected, rel=1e-6)
    topics_alone = np.exp(-log_likelihood(model.components_.T, model.alpha_, new)[0].sum() / rest.sum())
    assert half < topics_alone - 1


def test_labels_prevalence_and_deviations_in_one_model(data_dir, tmp_path):
    """Political blogs: a response that is missing in part, shares by date, words by side; saved, told, explained."""
    pytest.importorskip("formulaic")
    data = load_corpus("poliblog5k_bow", data_dir)
    some = np.random.default_rng(0).permutation(5000)[:1500]
    counts, frame = data.counts[some], data.frame.iloc[some].reset_index(drop=True)
    hidden, side = np.arange(1500) < 500, frame[["rating"]].astype(object)
    side.loc[hidden, "rating"] = None
    about = frame[["day", "blog"]]
    model = FacetedSAGE(6, facets=["rating"], prevalence="~ spline(day, 3)", max_iter=15)
    model.fit(counts, side, metadata=about, groups="blog")
    assert np.diff(model.bound_).min() > 0
    found = model.predict(counts[hidden], metadata=about[hidden])
    assert np.mean(found == frame.rating[hidden]) > 0.75
    assert model.score(counts[~hidden], frame[["rating"]][~hidden]) > 0.9
    table = model.prevalence_coef_
    assert len(table) == 6 * 4 and (table.std_error > 0).all()
    assert (np.abs(table.coef / table.std_error)[table.term != "(average)"] > 3).any()
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    given = {"metadata": about[:50]}
    np.testing.assert_array_equal(again.transform(counts[:50], **given), model.transform(counts[:50], **given))
    assert np.abs(model.transform(counts[:50], **given) - model.transform(counts[:50])).max() > 0.001
    np.testing.assert_array_equal(again.predict(counts[hidden], metadata=about[hidden]), found)
    effects = model.estimate_effect("~ rating", frame)
    assert "Errors by 6 groups of blog" in effects.summary().attrs["below"][1]
    with pytest.raises(ValueError, match="refits: a FacetedSAGE"):
        model.estimate_effect("~ rating", frame, refits=2)
    assert list(model.explain(counts[0]).columns[2:]) == ["Conservative", "Liberal"]
    model.report(tmp_path / "page.html", counts, frame[["rating"]], metadata=about, effects=effects)
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_labels_that_are_numbers_name_a_model_for_numbers(two_facets):
    counts, frame = two_facets
    with pytest.raises(ValueError, match="for numbers use SLDARegressor instead of FacetedSAGE"):
        FacetedSAGE(2).fit(counts, frame[["party"]].assign(party=np.linspace(0.1, 0.9, len(frame))))
