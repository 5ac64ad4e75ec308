"""What samplers have in common: which sweeps are kept, and how often they are looked at."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from supertopic.inference.loop import Engine

FIRST_ALPHA = 10  # sweeps before alpha is learned: earlier, it would fit the starting values


class Sampling(Engine):
    """`max_iter` sweeps. Every `thin`-th one after `burn_in` is kept, counted back from the last one."""

    every: ClassVar[int] = 10  # sweeps from one look to the next

    @abstractmethod
    def sweep(self, number: int) -> None:
        """Draw every variable once."""

    @abstractmethod
    def look(self, number: int) -> float:
        """The log joint per token after a sweep; alpha may be learned here."""

    @abstractmethod
    def keep(self) -> None:
        """Add this sample to the sums."""

    def step(self) -> float | None:
        number, settings = self.done, self.task.settings
        left = settings.max_iter - 1 - number
        self.sweep(number)
        objective = self.look(number) if left % self.every == 0 else None
        if number >= settings.burn_in and left % settings.thin == 0:
            self.keep()
        self.done += 1
        return objective
