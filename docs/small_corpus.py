"""The corpus that the blocks of these pages run on: 400 made-up reviews of 20 hotels, `reviews.csv`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

THEMES = {  # words of a theme, and what it goes with: stars, and the logarithm of how many readers found it helpful
    "staff": ("staff friendly helpful kind welcome smile desk reception concierge polite", 1.2, 0.0),
    "dirt": ("dirty stain smell mould hair carpet broken dust filthy towels", -1.8, 0.9),
    "location": ("station metro walk centre museum square streets close shops map", 0.5, 0.3),
    "breakfast": ("breakfast coffee buffet eggs bread fruit fresh juice pastry tea", 0.4, -0.3),
    "noise": ("noise loud street sleep night thin walls traffic lift door", -1.2, 0.4),
    "pool": ("pool beach sun children swim garden towels bar sand family", 0.8, -0.2),
    "business": ("wifi meeting desk conference work invoice taxi airport laptop early", -0.1, 0.1),
    "price": ("price bill charge card extra deposit expensive refund fee money", -0.9, 0.6),
}
FILLERS = "the and we our a of in to was were for with it this that at very there"
TRAVELLERS = {"family": {"pool": 8.0, "breakfast": 2.0}, "business": {"business": 10.0}, "couple": {"location": 6.0}}


def make(n_documents: int = 400, n_hotels: int = 20, seed: int = 0) -> pd.DataFrame:
    """A row for each review: text, stars (a number), grade (1 to 5), helpful (a count), traveller, hotel, date."""
    rng = np.random.default_rng(seed)
    names = list(THEMES)
    words = [THEMES[name][0].split() for name in names]
    tastes = rng.gamma(0.6, size=(n_hotels, len(names))) + 0.2
    rows = []
    for _ in range(n_documents):
        hotel, traveller = int(rng.integers(n_hotels)), str(rng.choice(list(TRAVELLERS)))
        wanted = tastes[hotel] * [TRAVELLERS[traveller].get(name, 1.0) for name in names]
        shares = rng.dirichlet(0.35 * wanted)
        sentences, drawn = [], []
        for _ in range(3 + int(rng.integers(5))):
            theme = int(rng.choice(len(names), p=shares))
            drawn.append(theme)
            said = [*rng.choice(words[theme], 5), *rng.choice(FILLERS.split(), 4)]
            sentences.append(" ".join(rng.permutation(said)).capitalize() + ".")
        stars = 3.3 + 1.3 * np.mean([THEMES[names[one]][1] for one in drawn]) + 0.4 * rng.standard_normal()
        rate = np.exp(0.8 + np.mean([THEMES[names[one]][2] for one in drawn]))
        day = pd.Timestamp("2024-01-01") + pd.Timedelta(days=int(rng.integers(730)))
        rows.append((" ".join(sentences), stars, rate, traveller, f"hotel {hotel}", day))
    frame = pd.DataFrame(rows, columns=["text", "stars", "rate", "traveller", "hotel", "date"])
    frame["stars"] = frame["stars"].clip(1, 5).round(2)
    frame["grade"] = frame["stars"].round().astype(int)
    frame["helpful"] = rng.negative_binomial(3, 3 / (3 + frame.pop("rate")))
    return frame[["text", "stars", "grade", "helpful", "traveller", "hotel", "date"]]


def write(folder: Path) -> None:
    make().to_csv(folder / "reviews.csv", index=False)
