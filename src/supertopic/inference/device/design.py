"""Documents as a regression sees them, with topic shares on the device and y, scores and slopes on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from supertopic.backends.base import Backend, Combine, Run, in_turn
from supertopic.backends.cuda.arrays import Matrix, added, padded, warps
from supertopic.backends.cuda.e_step import which_of
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels import regression as kernels
from supertopic.backends.cuda.memory import empty, sent, sent_once
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.batches import Partition
from supertopic.inference.design import Design
from supertopic.inference.regression import Labelled
from supertopic.inference.variational.m_step_glm import _of_labelled
from supertopic.inference.variational.prediction_local import of_shares, topic_sizes
from supertopic.priors.base import Rows


@dataclass(frozen=True)
class DeviceDesign(Design):
    """A design whose `mean` is a Matrix."""

    @classmethod
    def of_rows(cls, doc_topic: Any, prior: Rows, lengths: np.ndarray, covariates: np.ndarray) -> DeviceDesign:
        mean = Matrix.empty(*doc_topic.shape)
        found = cls(mean, lengths, covariates)  # type: ignore[arg-type]
        alpha = prior.single.astype(np.float64)
        given = (padded(value, dtype=np.float64) for value in (alpha, alpha / alpha.sum(axis=1, keepdims=True)))
        if len(mean):
            kernels.mean_shares[len(mean), mean.width](
                len(mean), mean.shape[1], doc_topic.flat, *(sent(value, np.float64) for value in given),
                which_of(prior), found.inverse, mean.width, mean.flat,
            )  # fmt: skip
        return found

    @property
    def blocks(self) -> list[slice]:
        """All at once: a kernel cuts them itself."""
        return [slice(None)]

    @cached_property
    def inverse(self) -> Any:
        """(D,) 1/N on the device; 0 where the shares are known exactly."""
        return sent_once(1.0 / self.lengths, np.float64)

    @property
    def columns(self) -> np.ndarray:
        return np.hstack([np.asarray(self.mean, dtype=np.float64), self.covariates])

    def predictors(self, coef: np.ndarray) -> np.ndarray:
        mean: Any = self.mean
        shape = (len(mean), len(coef))
        if not np.prod(shape):
            return np.zeros(shape)
        topics = sent_once(padded(coef[:, : mean.shape[1]], dtype=np.float64), np.float64)
        found = empty(shape[0] * shape[1], np.float64)
        kernels.linear[warps(shape[0])](shape[0], mean.flat, topics, shape[1], mean.width, found)
        score = np.asarray(found.copy_to_host()).reshape(shape)
        return score + self.others(coef) if self.covariates.shape[1] else score

    def moments(self, coef: np.ndarray, is_product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.is_exact:
            return super().moments(coef, is_product)
        others = self.others(coef)
        score, second = self._linear(coef[:, : self.mean.shape[1]], is_product)
        moment = (score + others) ** 2 + np.maximum(second - score**2, 0.0) / self.lengths[:, None]
        finite = np.isfinite(self.lengths)
        for c in np.flatnonzero(is_product):
            known = np.log1p(np.maximum(second[:, c], -1 + 1e-9)) * np.where(finite, self.lengths, 0.0)
            moment[:, c] = np.exp(np.clip(np.where(finite, known, score[:, c]) + others[:, c], -300.0, 300.0))
        return score + others, moment

    def normal_equations(
        self, coef: np.ndarray, is_product: np.ndarray, moment: np.ndarray, slope: np.ndarray, curvature: np.ndarray,
        run: Run = in_turn,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """As on the host; one column after the other, since each keeps the device busy."""
        n_topics, n_coef = self.mean.shape[1], coef.shape[1]
        gram, cross = np.empty((len(coef), n_coef, n_coef)), self._times(slope)
        diagonal, others = np.arange(n_topics), self.covariates
        for c in range(len(coef)):
            shares = self._tilted_matrix(coef[c, :n_topics]) if is_product[c] else self.mean
            weight = curvature[:, c] * moment[:, c] if is_product[c] else curvature[:, c]
            own = np.zeros_like(weight) if self.is_exact else weight / self.lengths  # of each token
            gram[c][:n_topics, :n_topics] = self._outer(shares, weight - own)
            if not self.is_exact:
                gram[c][diagonal, diagonal] += sum_shares(shares, own[:, None])[0]
            mixed = sum_shares(shares, weight[:, None] * others)
            gram[c][n_topics:, :n_topics], gram[c][:n_topics, n_topics:] = mixed, mixed.T
            gram[c][n_topics:, n_topics:] = (others * weight[:, None]).T @ others
            if is_product[c]:
                topics = sum_shares(shares, weight[:, None])[0]
                cross[c] += gram[c] @ coef[c] - np.concatenate([topics, weight @ others])
        return gram, cross

    def gradient(
        self, coef: np.ndarray, is_product: np.ndarray, moment: np.ndarray, slope: np.ndarray, curvature: np.ndarray
    ) -> np.ndarray:
        n_topics = self.mean.shape[1]
        topics, others = coef[:, :n_topics], self.others(coef)
        score = self._linear(topics, np.zeros_like(is_product))[0]
        quadratic = np.where(is_product, 0.0, curvature)
        own = quadratic / self.lengths[:, None]
        result = self._times(slope - quadratic * (score + others))
        result[:, :n_topics] += sum_shares(self.mean, own * score) - topics * sum_shares(self.mean, own)
        for c in np.flatnonzero(is_product):
            weight = curvature[:, c] * moment[:, c]
            result[c, :n_topics] -= sum_shares(self._tilted_matrix(topics[c]), weight[:, None])[0]
            result[c, n_topics:] -= weight @ self.covariates
        return result

    def _linear(self, topics: np.ndarray, is_product: np.ndarray) -> list[np.ndarray]:
        """(D, C) coef·m, and coef²·m or (exp(coef/N) - 1)·m of a product column."""
        mean: Any = self.mean
        shape = (len(mean), len(topics))
        if not np.prod(shape):
            return [np.zeros(shape) for _ in range(2)]
        found = [empty(shape[0] * shape[1], np.float64) for _ in range(2)]
        kernels.linear_and_square[warps(shape[0])](
            shape[0], mean.flat, sent_once(padded(topics, dtype=np.float64), np.float64), shape[1], mean.width,
            sent_once(is_product, np.bool_), self.inverse, *found,
        )  # fmt: skip
        return [np.asarray(one.copy_to_host()).reshape(shape) for one in found]

    def _times(self, weights: np.ndarray) -> np.ndarray:
        """(C, K + P): weights' (m, x)."""
        return np.hstack([sum_shares(self.mean, weights), weights.T @ self.covariates])

    def _outer(self, shares: Any, weight: np.ndarray) -> np.ndarray:
        """(K, K): sum over documents of weight times the outer product of their shares."""
        n_documents, n_topics = shares.shape
        if not n_documents:
            return np.zeros((n_topics, n_topics))
        n_parts, size = -(-n_documents // kernels.PART), shares.width**2
        tiles, parts = shares.width // 32, empty(n_parts * size, np.float64)
        kernels.outer[(n_parts, tiles, tiles), (16, 16)](
            n_documents, shares.flat, sent(weight, np.float64), shares.width, parts
        )
        return added(parts, n_parts, size).reshape(shares.width, shares.width)[:n_topics, :n_topics]

    def _tilted_matrix(self, tilt: np.ndarray) -> Any:
        """Shares t ∝ m exp(tilt/N)."""
        mean: Any = self.mean
        if np.isinf(self.lengths).all() or not len(mean):
            return mean
        found = Matrix.empty(*mean.shape)
        kernels.tilt_shares[warps(len(mean))](
            len(mean), mean.shape[1], mean.flat, sent(padded(tilt, dtype=np.float64), np.float64), self.inverse,
            mean.width, found.flat,
        )  # fmt: skip
        return found


def sum_shares(shares: Any, weights: np.ndarray) -> np.ndarray:
    """(C, K): weights' shares, for weights (D, C)."""
    n_documents, n_columns = weights.shape
    n_parts, size = max(-(-n_documents // kernels.PART), 1), n_columns * shares.width
    if not n_documents or not n_columns:
        return np.zeros((n_columns, shares.shape[1]))
    parts = empty(n_parts * size, np.float64)
    kernels.sum_columns[(n_parts, n_columns), shares.width](
        n_documents, shares.flat, sent(weights, np.float64), n_columns, shares.width, parts
    )
    return added(parts, n_parts, size).reshape(n_columns, shares.width)[:, : shares.shape[1]]


@form_of(with_known_shares)
def with_known_shares_on_device(
    mean_topics: Any, covariates: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> Labelled:
    design = DeviceDesign(Matrix.of(mean_topics), np.full(len(y), np.inf), covariates)  # type: ignore[arg-type]
    return Labelled(design, y, weight)


@form_of(_of_labelled)
def of_labelled_on_device(
    partition: Partition, backend: Backend, combine: Combine, function: Callable[..., Any], *arguments: Any
) -> Any:
    found, batch = partition.found, partition.batch
    assert found is not None
    if found.labelled is None:
        assert found.prior is not None
        design = DeviceDesign.of_rows(found.doc_topic, found.prior, batch.lengths, batch.extra)
        found.labelled = Labelled(design, batch.y, batch.weight)
    return function(found.labelled, *arguments)


@form_of(topic_sizes)
def topic_sizes_on_device(partition: Partition, backend: Backend) -> np.ndarray:
    assert partition.found is not None
    lengths = partition.batch.lengths
    weights = np.where(np.isfinite(lengths), lengths, 0.0)[:, None]
    return sum_shares(partition.found.doc_topic, weights)[0].astype(np.float32)


@form_of(of_shares)
def of_shares_on_device(
    partition: Partition, backend: Backend, combine: Combine, function: Callable[..., Any], *arguments: Any
) -> Any:
    found, batch = partition.found, partition.batch
    assert found is not None
    if found.labelled is None:
        found.labelled = with_known_shares_on_device(found.doc_topic, batch.extra, batch.y, batch.weight)
    return function(found.labelled, *arguments)
