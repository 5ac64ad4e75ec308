"""`prevalence=`: topic shares that depend on metadata, through the public interface."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from supertopic import LDA, SVI, Prevalence, SLDAClassifier, SLDARegressor, Stream, load
from supertopic.backends.threads import Threads
from supertopic.documents.known import Known
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.fitted.share_priors import Standard
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.task import Task
from supertopic.metrics import align_topics
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from tests import naive_pc
from tests.cli_tools import fails, misused, run
from tests.priors import documents
from tests.test_new_prior import GroupPrior

pytestmark = pytest.mark.filterwarnings("ignore:Documents without a word")
COEF = np.array([[-1.0, -1.2, -0.8], [1.5, -1.0, 0.0], [0.0, 0.5, -0.5]])  # level, right, a decade
Y = np.array([3.0, -1.0, 1.0])


@pytest.fixture(scope="module")
def data():
    """(counts, metadata, topics, shares) of documents of two parties in 40 years."""
    rng = np.random.default_rng(0)
    party, year = rng.choice(["left", "right"], 800), rng.integers(1980, 2020, 800)
    x = np.column_stack([np.ones(800), party == "right", (year - 2000) / 10])
    batch, topics, shares = documents(np.exp(x @ COEF), length=60)
    return batch.counts, pd.DataFrame({"party": party, "year": year}), topics, shares


def coefficients(model, topics):
    """(terms, topics) in the order of the true topics."""
    table = model.prevalence_coef_.pivot(index="term", columns="topic", values="coef")
    return table.loc[["party=right", "year"], align_topics(topics, model.components_)[0]].to_numpy()


@pytest.mark.parametrize("inference", ["vb", "cvb0", "svi", "gibbs"])
def test_coefficients_come_back(data, inference):
    counts, metadata, topics, _ = data
    given = {"inference": SVI(batch_size=50), "max_iter": 30} if inference == "svi" else {"inference": inference}
    given |= {"max_iter": 120} if inference == "gibbs" else {}
    model = LDA(3, prevalence="~ party + year", n_jobs=2, **given).fit(counts, metadata=metadata)
    expected = COEF[1:] * [[1.0], [0.1]]
    assert (np.abs(coefficients(model, topics) - expected) < [[0.45], [0.035]]).all()
    table = model.prevalence_coef_
    assert list(table.columns) == ["topic", "term", "coef", "std_error"] and len(table) == 9
    own = table[table.term == "party=right"].std_error
    assert ((own > 0.08) & (own < 0.3)).all()


@pytest.mark.filterwarnings("ignore:.*documents have fewer than:UserWarning")  # words are dropped on purpose
@pytest.mark.parametrize("inference", ["vb", "pc"])
def test_beside_a_response(data, inference):
    counts, metadata, topics, shares = data
    y = shares @ Y + 0.1 * np.random.default_rng(1).normal(size=len(shares))
    model = SLDARegressor(3, inference=inference, prevalence=["party", "year"], max_iter=20, cross_fit=0, n_jobs=2)
    model.fit(counts[:600], y[:600], metadata=metadata[:600])
    assert np.abs(coefficients(model, topics)[0] - COEF[1]).max() < 0.6
    short = counts[600:].copy()
    short.data[np.random.default_rng(2).random(short.nnz) < 0.9] = 0.0
    with_metadata, without = (model.score(short, y[600:], metadata=one) for one in (metadata[600:], None))
    assert with_metadata > without + 0.02  # of documents of few words, the party is worth knowing


def test_a_document_without_words_has_the_shares_of_its_metadata(data, tmp_path):
    counts, metadata, *_ = data
    model = LDA(3, prevalence="~ party", max_iter=15).fit(counts, metadata=metadata)
    lam = model.fitted_.state.alpha
    share = (metadata.party == "right").mean()
    nothing, asked = np.zeros((3, counts.shape[1])), pd.DataFrame({"party": ["left", "right", None]})
    alpha = np.exp(lam[0] + np.outer([-share, 1 - share, 0.0], lam[1]))
    found = model.transform(nothing, metadata=asked)
    np.testing.assert_allclose(found, alpha / alpha.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(model.alpha_, alpha[2])
    model.save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    np.testing.assert_array_equal(
        again.transform(counts, metadata=metadata), model.transform(counts, metadata=metadata)
    )
    pd.testing.assert_frame_equal(again.prevalence_coef_, model.prevalence_coef_)
    with pytest.raises(ValueError, match="column 'party' has 'green', which was not there before"):
        again.transform(nothing, metadata={"party": ["left", "green", "left"]})
    with pytest.raises(ValueError, match="got no column 'party'"):
        again.transform(nothing, metadata={"year": [1, 2, 3]})


def test_metadata_that_says_nothing_changes_nothing(data):
    """A column whose coefficients stay zero: today's model, bit for bit."""
    counts, metadata, *_ = data
    still = Prevalence("~ year", spread=1e-9)
    known = Known.of(len(metadata), metadata=metadata)
    prior = still.prepared(known, DirichletPrior.parse(0.3, 3)).held()
    plain = LDA(3, doc_topic_prior=np.exp(np.log(0.3)), max_iter=5).fit(counts)
    model = LDA(3, doc_topic_prior=0.3, prevalence=Held(prior), max_iter=5).fit(counts, metadata=metadata)
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.doc_topic_, plain.doc_topic_)


class Held:
    """A prior that is what it is."""

    def __new__(cls, prior):
        object.__setattr__(prior, "prepared", lambda known, level: prior)
        return prior


def test_documents_of_other_threads_and_clones(data):
    counts, metadata, *_ = data
    fits = [
        LDA(3, inference="svi", prevalence="~ party * year", max_iter=3, n_jobs=n).fit(counts, metadata=metadata)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].fitted_.state.alpha, fits[1].fitted_.state.alpha)
    again = copy.deepcopy(fits[0])
    np.testing.assert_array_equal(again.transform(counts), fits[0].transform(counts))


def test_a_stream_brings_its_metadata(data, tmp_path):
    """As many batches as there are; a party that the first batch does not know."""
    counts, metadata, topics, _ = data
    order = np.argsort(metadata.party.to_numpy(), kind="stable")
    order = np.concatenate([order[:100], np.random.default_rng(3).permutation(order[100:])])
    words = np.array([f"w{place:02d}" for place in range(counts.shape[1])])
    texts = [" ".join(np.repeat(words[row.indices], row.data.astype(int))) for row in map(counts.getrow, order)]
    frame = metadata.iloc[order].assign(text=texts)
    frame.to_csv(tmp_path / "documents.csv", index=False)
    stream = Stream(tmp_path / "documents.csv", metadata=["party", "year"], batch_size=100)
    model = LDA(3, inference="svi", prevalence="~ party + year", max_iter=25).fit(stream)
    names = {name: place for place, name in enumerate(model.feature_names_in_)}
    seen = [place for place, word in enumerate(words) if word in names]
    found = model.components_[:, [names[word] for word in words[seen]]]
    table = model.prevalence_coef_.pivot(index="term", columns="topic", values="coef")
    own = table.loc["party=right", align_topics(topics[:, seen], found)[0]].to_numpy()
    assert own[0] > 0.5 and np.corrcoef(own, COEF[1])[0, 1] > 0.95, own  # steps of batches are short
    assert (model.prevalence_coef_.std_error > 0).all()


def test_partial_fit_keeps_the_design_of_the_first_batch(data):
    counts, metadata, *_ = data
    model = LDA(3, inference="svi", prevalence="~ party")
    for first in range(0, 800, 200):
        model.partial_fit(counts[first : first + 200], metadata=metadata[first : first + 200])
    assert model.fitted_.state.alpha.shape == (2, 3)
    with pytest.raises(ValueError, match="got no column 'party'"):
        model.partial_fit(counts[:5])


def naive_log_evidence(coef, x, counts):
    """sum_d log p(topic counts of a document), theta integrated out."""
    value = 0.0
    for own, n in zip(x, counts, strict=True):
        alpha = np.exp(own @ coef)
        value += gammaln(alpha.sum()) - gammaln(alpha.sum() + n.sum()) + (gammaln(alpha + n) - gammaln(alpha)).sum()
    return value


def test_errors_are_those_of_the_curvature(data):
    """The information is the curvature's mean over counts that come from the model."""
    metadata = data[1][:300]
    known = Known.of(300, metadata=metadata)
    prior = Prevalence("~ party").prepared(known, DirichletPrior.parse(0.5, 3))
    coef, rng = np.array([[0.1, -0.4, 0.2], [0.6, 0.0, -0.5]]), np.random.default_rng(4)
    batch = documents(np.ones((300, 3)), known=known)[0]
    x = prior.design(known)
    total = np.zeros((6, 6))
    found = np.zeros((6, 6))
    for _ in range(6):
        counts = np.array([rng.multinomial(20, rng.dirichlet(np.exp(own @ coef))) for own in x], dtype=float)

        def gradient(flat, counts=counts):
            return naive_pc.difference_gradient(
                lambda c: naive_log_evidence(c, x, counts), flat.reshape(3, 2).T
            ).T.ravel()

        start, step = coef.T.ravel(), 1e-3
        total -= np.array([(gradient(start + step * e) - gradient(start - step * e)) / (2 * step) for e in np.eye(6)])
        found += prior.information(coef, batch, counts)
    np.testing.assert_allclose(found, total, atol=0.08 * np.abs(total).max())


@pytest.mark.slow
def test_errors_hold_what_they_say():
    """Standardised errors of data sets in which the topics are found again."""
    found = []
    for seed in range(30):
        rng = np.random.default_rng(100 + seed)
        side = rng.integers(0, 2, 300)
        batch, topics, _ = documents(np.exp(np.column_stack([np.ones(300), side]) @ COEF[:2]), length=60, seed=seed)
        model = LDA(3, prevalence="~ side", max_iter=60).fit(batch.counts, metadata={"side": side})
        table = model.prevalence_coef_[model.prevalence_coef_.term == "side"]
        order, apart = align_topics(topics, model.components_)
        if np.max(apart) > 0.2:
            continue
        found.append((table.coef.to_numpy()[order] - COEF[1]) / table.std_error.to_numpy()[order])
    assert len(found) > 20
    assert (np.std(found, axis=0) < 1.4).all() and (np.std(found, axis=0) > 0.7).all(), np.std(found, axis=0)


def test_what_is_no_prevalence_is_refused(data):
    counts, metadata, *_ = data
    cases = [
        ("~ nothing", "has 'nothing', which is no column of metadata"),
        (3, "prevalence: got 3, expected a formula such as '~ party'"),
        ([], "prevalence: got "),
        (Prevalence("~ party", spread=-1), "spread: got -1, expected a number > 0"),
    ]
    for prevalence, message in cases:
        with pytest.raises(ValueError, match=message):
            LDA(3, prevalence=prevalence).fit(counts, metadata=metadata)
    with pytest.raises(ValueError, match="which is no column of metadata: none"):
        LDA(3, prevalence="~ party").fit(counts)


def test_missing_metadata_is_that_of_the_average_document():
    known = Known.of(4, metadata={"a": [1.0, np.nan, 3.0, 5.0], "b": ["x", "y", None, "y"]})
    design = Standard.of("~ a + b", known)
    found = design(known)
    assert np.isnan(found[[1, 2]]).any(axis=1).all()
    prior = Prevalence("~ a + b").prepared(known, DirichletPrior.parse(0.5, 2))
    batch = documents(np.ones((4, 2)), known=known)[0]
    rows = prior.rows(prior.start + 0.3, batch)
    np.testing.assert_allclose(rows.alpha[rows.which][1], np.exp(np.log(0.5) + 0.3))
    assert rows.which[1] == rows.which[2] != rows.which[0]


def test_classes_whose_prevalence_is_known(data):
    counts, metadata, _, shares = data
    y = np.where(shares @ Y > np.median(shares @ Y), "much", "little")
    model = SLDAClassifier(3, prevalence="~ party", max_iter=5, cross_fit=3).fit(counts, y, metadata=metadata)
    chances = model.predict_proba(sp.csr_matrix(counts), metadata=metadata)
    assert chances.shape == (800, 2) and (model.classes_[chances.argmax(axis=1)] == y).mean() > 0.8


def test_the_command_line_takes_a_formula_and_seeds(data, tmp_path):
    counts, metadata, *_ = data
    words = np.array([f"w{place:02d}" for place in range(counts.shape[1])])
    texts = [" ".join(np.repeat(words[row.indices], row.data.astype(int))) for row in map(counts.getrow, range(300))]
    metadata[:300].assign(text=texts).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "seeds.txt").write_text("first: w03 w04\n", encoding="utf-8")
    out, more = tmp_path / "m.supertopic", ["--prevalence", "~ party + year", "--seed-words", tmp_path / "seeds.txt"]
    run("fit", tmp_path / "data.csv", "--text", "text", "--topics", "3", "--iterations", "3", *more, "--out", out)
    model = load(out)
    assert sorted(set(model.prevalence_coef_.term)) == ["(average)", "party=right", "year"]
    assert model.topic_labels_ == ["first", None, None]
    wrong = ["--prevalence", "~ exp(party)", "--text", "text", "--out", tmp_path / "other.supertopic"]
    assert "expected spline(column, 5)" in misused("fit", tmp_path / "data.csv", *wrong)


def test_select_takes_a_formula_on_the_command_line(data, tmp_path):
    counts, metadata, _, _ = data
    texts = [" ".join(np.repeat([f"w{v}x" for v in row.indices], row.data.astype(int))) for row in counts[:120]]
    metadata[:120].assign(text=texts).to_csv(tmp_path / "data.csv", index=False)
    given = ["--prevalence", "~ party", "--topics", "2", "--folds", 2, "--seeds", 1, "--iterations", 2, "--json", "-q"]
    found = json.loads(run("select", tmp_path / "data.csv", *given).stdout)
    assert [row["n_topics"] for row in found["table"]] == [2]
    assert "age" in fails("select", tmp_path / "data.csv", "--prevalence", "~ age", *given[2:])
    by_party = run("select", tmp_path / "data.csv", "--groups", "party", *given[2:])
    assert json.loads(by_party.stdout)["table"]


@pytest.mark.parametrize("collapsed", [True, False])
def test_sweeps_by_metadata_keep_the_joint_distribution(collapsed):
    """Geweke: topics and words are drawn from the model, whose documents differ in alpha, and then by a sweep."""
    alpha, beta, rng = np.array([[2.0, 0.3, 0.3], [0.3, 0.5, 1.5]]), 0.4, np.random.default_rng(6)
    which, found = np.array([0, 1, 1], dtype=np.int32), []
    known = Known.of(3, metadata={"group": which})
    model = Model(3, DirichletTopics(beta), GroupPrior(alpha))
    with Threads(1) as backend:
        for seed in range(1500):
            topics = rng.dirichlet(np.full(4, beta), 3)
            shares = np.array([rng.dirichlet(one) for one in alpha[which]])
            topic = np.array([rng.choice(3, 5, p=one) for one in shares])
            words = np.array([[rng.choice(4, p=topics[k]) for k in one] for one in topic])
            counts = np.array([np.bincount(one, minlength=4) for one in words], dtype=np.float32)
            batch = Batch(sp.csr_matrix(counts), np.full(3, np.nan), np.zeros(3), 3, known=known)
            sampler = Sampler.of(Task(model, batch, None, seed, backend))
            order = np.lexsort((sampler.tokens.tokens.doc, np.repeat(np.arange(4), counts.sum(axis=0).astype(int))))
            doc, word = sampler.tokens.tokens.doc, np.repeat(np.arange(4), counts.sum(axis=0).astype(int))
            held = {(d, w): list(topic[d][words[d] == w]) for d in range(3) for w in range(4)}
            first = np.empty(15, dtype=np.uint16)
            for place in order:
                first[place] = held[int(doc[place]), int(word[place])].pop()
            sampler.tokens.take(first)
            before = sampler.tokens.doc_topic().astype(float)
            for number in range(2):
                sampler.sweep(number, collapsed)
            after = sampler.tokens.doc_topic().astype(float)
            found.append(np.concatenate([(after - before).ravel(), (after**2 - before**2).ravel()]))
    moved = np.array(found)
    z = moved.mean(axis=0) / (moved.std(axis=0) / np.sqrt(len(moved)))
    assert np.abs(moved).sum() > 100 and np.abs(z).max() < 4.2, z
