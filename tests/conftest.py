"""Fixtures shared by all test files.

With ``SUPERTOPIC_REQUIRE`` set (in CI, to ``data``) a run fails when anything was skipped for want of a part.
Only a GPU may be missing, unless ``SUPERTOPIC_REQUIRE`` names it too (``data,gpu``).
"""

import os
import re
from pathlib import Path

import pytest

REQUIRED = [part for part in os.environ.get("SUPERTOPIC_REQUIRE", "").split(",") if part]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora; the test is skipped, with a reason, where it is not to be had."""
    where = os.environ.get("SUPERTOPIC_DATA")
    if not where:
        missing = pytest.fail if "data" in REQUIRED else pytest.skip
        missing("needs the corpora: SUPERTOPIC_DATA is not set")
    return Path(where)


def not_to_be_skipped(config: pytest.Config) -> list[str]:
    """The tests that were skipped though they must not be, each with the reason of the skip."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not REQUIRED or reporter is None:
        return []
    skips = [(report.nodeid, str(report.longrepr)) for report in reporter.stats.get("skipped", [])]
    # scikit-learn skips its check of other array libraries where they are not switched on: we take none
    may_be_missing = re.compile("gpu|cuda|array_api", re.IGNORECASE)
    return [
        f"{test}: {reason}"
        for test, reason in skips
        if "gpu" in REQUIRED or not may_be_missing.search(reason.rsplit(",", 1)[-1])
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not_to_be_skipped(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skips = not_to_be_skipped(terminalreporter.config)
    if skips:
        terminalreporter.section("skipped, though SUPERTOPIC_REQUIRE is set")
        terminalreporter.write_line("\n".join(skips), red=True)
