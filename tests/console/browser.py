"""A real browser, headless."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_MS = 20_000
LAPTOP: ViewportSize = {"width": 1280, "height": 800}


def chromium() -> str:
    """Where Chromium is; skips the test if there is none."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("There is no Chromium: install it (apt install chromium), or name it: CHROMIUM")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """As long as it is there, its event loop runs in this thread, and there can be no other."""
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE_MS)
    with sync_api.sync_playwright() as playwright:
        # Its sandbox needs rights that containers seldom give; only our own page is opened.
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Fails a test that leaves errors in the browser's console; see `expected_errors`."""
    context = browser.new_context(viewport=LAPTOP, locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.errors = errors  # type: ignore[attr-defined]
    yield page
    context.close()
    assert errors == []


def expected_errors(page: Page, pattern: str) -> None:
    """Browsers write failed requests into their console. Takes them out of what fails the test."""
    errors: list[str] = page.errors  # type: ignore[attr-defined]
    errors[:] = [error for error in errors if not re.search(pattern, error)]
