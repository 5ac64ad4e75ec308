"""The page "papers against ours" says what the outcomes say."""

import re

import pytest

from experiments.book import FOLDER, experiments
from experiments.paper_rows import ROWS
from experiments.papers import NO, PAGE, SETTINGS, UNTESTED, YES, Outcomes, page, table
from experiments.remarks import REMARKS

ROOT = FOLDER.parent
SAID = (YES, SETTINGS, "partly", NO, UNTESTED)


def test_the_page_is_that_of_the_outcomes():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m experiments table writes it again"


def test_every_figure_has_a_row_and_a_verdict():
    found = table()
    assert len(found) == len(ROWS) == 33 and {row[5] for row in found} <= set(SAID)
    assert [row[5] for row in found if "Digg" in row[2]] == [UNTESTED]
    assert sum(row[5] == NO for row in found) >= 6  # the misses that were once left unsaid
    assert all(re.fullmatch(r"[0-9a-f]{7} \d\d-\d\d|–", row[7]) for row in found)


def test_a_changed_outcome_changes_the_verdict(tmp_path):
    (tmp_path / "figures").mkdir()
    for path in (FOLDER / "figures").glob("*.csv"):
        (tmp_path / "figures" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "RESULTS.md").write_bytes((FOLDER / "RESULTS.md").read_bytes())
    before = {(row[0], row[1], row[2]): row[5] for row in table(Outcomes(tmp_path))}
    changed = tmp_path / "figures" / "medlda.figure4.csv"
    changed.write_text(changed.read_text().replace("DiscLDA,high,1.214", "DiscLDA,high,1.914"))
    after = {(row[0], row[1], row[2]): row[5] for row in table(Outcomes(tmp_path))}
    assert [key for key in before if before[key] != after[key]] == [("MedLDA", "fig. 4", "smallest entropy of shares")]


def test_the_readme_counts_the_same():
    counts = ("tables and figures", "are reached", "with others", "in part", "are missed", "were not")
    pattern = ".*?".join(rf"(\d+) {words}" for words in counts)
    said = re.search(pattern, (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    verdicts = [row[5] for row in table()]
    assert [int(number) for number in said.groups()] == [len(verdicts), *(verdicts.count(one) for one in SAID)]


def test_remarks_stand_at_their_experiments():
    assert set(REMARKS) <= set(experiments())
    assert [name for name, text in REMARKS.items() if text not in Outcomes().section(name)] == []


def test_what_is_not_there_is_an_error():
    with pytest.raises(KeyError, match="no row"):
        Outcomes().text("medlda.figure4", "Nobody", "K = 40")
    with pytest.raises(KeyError, match="no claim"):
        Outcomes().claim("medlda.figure4", "the moon")
