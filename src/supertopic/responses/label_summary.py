"""What a fit needs to know of the labels before its first step; summaries of two sets of documents add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """The total weight, the weighted mean and the weighted sum of squared deviations from that mean."""

    total: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray) -> Moments:
        total = float(weight.sum())
        if total == 0.0:
            return cls()
        mean = float(np.average(y, weights=weight))
        return cls(total, mean, float((weight * (y - mean) ** 2).sum()))

    @property
    def variance(self) -> float:
        return self.squares / self.total

    def __add__(self, other: Moments) -> Moments:
        """Chan, Golub & LeVeque (1983): no difference of large sums, so that no digits are lost."""
        if self.total == 0.0 or other.total == 0.0:
            return other if self.total == 0.0 else self
        total, apart = self.total + other.total, other.mean - self.mean
        share = other.total / total
        return Moments(total, self.mean + share * apart, self.squares + other.squares + self.total * share * apart**2)


@dataclass(frozen=True)
class LabelSummary:
    """The labels of a set of documents. Missing labels are left out of everything."""

    weighted: Moments  # with the weights of the labels
    positive: Moments  # every label of positive weight counts once
    every: Moments  # every label counts once
    low: float  # the smallest label, infinity without any
    high: float  # the largest label, minus infinity without any
    class_counts: np.ndarray  # (n_classes,) number of labels of each class
    class_weights: np.ndarray  # (n_classes,) sum of their weights

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, n_classes: int = 0) -> LabelSummary:
        """From labels y (D,), NaN where missing, and their weights (D,); classes are 0 … n_classes - 1."""
        known = ~np.isnan(y)
        y, weight = y[known], weight[known].astype(np.float64)
        some, one = weight > 0, np.ones(len(y))
        codes = y.astype(int) if n_classes else np.zeros(0, dtype=int)
        return cls(
            weighted=Moments.of(y[some], weight[some]),
            positive=Moments.of(y[some], one[some]),
            every=Moments.of(y, one),
            low=float(y.min(initial=np.inf)),
            high=float(y.max(initial=-np.inf)),
            class_counts=np.bincount(codes, minlength=n_classes).astype(np.float64),
            class_weights=np.bincount(codes, weight if n_classes else None, minlength=n_classes).astype(np.float64),
        )

    @property
    def n_labels(self) -> float:
        return self.every.total

    @property
    def moments(self) -> Moments:
        """The weighted moments. Where all weights are zero, every label counts once: y still needs a scale."""
        return self.weighted if self.weighted.total > 0 else self.every

    @property
    def plain_moments(self) -> Moments:
        """Those of the labels of positive weight, each counted once; of all labels where no weight is positive."""
        return self.positive if self.positive.total > 0 else self.every

    def __add__(self, other: LabelSummary) -> LabelSummary:
        return LabelSummary(
            weighted=self.weighted + other.weighted,
            positive=self.positive + other.positive,
            every=self.every + other.every,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            class_counts=self.class_counts + other.class_counts,
            class_weights=self.class_weights + other.class_weights,
        )


@dataclass(frozen=True)
class LabelSummaries:
    """One LabelSummary for each of several responses."""

    parts: tuple[LabelSummary, ...]

    def __getitem__(self, label: int) -> LabelSummary:
        return self.parts[label]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[LabelSummary]:
        return iter(self.parts)

    def __add__(self, other: LabelSummaries) -> LabelSummaries:
        return LabelSummaries(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))
