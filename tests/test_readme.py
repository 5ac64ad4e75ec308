"""The README: its first code runs, its stream runs, and its commands have the options that they name."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from supertopic import datasets
from supertopic.cli import app
from tests.cli_tools import write_rated

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_code_is_eight_lines_that_run(monkeypatch, tmp_path, capsys):
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(lines) == 8
    small = datasets.docstrings(["logging", "email", "asyncio"])
    monkeypatch.setattr(datasets, "docstrings", lambda: small)
    monkeypatch.chdir(tmp_path)
    code = BLOCKS[0].replace("Solve a linear system of equations.", "Return the value of the header of the message.")
    exec(code.replace("n_topics=20", "n_topics=3, max_iter=5"), {})
    said = capsys.readouterr().out
    assert "effect" in said and "contribution" in said and (tmp_path / "topics.html").stat().st_size > 10_000


def test_the_stream_runs(monkeypatch, tmp_path):
    frame = write_rated(tmp_path / "all.csv")[["body", "price"]].set_axis(["review", "stars"], axis=1)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        frame[part::2].to_parquet(tmp_path / "parts" / f"{part}.parquet")
    monkeypatch.chdir(tmp_path)
    block = next(block for block in BLOCKS if "Stream(" in block)
    today = {"texts_of_today": frame["review"].tolist(), "stars_of_today": frame["stars"].to_numpy()}
    exec(block.replace("SLDARegressor(50", "SLDARegressor(3, max_iter=2"), today)
    assert len(today["model"].topics()) == 3


COMMANDS = [line for line in README.splitlines() if re.match(r"supertopic [a-z]", line)]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_have_these_options(line):
    name, *words = shlex.split(line, comments=True)[1:]
    known = {option for p in typer.main.get_command(app).commands[name].params for option in p.opts}
    assert {word for word in words if word.startswith("--")} <= known
