"""Topic coherence, the co-occurrence of a topic's top words in documents: UMass, NPMI and C_v."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.documents.corpus import as_texts, holds_text
from supertopic.metrics.summaries import components_of, top_word_ids

# The constant that Roeder et al. (2015) add to a joint probability before taking its logarithm.
EPSILON = 1e-12
# The widths of their sliding windows in tokens; UMass always counts documents.
WINDOWS = {"npmi": 10, "cv": 110}


def coherence(model: Any, X: object, measure: str = "npmi", top_n: int = 10, window: int | None = None) -> np.ndarray:
    """Coherence of each topic (higher is better), from the co-occurrences of its top words in ``X``.

    With P(i, j) the share of windows that contain words i and j:

    - ``"npmi"``: mean over pairs of log[ (P(i,j) + e) / (P(i) P(j)) ] / -log(P(i,j) + e), e = 1e-12.
    - ``"cv"``: v_i = (NPMI(i, j))_j over the top words, u = sum_i v_i; mean over i of cos(v_i, u) (Roeder et
      al. 2015).
    - ``"umass"``: sum_{m > l} log[ (D(m, l) + 1) / D(l) ], D counts documents, l before m in the topic (Mimno
      et al. 2011).

    Parameters
    ----------
    model : fitted estimator
    X : documents
        Counts have no order, so for counts the window is the document. For raw text, and a model whose
        ``vectorizer_`` counts single words, NPMI and C_v use a boolean sliding window.
    measure : {"npmi", "umass", "cv"}
    top_n : int
        Top words per topic, at least 2.
    window : int, optional
        Width of the sliding window in tokens; 10 for NPMI and 110 for C_v by default. 0 means the document.

    Returns
    -------
    array (K,)
        A pair with a word that does not occur in ``X`` counts as 0; a warning reports the number of such words.

    Examples
    --------
    >>> from supertopic import LDA, datasets, metrics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> model = LDA(2).fit(data.counts)
    >>> metrics.coherence(model, data.counts, top_n=5).shape
    (2,)
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(map(repr, MEASURES))}, got {measure!r}.")
    if window is not None and (int(window) != window or window < 0):
        raise ValueError(f"window must be a whole number of tokens, or 0 for documents, got {window!r}.")
    components = components_of(model)
    top = top_word_ids(components, top_n)
    if top.shape[1] < 2:
        raise ValueError(f"top_n must be at least 2 to make a pair, got {top_n!r}.")
    width = 0 if measure == "umass" else WINDOWS[measure] if window is None else int(window)
    analyzer = _word_analyzer(model) if width else None
    if analyzer is not None and holds_text(X):
        words = list(model.vectorizer_.get_feature_names_out())
        together, total = count_windows(map(analyzer, as_texts(X)[0]), words, top, width)
    else:
        together, total = count_documents(model.fitted_.corpus(X).counts, top)
    absent = len(np.unique(top[np.diagonal(together, axis1=1, axis2=2) == 0]))
    if absent:
        warnings.warn(
            f"{absent} of {len(np.unique(top))} top words stand nowhere in X; their pairs count as 0.",
            stacklevel=2,
        )
    return MEASURES[measure](together, total)


def umass(together: np.ndarray, total: int) -> np.ndarray:
    """sum_{m > l} log[ (D(m, l) + 1) / D(l) ] of (K, n, n) co-occurrence counts."""
    alone = np.diagonal(together, axis1=1, axis2=2)[:, None, :]
    score = np.log(together + 1.0) - np.log(np.maximum(alone, 1.0))
    return np.where(np.tri(together.shape[1], k=-1, dtype=bool), score, 0.0).sum(axis=(1, 2))


def npmi_matrix(together: np.ndarray, total: int) -> np.ndarray:
    """NPMI of every pair of a topic's top words, (K, n, n); 1 on the diagonal of words that occur."""
    joint = together / total
    alone = np.diagonal(joint, axis1=1, axis2=2)
    independent = alone[:, :, None] * alone[:, None, :]
    # 0 for a word that does not occur, and for two words that occur in every window
    known = (independent > 0) & (joint < 1)
    log_joint = np.log(np.where(known, joint, 0.5) + EPSILON)
    npmi = np.where(known, (log_joint - np.log(np.where(known, independent, 1.0))) / -log_joint, 0.0)
    diagonal = np.arange(joint.shape[1])
    npmi[:, diagonal, diagonal] = alone > 0
    return npmi


def npmi(together: np.ndarray, total: int) -> np.ndarray:
    """Mean NPMI of the pairs of each topic."""
    rows, columns = np.tril_indices(together.shape[1], k=-1)
    return npmi_matrix(together, total)[:, rows, columns].mean(axis=1)


def cv(together: np.ndarray, total: int) -> np.ndarray:
    """Mean cosine of each word's NPMI vector with the sum of them all (segmentation "one-set")."""
    vectors = npmi_matrix(together, total)
    whole = vectors.sum(axis=1, keepdims=True)
    dots = (vectors * whole).sum(axis=2)
    norms = np.linalg.norm(vectors, axis=2) * np.linalg.norm(whole, axis=2)
    return np.where(norms > 0, dots / np.where(norms > 0, norms, 1.0), 0.0).mean(axis=1)


MEASURES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {"npmi": npmi, "umass": umass, "cv": cv}


def count_documents(counts: sp.csr_matrix, top: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of documents with words i and j of a topic, (K, n, n), and number of documents."""
    words, place = np.unique(top, return_inverse=True)
    present = sp.csc_matrix(counts)[:, words]
    present.data = (present.data > 0).astype(np.float64)
    together = [(present[:, columns].T @ present[:, columns]).toarray() for columns in place.reshape(top.shape)]
    return np.array(together), counts.shape[0]


def count_windows(
    documents: Iterable[Sequence[str]], words: Sequence[str], top: np.ndarray, width: int
) -> tuple[np.ndarray, int]:
    """Number of sliding windows of ``width`` tokens with words i and j of a topic, (K, n, n), and number of windows.

    A document of N tokens has max(N - width + 1, 1) windows. A token is in an interval of them, so the windows of
    a word are a union of intervals, and the windows of a pair are the intersection of two unions. The windows
    themselves are never built.
    """
    distinct, place = np.unique(top, return_inverse=True)
    lookup = {words[w]: i for i, w in enumerate(distinct)}
    runs, total = [], 0
    for tokens in documents:
        ids = np.fromiter((lookup.get(token, -1) for token in tokens), dtype=np.int64, count=len(tokens))
        position = np.flatnonzero(ids >= 0)
        n_windows = max(len(tokens) - width + 1, 1)
        first, last = np.maximum(position - width + 1, 0), np.minimum(position, n_windows - 1)
        runs.append(np.stack([ids[position], total + first, total + last + 1]))
        total += n_windows
    found, starts, stops = np.concatenate(runs, axis=1)
    by_word = np.argsort(found, kind="stable")
    cuts = np.searchsorted(found[by_word], np.arange(1, len(distinct)))
    covers = [_union(starts[mine], stops[mine]) for mine in np.split(by_word, cuts)]
    n = top.shape[1]
    together = np.zeros((len(top), n, n))
    for k, members in enumerate(place.reshape(top.shape)):
        for i in range(n):
            for j in range(i + 1):
                overlap = _overlap(covers[members[i]], covers[members[j]])
                together[k, i, j] = together[k, j, i] = overlap
    return together, total


def _union(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (knots, measure), the number of covered windows before each knot; it is linear between the knots.

    The intervals come in the order of the text, so starts and stops both increase. Cutting each interval at the
    stop of the one before makes them disjoint.
    """
    if len(starts):
        starts = np.maximum(starts, np.append(starts[0], stops[:-1]))
    knots = np.stack([starts, stops], axis=1).ravel()
    lengths = np.stack([np.zeros_like(starts), stops - starts], axis=1).ravel()
    return knots, np.cumsum(lengths)


def _overlap(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> float:
    """The number of windows in both unions."""
    if len(a[0]) == 0 or len(b[0]) == 0:
        return 0.0
    covered = np.interp(b[0], *a, left=0.0)
    return float(np.round(covered[1::2].sum() - covered[::2].sum()))


def _word_analyzer(model: object) -> Callable[[str], Sequence[str]] | None:
    """Return the model's function from text to ordered tokens; None without a vectorizer or with n-grams."""
    vectorizer = getattr(model, "vectorizer_", None)
    # the name in scikit-learn, then ours
    make = getattr(vectorizer, "build_analyzer", None) or getattr(vectorizer, "_tokenizer", None)
    ngram_range = tuple(getattr(vectorizer, "ngram_range", (1, 1)))
    return make() if make is not None and ngram_range == (1, 1) else None
