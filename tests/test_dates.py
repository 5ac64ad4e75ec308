"""Dates are dates: as responses and covariates they are years, never classes or dummies."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from supertopic import SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.datasets import simulate
from supertopic.dates import are_dates, years_of
from tests.cli_tools import run

D = 80
DATA = simulate(D, 3, 40, 30, seed=1)
DAYS = [dt.date(2008, 1, 1) + dt.timedelta(days=4 * d) for d in range(D)]
YEARS = np.array([2008 + 4 * d / 365.2425 for d in range(D)])
GIVEN = {
    "text": [day.isoformat() for day in DAYS],
    "dates": DAYS,
    "pandas": pd.Series(pd.to_datetime(DAYS), name="date"),
    "numpy": np.array(DAYS, dtype="datetime64[D]"),
    "polars": pl.Series("date", DAYS),
}


@pytest.mark.parametrize("form", GIVEN)
def test_years(form):
    given = GIVEN[form]
    assert are_dates(list(given))
    np.testing.assert_allclose(years_of(list(given), "y"), YEARS, atol=2e-3)
    assert years_of(["2008-04-01"], "y")[0] == pytest.approx(2008.25, abs=3e-3)


@pytest.mark.parametrize("form", ["text", "pandas", "numpy"])
def test_a_response_of_dates_is_years(form):
    model = SLDARegressor(3, response="gaussian", max_iter=3, cross_fit=0).fit(DATA.counts, GIVEN[form])
    expected = SLDARegressor(3, response="gaussian", max_iter=3, cross_fit=0).fit(DATA.counts, years_of(DAYS, "y"))
    np.testing.assert_allclose(model.predict(DATA.counts), expected.predict(DATA.counts), rtol=1e-9)
    assert model.score(DATA.counts, GIVEN[form]) == pytest.approx(expected.score(DATA.counts, years_of(DAYS, "y")))


@pytest.mark.parametrize("kind", [SLDARegressor, TopicModel])
def test_it_is_said(kind):
    with pytest.warns(UserWarning, match="holds dates: taken as years, such as 2008.25"):
        kind(3, max_iter=2, cross_fit=0).fit(DATA.counts, GIVEN["text"])


@pytest.mark.parametrize("form", ["text", "pandas", "numpy"])
def test_many_dates_are_no_classes(form):
    with pytest.raises(ValueError, match=r"y holds 80 different dates, which are no classes"):
        SLDAClassifier(3, max_iter=2).fit(DATA.counts, GIVEN[form])
    few = np.array(["2008-01", "2008-02"])[np.arange(D) % 2]
    assert list(SLDAClassifier(3, max_iter=2, cross_fit=0).fit(DATA.counts, few).classes_) == ["2008-01", "2008-02"]


@pytest.mark.parametrize("form", ["text", "pandas", "polars"])
def test_a_covariate_of_dates_is_one_column_of_years(form, tmp_path):
    library = pl if form == "polars" else pd
    frame = library.DataFrame({"date": GIVEN[form], "age": np.arange(D) % 7})
    y = YEARS - 2008 + DATA.topic_shares[:, 0]
    model = SLDARegressor(3, max_iter=5, cross_fit=0).fit(DATA.counts, y, covariates=frame)
    assert list(model.covariate_names_) == ["date", "age"]
    assert np.asarray(model.covariate_mean_)[0] == pytest.approx(YEARS.mean(), abs=2e-3)
    assert np.asarray(model.covariate_coef_)[0, 0] == pytest.approx(1.0, abs=0.2)
    model.save(tmp_path / "m")
    later = library.DataFrame({"date": ["2009-01-01"] * 2, "age": [3, 3]})
    given = {"covariates": later}
    np.testing.assert_array_equal(
        load(tmp_path / "m").predict(DATA.counts[:2], **given), model.predict(DATA.counts[:2], **given)
    )
    years = pd.DataFrame({"date": years_of(["2009-01-01"] * 2, "x"), "age": [3, 3]})
    np.testing.assert_allclose(
        model.predict(DATA.counts[:2], covariates=years), model.predict(DATA.counts[:2], **given), rtol=1e-12
    )


def test_texts_that_only_tell_documents_apart_are_no_covariate():
    frame = pd.DataFrame({"url": [f"http://a.b/{d}" for d in range(D)]})
    with pytest.raises(ValueError, match="covariates: column 'url' has 80 different texts in 80 documents, such as"):
        SLDARegressor(3).fit(DATA.counts, YEARS, covariates=frame)


def test_a_date_that_does_not_exist():
    with pytest.raises(ValueError, match="y holds a date that does not exist"):
        SLDARegressor(3, response="gaussian").fit(DATA.counts, ["2008-02-31"] * D)


def test_a_target_of_dates_by_command(tmp_path):
    words = ["cat dog", "bond fund", "sun sea", "red blue"]
    frame = pd.DataFrame({"text": [words[d % 4] for d in range(D)], "date": GIVEN["text"]})
    stamps = frame.assign(date=pd.to_datetime(frame.date))
    for name, write in (("d.csv", frame.to_csv), ("d.parquet", stamps.to_parquet)):
        write(tmp_path / name)
        out = ("-k", 2, "--iterations", 2, "-o", tmp_path / "m", "--force")
        done = run("fit", tmp_path / name, "--text", "text", "--target", "date", *out)
        assert done.exit_code == 0 and "Column 'date' holds dates: taken as years, such as 2008.25." in done.output
        assert abs(load(tmp_path / "m").predict(["bond fund"])[0] - YEARS.mean()) < 0.6
