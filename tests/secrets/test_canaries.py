"""Secrets don't come out: a canary in every place that can have one, then everything is looked at
that is shown, said or logged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace import KafkaStreams, StreamsBuilder, StreamsConfig
from headrace.cli.remote import Remote
from headrace.core.errors import BrokerError, ConfigError, HeadraceError
from headrace.core.masking import masked
from headrace.kafka.schema_registry import HttpSchemaRegistry
from headrace.kafka.settings import ClientSettings
from headrace.ksql.http.server import HttpServer
from headrace.sql.masking import masked_statement
from tests.cli.conftest import Headrace, running
from tests.ksql.servers import TestServer
from tests.secrets.canaries import Canaries
from tests.server.application import FakeStreams, client

SETTINGS = [
    "sasl.password",
    "ssl.key.password",
    "ssl.keystore.password",
    "ssl.truststore.password",
    "ssl.keystore.key",
    "consumer.sasl.password",
    "producer.ssl.key.password",
    "admin.sasl.password",
    "main.consumer.sasl.password",
    "sasl.oauthbearer.client.credentials.client.secret",
    "spark.authenticate.secret",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net",
    "spark.ssl.keyStorePassword",
    "server.token",
]
PAGES = [
    "config",
    "state",
    "topology",
    "tasks",
    "stores",
    "metadata",
    "metrics",
    "errors",
    "health",
]


@pytest.fixture
def canary() -> Canaries:
    return Canaries()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """All that is logged, with tracebacks."""
    caplog.set_level(logging.DEBUG)
    return lambda: caplog.text


@pytest.fixture
def headrace() -> Iterator[Headrace]:
    yield from running()


def settings(canary: Canaries) -> dict[str, str]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    options = f"-Djavax.net.ssl.trustStorePassword={canary('java option')} -Dx=1"
    return {
        **{key: canary(key) for key in SETTINGS},
        "sasl.jaas.config": f'{module} username="anna" password="{canary("jaas")}";',
        "sasl.oauthbearer.token.endpoint.url": f"https://anna:{canary('endpoint')}@login/token",
        "spark.hadoop.fs.proxy": f"http://anna:{canary('proxy')}@proxy:3128/",
        "spark.driver.extraJavaOptions": options,
    }


def said(raising: Callable[[], Any]) -> str:
    """The error, and what is behind it."""
    with pytest.raises(HeadraceError) as caught:
        raising()
    error: BaseException | None = caught.value
    text = ""
    while error is not None:
        text += f"{error!r} {error}\n"
        error = error.__cause__
    return text


# An application


def test_settings_as_text(canary: Canaries) -> None:
    needed = {"application.id": "shop", "bootstrap.servers": "127.0.0.1:1"}
    config = StreamsConfig({**needed, **settings(canary)})
    canary.without(repr(config))
    shown = config.shown()
    canary.without(repr(shown))
    assert shown["sasl.oauthbearer.token.endpoint.url"] == "https://****@login/token"
    assert "-Dx=1" in shown["spark.driver.extraJavaOptions"]
    canary.without(repr(ClientSettings(config)))
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    streams = KafkaStreams(builder.build(), config)
    canary.without(repr(streams) + repr(streams.status()) + str(streams.topology.describe()))
    assert len(canary) == len(SETTINGS) + 4


def test_the_rest_api_and_what_the_console_reads(
    canary: Canaries, tmp_path: Path, log: Callable[[], str]
) -> None:
    asking = client(FakeStreams(tmp_path, **settings(canary)))
    for page in PAGES:
        answer = asking.get(f"/v1/{page}")
        canary.without(answer.text + repr(answer.headers))
        assert answer.status == 200, page
    for page in ("/", "/metrics", "/v1/openapi.json", "/v1/stores/nothing/value", "/nowhere"):
        canary.without(asking.get(page).text)
    canary.without(log())


def test_settings_that_are_wrong(canary: Canaries) -> None:
    config = StreamsConfig
    wrong: list[dict[str, Any]] = [
        {"server.token": canary("short")[:5] + "\n"},
        {"server.token": [canary("list")]},
        {"sasl.pasword": canary("misspelt")},
        {"bootstrap.servers": 5, "sasl.password": canary("beside")},
        {"application.server": f"http://anna:{canary('server address')}@shop:1/x"},
    ]
    for each in wrong:
        canary.without(said(lambda each=each: config({"application.id": "shop", **each})))  # type: ignore[misc]
    canary.without(said(lambda: config([("sasl.password", canary("pairs"))])))  # type: ignore[arg-type]


def test_a_jaas_line_that_cant_be_read(canary: Canaries) -> None:
    for line in (
        f'org.example.Unknown required password="{canary("unknown module")}";',
        f'org.apache.kafka.common.security.plain.PlainLoginModule password="{canary("no end")}',
        canary("no module at all"),
    ):
        given = {"application.id": "shop", "sasl.mechanism": "PLAIN", "sasl.jaas.config": line}
        protocol = {"security.protocol": "SASL_PLAINTEXT", "bootstrap.servers": "127.0.0.1:1"}
        canary.without(
            said(lambda all=given | protocol: ClientSettings(StreamsConfig(all)).consumer("c"))  # type: ignore[misc]
        )


# The environment, files, the command line


def test_variables(
    canary: Canaries, log: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SASL_PASSWORD", canary("variable"))
    monkeypatch.setenv("HEADRACE_SASL_PASWORD", canary("misspelt variable"))
    monkeypatch.setenv("HEADRACE_SPARK_AUTHENTICATE_SECRET", canary("Spark's variable"))
    config = StreamsConfig.load({"application.id": "shop"})
    assert config["sasl.password"] == canary("variable")
    canary.without(repr(config) + log())
    assert "HEADRACE_SASL_PASWORD" in log()


@pytest.mark.parametrize("name", ["shop.toml", "shop.properties"])
def test_files_that_are_wrong(canary: Canaries, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for text in (
        f"sasl.password = {canary('not quoted')}\nnonsense = \n= [",
        f'"sasl.pasword" = "{canary("misspelt in a file")}"',
        f'"sasl.password" = "{canary("not closed")}',
    ):
        file.write_text(f'"application.id" = "shop"\n"no.such" = "x"\n{text}')
        canary.without(said(lambda: StreamsConfig.load(file=file)))


def test_commands(
    canary: Canaries, headrace: Headrace, tmp_path: Path, log: Callable[[], str]
) -> None:
    lines = [f"{key} = {value}\n" for key, value in settings(canary).items()]
    file = tmp_path / "shop.properties"
    file.write_text("application.id = shop\nbootstrap.servers = 127.0.0.1:1\n" + "".join(lines))
    at = f"http://anna:{canary('--server')}@127.0.0.1:1"
    for arguments in (
        ("config", "--config", file),
        ("--debug", "config", "--config", file),
        ("status", "--server", at),
        ("status", "--server", f"ftp://anna:{canary('ftp')}@x"),
        ("query", "counts", "x", "--server", at),
        ("sql", at, "-e", "SHOW STREAMS;"),
        ("topology", "nothing:at_all", "--set", f"sasl.password {canary('--set')}"),
        ("topology", "nothing:at_all", "--set", f"sasl.pasword={canary('--set misspelt')}"),
    ):
        result = headrace(*arguments)
        canary.without(result.output + repr(result.exception))
    canary.without(log())


def test_the_address_of_an_application(canary: Canaries) -> None:
    at = Remote(f"http://anna:{canary('user of an address')}@127.0.0.1:1", canary("token"))
    canary.without(said(lambda: at.get("state")) + at.url)


# The ksqlDB server


@pytest.fixture
def ksql(canary: Canaries) -> Iterator[TestServer]:
    server = TestServer(
        settings={
            "ksql.connect.url": f"http://anna:{canary('connect url')}@127.0.0.1:1",
            "ksql.schema.registry.url": f"http://anna:{canary('registry url')}@127.0.0.1:1",
            "ksql.schema.registry.basic.auth.user.info": f"anna:{canary('registry user')}",
            "ksql.schema.registry.bearer.auth.token": canary("registry token"),
            "ksql.schema.registry.ssl.key.password": canary("registry key"),
            "ksql.streams.sasl.password": canary("streams password"),
            "ksql.streams.producer.ssl.key.password": canary("producer's key"),
            "sasl.jaas.config": f'x required password="{canary("jaas")}";',
        }
    )
    yield server
    server.close()


STATEMENTS = [
    "SHOW PROPERTIES;",
    "CREATE SOURCE CONNECTOR c WITH ('connector.class'='a.B', 'connection.password'='{}');",
    "create sink connector c with ('connection.url'='jdbc:x://anna:{}@db/x');",
    "CREATE SOURCE CONNECTOR c WITH ('connection.password' '{}');",
    "CREATE SOURCE CONNECTOR c WITH ('connection.password'='{}'",
    "CREATE SOURCE CONNECTOR c WITH ('connection.password'='{}",
    "CREATE SOURCE CONNECTOR c WITH ('a'='it''s {}') nonsense;",
    "DEFINE pw='{}'; CREATE SOURCE CONNECTOR c WITH ('connection.password'='${{pw}}');",
    "SET 'sasl.password'='{}'; SHOW PROPERTIES;",
    "SET 'ksql.streams.ssl.key.password'='{}'; SELECT nonsense FROM;",
    "SET 'sasl.jaas.config' = '{}';",
    "SHOW CONNECTORS; -- {}",
]


def test_statements_and_their_errors(
    canary: Canaries, ksql: TestServer, log: Callable[[], str]
) -> None:
    http = HttpServer(ksql.server, port=0)
    try:
        for number, statement in enumerate(STATEMENTS):
            sql = statement.format(canary(f"statement {number}"))
            answer = httpx.post(f"{http.address}/ksql", json={"ksql": sql})
            canary.without(answer.text)
        for path in ("/info", "/healthcheck", "/clusterStatus", "/console"):
            canary.without(httpx.get(http.address + path).text)
    finally:
        http.close()
    canary.without(log())
    assert len(canary) >= 30 - len(SETTINGS)


def test_the_registry(canary: Canaries) -> None:
    at = f"http://anna:{canary('registry url')}@127.0.0.1:1"
    info = f"anna:{canary('user info')}"
    for given in (
        {"url": at, "max.retries": "0"},
        {"url": at, "basic.auth.user.info": info},
        {"url": f"anna:{canary('no scheme')}@registry", "basic.auth.user.info": info},
        {"url": "http://127.0.0.1:1", "basic.auth.user.info": canary("no colon")},
    ):
        prefixed = {f"ksql.schema.registry.{key}": value for key, value in given.items()}
        registry = HttpSchemaRegistry({"ksql.schema.registry.max.retries": "0", **prefixed})
        with pytest.raises((BrokerError, ConfigError)) as caught:
            registry.latest("clicks-value")
        canary.without(f"{caught.value} {registry!r}")


# Masks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://shop:8080/a?b=c@d", "http://shop:8080/a?b=c@d"),
        ("https://anna:x@shop/", "https://****@shop/"),
        ("http://a:b@one,http://c:d@two", "http://****@one,http://****@two"),
        ("Invalid url anna:x@shop", "Invalid url ****@shop"),
        ("http://anna:x@y@shop/", "http://****@shop/"),
        ("mail anna@shop", "mail anna@shop"),
        ("-Dmy.password='a b' -Dx=y", "-Dmy.password=**** -Dx=y"),
    ],
)
def test_masked_text(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("CREATE STREAM s WITH (KAFKA_TOPIC='t');", "CREATE STREAM s WITH (KAFKA_TOPIC='t');"),
        ("SET 'auto.offset.reset'='earliest';", "SET 'auto.offset.reset'='earliest';"),
        ("SET 'a.password' = 'x';", "SET 'a.password' = '[string]';"),
        (
            "CREATE SOURCE CONNECTOR c WITH ('a'='it''s', \"b\"='y');",
            "CREATE SOURCE CONNECTOR c WITH ('a'='[string]', \"b\"='[string]');",
        ),
        ("DROP CONNECTOR c;", "DROP CONNECTOR c;"),
    ],
)
def test_masked_statements(sql: str, shown: str) -> None:
    assert masked_statement(sql) == shown
