"""supertopic: topics that predict."""

from importlib.metadata import version

from supertopic import datasets, metrics
from supertopic.corpus import Corpus
from supertopic.estimators.lda import LDA
from supertopic.estimators.mixture import MixtureOfCategoricals
from supertopic.estimators.saving import load
from supertopic.streams import Stream
from supertopic.vectorizer import Vectorizer

__all__ = [
    "LDA",
    "Corpus",
    "MixtureOfCategoricals",
    "Stream",
    "Vectorizer",
    "datasets",
    "load",
    "metrics",
]
__version__ = version("supertopic")
