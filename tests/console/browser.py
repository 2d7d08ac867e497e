"""A real browser, headless."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.tools import CHROMIUM

PATIENCE_MS = 20_000
LAPTOP: ViewportSize = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """As long as it is there, its event loop runs in this thread, and there can be no other."""
    chromium = CHROMIUM.program()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Its sandbox needs rights that containers seldom give; only our own page is opened.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
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
