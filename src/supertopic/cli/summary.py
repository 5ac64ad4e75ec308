"""What a fit tells: the model, its data and how the fit ended, as a table or as JSON."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from supertopic.cli.response import topics_are_classes
from supertopic.cli.show import facts, say, show

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


def fit_figures(estimator: TopicEstimator, seconds: float, out: str | None = None) -> dict[str, Any]:
    """Return the figures of a fit by name, for JSON."""
    from supertopic.documents.languages import NAMES, code_of

    tally = estimator.vectorizer_
    inference = estimator.fitted_.spec.inference
    asked = tally.stop_words
    language = tally.language_ if asked == "auto" else code_of(asked, "stop_words") if isinstance(asked, str) else None
    figures = {
        "model": type(estimator).__name__,
        "inference": inference,
        "topics": len(estimator.components_),
        "seconds": round(seconds, 3),
        "documents": tally.n_documents_,
        "empty_documents": tally.n_empty if tally.n_tallied == tally.n_documents_ else None,
        "vocabulary": estimator.n_features_in_,
        "frequent_words": len(tally.ignored_),
        "stop_words": NAMES[language].lower() if language and tally.stop_words_ else len(tally.stop_words_),
        "tokens": int(tally.n_tokens),
        "counts": getattr(estimator, "counts_", "raw"),
        "iterations": estimator.n_iter_,
        "converged": _converged(estimator, inference),
        "bound": float(estimator.bound_[-1]),
    }
    return figures if out is None else {**figures, "file": out, "bytes": os.path.getsize(out)}


def say_fit(figures: Mapping[str, Any], estimator: TopicEstimator, more: Mapping[str, str] | None = None) -> None:
    """Print the figures of a fit as a sentence and a table."""
    inference, n = figures["inference"], figures["topics"]
    noun = "class" if topics_are_classes(estimator) else "topic"
    many = noun if n == 1 else f"{noun}es" if noun == "class" else f"{noun}s"
    name = figures["model"] + (f" ({inference})" if len(estimator.engines) > 1 else "")
    say(f"Fitted {name} with {n:,} {many} in {figures['seconds']:.1f} s.\n")
    ended = {None: "", True: " until converged", False: ", not yet converged: more with --iterations"}
    empty, stop_words = figures["empty_documents"], figures["stop_words"]
    left_out = f", {str(stop_words).capitalize()} stop words left out" if stop_words else ""
    left_out += " (--stop-words none keeps them)" if isinstance(stop_words, str) else ""
    if frequent := figures["frequent_words"]:
        these, them = ("word", "it") if frequent == 1 else ("words", "them")
        left_out += f", and {frequent:,} {these} that too many documents have (--max-df 1.0 keeps {them})"
    pairs = {
        "documents": f"{figures['documents']:,}" + (f", {empty:,} empty" if empty else ""),
        "vocabulary": f"{figures['vocabulary']:,} words{left_out}",
        "tokens": f"{figures['tokens']:,}" + (", repeated ones count less" if figures["counts"] == "log" else ""),
        "iterations": f"{figures['iterations']:,}{ended[figures['converged']]}",
        **_ends_at(figures["bound"], inference),
        **(more or {}),
    }
    if "file" in figures:
        pairs["saved"] = f"{figures['file']} ({_size(figures['bytes'])})"
    show(facts(pairs))


def _ends_at(bound: float, inference: str | None) -> dict[str, str]:
    """What a fit made large: the log-likelihood of labels held out, or a bound of that of words it has seen."""
    if inference == "pc":
        return {"held out": f"{bound:.4f} nats per label (log-likelihood, of labels that chose the epoch)"}
    return {"bound": f"{bound:.4f} nats per token of the fit (higher is better; not held out)"}


def _converged(estimator: TopicEstimator, inference: str | None) -> bool | None:
    """Whether the fit ended before its largest number of iterations; None for engines that do all of them."""
    if inference not in ("vb", "cvb0", "newton"):
        return None
    limit = estimator.max_iter or estimator.engines[inference].max_iter
    return bool(estimator.n_iter_ < limit)


def tallying_vectorizer(**params: Any) -> Any:
    """Return a Vectorizer that counts the tokens and the empty documents in the first pass over the documents."""
    import numpy as np

    from supertopic.documents.vectorizer import Vectorizer

    class TallyingVectorizer(Vectorizer):
        n_tallied = n_empty = 0
        n_tokens = 0.0

        def fit_transform(self, X: object, y: object = None, **fit_params: Any) -> Any:
            counts = super().fit_transform(X, y, **fit_params)
            if not self.n_tallied:
                self._tally(counts)
            return counts

        def count(self, texts: Iterable[str]) -> tuple[Any, int]:
            counts, n_unknown = super().count(texts)
            if self.n_tallied < self.n_documents_:
                self._tally(counts)
            return counts, n_unknown

        def _tally(self, counts: Any) -> None:
            self.n_tallied += counts.shape[0]
            self.n_tokens += float(counts.sum(dtype=np.float64))
            self.n_empty += int(np.count_nonzero(np.diff(counts.indptr) == 0))

    return TallyingVectorizer(**params)


def _size(n_bytes: int) -> str:
    power = min(int(math.log10(max(n_bytes, 1)) // 3), 3)
    return f"{n_bytes / 1000**power:.{min(power, 1)}f} {('bytes', 'kB', 'MB', 'GB')[power]}"
