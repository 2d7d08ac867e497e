from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.ksql.commands import InMemoryCommandLog
from headrace.ksql.http.server import HttpServer
from headrace.ksql.local import LocalRunner
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.server import Server


@pytest.fixture
def cluster() -> InMemoryCluster:
    return InMemoryCluster()


@pytest.fixture
def runner(cluster: InMemoryCluster) -> LocalRunner:
    return LocalRunner(cluster)


@pytest.fixture
def url(cluster: InMemoryCluster, runner: LocalRunner) -> Iterator[str]:
    """Of a server whose queries run in this process, over topics in memory."""
    server = Server({}, cluster=cluster, log=InMemoryCommandLog(), runner=runner)
    server.start()
    http = HttpServer(server, port=0)
    yield http.address
    http.close()
    server.close()
