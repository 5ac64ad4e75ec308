"""supertopic: topics that predict.

The names are imported when they are first used: the command line then answers at once, where importing all takes
seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from supertopic.plots_of import drawn_by

if TYPE_CHECKING:
    from supertopic import datasets, metrics
    from supertopic.checkpoint import Checkpoint
    from supertopic.documents.corpus import Corpus
    from supertopic.documents.streams import Stream
    from supertopic.documents.vectorizer import Vectorizer
    from supertopic.estimators import (
        CVB0,
        HTMM,
        LDA,
        PC,
        SVI,
        VB,
        DiscLDAClassifier,
        FacetedSAGE,
        GeoSAGE,
        Gibbs,
        MedLDAClassifier,
        MedLDAClassifierCV,
        MedLDARegressor,
        MedLDARegressorCV,
        MixtureOfCategoricals,
        SAGEClassifier,
        SAGETopics,
        SLDAClassifier,
        SLDARegressor,
        SSTMClassifier,
        SSTMRegressor,
        TopicModel,
        load,
    )
    from supertopic.fitted.share_priors import Prevalence
    from supertopic.selection import select_topics

__all__ = [
    "CVB0",
    "HTMM",
    "LDA",
    "PC",
    "SVI",
    "VB",
    "Checkpoint",
    "Corpus",
    "DiscLDAClassifier",
    "FacetedSAGE",
    "GeoSAGE",
    "Gibbs",
    "MedLDAClassifier",
    "MedLDAClassifierCV",
    "MedLDARegressor",
    "MedLDARegressorCV",
    "MixtureOfCategoricals",
    "Prevalence",
    "SAGEClassifier",
    "SAGETopics",
    "SLDAClassifier",
    "SLDARegressor",
    "SSTMClassifier",
    "SSTMRegressor",
    "Stream",
    "TopicModel",
    "Vectorizer",
    "datasets",
    "load",
    "metrics",
    "select_topics",
]

# the others are estimators and what their `inference` takes
_HOMES = {
    "Checkpoint": "checkpoint",
    "Corpus": "documents.corpus",
    "Prevalence": "fitted.share_priors",
    "Stream": "documents.streams",
    "Vectorizer": "documents.vectorizer",
    "select_topics": "selection",
}
_MODULES = ("datasets", "metrics")

drawn_by(lambda: import_module("supertopic.explore"))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("supertopic")
    if name not in __all__:
        raise AttributeError(f"module 'supertopic' has no attribute {name!r}")
    if name in _MODULES:
        return import_module(f"supertopic.{name}")
    value = getattr(import_module(f"supertopic.{_HOMES.get(name, 'estimators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
