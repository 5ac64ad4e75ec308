"""`python -m bench.parts [CHECKOUT]`: processor seconds of single parts of fits at K = 1000, here or in a checkout.

Run it for two checkouts to compare them; drawn numbers, one thread, the smaller of two measurements.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

N_TOPICS, N_DOCUMENTS, N_CLASSES, N_WORDS, N_BATCH_WORDS = 1000, 2000, 10, 20_000, 2000


def main() -> None:
    if len(sys.argv) > 1:
        sys.path.insert(0, f"{sys.argv[1]}/src")
    from supertopic.backends.threads import Threads

    with Threads(1) as backend:
        for name, part in parts(backend).items():
            print(f"| {name} | {min(seconds(part) for _ in range(2)):.3f} |", flush=True)


def seconds(part: Callable[[], Any]) -> float:
    start = time.process_time()
    part()
    return time.process_time() - start


def parts(backend: Any) -> dict[str, Callable[[], Any]]:
    from supertopic.coefficients import CoefPrior
    from supertopic.emissions.dirichlet import DirichletTopics
    from supertopic.inference.design import Design
    from supertopic.inference.variational.m_step_margin import fit_margin
    from supertopic.responses.margin import Hinge

    rng = np.random.default_rng(0)
    lengths = rng.integers(50, 200, N_DOCUMENTS).astype(float)
    design = Design(rng.dirichlet(np.full(N_TOPICS, 0.05), N_DOCUMENTS), lengths, np.zeros((N_DOCUMENTS, 0)))
    one, none = np.ones((N_DOCUMENTS, 1)), np.zeros((1, N_TOPICS))
    y, coef = rng.integers(0, N_CLASSES, N_DOCUMENTS).astype(float), np.zeros((N_CLASSES, N_TOPICS))
    margin = (Hinge(N_CLASSES), CoefPrior("normal", 1.0), design, y, one[:, 0], coef)
    emission, topics = DirichletTopics(0.05), rng.gamma(0.1, size=(N_WORDS, N_TOPICS)).astype(np.float32) + 0.01
    words, out = np.sort(rng.choice(N_WORDS, N_BATCH_WORDS, replace=False)), np.empty_like(topics)

    def expect() -> Any:
        if hasattr(emission, "expect_words"):
            return emission.expect_words(topics, words, backend, out=out)
        return emission.expect(topics, backend, out=out)  # what checkouts before it did

    return {
        f"normal equations, {N_DOCUMENTS:,} documents": lambda: design.normal_equations(
            none, np.zeros(1, dtype=bool), one, one, one
        ),
        f"max-margin M-step, {N_CLASSES} classes": lambda: fit_margin(
            *margin, np.zeros((0, N_TOPICS, N_TOPICS)), np.zeros(0)
        ),
        f"expectations for a batch with {N_BATCH_WORDS:,} of {N_WORDS:,} words": expect,
    }


if __name__ == "__main__":
    main()
