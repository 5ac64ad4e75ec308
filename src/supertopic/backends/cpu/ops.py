"""The operations of `LocalOps` by kernels of the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from supertopic.backends.cpu.tokens import HostTokens

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


@dataclass(frozen=True)
class CpuOps:
    """Arrays are NumPy's."""

    backend: Backend

    def check(self, model: Any) -> None:
        """All models can be fitted here."""

    def emission(self, emission: Any) -> Any:
        return emission

    def tokens(self, counts: sp.csr_matrix, n_topics: int, seed: int) -> HostTokens:
        return HostTokens.of(counts, n_topics, seed, self.backend)
