"""Steps of Adam on the logarithms of topics, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from supertopic.backends.cuda.arrays import Matrix
from supertopic.backends.cuda.kernels import topics as kernels
from supertopic.backends.cuda.kernels.regression import add_parts
from supertopic.backends.cuda.memory import empty


def climb(
    topics: Any, gradient: Any, prior: float, pull: float, anchor: Any, rates: Sequence[float], kept: tuple[Any, ...]
) -> Any:
    """As `LocalOps.climb`."""
    topics, gradient = Matrix.of(topics), Matrix.of(gradient)
    n_topics, by = topics.shape[1], (topics.width,)
    parts, totals = empty(topics.n_parts * topics.width, np.float64), empty(topics.width, np.float64)
    towards = (float(prior), float(pull), Matrix.of(anchor).flat)
    topics.by_topic(kernels.weigh_gradient, n_topics, topics.flat, gradient.flat, *towards, *by, parts)
    add_parts[topics.registers, 32](topics.n_parts, topics.width, parts, totals)
    arrays: Any = tuple(one.flat for one in kept)
    given = tuple(np.float32(one) for one in rates)
    topics.by_topic(kernels.climb, n_topics, gradient.flat, totals, *by, given, topics.flat, *arrays, parts)
    add_parts[topics.registers, 32](topics.n_parts, topics.width, parts, totals)
    topics.by_topic(kernels.divide_topics, totals, *by, topics.flat)
    topics.changed()
    return topics
