"""The clock of the one-thread tables: wall time, or processor time on a busy machine."""

from __future__ import annotations

import time

_read = time.perf_counter


def now() -> float:
    return _read()


def name() -> str:
    """What a program calls it."""
    return f"time.{_read.__name__}"


def use_processor_time() -> None:
    """Measure the processor time of this process, summed over its threads."""
    global _read
    _read = time.process_time
