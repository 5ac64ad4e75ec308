"""What is known of documents beside their words: columns as users give them, and as they travel."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from supertopic.documents.columns import Column, read_columns
from supertopic.documents.known import Known
from supertopic.inference.batches import Batch

N = 30
DAYS = [dt.date(2008, 1, 1) + dt.timedelta(days=3 * d) for d in range(N)]
TABLE = {
    "party": ["left" if d % 3 else "right" for d in range(N)],
    "age": [20.0 + d for d in range(N)],
    "date": [day.isoformat() for day in DAYS],
    "blog": [f"blog {d % 4}" for d in range(N)],
    "free": [d % 2 == 0 for d in range(N)],
    "doc_id": list(range(1000, 1000 + N)),
    "text": [f"the text number {d} is another one" for d in range(N)],
}
KINDS = {
    "party": "category", "age": "number", "date": "date", "blog": "category", "free": "number",
    "doc_id": "identifier", "text": "identifier",
}  # fmt: skip
GIVEN = {
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "arrow": pa.table(TABLE),
    "dict": TABLE,
    "records": pd.DataFrame(TABLE).to_dict("records"),
}


@pytest.mark.parametrize("form", GIVEN)
def test_columns_of_any_frame_are_the_same(form):
    known = Known.of(N, metadata=GIVEN[form], groups="blog", times="date")
    assert {name: one.kind for name, one in known.metadata.items()} == KINDS
    assert known.column("party").levels == ("left", "right")
    assert known.column("party").values[:4].tolist() == [1, 0, 0, 1]
    np.testing.assert_array_equal(known.column("age").values, TABLE["age"])
    np.testing.assert_array_equal(known.column("free").values[:3], [1.0, 0.0, 1.0])
    assert known.column("date").values[:2].tolist() == [(DAYS[0] - dt.date(1970, 1, 1)).days, 13882.0]
    assert known.groups.levels == tuple(f"blog {d}" for d in range(4)) and known.times.kind == "date"
    assert known.frame()["date"].dt.date.tolist() == DAYS


@pytest.mark.parametrize(
    "given, days",
    [
        (["2008-01-31", "1969-12-31"], [13909, -1]),
        (["2008-01", "1970-01"], [13879, 0]),
        (["1970-01-01T12:00:00Z", "1970-01-01T12:00:00+12:00"], [0.5, 0.0]),
        ([dt.datetime(1970, 1, 2, 6), None], [1.25, np.nan]),
        (np.array(["1970-01-03", "NaT"], dtype="datetime64[ns]"), [2.0, np.nan]),
        (pd.Series([pd.Timestamp("1970-01-02", tz="UTC"), pd.NaT]), [1.0, np.nan]),
        (pl.Series([dt.date(1970, 1, 5), None]), [4.0, np.nan]),
    ],
)
def test_dates_are_dates(given, days):
    found = Column.of("date", given)
    assert found.kind == "date"
    np.testing.assert_array_equal(found.values, days)


@pytest.mark.parametrize("given", [["2008", "2009"], ["31.01.2008", "01.02.2008"], ["2008-1-31", "x"]])
def test_other_texts_are_no_dates(given):
    assert Column.of("date", given).kind == "category"


@pytest.mark.parametrize(
    "name, given, kind",
    [
        ("age", list(range(1000, 1000 + N)), "number"),
        ("id", list(range(N)), "identifier"),
        ("row", [1] * N, "number"),
        ("id", ["a", "b"] * 15, "category"),
        ("name", [f"somebody {d}" for d in range(N)], "identifier"),
        ("name", [f"somebody {d // 2}" for d in range(N)], "category"),
        ("name", ["ann", "bob", "eve"], "category"),
        ("price", [Decimal("1.5"), Decimal(2)], "number"),
        ("maybe", [1, None, True], "number"),
        ("maybe", [None, None], "number"),
        ("town", ["Rome", None], "category"),
    ],
)
def test_kinds(name, given, kind):
    assert Column.of(name, given).kind == kind


def test_categories_keep_the_order_they_have():
    given = pd.Series(pd.Categorical(["low", "high", None], categories=["low", "middle", "high"]))
    found = Column.of("size", given)
    assert found.levels == ("low", "middle", "high") and found.values.tolist() == [0, 2, -1]
    enum = pl.Series(["low", "high", None], dtype=pl.Enum(["low", "middle", "high"]))
    assert Column.of("size", enum).levels == ("low", "middle", "high")
    assert Column.of("size", pl.Series(["low", "high"], dtype=pl.Categorical)).levels == ("high", "low")
    cut = Column.of("age", pd.Series(pd.cut([1, 5, 9], [0, 4, 10])))
    assert cut.levels == ("(0, 4]", "(4, 10]") and cut.values.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "given, message",
    [
        ({"metadata": {"a": [1, 2]}}, "metadata: got 2 rows, expected one for each of the 3 documents"),
        ({"metadata": {"a": [1, "x", 2]}}, "metadata: column 'a' holds 1 and 'x', expected one kind of values"),
        ({"metadata": {"a": [[1], [2], [3]]}}, r"metadata: column 'a' holds \[1\], expected numbers, texts or dates"),
        ({"metadata": {"a": [1.0, np.inf, 2]}}, "metadata: column 'a' has infinity, expected finite numbers"),
        ({"metadata": {"a": ["2008-02-31"] * 3}}, "metadata: column 'a' holds a date that does not exist"),
        ({"metadata": "party"}, "metadata: got a str, expected a frame, a dict of columns, an array or a list"),
        ({"metadata": {"a": "abc", "b": 1}}, "metadata: got 1 rows, expected one for each of the 3 documents"),
        ({"groups": "blog"}, "groups: got the name 'blog', which needs metadata= with this column"),
        ({"metadata": {"a": [1, 2, 3]}, "groups": "b"}, "groups: got the name 'b', expected one of 'a'"),
        ({"groups": ["x", None, "y"]}, "groups: missing in row 1, expected a group for every document"),
        ({"groups": np.ones((3, 2))}, "groups: got 2 columns, expected one"),
        ({"times": [1.0, np.nan, 2.0]}, "times: missing in row 1, expected a time for every document"),
        ({"times": ["May", "June", "July"]}, "times: got 'July', expected dates such as '2008-01-31', or numbers"),
        ({"sample_weight": [1, -1, 2]}, "sample_weight: got NaN, infinity or a negative number"),
        ({"sample_weight": [1, 2]}, r"sample_weight: got shape \(2,\), expected \(3,\)"),
        ({"sample_weight": ["a", "b", "c"]}, "sample_weight: got values that are no numbers"),
        ({"embeddings": [[1.0], [np.nan], [2.0]]}, "embeddings: got NaN or infinity, expected finite numbers"),
        ({"embeddings": [1.0, 2.0, 3.0]}, r"embeddings: got shape \(3,\), expected \(3, dimensions\)"),
        ({"embeddings": [["a"]] * 3}, "embeddings: got values that are no numbers"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        Known.of(3, **given)
    twice = pd.DataFrame(np.ones((3, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="metadata: got two columns 'a', expected names that differ"):
        Known.of(3, metadata=twice)
    with pytest.raises(ValueError, match="metadata: got no column 'x', expected one of none"):
        Known.of(3).column("x")


def everything():
    rng = np.random.default_rng(0)
    beside = {
        "sample_weight": np.arange(N),
        "embeddings": rng.normal(size=(N, 3)),
    }
    return Known.of(N, metadata=TABLE, groups="blog", times=TABLE["date"], **beside)


def assert_same(one, other):
    assert one.about() == other.about()
    assert one.arrays().keys() == other.arrays().keys()
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name])
        assert array.dtype == other.arrays()[name].dtype


@pytest.mark.parametrize("rows", [slice(3, 9), np.array([4, 1, 1]), np.arange(N) % 2 == 0, slice(0, 0)])
def test_rows_of_everything(rows):
    known = everything()
    part = known[rows]
    assert len(part) == len(np.arange(N)[rows])
    for name, array in known.arrays().items():
        np.testing.assert_array_equal(part.arrays()[name], array[rows])
    np.testing.assert_array_equal(part.column("party").series().tolist(), np.array(TABLE["party"])[rows])


def test_batches_add_up_to_the_whole():
    known = everything()
    parts = [known[a:b] for a, b in ((0, 0), (0, 7), (7, 8), (8, N))]
    assert_same(Known.join(parts), known)


def test_batches_that_were_read_one_by_one_add_up_to_the_whole():
    """A batch knows its own levels only, and may know nothing of a column."""
    table = {"party": ["b", "a", None, None, "c", "b"], "age": [1.0, None, None, None, 2.0, 3.0]}
    whole = Known.of(6, metadata=table)
    cuts = [Known.of(2, metadata={name: one[a : a + 2] for name, one in table.items()}) for a in (0, 2, 4)]
    assert_same(Known.join(cuts), whole)
    assert_same(Known.join([cuts[1], cuts[0]])[2:], Known.join(cuts[:2])[:2])


def test_batches_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="metadata: column 'b' is in some batches only"):
        Known.of(1, metadata={"a": [1]}) + Known.of(1, metadata={"a": [1], "b": [2]})
    with pytest.raises(ValueError, match="column 'a' holds a number in one batch and a category in another"):
        Known.of(1, metadata={"a": [1]}) + Known.of(1, metadata={"a": ["x"]})
    with pytest.raises(ValueError, match="groups: known of some batches only, expected all or none"):
        Known.of(1, groups=["x"]) + Known.of(1)


def test_it_is_kept_whole():
    known = everything()
    assert_same(Known.restore(known.about(), known.arrays()), known)
    assert_same(Known.restore(Known.of(4).about(), {}), Known.of(4))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda about, arrays: about.update(n_documents=5), "weight has 30 rows, expected 5"),
        (
            lambda about, arrays: about["columns"]["groups"].update(levels=["x"]),
            "'blog' has values outside of its 1 levels",
        ),
        (lambda about, arrays: about["columns"]["times"].update(kind="law"), "no kind that is known"),
        (lambda about, arrays: arrays.update(groups=arrays["groups"].astype(float)), "values of another type"),
    ],
)
def test_damage_is_noticed(change, message):
    known = everything()
    about, arrays = known.about(), known.arrays()
    change(about, arrays)
    with pytest.raises(ValueError, match=message):
        Known.restore(about, arrays)


def test_groups_may_be_numbers_or_dates():
    assert Known.of(3, groups=[7, 3, 7]).groups.levels == (3.0, 7.0)
    found = Known.of(3, groups=["2008-01-02", "2008-01-01", "2008-01-02"]).groups
    assert found.levels == ("2008-01-01T00:00:00", "2008-01-02T00:00:00") and found.values.tolist() == [1, 0, 1]


def test_names_of_columns_without_a_name():
    assert list(read_columns("covariates", np.ones((2, 3)), 2)) == ["0", "1", "2"]
    assert list(read_columns("covariates", [1, 2], 2)) == ["covariates"]
    assert list(read_columns("covariates", [[1, "a"], [2, "b"]], 2)) == ["0", "1"]
    assert list(read_columns("covariates", pd.Series([1, 2], name="age"), 2)) == ["age"]
    assert read_columns("covariates", None, 2) == {}


def test_it_travels_with_batches_and_partitions():
    known = everything()
    batch = Batch(sp.csr_matrix(np.ones((N, 3), dtype=np.float32)), np.zeros(N), np.ones(N), 2, known=known)
    assert_same(Known.join(part.batch.known for part in batch.split(4)), known)
    rows = np.array([5, 2, 9])
    assert_same(batch.rows(rows).known, known[rows])
    assert_same(batch.thinned(rows, 0.5, 1).known, known[rows])
