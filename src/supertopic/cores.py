"""How many threads are worth starting."""

from __future__ import annotations

from joblib import cpu_count


def most_threads() -> int:
    """Twice the cores, but eight at least: more threads would only take memory, however many a user asks for."""
    return max(8, 2 * cpu_count())
