"""Matrices on the device, with a row per word or document.

A row of K topics takes the next multiple of 32 places, one for each lane of a warp. What stands beyond the topics is
zero, or a number that changes nothing.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.lanes import WARPS
from supertopic.backends.cuda.kernels.passes import lanes_of, team_of
from supertopic.backends.cuda.kernels.regression import add_parts
from supertopic.backends.cuda.memory import empty, on_host, sent

MOST_TOPICS = 1024


def width_of(n_topics: int) -> int:
    """Places that a row of K topics takes."""
    return -(-n_topics // 32) * 32


def padded(values: np.ndarray, fill: float = 0.0, dtype: Any = np.float32) -> np.ndarray:
    """(…, K) with the last axis filled up to its width."""
    n_topics = values.shape[-1]
    if n_topics == width_of(n_topics):
        return np.ascontiguousarray(values, dtype=dtype)
    found = np.full((*values.shape[:-1], width_of(n_topics)), fill, dtype=dtype)
    found[..., :n_topics] = values
    return found


def warps(n: int) -> tuple[int, tuple[int, int]]:
    """Blocks and threads of a kernel with a warp for each of n items."""
    return max(-(-n // WARPS), 1), (32, WARPS)


def added(parts: Any, n_parts: int, size: int) -> np.ndarray:
    """(size,) the sum of parts, on the host."""
    out = empty(size, np.float64)
    add_parts[-(-size // 128), 128](n_parts, size, parts, out)
    return np.asarray(out.copy_to_host())[:size]


class Matrix:
    """(n, K) float32 on the device; NumPy gets a copy (`np.asarray`)."""

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, flat: Any, n_rows: int, n_topics: int) -> None:
        self.flat, self.shape, self.width = flat, (n_rows, n_topics), width_of(n_topics)
        self._packed: Any = None
        self._packed_is_new = False

    @classmethod
    def empty(cls, n_rows: int, n_topics: int) -> Self:
        return cls(empty(n_rows * width_of(n_topics)), n_rows, n_topics)

    @classmethod
    def of(cls, values: Any) -> Any:
        """The matrix itself, or a copy of an array of the host."""
        if isinstance(values, Matrix):
            return values
        found = cls.empty(*values.shape)
        if found.shape[0]:
            found.flat = sent(padded(np.asarray(values)), np.float32)
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        n_rows, n_topics = self.shape
        found = on_host(self.flat)[: n_rows * self.width].reshape(n_rows, self.width)[:, :n_topics]
        return np.ascontiguousarray(found, dtype=dtype or np.float32)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's `empty_like` makes another matrix of the device; all else sees a copy on the host."""
        if function is np.empty_like:
            return Matrix.empty(*self.shape)
        return function(*(np.asarray(one) if isinstance(one, Matrix) else one for one in args), **kwargs)

    def __imul__(self, factor: float) -> Self:
        self.by_topic(topics.multiply, float(factor), self.width, self.flat)
        return self

    def fill(self, value: float) -> None:
        self.by_topic(topics.fill, value, self.width, self.flat)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self)[rows]

    def copy(self) -> Matrix:
        found = Matrix.empty(*self.shape)
        found.flat.copy_to_device(self.flat)
        return found

    @property
    def registers(self) -> int:
        return self.width // 32

    @property
    def teams(self) -> tuple[int, tuple[int, int]]:
        """Blocks and threads of a kernel with a team of warps for each row."""
        return max(len(self), 1), (32, team_of(self.registers))

    @property
    def n_parts(self) -> int:
        """Blocks of a kernel over all rows."""
        return max(-(-self.shape[0] // topics.PART), 1)

    def by_topic(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel that has a thread for each topic, over all rows."""
        kernel[self.n_parts, self.width](self.shape[0], *arguments)

    def sums(self, kernel: Any, *arguments: Any) -> np.ndarray:
        """(K,) what a kernel adds up by topic; it writes a row for each of its parts, added here in their order."""
        parts = empty(self.n_parts * self.width, np.float64)
        self.by_topic(kernel, *arguments, parts)
        return added(parts, self.n_parts, self.width)[: self.shape[1]]

    def changed(self) -> None:
        """The numbers are new: the packed ones are not theirs any more."""
        self._packed_is_new = False

    @property
    def packed(self) -> Any:
        """The rows in bfloat16, four topics in a number."""
        n_lanes = lanes_of(self.registers)
        size = n_lanes * -(-self.width // (4 * n_lanes))
        if self._packed is None:
            self._packed = empty(self.shape[0] * size, np.uint64)
        if not self._packed_is_new:
            self._packed_is_new = True
            topics.pack[self.n_parts, size](self.shape[0], self.flat, self.width, n_lanes, self._packed)
        return self._packed


def distributions(logits: Any) -> Matrix:
    """b (V, K), columns sum to one."""
    found = Matrix.empty(*logits.shape)
    parts = empty(logits.n_parts * logits.width)
    logits.by_topic(topics.max_topics, logits.flat, logits.width, parts)
    most = np.asarray(parts.copy_to_host()).reshape(logits.n_parts, logits.width).max(axis=0)
    totals = logits.sums(
        topics.exp_topics, logits.shape[1], logits.flat, sent(most, np.float32), logits.width, found.flat
    )
    by_topic = sent(padded(totals, dtype=np.float64), np.float64)
    found.by_topic(topics.divide_topics, by_topic, logits.width, found.flat)
    return found
