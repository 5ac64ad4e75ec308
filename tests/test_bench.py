"""The computations of the benchmark: curves, ratios and tables."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("threadpoolctl")

from bench import engines, memory, ours, peers, report, sampling, supervised, threads, variational
from bench.corpus import ALPHA, Documents, choose_terms
from bench.plan import Plan
from supertopic.datasets import simulate


@pytest.fixture(scope="module")
def documents():
    counts = simulate(n_documents=90, n_topics=3, n_words=60, mean_length=50, seed=4).counts.counts
    return Documents("simulated", counts[:60], counts[60:])


def test_terms_are_chosen_by_training_documents_alone():
    train = np.zeros((12, 4))
    train[:4, 0], train[:5, 1], train[:6, 2], train[:7, 3] = 1, 2, 1, 1
    test = np.ones((3, 4))
    chosen = choose_terms("x", sp.csr_matrix(train), sp.csr_matrix(test))
    assert chosen.train.shape == (6, 2) and chosen.test.shape == (3, 2)  # in 5 and 6 of 12 documents; no empty rows
    assert chosen.n_tokens == 16


def test_the_score_is_that_of_a_unigram_model_when_all_topics_are_equal(documents):
    unigram = np.asarray(documents.train.sum(axis=0)).ravel() + 1.0
    probability = unigram / unigram.sum()
    heldout = documents.halves[1]
    expected = -(heldout @ np.log(probability)).sum() / heldout.sum()
    assert documents.score(np.outer(unigram, [1.0, 5.0])) == pytest.approx(expected, rel=1e-5)


def test_first_step_and_first_sweep_that_reach_the_goal():
    assert variational.first_step([-9.0, -8.0, -7.5], -8.0) == 2
    assert variational.first_step([-9.0, -8.0], -7.0) is None
    assert sampling.first_sweep({1: 8.0, 2: 7.4, 3: 7.5}, 7.5) == 2
    assert sampling.first_sweep({1: 8.0, 3: 7.5}, 7.0) is None


def test_the_sampling_curve_scores_what_a_fit_of_as_many_sweeps_finds(documents):
    """Last sample and mean of the second half, against the averages of the estimator."""
    curve = sampling.trace(documents, 3, 8, goal=-np.inf)
    for scores, burn_in in ((curve.last, 7), (curve.mean, 4)):
        fit = ours.lda(3, "gibbs", 8, inference__burn_in=burn_in, inference__thin=1).fit(documents.train)
        assert scores[8] == pytest.approx(documents.score(fit.components_.T), rel=1e-5)
    assert len(curve.seconds) == 1 + sampling.longest(8) and np.all(np.diff(curve.seconds) > 0)


def test_the_sampling_curve_ends_once_the_goal_is_reached(documents):
    curve = sampling.trace(documents, 3, 8, goal=np.inf)
    assert len(curve.seconds) == 1 + 8 and set(curve.last) == {1, 8}


def test_the_evaluator_agrees_with_the_engines_own_bound(documents):
    fit = ours.lda(3, "vb", 6, inference__doc_tol=1e-3).fit(documents.train)
    before = ours.lda(3, "vb", 5, inference__doc_tol=1e-3).fit(documents.train)
    evaluate = ours.Evaluator(documents.train, 3)
    assert evaluate(before.fitted_.state.word_topic) == pytest.approx(fit.bound_[-1], rel=1e-6)


def test_our_ascent_ends_at_the_peers_passes_or_at_the_goal(documents):
    assert len(variational.climb(documents, 3, 4).seconds) == 4
    evaluate = ours.Evaluator(documents.train, 3)
    far = variational.climb(documents, 3, 2, goal=0.0, evaluate=evaluate)
    assert len(far.bound) == 6 and far.nats > 0  # never reached: three times the peer's passes


def test_scikit_learn_is_timed_and_gives_its_parameters(documents):
    fitted = peers.ScikitLearn().fit(documents.train, 3, 2)
    assert fitted.word_topic.shape == (60, 3) and fitted.seconds > 0
    assert fitted.word_topic.sum() == pytest.approx(documents.n_tokens + 0.01 * 60 * 3, rel=1e-3)


def test_a_page_keeps_the_sections_that_were_not_run(tmp_path):
    first, second = report.Table("1. A", ["K", "s"], "how"), report.Table("2. B", ["x"], "why")
    first.add(50, 1.5)
    second.add(None)
    page = tmp_path / "RESULTS.md"
    report.write([first, second], "somewhere", page)
    first.rows[0][1] = "2.5"
    page.write_text(
        page.read_text(encoding="utf-8").replace("\n## 1.", "\nA word by hand.\n\n## 1.", 1), encoding="utf-8"
    )
    report.write([first], "elsewhere", page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Benchmarks\n") and text.count("A word by hand.") == 1
    assert "| 50 | 2.5 |" in text and "1.5" not in text and "*elsewhere*" in text
    assert text.index("## 1. A") < text.index("## 2. B") and "| – |" in text and "*somewhere*" in text
    with pytest.raises(ValueError, match="1 cells under 2 columns"):
        first.add("alone")


def test_priors_are_the_same_for_all():
    assert ours.lda(3, "vb", 1).doc_topic_prior == ALPHA


def test_memory_needed_is_counted_in_full():
    matrix = sp.csr_matrix(np.array([[2, 0, 1], [0, 3, 0]], dtype=np.float32))
    documents, by_word, by_document = 3 * 8 + 3 * 4, 2 * 4 * 3 * 5, 4 * 2 * 5
    assert memory.needed(matrix, "vb", 5) == documents + by_word + by_document
    assert memory.needed(matrix, "gibbs", 5) == documents + by_word + by_document + 2 * 6


def test_the_ceiling_compares_the_same_work(monkeypatch):
    """With a simulated clock: each round begins at 0, and takes 5, 3 or 4 with one thread, 2 or 6 with two."""
    ticks = iter([0, 5, 0, 2, 0, 3, 0, 6, *[0, 4, 0, 6] * 3])
    monkeypatch.setattr(threads.time, "perf_counter", lambda: next(ticks))
    done = []
    assert threads.ceiling(done.append, n=20) == 3 / 2
    assert done == [1, *[20] * 20]
    assert threads.multiply(3) == pytest.approx(3 * 2048, rel=1e-2) and threads.hash_on(1) != threads.hash_on(2)


def test_a_run_over_threads_is_timed_to_its_end(documents):
    run = threads.run_ours(documents, 3, "vb", 2)
    assert run.seconds > 0 and run.whole > 0 and run.topics.shape == (60, 3)
    slow, quick = run._replace(whole=3.0), run._replace(whole=1.5)
    assert threads.whole_fits([slow, run._replace(whole=9.0)], [quick]) == ("3.00", "1.50", report.times(2.0))
    assert threads.whole_fits([run._replace(whole=None)], [quick]) == (None, None, None)


def test_engines_run_on_labels_that_words_tell(documents, monkeypatch):
    labels = engines.draw_labels(documents.train)
    assert set(labels.classes) == set(range(20)) and set(labels.grades) == set(range(5)) and (labels.counts >= 0).all()
    assert np.corrcoef(labels.number, labels.classes)[0, 1] > 0.9
    monkeypatch.setattr(engines, "FITS", {name: engines.FITS[name] for name in ("MedLDA", 'sLDA "vb", gaussian')})
    found = engines.table(documents, Plan(quick=True))
    assert [row[0] for row in found.rows] == ["MedLDA", 'sLDA "vb", gaussian'] and {row[5] for row in found.rows} == {
        "yes"
    }


def test_the_supervised_sampler_is_run_as_it_is_labelled(documents):
    """Equal topics for equal groups, whatever the threads; other ones without groups; R² of what it has drawn."""
    y = supervised.standardised_log_length(documents)
    one, two = (supervised.run_ours(documents, y, 3, 4, n_jobs=n_jobs, groups=2) for n_jobs in (1, 2))
    alone = supervised.run_ours(documents, y, 3, 4, groups=1)
    np.testing.assert_array_equal(one.topic, two.topic)
    assert len(alone.topic) == documents.n_tokens and not np.array_equal(one.topic, alone.topic)
    assert one.r2 == two.r2 <= 1.0 and one.nats == two.nats > 0 and two.wall > 0
    assert supervised.explained(y, y) == 1.0 and supervised.explained(y, np.zeros(len(y))) == pytest.approx(0.0)
