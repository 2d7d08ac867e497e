"""The settings of the HTTP server."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from headrace.core.errors import ConfigError
from headrace.ksql.http.access import Access
from headrace.ksql.http.settings import access_of, http_server, without_http

from .scripted import ScriptedService

TOKEN = "0123456789abcdef"


def test_a_server_of_settings(service: ScriptedService) -> None:
    server = http_server(service, "http://localhost:0", {"server.token": TOKEN})
    try:
        assert httpx.get(f"{server.address}/info").status_code == 401
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{server.address}/info", headers=headers).status_code == 200
    finally:
        server.close()


def test_users(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("anna:geheim\n")
    path.chmod(0o600)
    access = access_of({"server.users.file": str(path), "server.requests.per.second": "5"}, "a")
    assert access == Access({"anna": "geheim"}, None, ("a",), 5, 500, "127.0.0.1:8088")
    assert "geheim" not in repr(access)


def test_secrets_stay_here() -> None:
    settings = {"server.token": "abc", "ksql.service.id": "a"}
    assert without_http(settings) == {"ksql.service.id": "a"}


@pytest.mark.parametrize(
    ("listener", "settings", "message"),
    [
        ("http://localhost:0", {"server.certificate.file": "a"}, "belong together"),
        ("https://localhost:0", {}, "an https one has"),
        (
            "http://localhost:0",
            {"server.certificate.file": "a", "server.key.file": "b"},
            "an http one has not",
        ),
        ("http://localhost:0", {"server.requests.per.second": "many"}, "must be a number"),
        ("http://localhost:0", {"server.requests.per.second": "0"}, "must be 1 or more"),
        ("http://localhost:0", {"server.token": ""}, "must have 16 characters"),
        ("http://localhost:0", {"server.token": "secret"}, "must have 16 characters"),
        ("http://localhost:0", {"server.token": "sixteen and a few"}, "no spaces"),
        ("http://0.0.0.0:0", {}, "other machines"),
    ],
)
def test_settings_that_are_wrong(
    service: ScriptedService, listener: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        http_server(service, listener, settings)
