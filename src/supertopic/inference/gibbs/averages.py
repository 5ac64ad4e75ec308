"""What a sampler with a response returns: means over sweeps, and the draws that are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.model import Model, State


class Sample(NamedTuple):
    """The variables of one sweep."""

    word_topic: np.ndarray  # (V, K) counts
    doc_topic: np.ndarray  # (D, K) counts
    coef: np.ndarray  # (C, K + P)
    dispersion: np.ndarray
    gram: np.ndarray  # (C, K + P, K + P), of the normal equations of coef
    cross: np.ndarray  # (C, K + P), their right-hand side
    coef_prior: CoefPrior
    selects: bool  # whether the coefficients of some topics are exactly zero, and which ones is drawn


class Sums:
    """Sums over the sweeps that are averaged, and the draws that are kept."""

    def __init__(self, first: Sample) -> None:
        """first : any sample; its shapes are those of the sums, which start at zero."""
        self.word_topic = np.zeros(first.word_topic.shape, dtype=np.float32)
        self.doc_topic = np.zeros(first.doc_topic.shape, dtype=np.float32)
        self.gram = np.zeros(first.gram.shape)
        self.inclusion = np.zeros(first.coef.shape)
        self.sparse = first.coef_prior.sparse
        self.scale: list[float] = []
        self.coef: list[np.ndarray] = []
        self.dispersion: list[np.ndarray] = []

    def add(self, sample: Sample) -> None:
        """Add one sample to the sums, and keep its draws."""
        self.word_topic += sample.word_topic
        self.doc_topic += sample.doc_topic
        self.gram += sample.gram
        self.scale.append(sample.coef_prior.scale)
        if self.sparse:
            self.inclusion += (sample.coef if sample.selects else _modes(sample)) != 0
        self.coef.append(sample.coef.copy())
        self.dispersion.append(sample.dispersion.copy())

    def arrays(self) -> dict[str, np.ndarray]:
        """All sums and draws, for a checkpoint."""
        sums: dict[str, np.ndarray] = {
            "sum_words": self.word_topic,
            "sum_documents": self.doc_topic,
            "sum_gram": self.gram,
        }
        draws = {"coefs": np.asarray(self.coef), "dispersions": np.asarray(self.dispersion)}
        return {**sums, **draws, "inclusion": self.inclusion, "scales": np.asarray(self.scale)}

    def resume(self, found: dict[str, np.ndarray]) -> None:
        """Go on from the arrays of a checkpoint."""
        self.word_topic, self.doc_topic, self.gram = found["sum_words"], found["sum_documents"], found["sum_gram"]
        self.coef, self.dispersion = list(found["coefs"]), list(found["dispersions"])
        self.inclusion, self.scale = found["inclusion"], found["scales"].tolist()

    def means(
        self, model: Model, lengths: np.ndarray, alpha: np.ndarray, beta: float
    ) -> tuple[State, dict[str, np.ndarray]]:
        """The means over the samples as a State, and the draws.

        lengths : (D,), the documents' numbers of tokens; alpha, beta : the priors at the end
        """
        n_draws = len(self.coef)
        coef, dispersion = np.mean(self.coef, axis=0), np.mean(self.dispersion, axis=0)
        word_topic = self.word_topic / np.float32(n_draws) + np.float32(beta)
        learned = {"coef": coef.astype(np.float32), "information": self.gram / n_draws, "dispersion": dispersion}
        state = State.first(model, word_topic, alpha=alpha, **learned)
        draws = {
            "coef": np.asarray(self.coef),
            "dispersion": np.asarray(self.dispersion),
            "coef_scale": np.asarray(self.scale),
            "shares": self.doc_topic / np.float32(n_draws) / np.maximum(lengths, 1)[:, None].astype(np.float32),
        }
        if self.sparse:
            draws["inclusion"] = self.inclusion / n_draws
        return state, draws


def _modes(sample: Sample) -> np.ndarray:
    """The posterior modes of the coefficients (less their level, if they have one) under the Laplace prior, given all
    other variables.
    """
    columns = zip(sample.gram, sample.cross, sample.coef, strict=True)
    return np.array([sample.coef_prior.differences(*column, 500, 1e-6) for column in columns])
