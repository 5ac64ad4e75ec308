"""The clock of the one-thread tables: the wall's, or the processor's where a busy machine would blur the wall's."""

from __future__ import annotations

import time

_read = time.perf_counter


def now() -> float:
    return _read()


def use_processor_time() -> None:
    """Count only the seconds this process itself was running, in all its threads."""
    global _read
    _read = time.process_time
