"""The laws of y given the topics, a file for each kind of y; importing this package registers them all."""

from supertopic.responses import binary, classes, continuous, counts, margin, positive

__all__ = ["binary", "classes", "continuous", "counts", "margin", "positive"]
