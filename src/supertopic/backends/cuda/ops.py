"""The operations of `LocalOps` by kernels of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from supertopic.backends.cuda.arrays import MOST_TOPICS
from supertopic.backends.cuda.emission import DeviceTopics
from supertopic.backends.cuda.forms import no_form
from supertopic.backends.cuda.tokens import DeviceTokens
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.responses.margin import MaxMargin

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


@dataclass(frozen=True)
class CudaOps:
    """An array of a row per word or document is a `Matrix`, which stays on the device from step to step."""

    backend: Backend

    def check(self, model: Any) -> None:
        if type(model.emission) not in (DirichletTopics, DeviceTopics):
            raise no_form(f"the emission {model.emission.name!r}")
        if model.one_topic:
            raise no_form("documents of one topic each")
        if model.per_token:
            raise no_form("per_token=True")
        if isinstance(model.response, MaxMargin) and model.response.likelihood:
            raise no_form("a likelihood beside a margin (likelihood='lda' has none)")
        if model.n_topics > MOST_TOPICS:
            raise no_form(f"more than {MOST_TOPICS} topics")

    def emission(self, emission: DirichletTopics) -> DeviceTopics:
        return DeviceTopics(emission.prior, emission.at_mean)

    def tokens(self, counts: sp.csr_matrix, n_topics: int, seed: int) -> DeviceTokens:
        return DeviceTokens(counts, n_topics, seed)
