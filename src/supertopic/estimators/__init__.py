"""What users import: presets of emission, response, prior and engine; importing one makes all known to `load`."""

from supertopic.estimators.beyond.disclda import DiscLDAClassifier
from supertopic.estimators.beyond.faceted_sage import FacetedSAGE
from supertopic.estimators.beyond.geo_sage import GeoSAGE
from supertopic.estimators.beyond.htmm import HTMM
from supertopic.estimators.lda import LDA
from supertopic.estimators.loading import load
from supertopic.estimators.medlda import MedLDAClassifier, MedLDARegressor
from supertopic.estimators.medlda_cv import MedLDAClassifierCV, MedLDARegressorCV
from supertopic.estimators.mixture import MixtureOfCategoricals
from supertopic.estimators.sage import SAGEClassifier, SAGETopics
from supertopic.estimators.shared.results.method_pages import finish_methods
from supertopic.estimators.shared.results.pages import finish_pages
from supertopic.estimators.slda import SLDAClassifier, SLDARegressor
from supertopic.estimators.sstm import SSTMClassifier, SSTMRegressor
from supertopic.estimators.topic_model import TopicModel
from supertopic.fitted.files import ESTIMATORS
from supertopic.inference.methods import CVB0, PC, SVI, VB, Gibbs

finish_pages([*ESTIMATORS.values(), MedLDAClassifierCV, MedLDARegressorCV, CVB0, PC, SVI, VB, Gibbs])
finish_methods([*ESTIMATORS.values(), MedLDAClassifierCV, MedLDARegressorCV])

__all__ = [
    "CVB0",
    "HTMM",
    "LDA",
    "PC",
    "SVI",
    "VB",
    "DiscLDAClassifier",
    "FacetedSAGE",
    "GeoSAGE",
    "Gibbs",
    "MedLDAClassifier",
    "MedLDAClassifierCV",
    "MedLDARegressor",
    "MedLDARegressorCV",
    "MixtureOfCategoricals",
    "SAGEClassifier",
    "SAGETopics",
    "SLDAClassifier",
    "SLDARegressor",
    "SSTMClassifier",
    "SSTMRegressor",
    "TopicModel",
    "load",
]
