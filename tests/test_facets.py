"""Topics under labels: Newton steps and recovery of components; EM over documents whose labels may be missing."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, logsumexp, softmax

from supertopic.backends.threads import Threads
from supertopic.emissions.deviations import penalty_table
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.beyond import facet_engine as faceted
from supertopic.estimators.beyond.components import CellDesign, Components, FacetPrior, first_components, fit_components
from supertopic.estimators.beyond.facet_engine import Documents, fit_faceted
from supertopic.estimators.beyond.faceted_sage import ObservedLabels
from supertopic.inference.batches import Batch
from supertopic.inference.settings import EMSettings
from supertopic.inference.task import Task, Watch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.deviations import FLOOR, step_components, weigh
from supertopic.model import Model
from supertopic.priors.base import Rows
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.priors.regression import RegressionPrior
from tests import naive_facets, naive_sage
from tests.cases import cases

PRIORS = {
    "jeffreys": FacetPrior("jeffreys"),
    "exponential": FacetPrior("exponential", gamma=0.5),
    "both": FacetPrior("jeffreys", interaction_gamma=5.0),
}
EVERYTHING = [("topic", "party"), ("party", "year"), ("topic", "party", "year")]


def design_of(n_topics=3, interactions=EVERYTHING):
    """Two parties, three years; one combination never occurs."""
    combinations = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]])
    return CellDesign.of(n_topics, {"party": 2, "year": 3}, combinations, interactions)


def unlabelled(counts, n_topics, known=None):
    n = counts.shape[0]
    return Batch(sp.csr_matrix(counts, dtype=np.float32), np.zeros(n), np.ones(n), n_topics, known=known)


def random_counts(design, n_words=60, seed=0, tokens=400):
    rng = np.random.default_rng(seed)
    eta = np.where(
        rng.random((design.n_components, n_words)) < 0.1, rng.normal(0, 2, (design.n_components, n_words)), 0
    )
    background = np.log(rng.dirichlet(np.full(n_words, 0.5)) + 1e-6)
    tables = Components(background, eta).tables(design)
    counts = np.stack([rng.multinomial(tokens, row) for row in tables]).astype(np.float64)
    counts[:, :2] = 0  # two words that never occur
    return counts


def parts_of(design):
    """The components of each cell, by hand."""
    return [
        [rows.start + int(group.component[s]) for group, rows in zip(design.groups, design.slices, strict=True)]
        for s in range(len(design.groups[0].component))
    ]


def test_a_cell_is_the_sum_of_its_components():
    design = design_of()
    assert design.n_components == 3 + 2 + 3 + 6 + 6 + 18
    party, both = design.groups[1], design.groups[3]
    assert party.component.tolist() == [0] * 9 + [1] * 6
    assert both.component.tolist() == [0, 2, 4] * 3 + [1, 3, 5] * 2  # topic first, then party
    rng = np.random.default_rng(0)
    eta, background = rng.normal(size=(design.n_components, 20)), rng.normal(size=20)
    expected = naive_facets.cell_logs(background, eta, parts_of(design))
    np.testing.assert_allclose(np.log(Components(background, eta).tables(design)), expected, atol=1e-12)


def test_labels_alone_have_one_cell_for_each_combination():
    alone = design_of().labels_alone
    assert [group.factors for group in alone.groups] == [("party",), ("year",), ("party", "year")]
    assert alone.groups[0].component.tolist() == [0, 0, 0, 1, 1]
    assert alone.groups[1].component.tolist() == [0, 1, 2, 0, 2]


def test_logs_of_any_size_are_normalised():
    design = design_of()
    tables = Components(np.full(4, 1000.0), np.zeros((design.n_components, 4))).tables(design)
    np.testing.assert_allclose(tables, 0.25)


def test_first_components_say_what_most_cells_say():
    """A word of a single cell deviates in the interaction, not in the topic, the label or the background."""
    design = CellDesign.of(3, {"party": 3}, np.array([[0], [1], [2]]), [("topic", "party")])
    counts = np.full((9, 50), 100.0)
    counts[6, 0] = 3000.0  # topic 0 under party 2
    counts[:, 49] = 0.0
    for background in ("fitted", "corpus"):
        found = first_components(counts, design, FacetPrior(background=background, unseen=0.2))
        topic, party, both = (found.eta[rows] for rows in design.slices)
        told = found.background[None] + topic[0] + party[2] + both[2]  # components are topic first, then party
        expected = np.log(counts[6, 0] / counts[6, 1])
        assert told[0, 0] - told[0, 1] == pytest.approx(expected, abs=0.05)
        if background == "fitted":
            assert both[2, 0] - both[2, 1] > 3.2
            assert abs(topic[0, 0] - topic[0, 1]) < 0.1 and abs(party[2, 0] - party[2, 1]) < 0.1
            assert found.background[0] - found.background[1] == pytest.approx(0, abs=0.05)
        else:
            total = counts.sum() + 0.2
            assert found.background[49] == pytest.approx(np.log(0.2 / total))
            assert found.background[0] == pytest.approx(np.log(counts[:, 0].sum() / total))


def test_what_topics_and_labels_might_both_say_is_the_labels():
    design = CellDesign.of(2, {"party": 2}, np.array([[0], [1]]), [])
    counts = np.zeros((4, 20))
    counts[[0, 3]] = 100.0  # each party has a topic of its own
    counts[0, 0] = 1000.0
    topic, party = (first_components(counts, design, FacetPrior()).eta[rows] for rows in design.slices)
    assert np.ptp(party[:, 0]) > 0.9 > 0.6 > np.ptp(topic[:, 0])


@pytest.mark.parametrize("name", ["jeffreys", "exponential"])
@pytest.mark.parametrize("cells", [[2], [0, 1, 3]])
def test_a_step_is_newtons(name, cells):
    """Gradient and, for one cell, Hessian by differences; for several cells, beta beta' of the pooled cells is used."""
    prior, rng = PRIORS[name], np.random.default_rng(1)
    n_words = 8
    counts = rng.integers(5, 60, (4, n_words)).astype(np.float64)
    totals = counts.sum(axis=1)
    base = rng.normal(size=(4, n_words))
    seen = counts[cells].sum(axis=0)
    expected = np.exp(base[cells]).T @ (totals[cells] / np.exp(base[cells]).sum(axis=1))
    eta = np.log(seen / expected) + 0.3
    eta[3] = 0.0
    free = np.flatnonzero(eta)
    weight = np.array([weigh(value, prior.rate, penalty_table())[0] for value in eta[free]])

    def value(part):
        whole = np.insert(part, 3, 0.0)
        fit = sum(counts[s] @ whole - totals[s] * logsumexp(base[s] + whole) for s in cells)
        return fit - 0.5 * np.sum(weight * part**2)

    gradient, hessian = naive_sage.differences(value, eta[free])
    if len(cells) > 1:
        pooled = (totals[cells] @ softmax(base[cells] + eta, axis=1))[free]
        hessian = np.outer(pooled, pooled) / totals[cells].sum() - np.diag(pooled + weight)
    after = eta[None].copy()
    tables = np.exp(base)
    tables[cells] *= np.exp(eta)
    partition = tables.sum(axis=1)
    untouched = tables[[s for s in range(4) if s not in cells]].copy()
    given = (np.array([0, len(cells)]), np.array(cells), seen[None], totals, prior.rate, penalty_table())
    step_components(
        0, 1, *given, after, tables, partition, np.empty(n_words, dtype=np.int32), np.empty((5, n_words))
    )  # fmt: skip
    np.testing.assert_allclose(after[0, free], eta[free] - np.linalg.solve(hessian, gradient), rtol=1e-4, atol=1e-5)
    assert after[0, 3] == 0.0
    np.testing.assert_allclose(tables[cells], np.exp(base[cells] + after), rtol=1e-12)
    np.testing.assert_array_equal(tables[[s for s in range(4) if s not in cells]], untouched)
    np.testing.assert_allclose(partition, tables.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(("share", "kept"), [(0.5, False), (0.9, True)])
def test_a_small_deviation_is_dropped_only_where_zero_is_better(share, kept):
    """Two words are expected to be alike: with even counts a deviation says nothing, with others it has just begun."""
    counts, eta, tables = (
        np.array([[1000.0 * share, 1000.0 * (1 - share)]]),
        np.full((1, 2), 0.5 * FLOOR),
        np.ones((1, 2)),
    )
    given = (np.array([0, 1]), np.array([0]), counts, counts.sum(axis=1), PRIORS["exponential"].rate, penalty_table())
    step_components(0, 1, *given, eta, tables, np.array([2.0]), np.empty(2, dtype=np.int32), np.empty((5, 2)))
    assert np.all((eta != 0.0) == kept)


@pytest.mark.parametrize("background", ["fitted", "corpus"])
@pytest.mark.parametrize("name", PRIORS)
def test_the_objective_never_falls(name, background):
    prior, design = replace(PRIORS[name], background=background), design_of()
    counts = random_counts(design)
    found = first_components(counts, design, prior)
    assert np.all(found.eta[design.slices[0]] != 0)
    values, unseen = [], counts.sum(axis=0) == 0
    with Threads(1) as backend:
        for _ in range(61):
            value = naive_facets.likelihood(counts, found.background, found.eta, parts_of(design))
            value -= naive_facets.log_penalty(found.eta, design, prior)
            values.append(value + prior.unseen * found.background[unseen].sum())
            found = fit_components(counts, design, prior, backend, found)
    assert np.diff(values).min() > -1e-8 * abs(values[-1]) and values[-1] > values[0] + 100
    np.testing.assert_allclose(np.exp(found.background).sum(), 1)
    zeros = np.mean(found.eta == 0)
    assert (0.2 if name == "exponential" else 0.8) < zeros < 0.99
    if background == "fitted":  # at the optimum of the background, expected and seen counts agree
        told = counts.sum(axis=1) @ found.tables(design)
        told += unseen.sum() * prior.unseen * np.exp(found.background)
        np.testing.assert_allclose(told, counts.sum(axis=0) + prior.unseen * unseen, rtol=0.02, atol=0.5)


@pytest.mark.parametrize(("size", "tokens"), [(2.0, 30_000), (1.0, 30_000), (0.5, 100_000)])
def test_the_support_of_sparse_components_is_recovered(size, tokens):
    """Precision and recall are above 0.9 for topics, labels and interactions; deviations below size / 2 count as zero.

    50 tokens of a word in a cell do for deviations of 1, a factor of e; deviations of 0.5 need 170.
    """
    rng = np.random.default_rng(3)
    n_words = 600
    design = CellDesign.of(4, {"party": 3}, np.array([[0], [1], [2]]), [("topic", "party")])
    eta = np.zeros((design.n_components, n_words))
    order = rng.permutation(n_words)  # each word deviates in one component at most, which makes eta identified
    for i, words in enumerate(np.split(order[: 10 * design.n_components], design.n_components)):
        eta[i, words] = size
    background = np.log(rng.dirichlet(np.full(n_words, 20.0)))
    counts = np.stack([rng.multinomial(tokens, row) for row in Components(background, eta).tables(design)])
    prior = FacetPrior("jeffreys")
    found = first_components(counts.astype(float), design, prior)
    with Threads(2) as backend:
        found = fit_components(counts.astype(float), design, prior, backend, found, 100)
    for rows in design.slices:
        large = np.abs(found.eta[rows]) > size / 2
        hits = np.count_nonzero(large & (eta[rows] != 0))
        assert hits / large.sum() > 0.9 and hits / np.count_nonzero(eta[rows]) > 0.9
        assert np.mean(found.eta[rows] == 0) > 0.75
    told = np.abs(np.log(found.tables(design)) - np.log(Components(background, eta).tables(design)))
    assert np.quantile(told, 0.99) < 0.5


def test_threads_change_nothing():
    design, prior = design_of(), FacetPrior()
    counts = random_counts(design)
    starts, found, costs = [], [], []
    for n_jobs in (1, 3):
        with Threads(n_jobs) as backend:
            starts.append(first_components(counts, design, prior, backend.all))
            found.append(fit_components(counts, design, prior, backend, starts[-1], 5))
            costs.append(prior.penalties(found[-1].eta, design, backend.all))
    for one, other in (starts, found):
        np.testing.assert_array_equal(one.eta, other.eta)
    assert not np.array_equal(starts[0].eta, found[0].eta)
    assert costs[0] == costs[1] == pytest.approx(naive_facets.log_penalty(found[0].eta, design, prior), rel=1e-12)


# --- documents ------------------------------------------------------------------------------------------------------


def simulate(n_documents=300, n_topics=3, n_words=150, length=50, seed=0):
    """Documents, their parties, and the true model: many words of topics, fewer of parties and interactions."""
    rng = np.random.default_rng(seed)
    design = CellDesign.of(n_topics, {"party": 2}, np.array([[0], [1]]), [("topic", "party")])
    number = [group.n_components for group in design.groups]
    share, size = np.repeat([0.2, 0.05, 0.03], number)[:, None], np.repeat([2.5, 1.5, 1.5], number)[:, None]
    eta = np.where(rng.random((design.n_components, n_words)) < share, size, 0.0)
    truth = Components(np.log(rng.dirichlet(np.full(n_words, 2.0))), eta)
    tables = truth.tables(design)
    party = rng.integers(0, 2, n_documents)
    theta = rng.dirichlet(np.full(n_topics, 0.3), n_documents)
    mixed = np.einsum("dk,dkw->dw", theta, tables.reshape(2, n_topics, -1)[party])
    counts = np.stack([rng.multinomial(length, row / row.sum()) for row in mixed])
    return sp.csr_matrix(counts.astype(np.float32)), party.astype(float), design, truth


def test_posterior_over_labels_against_every_assignment():
    """The bound is below the evidence and close to it. The posterior is the softmax of bounds plus log priors."""
    rng = np.random.default_rng(0)
    words, alpha, logs = [0, 2, 2, 3, 1], np.array([0.4, 0.7]), np.log([[0.3, 0.7]])
    tables = rng.dirichlet(np.ones(4), 4)
    counts = sp.csr_matrix(np.bincount(words, minlength=4)[None].astype(np.float32))
    documents = Documents(unlabelled(counts, 2), logs, LocalLimits(500, 1e-6))
    with Threads(1) as backend:
        bound = documents.infer(tables, Rows.same(alpha, 1), logs, True, backend)
    exact = np.array([naive_facets.log_evidence(words, tables[a * 2 : a * 2 + 2], alpha) for a in (0, 1)])
    found = np.array([candidates.bound[0] for candidates in documents.candidates])
    assert np.all(found <= exact) and np.all(found > exact - 0.5)
    np.testing.assert_allclose(documents.posterior[0], softmax(found + logs[0]), rtol=1e-6)
    np.testing.assert_allclose(bound, logsumexp(found + logs[0]), rtol=1e-9)
    np.testing.assert_allclose(documents.expected_counts(Threads(1)).sum(), 5, rtol=1e-5)


def test_with_one_topic_the_posterior_is_bayes_rule():
    counts, _, _, _ = simulate(n_topics=1)
    rng = np.random.default_rng(1)
    tables, logs = rng.dirichlet(np.ones(150), 2), np.tile(np.log([0.3, 0.7]), (300, 1))
    logs[0, 1] = -np.inf  # the first document is known to have the first label
    documents = Documents(unlabelled(counts, 1), logs, LocalLimits())
    with Threads(1) as backend:
        bound = documents.infer(tables, Rows.same(np.ones(1), counts.shape[0]), logs, True, backend)
        words = documents.expected_counts(backend)
    joint = counts @ np.log(tables.T) + logs
    np.testing.assert_allclose(documents.posterior, softmax(joint, axis=1), atol=1e-4)
    np.testing.assert_allclose(bound, logsumexp(joint, axis=1).sum(), rtol=1e-5)
    np.testing.assert_allclose(words, (counts.T @ softmax(joint, axis=1)).T, rtol=1e-3, atol=1e-3)


def fit(counts, party, design, prior="jeffreys", n_jobs=1, max_iter=40, tol=0.0):
    labels = ObservedLabels.of(party[:, None], np.array([[0], [1]]))
    alpha = DirichletPrior.parse("auto", design.n_topics)
    model = Model(design.n_topics, DirichletTopics(0.0), alpha)
    settings = EMSettings(max_iter=max_iter, tol=tol, max_doc_iter=200, doc_tol=1e-4)
    with Threads(n_jobs) as backend:
        task = Task(model, Batch(counts, party, np.ones(len(party)), model.n_topics), settings, 0, backend)
        found = fit_faceted(labels, design, PRIORS[prior], task, Watch(lambda *_, **__: None, None))
    np.testing.assert_array_equal(labels.shares, 0.5)  # a fit does not change the label model it is given
    return found, found.labels


@pytest.mark.parametrize(("prior", "missing"), cases(product(PRIORS, [0.0, 0.5]), [("jeffreys", 0.0), ("both", 0.5)]))
def test_the_bound_never_falls(prior, missing):
    counts, party, design, _ = simulate()
    party[np.random.default_rng(0).random(300) < missing] = np.nan
    found, labels = fit(counts, party, design, prior)
    assert len(found.trace) == 40 and np.diff(found.trace).min() > -2e-5 * abs(found.trace[-1])
    assert found.trace[-1] > found.trace[0] + 0.01
    np.testing.assert_allclose(found.doc_topic.sum(axis=1), 1, rtol=1e-5)
    known = ~np.isnan(party)
    np.testing.assert_array_equal(found.posterior[known].argmax(axis=1), party[known])
    np.testing.assert_allclose(found.posterior[known].max(axis=1), 1)
    number = found.posterior.sum(axis=0) + 1
    np.testing.assert_allclose(labels.shares, number / number.sum(), atol=0.02)


def test_a_fit_stops_once_the_bound_gains_little():
    counts, party, design, _ = simulate(n_documents=100)
    found, _ = fit(counts, party, design, max_iter=60, tol=1e-3)
    gains = np.diff(found.trace)
    assert 3 < len(found.trace) < 60 and gains[-1] < 1e-3 * abs(found.trace[-1]) < gains[0]


def test_where_a_fresh_start_lets_the_bound_fall_documents_go_on_from_where_they_were(monkeypatch):
    counts, party, design, _ = simulate(n_documents=60)
    infer, calls = Documents.infer, []

    def falling(self, tables, alpha, logs, fresh, backend):
        before = [candidates.gamma.copy() for candidates in self.candidates]
        bound = infer(self, tables, alpha, logs, fresh, backend)
        calls.append((fresh, before, [candidates.gamma.copy() for candidates in self.candidates]))
        return bound - 1e6 * (len(calls) == 5)

    monkeypatch.setattr(Documents, "infer", falling)
    found, _ = fit(counts, party, design, max_iter=8)
    assert [fresh for fresh, _, _ in calls] == [True] * 5 + [False] * 5
    for at_start, at_end in zip(calls[5][1], calls[3][2], strict=True):
        np.testing.assert_array_equal(at_start, at_end)  # the fifth call, after which the bound fell, has no effect
    assert np.diff(found.trace).min() > -2e-5 * abs(found.trace[-1])


@pytest.mark.parametrize("prior", PRIORS)
def test_the_bound_is_that_of_documents_labels_and_deviations(prior):
    counts, party, design, _ = simulate(n_documents=60)
    found, labels = fit(counts, party, design, prior, max_iter=1)
    documents = Documents(unlabelled(counts, 3), labels.logs(), LocalLimits(200, 1e-4))
    with Threads(1) as backend:
        rows = Rows.same(found.state.alpha, counts.shape[0])
        bound = documents.infer(found.components.tables(design), rows, labels.logs(), True, backend)
    bound += 2 * np.log(0.5) - naive_facets.log_penalty(found.components.eta, design, PRIORS[prior])
    assert found.trace[0] * float(counts.sum()) == pytest.approx(bound, rel=1e-9)


def test_first_topics_are_of_words_without_what_labels_add(monkeypatch):
    counts, party, design, _ = simulate(n_documents=200)
    party[:50] = np.nan
    given = []

    def online_counts(damped, n_topics, alpha, seed, backend):
        given.append(damped)
        return np.ones((damped.shape[1], n_topics), dtype=np.float32)

    monkeypatch.setattr(faceted, "online_counts", online_counts)
    logs = ObservedLabels.of(party[:, None], np.array([[0], [1]])).logs()
    with Threads(1) as backend:
        tables = faceted._first_tables(counts, logs, design, PRIORS["jeffreys"], np.ones(3), 0, backend)
    change = np.log(given[0].data / counts.data)
    label = np.repeat(party, np.diff(counts.indptr))
    np.testing.assert_array_equal(change[np.isnan(label)], 0.0)  # documents without a label are not damped
    for a in (0, 1):
        mine, added = label == a, np.log(tables[a * 3])  # all topics are equal here
        total = change[mine] + added[counts.indices[mine]]
        np.testing.assert_allclose(total, total[0], atol=1e-4)
        assert np.std(change[mine]) > 0.1


def test_alpha_is_learned_once_topics_have_settled():
    counts, party, design, _ = simulate()
    first = DirichletPrior.parse("auto", 3).start
    np.testing.assert_array_equal(fit(counts, party, design, max_iter=3)[0].state.alpha, first)
    found, labels = fit(counts, party, design, max_iter=60)
    documents = Documents(unlabelled(counts, 3), labels.logs(), LocalLimits(200, 1e-4))
    with Threads(1) as backend:
        rows = Rows.same(found.state.alpha, counts.shape[0])
        documents.infer(found.components.tables(design), rows, labels.logs(), True, backend)
    gamma = np.zeros((300, 3))
    for candidates in documents.candidates:
        gamma[candidates.rows] = candidates.gamma
    seen = (digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))).mean(axis=0)
    said = documents.summarise(DirichletPrior(found.state.alpha), found.state.alpha)
    np.testing.assert_allclose(said / counts.shape[0], [*seen, 1.0], rtol=1e-6)
    # at the maximum over alpha, E[log theta] under the prior is its mean over the documents
    np.testing.assert_allclose(digamma(found.state.alpha) - digamma(found.state.alpha.sum()), seen, atol=0.02)


def test_missing_labels_are_found_and_topics_too():
    counts, party, design, truth = simulate(n_documents=600)
    hidden = np.random.default_rng(0).random(600) < 0.5
    found, _ = fit(counts, np.where(hidden, np.nan, party), design, max_iter=60)
    assert np.mean(found.posterior[hidden].argmax(axis=1) == party[hidden]) > 0.93
    told, expected = found.components.tables(design), truth.tables(design)
    nearest = np.abs(told[:, None] - expected).sum(axis=2).min(axis=0) / 2
    assert nearest.mean() < 0.08


def test_threads_change_no_fit():
    counts, party, design, _ = simulate(n_documents=100)
    party[:30] = np.nan
    one, several = fit(counts, party, design, max_iter=8)[0], fit(counts, party, design, n_jobs=3, max_iter=8)[0]
    np.testing.assert_array_equal(one.components.eta, several.components.eta)
    np.testing.assert_array_equal(one.trace, several.trace)


def test_shares_by_metadata_are_summed_by_the_posterior_of_labels():
    """Each document has its own row of alpha; E[log theta] is the mean over what its labels may be."""
    rng = np.random.default_rng(3)
    counts = sp.csr_matrix(rng.poisson(1.0, (30, 8)).astype(np.float32))
    tables = rng.dirichlet(np.ones(8), 4)  # two topics under two labels
    logs = np.log(rng.dirichlet(np.ones(2), 30))
    logs[:10, 0] = -np.inf
    kind = rng.integers(0, 3, 30)
    prior = RegressionPrior(np.zeros((3, 2)), lambda known: np.eye(3)[known["kind"]], np.ones(3))
    batch, alpha = unlabelled(counts, 2, {"kind": kind}), rng.normal(size=(3, 2))
    documents = Documents(batch, logs, LocalLimits(500, 1e-7))
    with Threads(1) as backend:
        bound = documents.infer(tables, prior.rows(alpha, batch), logs, True, backend)
        single, log_theta = 0.0, np.zeros((3, 2))
        for d in range(30):
            one = Documents(unlabelled(counts[d], 2), logs[[d]], LocalLimits(500, 1e-7))
            single += one.infer(tables, Rows.same(np.exp(alpha[kind[d]]), 1), logs[[d]], True, backend)
            for a, candidates in enumerate(one.candidates):
                for gamma in candidates.gamma.astype(np.float64):
                    log_theta[kind[d]] += one.posterior[0, a] * (digamma(gamma) - digamma(gamma.sum()))
    assert bound == pytest.approx(single, rel=1e-6)
    order = [int(np.flatnonzero(row)[0]) for row in np.unique(np.eye(3), axis=0)]
    np.testing.assert_allclose(
        documents.summarise(prior, alpha), prior.summarise(alpha, batch, log_theta[order]), rtol=1e-5
    )
