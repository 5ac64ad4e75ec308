"""How topics make y: a file per kind of response; importing this package registers them all."""

from supertopic.responses import binary, classes, continuous, counts, margin, positive

__all__ = ["binary", "classes", "continuous", "counts", "margin", "positive"]
