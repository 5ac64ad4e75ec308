"""What `help` shows of methods: every parameter with its type, and what is returned, in numpydoc's form.

Methods share their parameters, which are told here once. A docstring says what is particular to it, in a section
"Parameters" or in lines such as "by : how words are ordered" below its summary; what it does not name is completed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from supertopic.estimators.shared.results.pages import wrapped

_LINE = re.compile(r"^(\*{0,2}\w+(?:, \w+)*) : (.+)$")
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_TABLE = "array-like, frame or str"
_FRAME, _ARRAY = "DataFrame", "ndarray"

PARAMETERS = {  # type, and what it is
    "X": ("documents", "Texts, counts (sparse or dense), a frame of counts, or a Stream where it is read."),
    "y": ("array-like, optional", "The labels; NaN or None is a document without one."),
    "adjust": ("{'holm', 'bh'}, optional", "Adjusted p-values."),
    "by": ("str", "How words are ordered."),
    "by_class": ("bool", "Whether each class is held with this probability."),
    "classes": ("array-like, optional", "All classes there will be."),
    "cluster": ("str or array-like, optional", "Which documents go together."),
    "covariates": (f"{_TABLE}, optional", "Columns that predict beside the topics, or their names in `metadata`."),
    "doc": ("str or array-like", "A text, or the counts of one document."),
    "doc_topic": ("bool", "Whether topic shares are kept."),
    "documents": ("array-like, optional", "For each sentence, the number of its document."),
    "draws": ("int", "Draws of the shares."),
    "effects": ("TopicEffects, optional", "What `estimate_effect` found."),
    "embeddings": ("(D, E) array, optional", "Many columns beside the topics, as one block."),
    "facet": ("str, optional", "The column of labels; the first by default."),
    "formula": ("str or list of str", "The terms."),
    "groups": ("array-like or str, optional", "What each document belongs to; folds never cut a group apart."),
    "high": ("float, optional", "The upper quantile."),
    "honest": ("bool", "Topics and coefficients from different halves."),
    "labels": ("array-like or mapping, optional", "Labels that are known."),
    "low": ("float", "The lower quantile."),
    "metadata": (f"{_TABLE}, optional", "What else is known of the documents, a row each."),
    "method": ("str", "How it is computed."),
    "n": ("int", "How many words, or rows, of each topic."),
    "n_topics": ("int, optional", "How many topics have a column; None: all of them."),
    "names": ("array-like", "Names."),
    "new": ("list of str", "Facets whose label is none of those of the fit."),
    "of": ("{'topics', 'covariates'}", "What goes from little to much."),
    "**options": ("Any", "Further ones of `supertopic.metrics.perplexity`."),
    "order": ("list of int or str", "Topics, by number or label, in their new order."),
    "**params": ("Any", "As in `fit`."),
    "path": ("path", "The file."),
    "permutations": ("int", "Permutations behind p-values."),
    "probability": ("float", "That of the interval or set."),
    "refits": ("int", "Further fits."),
    "return_interval": ("float, optional", "The probability of intervals to return beside the prediction."),
    "sample_weight": ("(D,) array-like, optional", "The weight of each document's label."),
    "seed": ("int", "Of what is drawn."),
    "texts": ("list of str, optional", "The texts of the documents."),
    "threshold": ("float", "Least share of the topic."),
    "times": ("array-like or str, optional", "When each document is from; in folds, the past predicts the future."),
    "title": ("str, optional", "The heading."),
    "topic": ("int or str", "A topic, by number or label."),
    "topics": ("list of int or str", "Topics, by number or label."),
}
RETURNS = {
    "adds": (_FRAME, "A row per component and word."),
    "card": ("str", "Markdown."),
    "decision_function": (_ARRAY, "Linear predictors (D,) or (D, C)."),
    "describe": ("Description", "Sentences, which a terminal and a notebook show."),
    "drop_topics": ("self", "This model, changed."),
    "effects": (_FRAME, "A row per topic or covariate."),
    "errors_km": (_ARRAY, "Kilometres between predicted and true places."),
    "estimate_effect": ("TopicEffects", "Estimates with errors, to summarise, contrast and plot."),
    "explain": (_FRAME, "A row per word."),
    "explain_words": (_FRAME, "A row per known word."),
    "fit": ("self", "The fitted model."),
    "find_again": ("self", "This model, which then knows found_again and spread."),
    "fit_transform": (_ARRAY, "Topic shares (D, K) of these documents."),
    "log_density": (_ARRAY, "A number per document."),
    "merge_topics": ("self", "This model, changed."),
    "methods": ("str", "A paragraph."),
    "name_words": ("self", "This model, changed."),
    "partial_fit": ("self", "The model after this step."),
    "perplexity": ("float", "Per held-out token; lower is better."),
    "plot_support": ("Axes", "With the number of support documents by step."),
    "predict": (_ARRAY, "A prediction for each document; three arrays with `return_interval`."),
    "predict_proba": (_ARRAY, "Probabilities (D, C), in the order of `classes_`."),
    "predict_region": (_ARRAY, "The most probable region of each document."),
    "predict_set": (_ARRAY, "(D, C) of bool: which classes are in the set of a document."),
    "predictor": ("Predictor", "What predicts and holds no training document."),
    "reorder_topics": ("self", "This model, changed."),
    "score": ("float", "Higher is better."),
    "scores": ("Series", "A score for each column of y."),
    "sentences": (_FRAME, "A row per sentence."),
    "set_topic_labels": ("self", "This model, changed."),
    "summary": (_FRAME, "A row per coefficient."),
    "to_arviz": ("InferenceData", "Draws with named dimensions."),
    "to_pyldavis": ("dict", "The arguments of ``pyLDAvis.prepare``."),
    "top_words": (_FRAME, "A row per topic and word."),
    "topic_correlation": (_FRAME, "Correlations (K, K)."),
    "topic_info": (_FRAME, "A row per topic."),
    "topics": (_FRAME, "A row per topic."),
    "transform": (_ARRAY, "Topic shares (D, K); rows sum to one."),
    "typical_documents": (_FRAME, "A row per topic and document."),
    "words_by_class": (_FRAME, "A row per word, a column per class."),
}
NOTHING = ("export", "report", "save")  # is returned


def finish_methods(classes: Iterable[type]) -> None:
    """Complete the docstrings of what users call on these classes."""
    for function in methods_of(classes):
        function.__doc__ = completed(function)


def methods_of(classes: Iterable[type]) -> Iterator[FunctionType]:
    """The methods for users that these classes, and those above them, define."""
    seen: set[int] = set()
    for cls in classes:
        for owner in cls.__mro__:
            if not owner.__module__.startswith("supertopic."):
                continue
            for name, value in vars(owner).items():
                function = getattr(value, "fn", value)
                ours = isinstance(function, FunctionType) and (name in RETURNS or name in NOTHING)
                if ours and id(function) not in seen:
                    seen.add(id(function))
                    yield function


def completed(function: Callable[..., Any]) -> str:
    """The docstring with all parameters and what is returned."""
    head, sections = _parts(inspect.cleandoc(function.__doc__ or ""))
    head, told = _told(head)
    told |= _told(sections.pop("Parameters", ""))[1]
    lines = []
    for name in _names(function):
        kind, body = _entry(name, told.get(name))
        lines += [f"{name} : {kind}", *(f"    {line}" for line in body)]
    if lines:
        sections = {"Parameters": "\n".join(lines), **sections}
    if function.__name__ in RETURNS and "Returns" not in sections:
        kind, text = RETURNS[function.__name__]
        sections["Returns"] = f"{kind}\n    {text}"
    found = [head.strip(), *(f"{name}\n{'-' * len(name)}\n{text.strip()}" for name, text in sections.items())]
    return "\n\n".join(found) + "\n"


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections."""
    pieces = _SECTION.split(doc)
    return pieces[0], dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _told(text: str) -> tuple[str, dict[str, tuple[str, list[str]]]]:
    """The text without its entries, and the entries: what follows the colon, and the lines below."""
    kept: list[str] = []
    found: dict[str, tuple[str, list[str]]] = {}
    open_entry: list[str] | None = None
    for line in text.splitlines():
        if (entry := _LINE.match(line)) is not None:
            open_entry = []
            found |= {name: (entry[2], open_entry) for name in entry[1].split(", ")}
        elif open_entry is not None and line.startswith("    "):
            open_entry.append(line.strip())
        else:
            open_entry = None
            kept.append(line)
    return "\n".join(kept), found


def _entry(name: str, told: tuple[str, list[str]] | None) -> tuple[str, list[str]]:
    """Type and description of a parameter; a line without lines below it describes, and the type is the usual one."""
    kind, usual = PARAMETERS.get(name, ("object", ""))
    if told is None:
        return kind, wrapped(usual)
    first, body = told
    if (body and first == kind.split(",")[0]) or (body and not first[0].islower()) or (body and len(first) < 40):
        return first.rstrip(".;"), [body[0][0].upper() + body[0][1:], *body[1:]]
    text = " ".join([first, *body]).strip()
    text = text[0].upper() + text[1:]
    return kind, wrapped(text if text.endswith(".") else f"{text}.")


def _names(function: Callable[..., Any]) -> list[str]:
    """The parameters, with stars where one takes all others."""
    found = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    return [("**" if one.kind is one.VAR_KEYWORD else "") + one.name for one in found]
