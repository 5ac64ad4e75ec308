"""Matrices and labels that no corpus has are refused in one sentence, before any kernel runs."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import (
    LDA,
    Corpus,
    MedLDARegressor,
    MixtureOfCategoricals,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
)
from supertopic.documents.corpus import LARGEST_COUNT, as_corpus

RNG = np.random.default_rng(0)
GOOD = sp.csr_matrix(RNG.poisson(1.0, size=(12, 6)).astype(np.float32))
NUMBERS, CLASSES = RNG.normal(size=12), np.arange(12) % 2


def broken(form, change):
    matrix = sp.csr_matrix(GOOD, copy=True).asformat(form, copy=True)
    change(matrix)
    return matrix


def put(name, place, value):
    def change(matrix):
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)

    return change


def cut(name, n):
    return lambda matrix: setattr(matrix, name, getattr(matrix, name)[:n])


BROKEN = {
    "beyond": broken("csr", put("indices", 3, 6)),
    "far beyond": broken("csr", put("indices", -1, 2**31 - 1)),
    "negative": broken("csr", put("indices", 3, -1)),
    "not monotone": broken("csr", put("indptr", 4, 0)),
    "not from zero": broken("csr", put("indptr", 0, 3)),
    "below zero": broken("csr", put("indptr", 2, -5)),
    "past the end": broken("csr", put("indptr", -1, 10**6)),
    "short data": broken("csr", cut("data", 5)),
    "short indices": broken("csr", cut("indices", 5)),
    "short indptr": broken("csr", cut("indptr", 5)),
    "csc": broken("csc", put("indices", 3, 12)),
    "csc indptr": broken("csc", put("indptr", -1, 10**6)),
    "bsr": broken("bsr", put("indices", 0, 6)),
    "coo": broken("coo", put("col", 0, 6)),
    "coo row": broken("coo", put("row", 0, -1)),
    "wide": sp.csr_matrix(GOOD.astype(np.int64)),
}
BROKEN["wide"].indices = BROKEN["wide"].indices.astype(np.int64)
BROKEN["wide"].indices[0] = 2**32  # zero, in 32 bits
BROKEN["lists"] = sp.lil_matrix(GOOD)
BROKEN["lists"].rows[0] = [7] * len(BROKEN["lists"].rows[0])
SENTENCE = r"(is no valid sparse matrix: .*|outside of 0 to \d+: the sparse matrix is not valid)"
ENGINES = [
    LDA(2, max_iter=3), LDA(2, inference="cvb0", max_iter=3), LDA(2, inference="svi", max_iter=2),
    LDA(2, inference="gibbs", max_iter=4), MixtureOfCategoricals(2), SLDARegressor(2, max_iter=3),
    SLDARegressor(2, inference="gibbs", max_iter=4), SAGEClassifier(), MedLDARegressor(2, max_iter=3),
]  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_matrices_are_refused_everywhere(name):
    fitted = LDA(2, inference="svi", max_iter=1).fit(GOOD)
    for use in (
        fitted.transform,
        fitted.partial_fit,
        fitted.perplexity,
        fitted.explain,
        LDA(2).fit,
        LDA(2).partial_fit,
    ):
        with pytest.raises((ValueError), match=SENTENCE):
            use(BROKEN[name])
    predicting = SLDARegressor(2, max_iter=2, cross_fit=0).fit(GOOD, NUMBERS)
    with pytest.raises(ValueError, match=SENTENCE):
        predicting.predict(BROKEN[name])


@pytest.mark.parametrize(
    "model", ENGINES, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'inference', '')}"
)
@pytest.mark.parametrize("name", ["beyond", "negative", "not monotone", "past the end"])
def test_broken_matrices_are_refused_by_every_engine(model, name):
    y = CLASSES if isinstance(model, SAGEClassifier) else NUMBERS
    with pytest.raises(ValueError, match=SENTENCE):
        model.fit(BROKEN[name], y)


def test_a_corpus_made_by_hand_is_checked_too():
    with pytest.raises(ValueError, match=SENTENCE):
        LDA(2).fit(Corpus(BROKEN["beyond"]))
    with pytest.raises(ValueError, match="Negative values in data"):
        LDA(2).fit(Corpus(-GOOD))
    unsorted = sp.csr_matrix((np.ones(2, dtype=np.float32), [1, 0], [0, 2]), shape=(1, 2))
    assert as_corpus(Corpus(unsorted)).counts.has_sorted_indices
    good = Corpus(GOOD)
    assert as_corpus(good) is good
    with pytest.raises(ValueError, match="infinity or a count above"):
        LDA(2).fit(Corpus(GOOD * np.float32(1e30)))


@pytest.mark.parametrize("wrong", [1e30, 1.1e9, np.inf, 3e38])
def test_counts_that_are_too_large_are_refused_everywhere(wrong):
    fitted = LDA(2, inference="svi", max_iter=1).fit(GOOD)
    for form in (np.asarray, sp.csr_matrix, sp.coo_matrix, pd.DataFrame):
        counts = GOOD.toarray().astype(np.float64)
        counts[5, 2] = wrong
        for use in (fitted.transform, fitted.partial_fit, fitted.perplexity, LDA(2).fit):
            with pytest.raises(
                ValueError, match=r"infinity or a count above 1,000,000,000\. The first one is in row 5"
            ):
                use(form(counts))


def test_a_number_without_end_is_refused():
    counts = GOOD.toarray().astype(object)
    counts[5, 2] = 10**400
    with pytest.raises(ValueError, match=r"^X holds a whole number of so many digits that it is no count\.$"):
        LDA(2).fit(counts)


def test_weights_next_to_nothing_are_no_words():
    with pytest.raises(ValueError, match="X holds no words at all"):
        SLDAClassifier(2).fit(sp.csr_matrix(([1e-9], ([3], [2])), shape=(12, 6)), CLASSES)


def test_a_response_of_any_kind_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match=r"y holds a number beyond 1e\+15; give y in another unit"):
        SLDARegressor(2).fit(GOOD, [*range(11), -(10**400)])


def test_the_largest_counts_give_finite_models():
    counts = GOOD.toarray().astype(np.float64)
    counts[5, 2] = LARGEST_COUNT
    for model in (LDA(2, max_iter=4), LDA(2, inference="svi", max_iter=2), SLDARegressor(2, max_iter=3, cross_fit=0)):
        model.fit(counts, NUMBERS)
        assert np.isfinite(model.transform(counts)).all() and np.isfinite(model.bound_).all()


@pytest.mark.parametrize("kind", [SLDARegressor, MedLDARegressor])
@pytest.mark.parametrize("wrong", [1e200, 10**400, -1e200, np.inf, -np.inf, 2e15])
def test_responses_that_are_too_large_are_refused(kind, wrong):
    y = [*NUMBERS[:-1].tolist(), wrong]
    with pytest.raises(
        ValueError, match=r"y holds .*beyond 1e\+15; give y in another unit|contains infinity"
    ) as refused:
        kind(2, max_iter=2).fit(GOOD, y)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 200


@pytest.mark.parametrize("wrong", [1e200, 10**400, np.inf])
def test_responses_of_later_batches_are_checked_as_well(wrong):
    model = SLDARegressor(2, inference="svi").partial_fit(GOOD, NUMBERS)
    with pytest.raises(ValueError, match=r"another unit|infinity"):
        model.partial_fit(GOOD, [*NUMBERS[:-1].tolist(), wrong])
    with pytest.raises(ValueError, match=r"another unit|infinity"):
        model.log_density(GOOD, [*NUMBERS[:-1].tolist(), wrong])


@pytest.mark.parametrize("wrong", [10**400, np.inf, 1j, object()])
def test_classes_that_are_no_labels_are_refused(wrong):
    y = np.array([*CLASSES[:-1].tolist(), wrong], dtype=object)
    with pytest.raises(ValueError, match=r"Unknown label type"):
        SLDAClassifier(2, max_iter=2).fit(GOOD, y)


def test_the_missing_value_of_pandas_is_a_missing_label():
    classifier, regressor = (kind(2, max_iter=3, cross_fit=0) for kind in (SLDAClassifier, SLDARegressor))
    expected = classifier.fit(GOOD, [None, *CLASSES[1:].tolist()]).coef_
    for missing in (pd.NA, None, np.nan, pd.NaT):
        y = pd.Series([missing, *CLASSES[1:].tolist()], dtype=object)
        assert np.array_equal(classifier.fit(GOOD, y).coef_, expected)
    nullable = pd.Series([None, *CLASSES[1:].tolist()], dtype="Int64")
    assert np.array_equal(classifier.fit(GOOD, nullable).coef_, expected)
    texts = pd.Series([pd.NA, *("ab"[c] for c in CLASSES[1:])], dtype="string")
    assert classifier.fit(GOOD, texts).classes_.tolist() == ["a", "b"]
    numbers = pd.Series([pd.NA, *NUMBERS[1:]], dtype="Float64")
    with_nan = np.array([np.nan, *NUMBERS[1:]])
    one, other = (regressor.fit(GOOD, y).coef_ for y in (numbers, with_nan))
    assert np.array_equal(one, other)


def test_the_checks_ask_numpy_and_look_at_no_document_themselves():
    """However many documents there are, as many calls are made."""

    def calls(n_documents):
        counts = sp.random(n_documents, 300, density=0.1, format="csr", dtype=np.float32, random_state=0)
        counts.data[:] = 1.0
        made = []
        sys.setprofile(lambda frame, event, argument: made.append(event))
        try:
            as_corpus(counts)
        finally:
            sys.setprofile(None)
        return len(made)

    calls(10)  # what is imported or kept at the first call
    assert calls(3_000) <= calls(20) + 20 < 3_000
