"""Several responses over the same topics: their columns side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from supertopic.responses.base import Draws, Response
from supertopic.responses.label_summary import LabelSummaries


@dataclass(frozen=True)
class Part:
    """One of the responses, and where it is found in y, the coefficients, the dispersion and the summaries."""

    response: Response
    label: int  # the column of y
    columns: slice  # of the coefficients
    numbers: slice  # of the dispersion
    sums: slice  # of the summary that the dispersion comes from

    def labels(self, y: np.ndarray) -> np.ndarray:
        """(n,) its labels, of y (n,) or (n, M)."""
        return y if y.ndim == 1 else y[:, self.label]

    def own(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Its labels, and its columns of the other two."""
        return self.labels(y), score[:, self.columns], moment[:, self.columns]


class Several(Response):
    """y (D, M) has one column per response; a document may lack some of the labels."""

    def __init__(self, responses: Sequence[Response]) -> None:
        super().__init__()
        self.responses = list(responses)
        self.is_product = np.concatenate([response.is_product for response in responses])
        self.constant_slopes = all(response.constant_slopes for response in responses)
        self.n_dispersion = sum(response.n_dispersion for response in responses)
        self.n_summary = sum(response.n_summary for response in responses)

    @property
    def joint(self) -> bool:
        """Columns cannot climb together while a dispersion is learned beside them."""
        return self.n_dispersion == 0 and any(response.joint for response in self.responses)

    @property
    def coupled(self) -> bool:
        return self.n_dispersion == 0 and any(response.coupled for response in self.responses)

    @property
    def coupled_columns(self) -> np.ndarray:
        return np.concatenate([response.coupled_columns for response in self.responses])

    def parts(self) -> Iterator[Part]:
        column = number = total = 0
        for label, response in enumerate(self.responses):
            columns = slice(column, column + response.n_columns)
            numbers, sums = slice(number, number + response.n_dispersion), slice(total, total + response.n_summary)
            yield Part(response, label, columns, numbers, sums)
            column, number, total = columns.stop, numbers.stop, sums.stop

    def check(self, y: np.ndarray) -> None:
        for part in self.parts():
            part.response.check(y[:, part.label])

    def describe(self, y: np.ndarray, weight: np.ndarray) -> LabelSummaries:  # type: ignore[override]
        return LabelSummaries(tuple(part.response.describe(y[:, part.label], weight) for part in self.parts()))

    def start(self, labels: LabelSummaries) -> np.ndarray:  # type: ignore[override]
        return np.concatenate([part.response.start(labels[part.label]) for part in self.parts()])

    def check_dispersion(self, dispersion: np.ndarray) -> None:
        for part in self.parts():
            part.response.check_dispersion(dispersion[..., part.numbers])

    def start_coef(self, labels: LabelSummaries, dispersion: np.ndarray) -> np.ndarray:  # type: ignore[override]
        return np.concatenate(
            [part.response.start_coef(labels[part.label], dispersion[part.numbers]) for part in self.parts()]
        )

    def trained_as(self, y: np.ndarray, weight: np.ndarray) -> tuple[Response, np.ndarray]:
        found = [part.response.trained_as(y[:, part.label], weight) for part in self.parts()]
        if all(one is own for (one, _), own in zip(found, self.responses, strict=True)):
            return self, y
        return Several([one for one, _ in found]), np.column_stack([labels for _, labels in found])

    def step(self, coef: np.ndarray, found: np.ndarray, reach: np.ndarray) -> np.ndarray:
        steps = [
            part.response.step(coef[part.columns], found[part.columns], reach[part.columns]) for part in self.parts()
        ]
        return np.concatenate(steps)

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        of = [p.response.slope_and_curvature(*p.own(y, score, moment), dispersion[p.numbers]) for p in self.parts()]
        return np.hstack([slope for slope, _ in of]), np.hstack([curvature for _, curvature in of])

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        of = [p.response.log_density(*p.own(y, score, moment), dispersion[p.numbers]) for p in self.parts()]
        return np.sum(of, axis=0)

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        of = [p.response.information(*p.own(y, score, moment), dispersion[p.numbers]) for p in self.parts()]
        return np.hstack(of)

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        of = [p.response.summarise(*p.own(y, score, moment), weight, dispersion[p.numbers]) for p in self.parts()]
        return np.concatenate(of)

    def summarise_at_mean(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        of = [
            p.response.summarise_at_mean(*p.own(y, score, moment), weight, dispersion[p.numbers]) for p in self.parts()
        ]
        return np.concatenate(of)

    def level(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return np.concatenate([part.response.level(before[part.numbers], after[part.numbers]) for part in self.parts()])

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        return np.concatenate([p.response.update(summary[p.sums], dispersion[p.numbers], rate) for p in self.parts()])

    def fit_dispersion(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float = 1.0,
    ) -> np.ndarray:  # fmt: skip
        of = [
            p.response.fit_dispersion(*p.own(y, score, moment), weight, dispersion[p.numbers], rate)
            for p in self.parts()
        ]
        return np.concatenate(of)

    @property
    def sampled_power(self) -> np.ndarray:
        return np.concatenate([response.sampled_power for response in self.responses])

    @property
    def is_probit(self) -> np.ndarray:
        return np.concatenate([response.is_probit for response in self.responses])

    def signs(self, y: np.ndarray) -> np.ndarray:
        return np.hstack([part.response.signs(y[:, part.label]) for part in self.parts()])

    def check_sampler(self, weight: np.ndarray) -> None:
        for response in self.responses:
            response.check_sampler(weight)

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        of = [
            p.response.augment(y[:, p.label], score[:, p.columns], weight, dispersion[p.numbers], draw)
            for p in self.parts()
        ]
        return np.hstack([slope for slope, _ in of]), np.hstack([curvature for _, curvature in of])

    def augment_column(
        self, y: np.ndarray, score: np.ndarray, column: int, weight: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray] | None:
        part = next(part for part in self.parts() if column < part.columns.stop)
        own = column - part.columns.start
        return part.response.augment_column(y[:, part.label], score[:, part.columns], own, weight, draw)

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        of = [
            p.response.draw_dispersion(y[:, p.label], score[:, p.columns], weight, dispersion[p.numbers], draw)
            for p in self.parts()
        ]
        return np.concatenate(of)


def parts_of(response: Response) -> list[Part]:
    """The parts of a response; one that is not several has one part, itself."""
    return list((response if isinstance(response, Several) else Several([response])).parts())


def units(response: Response, own: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(zero (C,), unit (C,)): zero + unit·s is a linear predictor s of one dispersion in the units of another.

    A response that standardises y uses the labels it sees, and cut-points are further apart in a fit that tells classes
    apart better: each fit has its own origin and unit.
    """
    zero, unit = np.zeros(response.n_columns), np.ones(response.n_columns)
    for part in parts_of(response):
        first, second = (part.response.origin_and_unit(dispersion[part.numbers]) for dispersion in (own, new))
        unit[part.columns] = first[1] / second[1]
        zero[part.columns] = (first[0] - second[0]) / second[1]
    return zero, unit
