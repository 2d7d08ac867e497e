"""Secrets of a running application: they are in no process's arguments, no log, no file that stays,
no page of Spark's and no answer of ours."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer

from headrace.embedded import EmbeddedKafka
from tests.secrets.canaries import Canaries

TOPOLOGY = """
from headrace import StreamsBuilder, serdes

def topology():
    text = serdes.string()
    builder = StreamsBuilder()
    words = builder.stream("words", key=text, value=text)
    words.group_by(lambda key, word: word, key=text, value=text).count("counts")
    return builder.build()
"""
# All that Spark and the clients within it say: unless told, Spark keeps back what isn't a warning.
TALKATIVE = """
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
logger.all.name = org.apache
logger.all.level = info
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n%ex
"""
SPARK_PAGES = ["environment/", "jobs/", "stages/", "SQL/", "StreamingQuery/", "executors/"]
TOKEN = "the server's token"
PATIENCE_S = 240.0


@pytest.fixture
def canary() -> Canaries:
    return Canaries()


@pytest.fixture
def kafka(canary: Canaries, tmp_path: Path) -> Iterator[EmbeddedKafka]:
    users = {"anna": canary("a user's password")}
    with EmbeddedKafka(security="SASL_PLAINTEXT", users=users, mechanism="PLAIN") as kafka:
        yield kafka


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def arguments_of_all() -> str:
    """What everybody on this host can see."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(process.read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return "\n".join(found)


def send(kafka: EmbeddedKafka, password: str) -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "anna", "sasl.password": password}
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT"}
    producer = Producer({**servers, **login})
    for _ in range(10):
        producer.produce("words", b"coffee")
    assert producer.flush(60) == 0


def wait_for(url: str, text: str, headers: dict[str, str], it: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and it.poll() is None:
        try:
            answer = httpx.get(url, headers=headers).text
            if text in answer:
                return answer
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"{url} never answered with {text}")


def test_an_application_keeps_its_secrets(
    kafka: EmbeddedKafka, canary: Canaries, tmp_path: Path
) -> None:
    kafka.create_topic("words", 2)
    (tmp_path / "shop.py").write_text(TOPOLOGY)
    (tmp_path / "log4j2.properties").write_text(TALKATIVE)
    ui, server = free_port(), free_port()
    password = canary("a user's password")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "shop.properties").write_text(
        f"""
        application.id = secrets-{os.getpid()}
        bootstrap.servers = {kafka.bootstrap_servers}
        security.protocol = SASL_PLAINTEXT
        sasl.mechanism = PLAIN
        sasl.jaas.config = {module} required username="anna" password="{password}";
        consumer.ssl.key.password = {canary("a key's password")}
        application.server = 127.0.0.1:{server}
        state.dir = {tmp_path}/state
        spark.master = local[2]
        spark.ui.enabled = true
        spark.ui.port = {ui}
        spark.log.level = INFO
        spark.driver.extraJavaOptions = -Dlog4j.configurationFile=file:{tmp_path}/log4j2.properties
        spark.eventLog.enabled = true
        spark.eventLog.dir = file://{events}
        spark.authenticate = true
        spark.authenticate.secret = {canary("Spark's secret")}
        spark.hadoop.fs.s3a.secret.key = {canary("a bucket's key")}
        spark.hadoop.fs.azure.account.key.shop.windows.net = {canary("an account's key")}
        spark.shop.url = http://anna:{canary("an address")}@shop/
        """
    )
    environment = {**os.environ, "HEADRACE_SERVER_TOKEN": canary(TOKEN)}
    command = [sys.executable, "-m", "headrace", "--debug", "run", "shop:topology"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [*command, "--config", "shop.properties"],
            cwd=tmp_path,
            env={**environment, "TMPDIR": str(tmp_path)},
            stdout=log,
            stderr=log,
            text=True,
        ) as it,
    ):
        try:
            headers = {"Authorization": f"Bearer {canary(TOKEN)}"}
            at = f"http://127.0.0.1:{server}"
            wait_for(f"{at}/v1/state", "RUNNING", headers, it)
            send(kafka, password)
            wait_for(f"{at}/v1/state", '"records_total":20', headers, it)
            canary.without(arguments_of_all())
            for page in ("config", "state", "topology", "metrics", "errors"):
                canary.without(httpx.get(f"{at}/v1/{page}", headers=headers).text)
            pages = [httpx.get(f"http://127.0.0.1:{ui}/{page}").text for page in SPARK_PAGES]
            assert "spark.hadoop.fs.s3a.secret.key" in pages[0]
            canary.without("\n".join(pages))
            it.send_signal(signal.SIGTERM)
            it.wait(120)
        finally:
            it.kill()
    said = (tmp_path / "log").read_text()
    assert it.returncode == 0, said
    assert "ConsumerConfig values" in said  # Kafka's Java client lists its settings.
    canary.without(said)
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "shop.properties":
            assert not canary.called(file.read_bytes().decode("latin-1")), file
