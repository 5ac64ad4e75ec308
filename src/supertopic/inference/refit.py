"""Coefficients fitted again on topics that have not seen y.

In training, E[Zbar] of a document has been pulled towards its y; at prediction it has not. Coefficients fitted on the
first are wrong for the second, the more so the harder the response pulls. So they are fitted once more, by the
same M-step, on inference without y.
"""

from __future__ import annotations

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.responses.base import Response


def refit(
    response: Response, prior: CoefPrior, mean_topics: np.ndarray, y: np.ndarray, weight: np.ndarray, coef: np.ndarray,
    dispersion: np.ndarray, max_iter: int = 200, tol: float = 1e-8,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(coef, gram, dispersion) of a regression of y on known topic shares: the M-step, until it no longer moves."""
    coef = coef.astype(np.float64)
    gram = np.zeros((len(coef), coef.shape[1], coef.shape[1]))
    before = -np.inf
    for _ in range(max_iter):
        score = mean_topics @ coef.T
        moment = np.where(response.is_product, np.exp(np.minimum(score, 80.0)), score**2)
        dispersion = response.update(y, score, moment, weight, dispersion, 1.0)
        value = float((weight * response.log_density(y, score, moment, dispersion)).sum()) + prior.log_density(coef)
        if value - before < tol * abs(value):
            break
        before = value
        slope, curvature = response.speak(y, score, moment, dispersion)
        for c in range(len(coef)):
            gram[c] = (mean_topics * (weight * curvature[:, c])[:, None]).T @ mean_topics
            coef[c] = prior.solve(gram[c], (weight * slope[:, c]) @ mean_topics, coef[c])
    return coef, gram, dispersion
