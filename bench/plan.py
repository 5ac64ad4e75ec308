"""The size of a benchmark run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plan:
    """quick: fewer sweeps and no repetitions; only: use these numbers of topics in every table."""

    quick: bool = False
    only: tuple[int, ...] = ()

    @property
    def repeats(self) -> int:
        return 1 if self.quick else 2

    def topics(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        return self.only or (usual[:2] if self.quick else usual)

    def sweeps(self, n_topics: int) -> int:
        """Sweeps of the peer: 200 at K = 50, 100 at 200, 40 at 1,000, interpolated for others."""
        full = np.exp(np.interp(np.log(n_topics), np.log([50, 200, 1000]), np.log([200, 100, 40])))
        sweeps = int(np.rint(full / (5 if self.quick else 1)))
        return max(sweeps, 4)

    def passes(self, n_topics: int) -> int:
        """EM steps of the peer: 10 at K = 50, 5 at 200."""
        full = np.interp(np.log(n_topics), np.log([50, 200]), [10, 5])
        return 3 if self.quick else int(np.rint(full))
