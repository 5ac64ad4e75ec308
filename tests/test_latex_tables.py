"""Tables in LaTeX: without packages, everything escaped, missing cells blank, the same digits as on the screen."""

import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from supertopic.html_tables import TopicFrame


@pytest.fixture
def frame():
    found = TopicFrame(
        {"coef": [-1.2345, 0.5, np.nan], "words": ["50 % & more", "a_b {x}", r"c\d #1 $ ^ ~"], "n": [1, 2, 3]},
        index=pd.Index(["topic 0", "topic 1", "intercept"], name="term"),
    )
    found.attrs["below"] = ["N = 100; 90 % intervals."]
    return found


def test_a_table_needs_no_package(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    lines = frame.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrlr}" and lines[-1] == r"\end{tabular}"
    assert lines[2] == r"term & coef & words & n \\"
    assert lines[4] == r"topic 0 & $-$1.234 & 50 \% \& more & 1 \\"
    assert lines[5] == r"topic 1 & 0.500 & a\_b \{x\} & 2 \\"
    assert lines[6] == r"intercept &  & c\textbackslash{}d \#1 \$ \textasciicircum{} \textasciitilde{} & 3 \\"
    assert lines[8] == r"\multicolumn{4}{l}{N = 100; 90 \% intervals.} \\"
    assert not any("rule" in line for line in lines)


def test_a_table_is_written_with_caption_and_label(frame, tmp_path):
    frame.to_latex(tmp_path / "t.tex", caption="Effects & more", label="tab:one")
    text = (tmp_path / "t.tex").read_text()
    assert r"\caption{Effects \& more}" in text and r"\label{tab:one}" in text and r"\end{table}" in text
    kept = StringIO()
    assert frame.to_latex(kept) is None and kept.getvalue() == frame.to_latex()


def test_two_levels_of_rows_are_two_columns():
    found = TopicFrame(
        {"coef": [1.0, 2.0]}, index=pd.MultiIndex.from_tuples([("a", "x"), ("b", "y")], names=["response", None])
    )
    assert found.to_latex().splitlines()[2:5] == [r"response &  & coef \\", r"\hline", r"a & x & 1 \\"]
