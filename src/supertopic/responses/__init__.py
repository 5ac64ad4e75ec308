"""How topics make y: a file per kind of response; importing this package registers them all."""

from supertopic.responses import binary, continuous, counts

__all__ = ["binary", "continuous", "counts"]
