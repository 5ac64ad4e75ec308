"""A GPU by numba-cuda: warps share a document, topics lie over lanes. Corpus, topics and sums stay on the device.

`arrays` holds what lies there, `forms` says which function of the CPU has which form there, and the other files are
kernels. What belongs to no document or word, and what has a form of K numbers, stays with the threads of the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from supertopic.backends.base import Partitioned
from supertopic.backends.threads import Threads

if TYPE_CHECKING:
    from supertopic.backends.cuda.ops import CudaOps


class Cuda(Threads):
    """The first GPU that numba finds, and `n_jobs` threads beside it. The same fit gives the same numbers again."""

    on_device = True

    def __init__(self, n_jobs: int | None = None) -> None:
        require_gpu()
        super().__init__(n_jobs)

    def __exit__(self, *error: Any) -> None:
        from supertopic.backends.cuda.memory import forget

        forget()
        super().__exit__(*error)

    @property
    def ops(self) -> CudaOps:  # type: ignore[override]
        from supertopic.backends.cuda.ops import CudaOps  # it needs numba-cuda

        return CudaOps(self)

    def form(self, original: Any) -> Any:
        from supertopic.backends.cuda.forms import find_form

        return find_form(original)

    def spread(self, documents: Partitioned) -> DevicePartition:  # type: ignore[override]
        return DevicePartition(documents.split(1)[0], self)

    def alone(self) -> Cuda:
        return Cuda(1)


class DevicePartition:
    """All documents in one partition; functions run on it in their form of the device."""

    def __init__(self, partition: Any, backend: Cuda) -> None:
        self.partition, self._backend = partition, backend

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        return [self._backend.form(function)(self.partition, self._backend, *shared)]


def require_gpu() -> None:
    """Refuse, in one sentence, a machine without numba-cuda or without a GPU."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return
    if find_spec("numba_cuda") is None:
        raise ValueError("backend: got 'cuda', which needs numba-cuda: pip install 'supertopic[gpu]'")
    from numba import cuda

    if not cuda.is_available():
        raise ValueError("backend: got 'cuda', but numba finds no GPU here; expected a machine with one, or 'threads'")
