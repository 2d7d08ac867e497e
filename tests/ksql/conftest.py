from __future__ import annotations

from collections.abc import Iterator

import pytest

from .servers import TestServer


@pytest.fixture
def server() -> Iterator[TestServer]:
    server = TestServer()
    yield server
    server.close()
