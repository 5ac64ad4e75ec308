"""Plots of fitted models (they need matplotlib: ``pip install 'supertopic[plots]'``).

Each plot is a function here, `plot_topics(model)`, and a method of the model, `model.plot.topics()`.
"""

from supertopic.explore.plots.calibration import plot_calibration
from supertopic.explore.plots.class_profiles import plot_class_profiles
from supertopic.explore.plots.dendrogram import plot_dendrogram
from supertopic.explore.plots.deviations import plot_deviations
from supertopic.explore.plots.document import plot_document
from supertopic.explore.plots.map import plot_map
from supertopic.explore.plots.residuals import plot_residuals
from supertopic.explore.plots.select import plot_select
from supertopic.explore.plots.topic_effects import plot_topic_curves, plot_topic_effects
from supertopic.explore.plots.topics import plot_topics
from supertopic.explore.plots.trace import plot_trace
from supertopic.explore.plots.variation import plot_variation, variation_by_decile
from supertopic.explore.plots.words import plot_words

__all__ = [
    "plot_calibration",
    "plot_class_profiles",
    "plot_dendrogram",
    "plot_deviations",
    "plot_document",
    "plot_map",
    "plot_residuals",
    "plot_select",
    "plot_topic_curves",
    "plot_topic_effects",
    "plot_topics",
    "plot_trace",
    "plot_variation",
    "plot_words",
    "variation_by_decile",
]
