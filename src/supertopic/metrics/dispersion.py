"""How far word counts scatter around what topics expect: whether there are topics enough."""

from __future__ import annotations

from typing import Any

import numpy as np

_LEAST = 0.01  # expected count below which a word of a document tells nothing of the scatter
_ENTRIES = 1 << 22  # of a block of documents


def residual_dispersion(model: Any, X: object) -> float:
    """sum of (n_dv - e_dv)² / (e_dv (1 - q_dv)), over its degrees of freedom, with e_dv = N_d q_dv, q_d = theta_d·beta.

    The sum is over words with e_dv above 0.01; each document takes K - 1 degrees of freedom. It is near 1 where words
    are drawn from the topics of the model, and larger where documents use words together, or again, in ways that the
    topics do not know: with more topics it falls (Taddy 2012, as in R's stm).

    Parameters
    ----------
    model : fitted model
        Its topics.
    X : documents
        As in its ``transform``.

    Returns
    -------
    float
        Near 1 where topics explain the counts.

    Examples
    --------
    >>> from supertopic import LDA, datasets, metrics
    >>> data = datasets.simulate(60, n_topics=2, n_words=30)
    >>> metrics.residual_dispersion(LDA(2).fit(data.counts), data.counts) > 0
    True
    """
    corpus, topics = model.fitted_.corpus(X), np.asarray(model.components_, dtype=np.float64)
    shares = np.asarray(model.transform(corpus), dtype=np.float64)
    if shares.shape[1] != len(topics):
        raise ValueError(f"model: a {model.fitted_.spec.name} has topics that documents do not choose among")
    lengths = np.asarray(corpus.counts.sum(axis=1), dtype=np.float64).ravel()
    total, cells = 0.0, 0
    step = max(_ENTRIES // topics.shape[1], 1)
    for start in range(0, len(corpus), step):
        rows = slice(start, start + step)
        share = shares[rows] @ topics
        expected = lengths[rows, None] * share
        counted = expected > _LEAST
        apart = (corpus.counts[rows].toarray() - expected)[counted]
        total += float((apart**2 / (expected * np.maximum(1.0 - share, 1e-12))[counted]).sum())
        cells += int(counted.sum())
    freedom = cells - int((lengths > 0).sum()) * (len(topics) - 1)
    if freedom < 1:
        raise ValueError("X: the documents have too few words for the scatter around so many topics to be known")
    return total / freedom
