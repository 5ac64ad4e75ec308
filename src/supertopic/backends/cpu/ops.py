"""The operations of `LocalOps` by kernels of the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
