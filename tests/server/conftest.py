from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.application import FakeStreams, client
from tests.server.client import Client


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> FakeStreams:
    return FakeStreams(tmp_path_factory.mktemp("state"))


@pytest.fixture
def fresh(tmp_path: Path) -> FakeStreams:
    """One that a test may change."""
    return FakeStreams(tmp_path)


@pytest.fixture
def asking(streams: FakeStreams) -> Client:
    return client(streams)
