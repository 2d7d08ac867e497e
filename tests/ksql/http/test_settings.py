"""The settings of the HTTP server."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from headrace.core.errors import ConfigError
from headrace.ksql.http.access import Access
from headrace.ksql.http.settings import (
    access_of,
    forwarding_headers,
    http_server,
    without_http,
)

from .scripted import ScriptedService


def test_a_server_of_settings(service: ScriptedService) -> None:
    server = http_server(service, "http://localhost:0", {"server.token": "abc"})
    try:
        assert httpx.get(f"{server.address}/info").status_code == 401
        headers = forwarding_headers(access_of({"server.token": "abc"}))
        assert httpx.get(f"{server.address}/info", headers=headers).status_code == 200
    finally:
        server.close()


def test_users(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("anna:geheim\n")
    path.chmod(0o600)
    access = access_of({"server.users.file": str(path), "server.requests.per.second": "5"}, "a")
    assert access == Access({"anna": "geheim"}, None, ("a",), 5)
    assert access.allows(forwarding_headers(access)["Authorization"])
    assert "geheim" not in repr(access)


def test_without_protection_nothing_is_forwarded() -> None:
    assert forwarding_headers(access_of({})) == {}


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
        ("http://0.0.0.0:0", {}, "other machines"),
    ],
)
def test_settings_that_are_wrong(
    service: ScriptedService, listener: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        http_server(service, listener, settings)
