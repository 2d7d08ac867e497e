"""What every request must pass."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from headrace.server.gate import Access
from headrace.server.limits import MAX_BODY, MAX_SCANS
from headrace.server.problems import without_paths
from headrace.server.web import web
from tests.server.application import TOKEN, FakeStreams, client
from tests.server.test_routes import problem

PROTECTED = [
    ("GET", "/v1/state"),
    ("GET", "/v1/topology"),
    ("GET", "/v1/topology/picture"),
    ("GET", "/v1/tasks"),
    ("GET", "/v1/stores"),
    ("GET", "/v1/stores/counts"),
    ("GET", "/v1/stores/counts/value?key=alice"),
    ("GET", "/v1/stores/counts/entries"),
    ("GET", "/v1/stores/windows/windows"),
    ("GET", "/v1/stores/sessions/sessions"),
    ("GET", "/v1/stores/versions/versions?key=alice"),
    ("GET", "/v1/lags"),
    ("GET", "/v1/metadata"),
    ("GET", "/v1/metadata/key?store=counts&key=alice"),
    ("GET", "/v1/config"),
    ("GET", "/v1/metrics"),
    ("GET", "/v1/errors"),
    ("GET", "/v1/dead-letters"),
    ("GET", "/v1/topics/in/records"),
    ("POST", "/v1/pause"),
    ("POST", "/v1/resume"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
]
OPEN = ["/v1/health", "/", "/console/main.js"]


def test_the_list_of_routes_is_whole(streams: FakeStreams) -> None:
    described = client(streams).get("/openapi.json").json()["paths"]
    known = {path.split("?")[0].replace("counts", "{store}") for _, path in PROTECTED}
    for store in ("windows", "sessions", "versions"):
        known.add(f"/v1/stores/{{store}}/{store}")
    known.add("/v1/topics/{topic}/records")
    assert {*described} - {"/v1/health"} <= known


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_a_token_is_needed(streams: FakeStreams, method: str, path: str) -> None:
    access = Access(TOKEN)
    for wrong in (None, "", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é"):
        answer = client(streams, access, wrong).request(method, path)
        form = problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN not in str(form)
    assert client(streams, access, TOKEN).request(method, path).status == 200


@pytest.mark.parametrize(
    "header", [TOKEN, f"Basic {TOKEN}", f"Token {TOKEN}", f"Bearer{TOKEN}", "Bearer"]
)
def test_only_a_bearer_token(streams: FakeStreams, header: str) -> None:
    answer = client(streams, Access(TOKEN)).get("/v1/state", {"Authorization": header})
    problem(answer, 401, "unauthorized")
    answer = client(streams, Access(TOKEN)).get("/v1/state", {"Authorization": f"bearer {TOKEN}"})
    assert answer.status == 200


def test_a_token_in_the_address_is_none(streams: FakeStreams) -> None:
    asking = client(streams, Access(TOKEN))
    problem(asking.get("/v1/state", token=TOKEN), 401, "unauthorized")


@pytest.mark.parametrize("path", OPEN)
def test_what_needs_no_token(streams: FakeStreams, path: str) -> None:
    assert client(streams, Access(TOKEN)).get(path).status == 200


def test_paths_that_are_not_known_need_a_token_too(streams: FakeStreams) -> None:
    problem(client(streams, Access(TOKEN)).get("/v1/nothing"), 401, "unauthorized")
    problem(client(streams, Access(TOKEN)).get("/v1/healthy"), 401, "unauthorized")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "", "localhost.evil.example"]
)
def test_without_a_token_the_host_must_be_ours(streams: FakeStreams, host: str) -> None:
    problem(client(streams).get("/v1/state", {"Host": host}), 403, "wrong-host")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:80", "LOCALHOST:1", "box:1"])
def test_our_hosts(streams: FakeStreams, host: str) -> None:
    asking = client(streams, Access(None, ("box",)))
    assert asking.get("/v1/state", {"Host": host}).status == 200


@pytest.mark.parametrize("token", [None, TOKEN])
def test_pages_of_others_may_not_ask(streams: FakeStreams, token: str | None) -> None:
    asking = client(streams, Access(token), token)
    for origin in ("http://evil.example", "null", "https://localhost:8080", "http://localhost"):
        problem(asking.post("/v1/resume", {"Origin": origin}), 403, "wrong-origin")
    assert asking.post("/v1/resume", {"Origin": "http://localhost:8080"}).status == 200


def test_bodies(streams: FakeStreams) -> None:
    asking = client(streams)
    problem(asking.post("/v1/resume", body=b"{}"), 415, "no-body-expected")
    problem(asking.post("/v1/resume", body=b"x" * (MAX_BODY + 1)), 413, "too-large")
    chunked = {"Transfer-Encoding": "chunked", "Content-Length": "0"}
    large = asking.post("/v1/resume", chunked, body=b"x" * (MAX_BODY + 1))
    problem(large, 413, "too-large")


def test_a_client_that_asks_too_often(streams: FakeStreams) -> None:
    asking = client(streams, Access(None, rate=3))
    answers = [asking.get("/v1/health") for _ in range(8)]
    limited = [answer for answer in answers if answer.status == 429]
    assert limited
    problem(limited[0], 429, "too-many-requests")
    assert int(limited[0].headers["retry-after"]) >= 1


def test_wrong_tokens_count_too(streams: FakeStreams) -> None:
    asking = client(streams, Access(TOKEN, rate=3), "x")
    assert 429 in [asking.get("/v1/state").status for _ in range(8)]


def test_scans_at_the_same_time(fresh: FakeStreams) -> None:
    begun: list[int] = []
    done = threading.Event()

    def slow() -> Any:
        begun.append(1)
        done.wait(10)
        return {}

    fresh.all_local_store_partition_lags = slow  # type: ignore[method-assign]
    asking = client(fresh)

    async def ask() -> list[int]:
        scans = [asyncio.create_task(asking.ask("GET", "/v1/lags")) for _ in range(MAX_SCANS)]
        while len(begun) < MAX_SCANS:
            await asyncio.sleep(0.01)
        problem(await asking.ask("GET", "/v1/lags"), 503, "busy")
        lookup = await asking.ask("GET", "/v1/stores/counts/value?key=alice")
        done.set()
        return [lookup.status, *[(await scan).status for scan in scans]]

    assert asyncio.run(ask()) == [200] * (MAX_SCANS + 1)


def test_an_unexpected_error_is_logged_and_not_shown(
    fresh: FakeStreams, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Any:
        raise KeyError("secret thing")

    fresh.status = broken  # type: ignore[method-assign]
    with caplog.at_level(logging.ERROR, "headrace.server"):
        answer = client(fresh).get("/v1/state")
    form = problem(answer, 500, "internal")
    assert "secret" not in str(form)
    assert "secret thing" in caplog.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /home/me/app.py, line 5", "see …/app.py, line 5"),
        ("'/var/lib/x/'", "'…/'"),
        ("a/b and http://host/path/x", "a/b and http://host/path/x"),
        ("GET /v1", "GET /v1"),
    ],
)
def test_paths_are_not_shown(text: str, shown: str) -> None:
    assert without_paths(text) == shown


def test_only_http_is_served(streams: FakeStreams) -> None:
    async def nothing(*_: Any) -> Any: ...

    async def ask() -> None:
        app = web(streams, Access(None), lambda topic, limit: [])
        await app({"type": "websocket"}, nothing, nothing)

    with pytest.raises(RuntimeError, match="websocket isn't served"):
        asyncio.run(ask())
