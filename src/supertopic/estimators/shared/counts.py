"""What topics see of how often a document has a word: its count, or the logarithm."""

from __future__ import annotations

from supertopic.documents.corpus import Corpus
from supertopic.inference.repeats import repeats_beyond_topics

COUNTS = ("auto", "raw", "log")
_OFTEN = 1.9  # times; simulated documents have 0.5 to 1.9, first lines of reviews 1.0 to 1.7, whole texts 2.0 to 6.8


def check_counts(counts: str, inference: str, at_mode: bool) -> None:
    """Refuse what the engine cannot see; only one that predicts at the mode of the shares takes logarithms."""
    known = COUNTS if at_mode else COUNTS[:2]
    if counts not in known:
        expected = " or ".join(map(repr, known))
        raise ValueError(f"counts: got {counts!r} with inference={inference!r}, expected {expected}")


def choose_counts(asked: str, at_mode: bool, corpus: Corpus) -> str:
    """What the user asks for, or for "auto" what suits the documents: counts ("raw") or their logarithms ("log")."""
    if asked != "auto":
        return asked
    if not at_mode or not corpus.is_integer:  # weights of words are the user's own choice
        return "raw"
    return "log" if repeats_beyond_topics(corpus.counts) > _OFTEN else "raw"
