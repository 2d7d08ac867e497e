"""The configuration of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.errors import ConfigError
from headrace.ksql.configuration import advertised, listener, settings_of, streams_settings


def test_settings_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("bootstrap.servers=a:1\nksql.service.id=x\n")
    assert settings_of(file, {"bootstrap.servers": "b:2"}) == {
        "bootstrap.servers": "b:2",
        "ksql.service.id": "x",
    }
    with pytest.raises(ConfigError, match="where is Kafka"):
        settings_of(None, {})


def test_what_is_for_applications() -> None:
    settings = {
        "bootstrap.servers": "a:1",
        "listeners": "http://x",
        "ksql.service.id": "x",
        "ksql.streams.state.dir": "/state",
        "state.dir": "/other",
        "spark.master": "local[1]",
    }
    assert streams_settings(settings) == {
        "bootstrap.servers": "a:1",
        "state.dir": "/state",
        "spark.master": "local[1]",
    }


def test_addresses() -> None:
    assert listener({}) == "http://127.0.0.1:8088"
    assert listener({"listeners": "http://here:1, https://here:2"}) == "http://here:1"
    assert advertised({"listeners": "http://here:1"}) == "http://here:1"
    assert advertised({"ksql.advertised.listener": "https://there"}) == "https://there"
    everywhere = advertised({"listeners": "http://0.0.0.0:1"})
    assert everywhere.endswith(":1")
    assert "0.0.0.0" not in everywhere
    with pytest.raises(ConfigError, match="isn't an address"):
        listener({"listeners": "file:///etc/passwd"})
