"""Near duplicates among documents, beside comparisons of all pairs."""

import numpy as np
import scipy.sparse as sp

from supertopic.documents.duplicates import near_duplicates

RNG = np.random.default_rng(0)


def documents(n=400, n_words=500, length=40):
    return RNG.multinomial(length, RNG.dirichlet(np.full(n_words, 0.3)), size=n)


def by_all_pairs(counts, alike=0.8):
    """Components of the graph of similar pairs."""
    seen = counts > 0
    code = np.arange(len(counts))
    for one in range(len(counts)):
        for other in range(one):
            together = (seen[one] & seen[other]).sum()
            if min(seen[one].sum(), seen[other].sum()) >= 5 and together >= alike * (seen[one] | seen[other]).sum():
                code[code == code[one]] = code[other]
    return code


def same(found, expected):
    return ((found[:, None] == found) == (expected[:, None] == expected)).all()


def test_similar_documents_are_found_and_others_are_not():
    counts = documents(200)
    counts[50:60] = counts[:10]  # word for word
    counts[60:70] = 3 * counts[10:20]  # the same words, more often
    for row, like in zip(range(70, 80), range(20, 30), strict=True):  # but for a word or two
        counts[row] = counts[like]
        counts[row, RNG.integers(0, 500, size=2)] += 1
    found = near_duplicates(sp.csr_matrix(counts))
    assert same(found, by_all_pairs(counts))
    assert (found[50:80] == found[:30]).all() and len(set(found)) == 170


def test_short_documents_are_alike_by_chance():
    counts = np.zeros((300, 50), dtype=int)
    counts[np.arange(300), RNG.integers(0, 50, size=300)] = 1
    counts[np.arange(300), RNG.integers(0, 50, size=300)] += 1
    assert len(set(near_duplicates(sp.csr_matrix(counts)))) == 300
    assert len(set(near_duplicates(sp.csr_matrix((4, 9))))) == 4


def test_half_the_words_are_not_enough():
    counts = np.zeros((2, 400), dtype=int)
    counts[0, :30] = 1
    counts[1, 4:34] = 1  # 26 of 34
    assert len(set(near_duplicates(sp.csr_matrix(counts)))) == 2
    counts[1, 2:32], counts[1, 32:] = 1, 0  # 28 of 32
    assert len(set(near_duplicates(sp.csr_matrix(counts)))) == 1


def test_where_all_documents_have_the_same_words_duplicates_have_them_as_often():
    counts = RNG.multinomial(100, np.full(15, 1 / 15), size=300)
    counts[7] = counts[250]
    found = near_duplicates(sp.csr_matrix(counts))
    assert found[7] == found[250] and len(set(found)) == len(np.unique(counts, axis=0)) == 299
