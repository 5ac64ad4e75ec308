"""Topics that a reader puts together, leaves out or puts in another order.

The words of topics that are merged add up, and so do their shares of documents and their prior. What is left out gives
its share of each document to the others, in proportion. New documents are inferred with the topics that there are then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from supertopic.fitted.fitted import Fitted
from supertopic.fitted.spec import Spec
from supertopic.model import MixtureState, State

Groups = Sequence[Sequence[int]]


def require_regroupable(fitted: Fitted) -> None:
    """Refuse models of which topics are not all there is."""
    problem = ""
    if not fitted.needs_words_only:
        problem = "has a response, labels or sentences, whose part of the model belongs to the topics as they are"
    elif fitted.spec.model.emission.name != "dirichlet" or fitted.state.alpha.ndim != 1:
        problem = "has topics or a prior whose parameters do not add up"
    if problem:
        raise ValueError(f"topics: a {fitted.spec.name} like this {problem}; merge its tables instead")


def regrouped(fitted: Fitted, spec: Spec, groups: Groups) -> Fitted:
    """The model with a topic for each group of topics; spec : of so many topics."""

    def summed(array: np.ndarray) -> np.ndarray:
        """Along the last axis."""
        return np.stack([array[..., list(group)].sum(axis=-1) for group in groups], axis=-1)

    state, more = fitted.state, {"alpha": summed(fitted.state.alpha)}
    kind = MixtureState if isinstance(state, MixtureState) else State
    if isinstance(state, MixtureState):
        more["shares"] = summed(state.shares)
    made = kind.first(spec.model, np.ascontiguousarray(summed(state.word_topic)), **more)
    shares = [None if one is None else summed(one) for one in (fitted.doc_topic, fitted.average)]
    shares = [None if one is None else one / one.sum(axis=-1, keepdims=True) for one in shares]
    draws = {
        name: summed(one) if name in ("alpha", "shares") and one.size else one for name, one in fitted.draws.items()
    }
    labels = fitted.labels
    if labels is not None:
        labels = [next((labels[k] for k in group if labels[k]), None) for group in groups]
    return replace(
        fitted, spec=spec, state=made, doc_topic=shares[0], average=shares[1], draws=draws, labels=labels, climb=None
    )


def merged_groups(topics: Sequence[Sequence[int]], n_topics: int) -> list[list[int]]:
    """A group for each topic, or for those that are merged, which stand in the place of their first."""
    together = {k: min(group) for group in topics for k in group}
    if len(together) < sum(map(len, topics)):
        raise ValueError("topics: got a topic twice, expected topics that differ")
    found: dict[int, list[int]] = {}
    for k in range(n_topics):
        found.setdefault(together.get(k, k), []).append(k)
    return list(found.values())
