"""What topics see of how often a document has a word: its count, or the logarithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from supertopic.checks import check_choice
from supertopic.documents.corpus import Corpus
from supertopic.inference.repeats import repeats_beyond_topics

COUNTS = ("auto", "raw", "log")
_OFTEN = 1.9  # times; simulated documents have 0.5 to 1.9, first lines of reviews 1.0 to 1.7, whole texts 2.0 to 6.8


def check_counts(estimator: Any, at_mode: bool) -> None:
    """Refuse what the engine cannot see; only one that predicts at the mode of the shares takes logarithms."""
    known = COUNTS if at_mode else COUNTS[:2]
    if estimator.counts not in known:
        expected = " or ".join(map(repr, known))
        raise ValueError(
            f"counts: got {estimator.counts!r} with inference={estimator._inference()!r}, expected {expected}"
        )


def choose_counts(estimator: Any, corpus: Corpus) -> str:
    """What the user asks for, or for "auto" what suits the documents: counts ("raw") or their logarithms ("log")."""
    asked = str(getattr(estimator, "counts", "raw"))
    if asked != "auto":
        return asked
    if not estimator._engine().at_mode or not corpus.is_integer:  # weights of words are the user's own choice
        return "raw"
    return "log" if repeats_beyond_topics(corpus.counts) > _OFTEN else "raw"


def restored_counts(saved: Mapping[str, Any], at_mode: bool) -> str:
    """What a model file says; files of earlier versions do not, and their topics saw the counts."""
    found = saved.get("counts", "raw")
    check_choice("counts", found, COUNTS[1:] if at_mode else COUNTS[1:2])
    return str(found)
