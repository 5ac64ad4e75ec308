"""The choice of a response for a column; class ids are never fitted as numbers without a message."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from supertopic.cli.target import Choice, ColumnValues, choose, responses, unlabelled

KINDS = {
    "none": "none", "gaussian": "number", "negative_binomial": "number", "logit": "class", "probit": "class",
    "gamma": "number", "softmax": "class", "ordinal": "class",
}  # fmt: skip


@pytest.fixture
def register(monkeypatch):
    """Return a function that sets the registered responses."""

    def pretend(*names):
        found = {name: SimpleNamespace(kind=KINDS[name]) for name in ("none", *names)}
        monkeypatch.setattr("supertopic.responses.base.registry", lambda: found)

    pretend(*[name for name in KINDS if name != "none"])
    return pretend


def column(*values, times=1):
    return ColumnValues.of(pd.Series(list(values) * times, dtype=object), "y")


CHOSEN = {
    "two texts": (column("a", "b", times=3), "logit", "holds 2 distinct texts: taken as classes (logit)."),
    "many texts": (column("a", "b", "c", times=3), "softmax", "holds 3 distinct texts: taken as classes (softmax)."),
    "booleans": (column(True, False, None), "logit", "holds true and false: taken as classes (logit)."),
    "two ids": (
        column(1, 2, 1),
        "logit",
        "2 distinct whole numbers: taken as classes (logit); use --response gaussian",
    ),
    "two far numbers": (column(10, 900), "logit", "use --response gaussian for numbers."),
    "three ids": (
        column(0, 1, 2, times=3),
        "softmax",
        "Column 'y' holds 3 distinct whole numbers: taken as classes (softmax); use --response gaussian for numbers.",
    ),
    "ids with gaps": (column(3, 7, 12, 40, times=2), "softmax", "4 distinct whole numbers: taken as classes"),
    "twenty ids": (column(*range(20), times=2), "softmax", "20 distinct whole numbers"),
    "whole floats": (column(0.0, 1.0, 2.0, np.nan, times=3), "softmax", "3 distinct whole numbers"),
    "stars": (
        column(*range(1, 6), times=2),
        "ordinal",
        "holds 5 consecutive whole numbers, 1 to 5: taken as an ordered rating (ordinal); use --response softmax for"
        " classes or gaussian for numbers.",
    ),
    "nought to ten": (column(*range(11), times=2), "ordinal", "11 consecutive whole numbers, 0 to 10"),
    "likert": (column(-2, -1, 0, 1, 2, times=2), "ordinal", "-2 to 2"),
    "nought to four": (column(*range(5), times=2), "softmax", "5 distinct whole numbers"),
    "twelve from one": (column(*range(1, 13), times=2), "softmax", "12 distinct whole numbers"),
    "counts": (
        column(*range(21), times=2),
        "negative_binomial",
        "holds 21 distinct whole numbers from 0 on: taken as counts (negative_binomial); use --response gaussian for"
        " plain numbers or softmax for classes.",
    ),
    "few rows, each its own": (
        column(1, 2, 3, 4),
        "negative_binomial",
        "taken as counts (negative_binomial); use --response gamma for prices or gaussian for plain numbers",
    ),
    "negative": (
        column(*range(-30, 0)),
        "gaussian",
        "holds numbers from -30 to -1: taken as plain numbers (gaussian).",
    ),
    "fractions": (column(0.5, 1.0, 0.5), "gaussian", "holds numbers from 0.5 to 1: taken as plain numbers"),
    "numbers in parts": (column(1, "2", 3.5), "gaussian", "from 1 to 3.5"),
    "labels in parts": (column(1, "x", 1, "x"), "logit", "2 distinct texts"),
    "sentiment": (column(-1, 0, 1, times=3), "ordinal", "holds 3 consecutive whole numbers, -1 to 1"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_column_is_taken_for_what_it_is(register, name):
    target, response, sentence = CHOSEN[name]
    choice = choose(target, None)
    assert (choice.response, choice.kind) == (response, KINDS[response])
    assert choice.why.startswith("Column 'y' holds ") and sentence in choice.why and "\n" not in choice.why


def test_only_what_is_registered_is_chosen_and_offered(register):
    register("gaussian", "logit", "negative_binomial")
    assert responses("class") == {"logit": "class"}
    assert choose(column(*range(30)), None).why.endswith("use --response gaussian for plain numbers.")
    for target in (column(*range(1, 6), times=3), column(0, 1, 2, times=3)):
        with pytest.raises(
            ValueError, match=r"taken as classes, and no response is for more than two; use --response ga"
        ):
            choose(target, None)
    with pytest.raises(ValueError, match=r"no response is for more than two$"):
        choose(column("a", "b", "c", times=3), None)
    register("gaussian", "softmax")
    assert choose(column(*range(1, 6), times=3), None).response == "softmax"
    assert choose(column(*range(30)), None).response == "gaussian"


def test_the_registry_of_the_library_is_walked():
    assert {"gaussian": "number", "logit": "class"}.items() <= responses().items() and "none" not in responses()


def test_a_response_that_is_asked_for_is_taken(register):
    assert choose(column(0, 1, 2, times=3), "gaussian") == Choice("gaussian", "number")


def test_labels_and_numbers_for_the_estimator(register):
    ids = column(-1.0, 0.0, 2.0, np.nan, 1.0, times=2)
    labels = ids.encoded(Choice("softmax", "class"))
    assert labels.tolist() == [-1, 0, 2, None, 1] * 2 and all(type(label) in (int, type(None)) for label in labels)
    assert unlabelled(ids, labels) == (
        "Column 'y' is empty in 2 of 10 rows: these documents take part without a label."
    )
    numbers = ids.encoded(Choice("gaussian", "number"))
    np.testing.assert_array_equal(numbers, [-1, 0, 2, np.nan, 1] * 2)
    assert unlabelled(ids, numbers) == (
        "Column 'y' is empty in 2 of 10 rows: these documents take part without a label."
    )
    assert unlabelled(column(1, 2), [1, 2]) == "" and "empty in 1 of 3" in unlabelled(column(1, 0, 1), [None, 0, 1])
    assert column("1", " ", "2.5").encoded(Choice("gaussian", "number")).tolist()[::2] == [1, 2.5]
    assert column(-1, 1).as_labels("logit").tolist() == [-1, 1]
    assert column(True, None, False).as_labels("logit").tolist() == [True, None, False]


REFUSED = {
    "empty": (lambda: column(None, np.nan, " "), "column 'y' is empty in all 3 rows"),
    "lists": (lambda: column(["a"], ["b"]), "column 'y' holds values of type list; expected numbers or labels"),
    "arrays": (lambda: column(np.array(["a", "b"]), None), "column 'y' holds values of type ndarray"),
    "durations": (lambda: column(pd.Timedelta(1), None), "column 'y' holds values of type Timedelta"),
    "prose": (lambda: choose(column("a", "b", "c", "d"), None), "4 distinct texts in 4 rows, which are no classes"),
    "a stray word": (
        lambda: choose(column("1.5", "2", "7", "n/k"), None),
        "holds 'n/k' among numbers; leave such cells empty, or use --response softmax for classes",
    ),
    "numbers as text": (
        lambda: choose(column("1.5", "2"), None),
        "numbers as text, such as '1.5'; use --response gaussian, or use --response logit for classes",
    ),
    "text as numbers": (
        lambda: column("a", "b", "a").encoded(Choice("gaussian", "number")),
        "column 'y' holds 'a', which is no number, but --response gaussian is for numbers; use --response logit",
    ),
    "fractions as classes": (
        lambda: column(0.5, 1).encoded(Choice("logit", "class")),
        "column 'y' holds 0.5, which is no class, but --response logit is for classes; use --response gaussian",
    ),
    "constant": (lambda: column(3, 3).encoded(Choice("gaussian", "number")), "column 'y' holds one value only, 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(register, name):
    attempt, sentence = REFUSED[name]
    with pytest.raises(ValueError) as caught:
        attempt()
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
