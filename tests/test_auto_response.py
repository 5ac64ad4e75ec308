"""`response="auto"` takes y for the same thing in Python and on the command line, and says so where it is a guess."""

import warnings

import numpy as np
import pandas as pd
import pytest

from supertopic import SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.cli.target import ColumnValues, choose
from supertopic.documents.streams import Stream
from supertopic.responses.choice import choose_response

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (120, 12))
SHORT = {"max_iter": 2, "cross_fit": 0}
STARS = RNG.integers(1, 6, 120)
COUNTS = RNG.negative_binomial(2, 0.05, 120)
YEARS = RNG.integers(1950, 2020, 120)
IDS = RNG.integers(0, 4, 120)
TEXTS = np.array(["a", "b", "c"])[IDS % 3]
REAL = RNG.normal(size=120)
DAYS = np.linspace(1, 366, 120).astype(int)

COLUMNS = {
    "stars": (STARS, "ordinal"), "counts": (COUNTS, "negative_binomial"), "years": (YEARS, "gaussian"),
    "ids": (IDS, "softmax"), "texts": (TEXTS, "softmax"), "real": (REAL, "gaussian"), "two": (IDS % 2, "logit"),
    "days": (DAYS, "gaussian"), "truth": (IDS > 1, "logit"), "whole floats": (STARS.astype(float), "ordinal"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_python_and_the_command_line_choose_the_same(name):
    values, expected = COLUMNS[name]
    assert choose_response(values).response == expected
    assert choose(ColumnValues.of(pd.Series(values), "y"), None).response == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TopicModel(2, **SHORT).fit(X, pd.DataFrame({name: values}))
    assert model.response_ == {name: expected}


@pytest.mark.parametrize("name", ["stars", "counts", "years", "days", "ids", "real", "two", "whole floats"])
def test_an_array_of_numbers_is_taken_for_what_its_values_are(name):
    values = np.append(COLUMNS[name][0].astype(float), np.nan)
    assert choose_response(values) == choose_response(values.tolist()) == choose_response(COLUMNS[name][0].tolist())


def test_a_guess_is_said_and_what_was_taken_is_kept(tmp_path):
    with pytest.warns(UserWarning, match=r"^y holds 5 consecutive whole numbers, 1 to 5: taken as an ordered rating"):
        model = SLDAClassifier(2, **SHORT).fit(X, STARS)
    assert model.response_ == "ordinal" and model.predict_proba(X).shape == (120, 5)
    with pytest.warns(
        UserWarning, match=r"as counts \(negative_binomial\); response='gamma' takes prices; response='gaussian'"
    ):
        model = SLDARegressor(2, **SHORT).fit(X, COUNTS)
    assert model.response_ == "negative_binomial" and (model.predict(X) > 0).all()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").response_ == "negative_binomial"
    with pytest.warns(UserWarning, match="5 distinct whole numbers, 1 to 5: taken as plain numbers.*SLDAClassifier"):
        assert SLDARegressor(2, **SHORT).fit(X, STARS).response_ == "gaussian"


@pytest.mark.parametrize("n", [100, 1000])
def test_whole_numbers_that_lean_to_the_right_are_counts_and_others_are_not(n):
    """Negative binomial laws of a large mean have skewness 2/sqrt(r), Poisson laws 1/sqrt(mean), uniform ones none."""

    def counts_among(draw):
        chosen = [choose_response(draw(np.random.default_rng(seed)), ("number",)) for seed in range(100)]
        return sum(choice.response == "negative_binomial" for choice in chosen)

    assert counts_among(lambda rng: rng.negative_binomial(1, 0.01, n)) == 100
    assert counts_among(lambda rng: rng.negative_binomial(6, 6 / 106, n)) >= 99
    assert counts_among(lambda rng: rng.poisson(9, n)) >= 94
    assert counts_among(lambda rng: rng.integers(0, 201, n)) <= (60 if n == 100 else 0)
    assert counts_among(lambda rng: 200 - np.minimum(rng.negative_binomial(6, 6 / 106, n), 200)) <= 2


def test_days_are_numbers_and_it_is_said_how_to_make_them_counts():
    with pytest.warns(UserWarning, match=r"1 to 366, few .* \(gaussian\); response='negative_binomial' takes c"):
        assert SLDARegressor(2, **SHORT).fit(X, DAYS).response_ == "gaussian"


@pytest.mark.parametrize(
    ("kind", "y"), [(SLDARegressor, REAL), (SLDAClassifier, TEXTS), (SLDAClassifier, IDS), (SLDARegressor, YEARS)]
)
def test_nothing_is_said_where_there_is_nothing_to_guess(kind, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(5, **SHORT).fit(X, y)
        for asked in ("gaussian", "poisson"):
            SLDARegressor(2, response=asked, **SHORT).fit(X, COUNTS)
        SLDAClassifier(5, response="softmax", **SHORT).fit(X, STARS)


def test_several_columns_have_one_each():
    with pytest.warns(UserWarning, match="^n holds"):
        model = SLDARegressor(2, **SHORT).fit(X, pd.DataFrame({"n": COUNTS, "r": REAL}))
    assert model.response_ == ["negative_binomial", "gaussian"]


def test_a_stream_is_taken_for_the_same():
    batches = [(X[:60], STARS[:60]), (X[60:], STARS[60:])]
    with pytest.warns(UserWarning, match="taken as an ordered rating"):
        model = SLDAClassifier(2, inference="svi", max_iter=1).fit(Stream.from_iterable(batches))
    assert model.response_ == "ordinal"


def test_folds_of_a_search_take_y_for_the_same():
    """The whole of y has 21 values, which are counts; parts of it might be classes."""
    y = np.tile(np.arange(24) ** 2, 5)
    with pytest.warns(UserWarning) as said:
        model = SLDARegressor(2, supervision="auto", **SHORT).fit(X, y)
    assert model.response_ == "negative_binomial" and sum("taken as" in str(one.message) for one in said) == 1
