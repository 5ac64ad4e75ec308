"""Fixtures shared by all test files.

If ``SUPERTOPIC_REQUIRE`` is set (in CI, to ``data,browser``), a run fails when a test was skipped because something is
missing. A GPU or a browser may be missing, unless ``SUPERTOPIC_REQUIRE`` names it too (``data,browser,gpu``).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Files whose tests take more than six seconds or so in all: `make test-fast` leaves them out.
LONG = {
    "test_backends", "test_base_rate", "test_checkpoint_owner", "test_cli_files", "test_cli_models",
    "test_cli_process", "test_cli_slda", "test_cluster", "test_collapsed", "test_covariates", "test_crafted_files",
    "test_cross_fit", "test_cuda", "test_datasets", "test_determinism", "test_disclda", "test_draws",
    "test_effects", "test_engines", "test_ensemble", "test_estimators", "test_every_engine", "test_experiments",
    "test_experiments_quick", "test_extremes", "test_faceted", "test_facets", "test_faults", "test_fuzz",
    "test_grid", "test_habits", "test_honest", "test_house", "test_invalid_input", "test_kernels_e_step_words",
    "test_kernels_gibbs", "test_kernels_gibbs_documents", "test_killed_parts", "test_labelled_streams",
    "test_medlda", "test_medlda_estimators", "test_medlda_gibbs", "test_messages", "test_metrics_heldout",
    "test_mutants", "test_new_response", "test_notebook", "test_page_address", "test_page_fit", "test_page_groups",
    "test_page_hostile", "test_page_payload", "test_page_predictions", "test_page_print", "test_page_sizes",
    "test_page_views", "test_pages", "test_parity", "test_plain_python", "test_plots", "test_plots_predictions",
    "test_prediction_constrained", "test_prediction_stream", "test_regression", "test_results", "test_sage",
    "test_samplers", "test_saved_params", "test_selection", "test_share_regression", "test_slda",
    "test_slda_estimators", "test_slda_many", "test_slda_registry", "test_sstm", "test_supervised_gibbs",
    "test_supervised_gibbs_estimators", "test_supervised_gibbs_groups", "test_tempering", "test_topic_effects",
    "test_vectorizer", "test_warm_up",
}  # fmt: skip
# These take longest and start first, so that no core waits for the other at the end.
LONGEST = (
    "test_cluster", "test_metrics_heldout", "test_cuda", "test_every_engine", "test_page_views",
    "test_page_predictions", "test_supervised_gibbs", "test_docstrings", "test_grid", "test_cli_models",
    "test_cli_process", "test_samplers", "test_prediction_constrained", "test_crafted_files",
)  # fmt: skip
# What may be missing unless it is required, by words of the reasons of skips. scikit-learn skips its check of other
# array libraries if they are not enabled; we support none.
OPTIONAL = {"gpu": "gpu|cuda|array_api", "browser": "needs a browser"}
PLAIN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT") == "1"
os.environ.setdefault("SOURCE_DATE_EPOCH", "1800000000")  # files are compared byte by byte, at midnight too
REQUIRED = [part for part in os.environ.get("SUPERTOPIC_REQUIRE", "").split(",") if part]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora; the test is skipped, with a reason, if it is not available."""
    where = os.environ.get("SUPERTOPIC_DATA")
    if not where:
        missing = pytest.fail if "data" in REQUIRED else pytest.skip
        missing("needs the corpora: SUPERTOPIC_DATA is not set")
    return Path(where)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; the test is skipped, with a reason, if there is none."""
    from tests.browser import start_browser

    playwright, found = start_browser()
    yield found
    found.close()
    playwright.stop()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Files of reports by kind (`tests.page_models`), made when they are asked for."""
    import numpy as np
    import pandas as pd

    from tests.page_models import KINDS, fitted, labels, reviews

    folder, made = tmp_path_factory.mktemp("pages"), {}

    def make(kind: str) -> Path:
        if kind not in made:
            frame = reviews()
            more = {
                "seen": pd.date_range("2020-01-01", periods=len(frame)),
                "who": np.array(["ann", "bob"])[frame.index % 2],
            }
            made[kind] = folder / f"{kind}.html"
            fitted(kind).report(
                made[kind], frame["text"].tolist(), labels(frame, KINDS[kind][1]),
                metadata=frame[["year", "stars"]].assign(**more),
            )  # fmt: skip
        return made[kind]

    return make


@pytest.fixture(scope="session")
def tab(browser: Any) -> Any:
    """Where one page after another is opened: a new tab takes longer than most tests of a page."""
    return browser.new_context().new_page()


@pytest.fixture
def watched(tab: Any) -> Iterator[Any]:
    """A page in which no error, no message on the console, no dialog and no request may happen."""
    from tests.browser import Watched

    page = Watched(tab)
    yield page
    page.close()
    assert page.problems == []


def pytest_configure() -> None:
    if PLAIN_PYTHON:
        from tests.plain_python import install

        install()


@pytest.fixture(autouse=PLAIN_PYTHON)
def limited() -> Iterator[None]:
    """With the JIT off, a test may not take long."""
    from tests.plain_python import time_limit

    with time_limit():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first: dict[type, str] = {}
    for item in items:
        if item.path.stem in LONG:
            item.add_marker("long")
        if getattr(item, "originalname", "") == "test_scikit_learn_checks":  # `make test` checks a class once
            estimator = item.callspec.params["estimator"]
            if first.setdefault(type(estimator), repr(estimator)) != repr(estimator):
                item.add_marker("release")
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path.stem, len(place)), item.path.stem not in LONG))


def not_to_be_skipped(config: pytest.Config) -> list[str]:
    """The tests that must not be skipped but were, each with the reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not REQUIRED or reporter is None:
        return []
    skips = [(report.nodeid, str(report.longrepr)) for report in reporter.stats.get("skipped", [])]
    excused = [words for part, words in OPTIONAL.items() if part not in REQUIRED]
    may_be_missing = re.compile("|".join(excused) or "(?!)", re.IGNORECASE)
    return [f"{test}: {reason}" for test, reason in skips if not may_be_missing.search(reason.rsplit(",", 1)[-1])]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not_to_be_skipped(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skips = not_to_be_skipped(terminalreporter.config)
    if skips:
        terminalreporter.section("skipped, though SUPERTOPIC_REQUIRE is set")
        terminalreporter.write_line("\n".join(skips), red=True)
