"""What a sampler with a response leaves: means over sweeps, and the draws that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.inference.task import Fit
from supertopic.inference.variational.step import start_state
from supertopic.kernels.lasso import descend

if TYPE_CHECKING:
    from supertopic.inference.gibbs.supervised import SupervisedSampler


class Sums:
    """What is averaged over sweeps, and the draws that are kept."""

    def __init__(self, sampler: SupervisedSampler) -> None:
        self.word_topic = np.zeros(sampler.word_topic.shape, dtype=np.float32)
        self.doc_topic = np.zeros(sampler.doc_topic.shape, dtype=np.float32)
        self.gram = np.zeros(sampler.gram.shape)
        self.inclusion = np.zeros(sampler.coef.shape)
        self.scale: list[float] = []
        self.coef: list[np.ndarray] = []
        self.dispersion: list[np.ndarray] = []

    def add(self, sampler: SupervisedSampler) -> None:
        self.word_topic += sampler.word_topic
        self.doc_topic += sampler.doc_topic
        self.gram += sampler.gram
        self.scale.append(sampler.coef_prior.scale)
        if sampler.coef_prior.name == "laplace":
            self.inclusion += _modes(sampler) != 0
        self.coef.append(sampler.coef.copy())
        self.dispersion.append(sampler.dispersion.copy())

    def arrays(self) -> dict[str, np.ndarray]:
        sums: dict[str, np.ndarray] = {
            "sum_words": self.word_topic,
            "sum_documents": self.doc_topic,
            "sum_gram": self.gram,
        }
        draws = {"coefs": np.asarray(self.coef), "dispersions": np.asarray(self.dispersion)}
        return {**sums, **draws, "inclusion": self.inclusion, "scales": np.asarray(self.scale)}

    def resume(self, found: dict[str, np.ndarray]) -> None:
        self.word_topic, self.doc_topic, self.gram = found["sum_words"], found["sum_documents"], found["sum_gram"]
        self.coef, self.dispersion = list(found["coefs"]), list(found["dispersions"])
        self.inclusion, self.scale = found["inclusion"], found["scales"].tolist()

    def fit(self, sampler: SupervisedSampler, trace: list[float], n_iter: int, alphas: np.ndarray) -> Fit:
        """The means over the draws, as a State."""
        n_draws = len(self.coef)
        coef, dispersion = np.mean(self.coef, axis=0), np.mean(self.dispersion, axis=0)
        word_topic = self.word_topic / np.float32(n_draws) + np.float32(sampler.beta)
        state = start_state(sampler.model, word_topic, dispersion)
        state.alpha, state.coef, state.gram = sampler.alpha, coef.astype(np.float32), self.gram / n_draws
        draws: dict[str, Any] = {
            "coef": np.asarray(self.coef),
            "dispersion": np.asarray(self.dispersion),
            "log_joint": np.asarray(trace),
            "alpha": alphas,
            "coef_scale": np.asarray(self.scale),
            "shares": self.doc_topic / np.float32(n_draws) / np.maximum(sampler.lengths, 1)[:, None].astype(np.float32),
        }
        if sampler.coef_prior.name == "laplace":
            draws["inclusion"] = self.inclusion / n_draws
        return Fit(state, trace, n_iter, draws)


def _modes(sampler: SupervisedSampler) -> np.ndarray:
    """The coefficients' modes under the Laplace prior, given all else."""
    modes = sampler.coef.copy()
    penalty, slope = np.full(modes.shape[1], 1.0 / sampler.coef_prior.scale), np.empty(modes.shape[1])
    for gram, cross, mode in zip(sampler.gram, sampler.cross, modes, strict=True):
        descend(gram, cross, penalty, mode, slope, 500, 1e-6)
    return modes
