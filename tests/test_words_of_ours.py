"""What is shown says that topics go with a response or predict it; nothing says that they move it."""

import re
from importlib import resources
from pathlib import Path

import pytest

SOURCE = Path(str(resources.files("supertopic")))
SHOWN = [*sorted((SOURCE / "explore").rglob("*.js")), *sorted((SOURCE / "cli").glob("*.py")),
         *sorted((SOURCE / "explore").rglob("*.py")), *sorted((SOURCE / "estimators").rglob("*.py"))]  # fmt: skip
CAUSAL = re.compile(
    r"\braises (it|them|the (response|prediction)|y)\b|\bwhat (raises|lowers)\b|\blowers\b"
    r"|\b(topics?|words?|it) (causes?|drives?)\b|\bmakes? [^.\n]{0,30}(more|less) likely\b|\bwhat each topic does to\b"
)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_shown_speaks_of_causes(path):
    found = [match.group() for match in CAUSAL.finditer(path.read_text(encoding="utf-8"))]
    assert not found
