"""Movie reviews (Pang & Lee): log rating from the words, five folds, as in the sLDA paper.

    python -m experiments.movie_reviews [--topics 5,10,20,30,50] [--folds 0,1,2,3,4] [--constant 1]

Stop words are kept; the 5,000 terms of the highest tf-idf are chosen inside the fold; identical reviews stay in one
fold. K and `supervision` of sLDA are chosen on a quarter of the training documents that is held out for it, and the
model is then fitted to all of them: the test fold is looked at once. LDA + ridge has the same topics' number, and
ridge and lasso on tf-idf the same terms; their penalties are chosen by cross-validation on the training documents.
The response is log(constant + rating): four ratings are 0, and the smaller the constant, the longer the tail on the
left (skewness -0.5 at 1, -1.1 at 0.1, -2.1 at 0.01), and the lower every method's R².
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import KFold

from supertopic import LDA, SLDARegressor, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import predictive_r2

SUPERVISION = (10.0, 30.0)
STEPS = 25  # of the fits that choose among them
PENALTIES = np.logspace(-3, 3, 13)


def choose(counts: np.ndarray, y: np.ndarray, groups: np.ndarray, topics: list[int]) -> dict[int, tuple[float, float]]:
    """K -> (R² on the held-out quarter, the supervision that reached it)."""
    held_out = np.random.default_rng(7).random(groups.max() + 1)[groups] < 0.25
    found = {}
    for n_topics in topics:
        scores = []
        for supervision in SUPERVISION:
            model = SLDARegressor(n_topics, supervision=supervision, max_iter=STEPS)
            model.fit(counts[~held_out], y[~held_out])
            scores.append((model.score(counts[held_out], y[held_out]), supervision))
        found[n_topics] = max(scores)
    return found


def one_fold(texts: np.ndarray, y: np.ndarray, groups: np.ndarray, test: np.ndarray, topics: list[int]) -> dict:
    """Test R² by method."""
    vectorizer = Vectorizer(max_features=5000, min_df=1, max_df=1.0)
    train_counts = vectorizer.fit_transform(texts[~test].tolist())
    test_counts = vectorizer.transform(texts[test].tolist())
    tfidf = TfidfTransformer(sublinear_tf=True).fit(train_counts)
    scores = {}
    shuffled = KFold(3, shuffle=True, random_state=0)  # reviews come by author
    lasso = LassoCV(alphas=np.std(y) * np.logspace(-4, -2, 8), cv=shuffled, tol=1e-2)
    for name, model in (("ridge, words", RidgeCV(np.logspace(-1, 1, 9))), ("lasso, words", lasso)):
        model.fit(tfidf.transform(train_counts), y[~test])
        scores[name] = predictive_r2(y[test], model.predict(tfidf.transform(test_counts)))
    chosen = choose(train_counts, y[~test], np.unique(groups[~test], return_inverse=True)[1], topics)
    for n_topics in topics:
        lda = LDA(n_topics).fit(train_counts)
        ridge = RidgeCV(PENALTIES).fit(lda.transform(train_counts), y[~test])
        scores[f"LDA + ridge, K={n_topics}"] = predictive_r2(y[test], ridge.predict(lda.transform(test_counts)))
        model = SLDARegressor(n_topics, supervision=chosen[n_topics][1]).fit(train_counts, y[~test])
        scores[f"sLDA, K={n_topics}"] = model.score(test_counts, y[test])
    best = max(topics, key=lambda k: chosen[k][0])
    scores["sLDA, K and supervision chosen inside"] = scores[f"sLDA, K={best}"]
    with_words = SLDARegressor(best, supervision=chosen[best][1], words=True).fit(train_counts, y[~test])
    scores["… with words=True"] = with_words.score(test_counts, y[test])
    print("  chosen:", {k: s for k, (_, s) in chosen.items()}, f"K={best}", flush=True)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", default="5,10,20,30,50")
    parser.add_argument("--folds", default="0,1,2,3,4")
    parser.add_argument("--constant", type=float, default=1.0)
    options = parser.parse_args()
    topics = [int(k) for k in options.topics.split(",")]
    data = load("movie_reviews_scale", Path(os.environ["SUPERTOPIC_DATA"]))
    texts = np.array(data.text, dtype=object)
    y = np.log(data.frame["rating"].to_numpy() + options.constant)
    groups = np.unique(texts, return_inverse=True)[1]
    fold = np.random.default_rng(0).integers(0, 5, groups.max() + 1)[groups]
    rows: dict[str, list[float]] = {}
    for number in (int(f) for f in options.folds.split(",")):
        start = time.perf_counter()
        for name, score in one_fold(texts, y, groups, fold == number, topics).items():
            rows.setdefault(name, []).append(score)
        figures = {name: round(scores[-1], 3) for name, scores in rows.items()}
        print(f"fold {number}: {time.perf_counter() - start:.0f} s", figures, flush=True)
    print("\n| method | R², mean of the folds | each |\n|---|---|---|")
    for name, scores in rows.items():
        print(f"| {name} | {np.mean(scores):.3f} | {', '.join(f'{s:.3f}' for s in scores)} |")


if __name__ == "__main__":
    main()
