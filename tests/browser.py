"""A headless Chromium for tests of the page (`supertopic.explore.page`)."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Watched:
    """A page that keeps what must not happen: errors, messages on the console, requests beside the file itself."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.watching = {
            "console": lambda message: self.problems.append(f"console {message.type}: {message.text}"),
            "pageerror": lambda error: self.problems.append(f"error: {error}"),
            "request": self._request,
            "dialog": self._dialog,
        }
        for event, see in self.watching.items():
            page.on(event, see)
        page.set_viewport_size({"width": 1280, "height": 900})

    def close(self) -> None:
        """Leaves the tab as it was: nothing stored, nothing emulated, nobody listening."""
        if self.page.url.startswith("file:"):
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.emulate_media(reduced_motion="null", color_scheme="null", media="null")
        for event, see in self.watching.items():
            self.page.remove_listener(event, see)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path: Path, view: str = "") -> Any:
        """The page, once it has drawn itself."""
        self.page.goto(path.as_uri() + (f"#{view}" if view else ""))
        self.page.wait_for_function("() => globalThis.supertopic !== undefined", timeout=30_000)
        return self.page


def start_browser() -> Any:
    """(playwright, browser); the test is skipped, with a reason, where there is no Chromium."""
    missing = pytest.fail if "browser" in os.environ.get("SUPERTOPIC_REQUIRE", "").split(",") else pytest.skip
    chromium = find_chromium()
    if chromium is None:
        missing("needs a browser: no Chromium on the path")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("needs a browser: playwright is not installed")
    playwright = sync_playwright().start()
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright, playwright.chromium.launch(executable_path=chromium, args=arguments)
