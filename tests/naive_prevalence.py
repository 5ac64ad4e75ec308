"""What goes with topics, one document, topic and draw at a time: `supertopic.inference.after.share_regression`."""

import numpy as np


def free_shares(topics: np.ndarray, average: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Weighted least squares of each document's frequencies on the topics."""
    mean, found = average @ topics, []
    for words in counts:
        root = 1.0 / np.sqrt(mean)
        frequencies = words / words.sum() if words.sum() else np.full(len(words), np.nan)
        if words.sum():
            found.append(np.linalg.lstsq((topics * root).T, frequencies * root, rcond=None)[0])
        else:
            found.append(np.full(len(topics), np.nan))
    return np.array(found)


def sandwich(x: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of one y, and their covariance: HC3, or the jackknife over groups."""
    k = x.shape[1]
    inverse = np.linalg.inv(x.T @ x)
    coef = inverse @ x.T @ y
    residual = y - x @ coef
    meat = np.zeros((k, k))
    if groups is None:
        for row, e in zip(x, residual, strict=True):
            score = row * e / (1.0 - row @ inverse @ row)
            meat += np.outer(score, score)
        return coef, inverse @ meat @ inverse
    labels = set(groups.tolist())
    without = [np.linalg.lstsq(x[groups != label], y[groups != label], rcond=None)[0] for label in labels]
    moved = np.array(without) - coef
    return coef, (len(labels) - 1) / len(labels) * moved.T @ moved


def rubin(coefs: list[np.ndarray], covariances: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of fits to draws, and its covariance."""
    n, mean = len(coefs), np.mean(coefs, axis=0)
    between = sum(np.outer(one - mean, one - mean) for one in coefs) / (n - 1)
    return mean, np.mean(covariances, axis=0) + (1 + 1 / n) * between


def with_refits(estimate: float, variance: float, refits: list[float]) -> float:
    """The variance with what refits differ by."""
    n = len(refits)
    return variance + (1 + 1 / n) * sum((one - estimate) ** 2 for one in refits) / n


def marginal_mean(
    design, frame_numbers: dict[str, np.ndarray], coef: np.ndarray, fixed: dict[str, float]
) -> np.ndarray:
    """Mean prediction over documents, some columns at a value."""
    moved = {name: np.full_like(values, fixed.get(name, values)) for name, values in frame_numbers.items()}
    return np.mean([row @ coef for row in design.of_numbers(moved)], axis=0)


def permuted_p(
    x: np.ndarray, y: np.ndarray, groups: np.ndarray | None, row: np.ndarray, n: int, rng: np.random.Generator
) -> float:
    """Of row · coefficients, in columns of which the first has this as its coefficient: those without it are the rest.

    Residuals on the rest change places, or their sign by groups.
    """
    place = int(np.argmax(np.abs(row)))
    change = np.eye(len(row))
    change[place] = row  # x b = (x change^-1) (change b)
    x = x @ np.linalg.inv(change)
    rest = np.delete(x, place, axis=1)
    residual = y - rest @ np.linalg.lstsq(rest, y, rcond=None)[0]

    def size(values: np.ndarray) -> float:
        coef = np.linalg.inv(x.T @ x) @ x.T @ values
        scores = (np.linalg.inv(x.T @ x) @ x.T)[place] * (values - x @ coef)
        if groups is not None:
            scores = np.array([scores[groups == g].sum() for g in range(groups.max() + 1)])
        return abs(coef[place]) / np.sqrt((scores**2).sum())

    own, larger = size(residual), 1
    for _ in range(n):
        if groups is None:
            moved = residual[rng.permutation(len(y))]
        else:
            moved = residual * rng.choice([-1.0, 1.0], groups.max() + 1)[groups]
        larger += size(moved) >= own
    return larger / (n + 1)
