"""`headrace server` whose queries run on a Spark cluster, where their state is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.embedded import EmbeddedKafka
from tests.chaos.cluster import StandaloneCluster
from tests.integration.test_cluster_state import node_processes
from tests.integration.test_ksql_spark import Process, free_port, inserts, statements, until


@pytest.fixture
def server(embedded_kafka: EmbeddedKafka, name: str, tmp_path: Path) -> Iterator[Process]:
    port = free_port()
    config = tmp_path / "server.properties"
    with StandaloneCluster(tmp_path / "cluster", tmp_path / "plan") as cluster:
        config.write_text(
            f"bootstrap.servers={embedded_kafka.bootstrap_servers}\n"
            f"listeners=http://127.0.0.1:{port}\n"
            f"ksql.service.id={name}_\n"
            "ksql.streams.state.dir=~/state\n"
            "ksql.streams.application.server=127.0.0.1:0\n"
            "ksql.streams.num.stream.threads=2\n"
            f"spark.master={cluster.master}\n"
            "spark.driver.host=127.0.0.1\n"
            "spark.executor.memory=512m\n"
            "spark.executor.cores=1\n"
        )
        process = Process(config, port)
        yield process
        process.close()
    for pid in node_processes(tmp_path):
        os.kill(pid, signal.SIGKILL)


def test_tables_are_looked_up_wherever_their_state_is(server: Process, name: str) -> None:
    windowed = (
        f"CREATE TABLE windows WITH (kafka_topic='{name}-windows') AS SELECT name, COUNT(*) AS n "
        "FROM clicks WINDOW TUMBLING (SIZE 365 DAYS) GROUP BY name EMIT CHANGES;"
    )
    server.run(statements(name) + windowed + inserts(30))
    expected = [["u0", 10], ["u1", 10], ["u2", 10]]
    until(lambda: sorted(server.rows("SELECT * FROM counts;") or []) == expected)
    for user, count in expected:
        assert server.rows(f"SELECT n FROM counts WHERE name = '{user}';") == [[count]]
    assert server.rows("SELECT n FROM counts WHERE name = 'nobody';") == []
    until(lambda: server.rows("SELECT n FROM windows WHERE name = 'u1';") == [[10]])
    until(lambda: sorted(server.rows("SELECT name, n FROM windows;") or []) == expected)
