"""Figures of fitted models (they need matplotlib: ``pip install 'supertopic[plots]'``)."""

from supertopic.explore.deviations import plot_deviations, plot_variation, variation_by_decile

__all__ = ["plot_deviations", "plot_variation", "variation_by_decile"]
