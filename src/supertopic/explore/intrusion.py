"""Do people see what topics are about? Word intrusion and topic intrusion, as a page of questions and a score.

A question shows what belongs together and one intruder (Chang et al. 2009). Of a topic: five of its words, and a word
that is unlikely in it but frequent in another topic. Of a document: its three largest topics, and a topic that it has
hardly anything of. Who finds the intruder has seen what the rest has in common. Coherence scores and people disagree.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from supertopic.checks import check_whole
from supertopic.documents.corpus import as_texts, lengths_of
from supertopic.estimators.shared.results.topic_info import top_words_by
from supertopic.explore.page.payload import Payload
from supertopic.explore.page.write import render
from supertopic.persistence import write_atomically

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

__all__ = ["score_answers", "write_quiz"]

_WORDS, _OF_A_TOPIC, _TOPICS = 5, 8, 3  # shown of a topic that is asked about, of one that is a choice; of a document
_FREQUENT, _LEAST_WORDS = (
    10,
    20,
)  # first words of a topic an intruder comes from; of a document
_LONGEST = 1500  # characters of a document
_Z90 = 1.6448536269514722
KINDS = {"word": "word intrusion", "topic": "topic intrusion"}


class Score(NamedTuple):
    """What answers say: a row per kind of question, and a row per topic."""

    overall: pd.DataFrame
    topics: pd.DataFrame


def write_quiz(
    model: TopicEstimator, path: str | os.PathLike[str], texts: object, *, n_documents: int = 20, seed: int = 0
) -> int:
    """Write the page; returns the number of its questions.

    Parameters
    ----------
    model : a fitted model
    path : the page to write, such as ``"quiz.html"``; its answers come back as a file of JSON
    texts : documents as text, of which some are asked about
    n_documents : int
        Of questions about documents.
    """
    check_whole("n_documents", n_documents, least=0)
    given = as_texts(texts)[0]
    rng = np.random.default_rng([int(seed), 47])
    questions = [*_about_topics(model, rng), *_about_documents(model, given, int(n_documents), rng)]
    if not questions:
        raise ValueError("model: got one topic, expected two at least, one of which can be an intruder")
    title = f"Which one does not belong? {len(questions)} questions"
    write_atomically(
        path, render(Payload({"title": title, "questions": questions}), ("decode", "dom", "export", "quiz"))
    )
    return len(questions)


def _about_topics(model: TopicEstimator, rng: np.random.Generator) -> list[dict[str, Any]]:
    topics = np.asarray(model.components_)
    n_topics, n_words = topics.shape
    first = np.argsort(-topics, axis=1, kind="stable")
    n_shown = min(_WORDS, n_words // 2)
    found = []
    for k in range(n_topics if n_topics > 1 and n_shown > 1 else 0):
        unlikely = np.zeros(n_words, dtype=bool)
        unlikely[first[k, n_words // 2 :]] = True
        others = np.unique(np.delete(first, k, axis=0)[:, :_FREQUENT])
        chosen = others[unlikely[others]]
        if len(chosen):
            words = model.fitted_.vocabulary.words[np.append(first[k, :n_shown], rng.choice(chosen))]
            found.append(_question("word", k, [str(word) for word in words], rng))
    return found


def _about_documents(
    model: TopicEstimator, texts: Sequence[str], n: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    n_topics = len(model.components_)
    corpus = model.fitted_.corpus(list(texts))
    long_enough = np.flatnonzero(lengths_of(corpus.counts) >= _LEAST_WORDS)
    some = rng.permutation(long_enough)[:n]
    if n_topics < 2 or not len(some):
        return []
    shares = np.asarray(model.transform(corpus[some]), dtype=np.float64)
    if shares.shape[1] != n_topics:
        return []
    words, found = top_words_by(model, _OF_A_TOPIC), []
    for d, own in zip(some, shares, strict=True):
        order = np.argsort(-own, kind="stable")
        n_shown = min(_TOPICS, n_topics // 2)
        chosen = np.append(order[:n_shown], rng.choice(order[max(n_shown, n_topics // 2) :]))
        text = texts[int(d)]
        one = _question("topic", int(d), [" ".join(words[k]) for k in chosen], rng, own[chosen])
        found.append({**one, "text": text[:_LONGEST] + ("…" if len(text) > _LONGEST else "")})
    return found


def _question(
    kind: str, about: int, options: list[str], rng: np.random.Generator, shares: np.ndarray | None = None
) -> dict[str, Any]:
    """The intruder is the last of the options; they are shuffled."""
    order = rng.permutation(len(options))
    found = {"kind": kind, "about": about, "options": [options[i] for i in order], "intruder": int(order.argmax())}
    return found if shares is None else {**found, "shares": [float(shares[i]) for i in order]}


def score_answers(files: Iterable[str | os.PathLike[str]]) -> Score:
    """What people have found, from the files of answers of one quiz or of several people.

    `overall` has a row per kind: questions, answers, right (the share that found the intruder), lower and upper (90 %,
    Wilson's interval over the questions, of which each counts once), by_chance, and log_odds: the mean of log share of
    the intruder less log share of the topic that was chosen, 0 where all intruders were found. `topics` has a row per
    topic of the word intrusions: topic, answers, right.
    """
    answers = pd.DataFrame([one for file in files for one in _answers(file)])
    if not len(answers):
        raise ValueError("answers: got none, expected a file that the page of a quiz has saved")
    rows = []
    for kind, some in answers.groupby("kind"):
        right = some.groupby("about").right.mean()
        lower, upper = _wilson(float(right.mean()), len(right))
        rows.append({
            "kind": KINDS[str(kind)], "questions": len(right), "answers": len(some), "right": right.mean(),
            "lower": lower, "upper": upper, "by_chance": (1.0 / some.n_options).mean(),
            "log_odds": some.log_odds.mean(),
        })  # fmt: skip
    words = answers[answers.kind == "word"].groupby("about").right.agg(["size", "mean"])
    topics = words.rename(columns={"size": "answers", "mean": "right"}).rename_axis("topic").reset_index()
    return Score(pd.DataFrame(rows), topics)


def _wilson(share: float, n: int) -> tuple[float, float]:
    middle = (share + _Z90**2 / (2 * n)) / (1 + _Z90**2 / n)
    reach = _Z90 / (1 + _Z90**2 / n) * math.sqrt(share * (1 - share) / n + _Z90**2 / (4 * n * n))
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def _answers(file: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The answers of a file; refuses what no page has saved."""
    try:
        with open(file, encoding="utf-8") as opened:
            return [_answer(one) for one in json.load(opened)["answers"]]
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise ValueError(f"{os.fspath(file)} holds no answers of a quiz: {str(error)[:80]}") from None


def _answer(one: dict[str, Any]) -> dict[str, Any]:
    n_options, chosen, intruder = (_whole(one[name]) for name in ("n_options", "chosen", "intruder"))
    if one["kind"] not in KINDS or not 2 <= n_options <= 100 or max(chosen, intruder) >= n_options:
        raise ValueError("a choice is none of those that there were")
    shares = one.get("shares")
    odds = (
        math.nan
        if shares is None
        else math.log(max(float(shares[intruder]), 1e-12) / max(float(shares[chosen]), 1e-12))
    )
    found = {"kind": one["kind"], "about": _whole(one["about"]), "right": float(chosen == intruder)}
    return {**found, "n_options": n_options, "log_odds": odds}


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r:.40} is no whole number")
    return value
