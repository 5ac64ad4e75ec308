"""The table of `explain`: few columns, the words that matter first, and the words that the model does not know."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from supertopic.checks import check_whole
from supertopic.html_tables import TopicFrame

OTHERS = "other topics"


def explained(
    vectorizer: object, doc: object, frame: pd.DataFrame, n_topics: int | None, beside: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The frame with all topics of each word, cut to the largest topics; unknown words stand at its end.

    beside : rows of covariates, which follow the words
    """
    check_whole("n_topics", n_topics, least=1, or_none=True)
    names = [name for name in frame if str(name).startswith("topic ")]
    if n_topics is not None and len(names) > n_topics:
        shares = frame[names].to_numpy()
        order = np.argsort(-(frame["count"].to_numpy() @ shares), kind="stable")[:n_topics]
        rest = 1.0 - shares[:, order].sum(axis=1)
        frame = frame[[name for name in frame if name not in names] + [names[k] for k in order]]
        frame = frame.assign(**{OTHERS: np.clip(rest, 0.0, 1.0)})
    if beside is not None:
        frame = pd.concat([frame, beside.reindex(columns=frame.columns)], ignore_index=True)
    unknown = unknown_words(vectorizer, doc)
    if not unknown:
        return TopicFrame(frame)
    more = pd.DataFrame({"word": list(unknown), "count": np.array(list(unknown.values()), dtype=np.float64)})
    for name in frame:
        if str(name).startswith("contribution"):
            more[name] = 0.0
    return TopicFrame(pd.concat([frame, more.reindex(columns=frame.columns)], ignore_index=True))


def by_contribution(frame: pd.DataFrame) -> pd.DataFrame:
    """The words with the largest contribution first, of all responses or classes where there are several."""
    size = np.abs(frame.filter(regex="^contribution").to_numpy()).max(axis=1, initial=0.0)
    return frame.iloc[np.argsort(-size, kind="stable")].reset_index(drop=True)


def unknown_words(vectorizer: object, doc: object) -> Counter[str]:
    """The words of a text that are not in the vocabulary, without those that were left out on purpose."""
    texts = [doc] if isinstance(doc, str) else list(doc) if isinstance(doc, list | tuple) else []
    found = Counter[str]()
    if vectorizer is None or not all(isinstance(text, str) for text in texts):
        return found
    for text in texts:
        if hasattr(vectorizer, "unknown_words"):
            found += vectorizer.unknown_words(text)
        elif hasattr(vectorizer, "build_analyzer") and hasattr(vectorizer, "vocabulary_"):
            found += Counter(word for word in vectorizer.build_analyzer()(text) if word not in vectorizer.vocabulary_)
    return found
