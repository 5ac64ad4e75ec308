"""Draw the pictures of docs/plots.md: ``python docs/make_pictures.py``.

The documents are docstrings of installed packages. The five classes are the packages; the number is how many parameters
a function has. Nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from PIL import Image  # comes with matplotlib

matplotlib.use("Agg")

from supertopic import (
    Gibbs,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
    Vectorizer,
    datasets,
    select_topics,
)

IMAGES = Path(__file__).parent / "images"
PACKAGES = ("numpy", "scipy", "sklearn", "pandas", "matplotlib")
N_TRAIN, N_TEST = 1500, 700
DOCUMENT = "Fit a linear model by coordinate descent. The regularization path is computed for each fold."


def documents() -> tuple[list[str], np.ndarray, pd.Series]:
    """Docstrings in a random order, the package of each, and the logarithm of one more than its parameters."""
    found = datasets.docstrings(PACKAGES)
    order = np.random.default_rng(0).permutation(len(found.text))[: N_TRAIN + N_TEST]
    size = pd.Series(np.log2(1 + found.n_parameters[order]), name="parameters (log2)")
    return [found.text[i] for i in order], found.package[order], size


def save(axes: object, name: str) -> None:
    """Write one picture."""
    ax = axes.ravel()[0] if isinstance(axes, np.ndarray) else axes
    path = IMAGES / f"{name}.png"
    ax.figure.savefig(path, dpi=160)  # type: ignore[attr-defined]
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(200)
    small.save(path, optimize=True)
    print(name, path.stat().st_size)


def main() -> None:
    """Fit the models, and draw every plot."""
    IMAGES.mkdir(exist_ok=True)
    texts, package, size = documents()
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    words = Vectorizer(stop_words="english", min_df=5, max_features=3000)
    classes = SLDAClassifier(20, vectorizer=words).fit(texts[train], package[train])
    numbers = SLDARegressor(12, vectorizer=words).fit(texts[train], size[train])
    save(numbers.plot.topics(), "plot_topics")
    save(classes.plot.topics(), "plot_topics_classes")
    save(numbers.plot.words(), "plot_words")
    save(numbers.plot.document(DOCUMENT), "plot_document")
    save(classes.plot.class_profiles(package[train]), "plot_class_profiles")
    save(classes.plot.calibration(texts[test], package[test]), "plot_calibration")
    save(numbers.plot.calibration(texts[test], size[test]), "plot_calibration_numbers")
    save(numbers.plot.residuals(texts[test], size[test]), "plot_residuals")
    save(classes.plot.residuals(texts[test], package[test]), "plot_confusion")
    save(classes.plot.map(y=package[train]), "plot_map")
    save(SAGETopics(8, vectorizer=words).fit(texts[train]).plot.deviations(), "plot_deviations")
    sampled = SSTMRegressor(10, max_iter=200, inference=Gibbs(n_chains=2), vectorizer=words).fit(
        texts[train], size[train]
    )
    save(sampled.plot.trace("coef"), "plot_trace")
    tried = select_topics(
        SLDARegressor(cross_fit=0, vectorizer=words), texts[train], size[train], [5, 10, 20, 40], cv=3
    )
    save(tried.plot(), "plot_select")


if __name__ == "__main__":
    main()
