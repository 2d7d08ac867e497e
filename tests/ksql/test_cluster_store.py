"""Stores that are asked for over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsConfig, ValueAndTimestamp
from headrace.core.errors import StateError
from headrace.core.windowed import Window, Windowed
from headrace.ksql import cluster_store
from headrace.ksql.cluster_store import ClusterStore
from headrace.server.service import Service
from tests.ksql.http.test_access import made_certificate
from tests.server.application import TOKEN, FakeStreams


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def streams(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """With a server, and a token that is needed there."""
    made: Any = FakeStreams(tmp_path / "state")
    settings = {"application.server": "localhost:0", "server.token": TOKEN}
    if request.param:
        files = made_certificate(tmp_path)
        settings["server.certificate.file"] = str(files.file)
        settings["server.key.file"] = str(files.key_file)
    made.config = StreamsConfig({**made.config.given(), **settings})
    with closing(Service(made)) as service:
        made.server_address = service.address
        yield made


def test_values(streams: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_store, "_PAGE", 2)
    with closing(ClusterStore(streams, "counts")) as store:
        assert store.get("alice") == ValueAndTimestamp(2, 30)
        assert store.get("nobody") is None
        assert {key: entry.value for key, entry in store.all()} == {
            "alice": 2,
            "bob": 1,
            "carol": 1,
        }


def test_windows(streams: Any) -> None:
    with closing(ClusterStore(streams, "windows")) as store:
        assert list(store.fetch("carol", 0, 59_999)) == []
        assert list(store.fetch("carol", 0, 60_000)) == [(60_000, ValueAndTimestamp(1, 70_000))]
        later = Windowed("carol", Window(60_000, 120_000))
        assert list(store.fetch_all(1, 70_000)) == [(later, ValueAndTimestamp(1, 70_000))]


def test_sessions(streams: Any) -> None:
    with closing(ClusterStore(streams, "sessions")) as store:
        assert list(store.fetch("alice")) == [(Windowed("alice", Window(10, 30)), 2)]


def test_what_goes_wrong_is_told(streams: Any) -> None:
    with (
        closing(ClusterStore(streams, "windows")) as store,
        pytest.raises(StateError, match="can't be looked up now: Store windows is of kind window"),
    ):
        store.get("alice")
    streams.server_address = "http://127.0.0.1:1"
    with (
        closing(ClusterStore(streams, "counts")) as store,
        pytest.raises(StateError, match="can't be asked"),
    ):
        store.get("alice")
    streams.server_address = None
    with pytest.raises(StateError, match="which answer if"):
        ClusterStore(streams, "counts")
