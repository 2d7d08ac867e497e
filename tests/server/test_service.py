"""The server on a real socket."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import ConfigError, StreamsConfig
from headrace.server.service import Service
from tests.server.application import TOKEN, FakeStreams
from tests.tools import OPENSSL


def configured(streams: FakeStreams, **settings: Any) -> FakeStreams:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    streams.config = StreamsConfig({**streams.config.given(), **named})
    return streams


@contextmanager
def serving(streams: FakeStreams, **settings: Any) -> Iterator[Service]:
    with closing(Service(configured(streams, **settings))) as service:
        yield service


@pytest.mark.parametrize("server", ["localhost:0", ":0", "127.0.0.1:0", "[::1]:0"])
def test_answers_on_loopback(fresh: FakeStreams, server: str) -> None:
    with serving(fresh, application_server=server) as service:
        host, port = service.host_and_port
        assert port > 0
        assert service.address.startswith("http://")
        connection = http.client.HTTPConnection(host, port)
        for _ in range(3):
            connection.request("GET", "/v1/stores/counts/value?key=alice")
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.getheader("server") is None
            assert json.load(answer)["value"] == 2
        connection.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "headrace-server"]


def test_a_slash_in_a_key(fresh: FakeStreams) -> None:
    fresh.inner.process([("a/b ?&=é", b"x", 1)])
    with serving(fresh, application_server=":0") as service:
        connection = http.client.HTTPConnection(*service.host_and_port)
        connection.request("GET", "/v1/stores/counts/value?key=a%2Fb%20%3F%26%3D%C3%A9")
        assert json.load(connection.getresponse())["key"] == "a/b ?&=é"
        connection.close()


def test_a_port_that_is_taken(fresh: FakeStreams) -> None:
    with serving(fresh, application_server="localhost:0") as service:
        taken = f"localhost:{service.host_and_port[1]}"
        with pytest.raises(ConfigError, match=r"application\.server can't be localhost"):
            Service(configured(fresh, application_server=taken))


@pytest.mark.parametrize("server", ["0.0.0.0:0", "192.0.2.7:8080", "box.example:80", "[::]:0"])
def test_others_need_a_token_and_a_certificate(fresh: FakeStreams, server: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.token, server\.certificate\.file, server"):
        Service(configured(fresh, application_server=server))
    with pytest.raises(
        ConfigError, match=r"needs server\.certificate\.file, server\.key"
    ) as raised:
        Service(configured(fresh, server_token=TOKEN))
    assert TOKEN not in str(raised.value)


def test_half_a_certificate(fresh: FakeStreams, tmp_path: Path) -> None:
    settings = {"application_server": ":0", "server_key_file": str(tmp_path / "key.pem")}
    with pytest.raises(ConfigError, match="belong together"):
        Service(configured(fresh, **settings))
    with pytest.raises(ConfigError, match="can't be used"):
        Service(configured(fresh, server_certificate_file=str(tmp_path / "none.pem")))


def test_tls(fresh: FakeStreams, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    made = [OPENSSL.program(), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*made, *names, *files], check=True, capture_output=True)
    settings = {
        "application_server": "0.0.0.0:0",
        "server_token": TOKEN,
        "server_certificate_file": str(certificate),
        "server_key_file": str(key),
    }
    with caplog.at_level(logging.DEBUG), serving(fresh, **settings) as service:
        assert service.address.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate))
        port = service.host_and_port[1]
        connection = http.client.HTTPSConnection("localhost", port, context=trusting)
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {TOKEN}"}, 200)):
            connection.request("GET", "/v1/state", headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        connection.close()
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("application.server", "localhost"),
        ("application.server", "localhost:99999"),
        ("application.server", "::1:80"),
        ("server.token", "short"),
        ("server.token", "has a space in it, and is long"),
        ("server.requests.per.second", 0),
    ],
)
def test_settings_are_checked(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key) as raised:
        StreamsConfig({key: value})
    if key == "server.token":
        assert value not in str(raised.value)


def test_a_token_is_never_shown() -> None:
    config = StreamsConfig({"server.token": TOKEN})
    assert TOKEN not in repr(config)
    assert config.shown()["server.token"] == "****"


def test_who_has_no_server_loads_none() -> None:
    code = (
        "import sys; from headrace import KafkaStreams; "
        "print(*sorted({'starlette', 'uvicorn', 'uvloop'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
