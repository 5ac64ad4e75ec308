"""Backends: how the work of a fit is spread. `make_backend` reads what a user asks for."""

from __future__ import annotations

from typing import Any

from supertopic.backends.base import Backend
from supertopic.backends.cuda import Cuda
from supertopic.backends.threads import Threads


def name_of(backend: Any) -> Any:
    """What a model file has in place of the parameter `backend`: whoever reads it may have no GPU."""
    return "threads" if isinstance(backend, str) and backend == "cuda" else backend


def make_backend(name: Any, n_jobs: int | None) -> Backend:
    """The backend of the parameters `backend` and `n_jobs`; refuses what is none."""
    if isinstance(name, str) and name == "cuda":
        return Cuda(n_jobs)
    if name != "threads":
        raise ValueError(f"backend: got {name!r}, expected 'threads' or 'cuda'")
    return Threads(n_jobs)
