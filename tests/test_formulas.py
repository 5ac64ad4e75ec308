"""Formulas of metadata: against patsy's and SciPy's, as values that files may hold, and refused in a sentence."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

from supertopic.documents.columns import read_columns
from supertopic.documents.formulas import Design, natural_spline

patsy = pytest.importorskip("patsy")


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.date_range("2008-01-01", periods=n, freq="3D").astype(str)
    return pd.DataFrame(
        {
            "party": rng.choice(["D", "I", "R"], n),
            "date": days,
            "n words": rng.integers(1, 9, n).astype(float),
            "age": rng.normal(50.0, 9.0, n),
            "url": [f"https://x.org/{i}" for i in range(n)],
        }
    )


def columns(data):
    return read_columns("metadata", data, len(data))


def span(x):
    """The projection on the space of the columns."""
    q, _ = np.linalg.qr(x)
    return q @ q.T


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("~ party * age", "party * age"),
        ("party + age - 1", "party + age - 1"),
        ("~ (party + age)**2", "(party + age)**2"),
        ("~ party:age", "party:age"),
        ("~ log(age) + C(`n words`)", "np.log(age) + C(words)"),
        (["party", "age"], "party + age"),
    ],
)
def test_columns_span_what_patsys_do(ours, theirs):
    data = frame()
    found = Design.of(ours, columns(data)).encode(columns(data))
    expected = np.asarray(patsy.dmatrix(theirs, data.rename(columns={"n words": "words"})))
    assert found.shape == expected.shape
    np.testing.assert_allclose(span(found), span(expected), atol=1e-9)


def test_a_spline_is_a_natural_cubic_spline_with_its_knots_at_quantiles():
    knots = np.array([0.0, 1.0, 1.5, 4.0, 6.0])
    x = np.linspace(-2.0, 8.0, 101)
    found = np.column_stack([np.ones_like(x), natural_spline(x, knots)])
    for values in np.eye(5):  # any natural spline through values at the knots
        inside = CubicSpline(knots, values, bc_type="natural")
        expected = inside(np.clip(x, 0, 6)) + inside(0, 1) * np.minimum(x, 0) + inside(6, 1) * np.maximum(x - 6, 0)
        fitted = found @ np.linalg.lstsq(found, expected, rcond=None)[0]
        np.testing.assert_allclose(fitted, expected, atol=1e-9)
    data = frame()
    design = Design.of("~ spline(age, 4)", columns(data))
    np.testing.assert_allclose(design.factors[0].knots, np.quantile(data.age, [0, 0.25, 0.5, 0.75, 1]))
    assert design.names == ("(constant)", *(f"spline(age, 4)[{knot:g}]" for knot in design.factors[0].knots[1:]))


def test_coefficients_of_a_spline_are_differences_from_the_first_knot():
    knots = np.array([0.0, 1.0, 1.5, 4.0, 6.0])
    np.testing.assert_allclose(natural_spline(knots, knots), np.eye(5)[:, 1:], atol=1e-12)
    smooth = CubicSpline(knots, [3.0, 1.0, 4.0, 1.0, 5.0], bc_type="natural")
    x = np.linspace(0.0, 6.0, 200)
    columns = np.column_stack([np.ones(200), natural_spline(x, knots)])
    coef = np.linalg.lstsq(columns, smooth(x), rcond=None)[0]
    np.testing.assert_allclose(coef, [3.0, -2.0, 1.0, -2.0, 2.0], atol=1e-9)


def test_names_say_categories_and_terms():
    design = Design.of("~ party * spline(date, df=3)", columns(frame()))
    assert design.names[:4] == ("(constant)", "party=I", "party=R", "spline(date, 3)[2008-04-29]")
    assert design.names[-1] == "party=R × spline(date, 3)[2008-12-23]"
    assert design.terms[1:3] == ("party", "party") and design.terms[-1] == "party × spline(date, 3)"
    assert Design.of("~ C(`n words`)", columns(frame())).names[1] == "n words=2"


def test_a_design_is_a_plain_value_and_codes_new_documents_as_before():
    data = frame()
    design = Design.of("~ party * spline(date, 5) + log(age)", columns(data))
    again = Design.restore(json.loads(json.dumps(design.about())))
    assert again == design
    whole, some = design.encode(columns(data)), data.iloc[[3, 50, 7]]
    np.testing.assert_array_equal(again.encode(columns(some)), whole[[3, 50, 7]])


def test_forged_values_are_refused():
    about = Design.of("~ party + spline(age, 4)", columns(frame())).about()
    for name, value in {
        "formula": "~ party",
        "names": ["a"],
        "factors": [["party", "", []], ["age", "spline", [2, 1]]],
    }.items():
        with pytest.raises(ValueError):
            Design.restore({**about, name: value})


def test_rows_with_missing_values_are_nan():
    data = frame().astype({"party": object})
    design = Design.of("~ party + age", columns(data))
    data.loc[4, "party"], data.loc[9, "age"] = None, np.nan
    assert np.flatnonzero(np.isnan(design.encode(columns(data))).any(axis=1)).tolist() == [4, 9]


def test_values_of_one_column():
    design = Design.of("~ party + date + age", columns(frame()))
    assert design.value("party", "R") == 2.0
    assert design.value("date", "2009-01-01") == pytest.approx(2009.0, abs=0.01)
    for name, value in (("party", "X"), ("date", "soon"), ("age", None), ("url", 1)):
        with pytest.raises(ValueError):
            design.value(name, value)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ party", "a left side"),
        ("~ exp(age)", "expected spline"),
        ("~ __import__(age)", "expected spline"),
        ("~ {age + 1}", "signs"),
        ('~ party + "age"', "signs"),
        ("~ age.mean", "signs"),
        ("~ party +", "a mistake"),
        ("~ 1", "has no column"),
        ("~ height", "no column of metadata"),
        ("~ url", "only tell documents apart"),
        ("~ spline(party, 5)", "needs numbers or dates"),
        ("~ spline(`n words`, 9)", "needs 10 different values"),
        ("~ spline(age, 1)", "expected 2 to 50"),
        ("~ C(age) + age", "one of the two"),
    ],
)
def test_what_is_no_formula_is_refused_in_a_sentence(formula, says):
    with pytest.raises(ValueError, match=says) as refusal:
        Design.of(formula, columns(frame()))
    assert "\n" not in str(refusal.value)


def test_new_categories_are_refused():
    data = frame()
    design = Design.of("~ party", columns(data))
    data.loc[0, "party"] = "Z"
    with pytest.raises(ValueError, match="'Z', which was not there before"):
        design.encode(columns(data))
    with pytest.raises(ValueError, match="no column 'party'"):
        design.encode(columns(data[["age"]]))
    with pytest.raises(ValueError, match="is not defined"):
        Design.of("~ log(age)", columns(data.assign(age=data.age - 60)))
