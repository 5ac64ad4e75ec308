"""`seed_words=`: topics that begin with words, in every engine, in the order in which they are given."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma, gammaln

from supertopic import LDA, Gibbs, MedLDAClassifier, SLDARegressor, SSTMRegressor, load
from supertopic.backends.threads import Threads
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.emissions.seeds import Seeds
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.task import Task
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from tests.priors import documents

WORDS = [f"w{number:02d}" for number in range(60)]
ENGINES = {
    "vb": (LDA, {}), "cvb0": (LDA, {"inference": "cvb0"}), "svi": (LDA, {"inference": "svi"}),
    "gibbs": (LDA, {"inference": "gibbs", "max_iter": 60}),
    "partial": (LDA, {"inference": Gibbs(sampler="partial"), "max_iter": 60}),
    "slda-vb": (SLDARegressor, {"inference": "vb", "cross_fit": 0}),
    "slda-pc": (SLDARegressor, {"inference": "pc", "cross_fit": 0, "max_iter": 4}),
    "slda-gibbs": (SLDARegressor, {"inference": "gibbs", "cross_fit": 0, "max_iter": 60}),
    "sstm": (SSTMRegressor, {"max_iter": 60}), "medlda": (MedLDAClassifier, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    """(frame of counts, shares, three words of each topic) of four topics."""
    batch, topics, shares = documents(np.full((500, 4), 0.3), length=50, seed=3)
    top = [[WORDS[place] for place in np.argsort(-one)[:3]] for one in topics]
    return pd.DataFrame(batch.counts.toarray().astype(int), columns=WORDS), shares, top


@pytest.mark.parametrize("name", ENGINES)
def test_topics_stand_in_the_order_of_their_seeds(name, data, tmp_path):
    frame, shares, top = data
    kind, params = ENGINES[name]
    y = shares @ [1.0, -1.0, 2.0, 0.0]
    given = [] if kind is LDA else [(y > 0.5).astype(int) if kind is MedLDAClassifier else y]
    model = kind(4, seed_words={"sport": top[2], "money": dict.fromkeys(top[0], 2.0), "war": top[3]}, **params)
    model.fit(frame, *given)
    for place, own in enumerate([2, 0, 3]):
        mass = model.components_[:, [WORDS.index(word) for word in top[own]]].sum(axis=1)
        assert mass.argmax() == place and mass[place] > 0.3, (place, mass)
    assert model.topic_labels_ == ["sport", "money", "war", None]
    model.save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    assert again.topic_labels_ == model.topic_labels_
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert again.fitted_.spec.model.emission.seeds.counts.tolist() == model.fitted_.spec.schema.seeds.counts.tolist()


def test_a_fit_goes_on_after_it_was_loaded(data, tmp_path):
    frame, _, top = data
    first = LDA(4, inference="svi", seed_words={"sport": top[1]}).partial_fit(frame[:250])
    first.save(tmp_path / "model.supertopic")
    both = [one.partial_fit(frame[250:]) for one in (load(tmp_path / "model.supertopic"), first)]
    np.testing.assert_array_equal(both[0].components_, both[1].components_)


def naive_evidence(word_topic, prior):
    """E[log p(topics)] - E[log q(topics)] for Dirichlet(prior (V, K)), and q of the parameters (V, K)."""
    logs = digamma(word_topic) - digamma(word_topic.sum(axis=0))
    there = gammaln(prior.sum(axis=0)) - gammaln(prior).sum(axis=0) + ((prior - 1) * logs).sum(axis=0)
    own = gammaln(word_topic.sum(axis=0)) - gammaln(word_topic).sum(axis=0) + ((word_topic - 1) * logs).sum(axis=0)
    return float((there - own).sum())


def naive_density(word_topic, prior):
    """log Dirichlet(topics | prior + 1) at the topics' means."""
    means = word_topic / word_topic.sum(axis=0)
    found = gammaln((prior + 1).sum(axis=0)) - gammaln(prior + 1).sum(axis=0) + (prior * np.log(means)).sum(axis=0)
    return float(found.sum())


SEEDS = Seeds(np.array([0, 3, 3]), np.array([0, 0, 1]), np.array([5, 2, 7]))


@pytest.mark.parametrize(("at_mean", "naive"), [(False, naive_evidence), (True, naive_density)])
def test_evidence_is_that_of_an_asymmetric_prior(at_mean, naive):
    prior = np.full((6, 3), 0.2)
    SEEDS.add_to(prior)
    emission, counts = DirichletTopics(0.2, at_mean, SEEDS), np.random.default_rng(0).gamma(1.0, 4.0, (6, 3))
    with Threads(1) as backend:
        after = emission.update(counts, counts.astype(np.float32), 1.0, backend)
        np.testing.assert_allclose(after, counts + prior, rtol=1e-5)
        assert emission.evidence(after, backend) == pytest.approx(naive(after.astype(np.float64), prior), rel=1e-5)


def test_the_samplers_joint_is_that_of_an_asymmetric_prior():
    counts = documents(np.ones((5, 3)), n_words=6, length=7)[0].counts
    model = Model(3, DirichletTopics(0.2, seeds=SEEDS), DirichletPrior(np.full(3, 0.4)))
    batch = Batch(counts, np.full(5, np.nan), np.zeros(5), 3)
    with Threads(1) as backend:
        sampler = Sampler.of(Task(model, batch, None, 1, backend))
        sampler.tokens.take(np.random.default_rng(2).integers(0, 3, 35).astype(np.uint16))
        prior = np.full((6, 3), 0.2)
        SEEDS.add_to(prior)
        own = sampler.tokens.word_topic - (prior - 0.2)
        words = gammaln(prior.sum(axis=0)) - gammaln(prior).sum(axis=0)
        words += gammaln(own + prior).sum(axis=0) - gammaln((own + prior).sum(axis=0))
        plain = Sampler.of(Task(Model(3, DirichletTopics(0.2), model.doc_topic_prior), batch, None, 1, backend))
        plain.tokens.take(sampler.tokens.topic())
        theirs = (
            3 * (gammaln(1.2) - 6 * gammaln(0.2))
            + (gammaln(own + 0.2).sum(axis=0) - gammaln(own.sum(axis=0) + 1.2)).sum()
        )
        assert sampler.log_joint() - plain.log_joint() == pytest.approx(words.sum() - theirs, abs=1e-6)


def test_patterns_weights_and_files(data, tmp_path):
    frame, *_ = data
    totals = frame.sum().to_numpy()
    (tmp_path / "seeds.txt").write_text("# topics\nlow: w00, w01\ntens: w1*\n", encoding="utf-8")
    (tmp_path / "seeds.json").write_text(json.dumps({"low": {"W00": 0.5, "w01": 1}, "tens": ["w1?"]}), encoding="utf-8")
    for name, weight in (("seeds.txt", 1.0), ("seeds.json", 0.5)):
        seeds = LDA(3, max_iter=1, seed_words=tmp_path / name).fit(frame).fitted_.spec.schema.seeds
        assert sorted(seeds.words[seeds.topics == 1]) == list(range(10, 20))
        assert seeds.counts[seeds.words == 0] == max(1, round(weight * totals[0]))
        assert seeds.names == ("low", "tens")


def test_what_is_no_seed_is_refused_and_unknown_words_are_said(data, tmp_path):
    frame, *_ = data
    with pytest.warns(UserWarning, match="seed_words: not in the vocabulary: 'nowhere', 'x\\*'"):
        LDA(2, max_iter=1, seed_words={"a": ["w01", "nowhere"], "b": ["x*"]}).fit(frame)
    for given, message in [
        ([], "seed_words: got \\[\\], expected words by topic"),
        ({"a": []}, "seed_words: topic 'a' has \\[\\]"),
        ({"a": {"w01": -1}}, "weight of 'w01': got -1, expected a number > 0"),
        ({"a": "w01", "b": "w02", "c": "w03"}, "got 3 topics, expected at most n_topics=2"),
        (tmp_path / "nothing", "seed_words: .*nothing cannot be read"),
    ]:
        with pytest.raises(ValueError, match=message):
            LDA(2, seed_words=given).fit(frame)
    with pytest.raises(ValueError, match="counts without the names of their words"):
        LDA(2, seed_words={"a": ["w01"]}).fit(frame.to_numpy())
    with pytest.raises(ValueError, match="seed_words: got some with emission='sage'"):
        SLDARegressor(2, inference="vb", emission="sage", seed_words={"a": ["w01"]}).fit(frame, np.arange(500) + 0.5)
    with pytest.raises(ValueError, match="topic_word_prior: got 0, but seed_words needs a number > 0"):
        LDA(2, topic_word_prior=0.0, seed_words={"a": ["w01"]}).fit(frame)


def test_first_topics_are_put_in_the_order_of_the_seeds():
    counts = np.array([[9.0, 1.0, 1.0], [1.0, 1.0, 8.0], [2.0, 7.0, 2.0]], dtype=np.float32)
    seeds = Seeds(np.array([1, 2]), np.array([0, 1]), np.array([3, 3]))
    np.testing.assert_array_equal(seeds.arranged(counts.copy()), counts[:, [2, 1, 0]])
    np.testing.assert_array_equal(Seeds.none().arranged(counts.copy()), counts)
