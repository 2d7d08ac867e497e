"""A browser, and a made-up application for it to look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.application import FakeApplication
from tests.console.browser import browser, page

__all__ = ["application", "browser", "page"]


@pytest.fixture
def application() -> Iterator[FakeApplication]:
    application = FakeApplication()
    yield application
    application.close()
