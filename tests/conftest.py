"""Fixtures shared by all test files."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora; the test is skipped, with a reason, where it is not to be had."""
    where = os.environ.get("SUPERTOPIC_DATA")
    if not where:
        pytest.skip("needs the corpora: SUPERTOPIC_DATA is not set")
    return Path(where)
