from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from headrace.ksql.http.server import HttpServer

from .scripted import ScriptedService


@pytest.fixture
def service() -> ScriptedService:
    return ScriptedService()


@pytest.fixture
def server(service: ScriptedService) -> Iterator[HttpServer]:
    server = HttpServer(service, port=0)
    yield server
    server.close()


@pytest.fixture(params=["1.1", "2"])
def client(request: pytest.FixtureRequest, server: HttpServer) -> Iterator[httpx.Client]:
    """By either version of HTTP."""
    http2 = request.param == "2"
    with httpx.Client(
        base_url=server.address, http1=not http2, http2=http2, trust_env=False, timeout=10
    ) as client:
        yield client


@pytest.fixture
def http2(server: HttpServer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=server.address, http1=False, http2=True, trust_env=False, timeout=10
    ) as client:
        yield client
