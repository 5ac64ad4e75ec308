"""Numbers of things in sentences."""

from __future__ import annotations


def counted(n: float, thing: str) -> str:
    """A number of things: "1 document", "1,200 documents"."""
    return f"{n:,.0f} {thing}{'' if n == 1 else 's'}"
