"""Backends: how the work of a fit is spread. `make_backend` reads what a user asks for."""

from __future__ import annotations

import sys
from typing import Any

from supertopic.backends.base import Backend
from supertopic.backends.cuda import Cuda
from supertopic.backends.threads import Threads


def make_backend(backend: Any, n_jobs: int | None) -> Backend:
    """The backend of the parameters `backend` and `n_jobs`; refuses what is none."""
    if isinstance(backend, str) and backend == "threads":
        return Threads(n_jobs)
    if isinstance(backend, str) and backend == "cuda":
        return Cuda(n_jobs)
    if _is_client(backend):
        from supertopic.backends.cluster import Cluster

        return Cluster(backend, n_jobs)
    raise ValueError(f"backend: got {backend!r}, expected 'threads', 'cuda' or a dask.distributed.Client")


def _is_client(backend: object) -> bool:
    """Whether it is a Dask client; whoever has one has imported its package."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(backend, distributed.Client)


def connect(scheduler: str, seconds: float = 10.0) -> Any:
    """A Dask client of the scheduler at an address, which has so long to answer; errors are sentences."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("a cluster needs dask.distributed: pip install 'supertopic[cluster]'") from None
    try:
        return Client(scheduler, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        what = f"no Dask scheduler answers at {scheduler!r}, expected an address such as 'tcp://host:8786'"
        raise ValueError(f"scheduler: {what}") from error


def without_client(backend: object) -> Any:
    """The parameter `backend` as a copy in another process has it: a connection cannot travel."""
    return "threads" if _is_client(backend) else backend


def name_in_files(backend: object) -> Any:
    """The parameter `backend` as a model file has it: whoever reads it may have neither this cluster nor a GPU."""
    return "threads" if _is_client(backend) or (isinstance(backend, str) and backend == "cuda") else backend
