"""Options that several commands have, and the configuration they make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.core.config import StreamsConfig
from headrace.core.masking import is_secret_name

LOCAL_BROKER = "localhost:9092"
"""Where `headrace broker` listens, and what commands that only look at Kafka ask by default."""

_PATIENCE_MS = 15_000
"""A person waits for a command that only asks: not as long as an application should."""

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Settings, in a .properties or .toml file."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A setting. May be repeated."),
]
Servers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers", "-b", metavar="HOST:PORT", help="Kafka's bootstrap.servers."
    ),
]
ApplicationId = Annotated[
    str | None, typer.Option("--application-id", "-a", help="The application.id.")
]


def configuration(
    file: Path | None,
    settings: list[str] | None,
    servers: str | None,
    application_id: str | None = None,
) -> StreamsConfig:
    """The settings of the options, the environment and the file."""
    given: dict[str, Any] = pairs(settings)
    if servers is not None:
        given["bootstrap.servers"] = servers
    if application_id is not None:
        given["application.id"] = application_id
    return StreamsConfig.load(given, file=file)


def client_configuration(
    file: Path | None, settings: list[str] | None, servers: str | None
) -> StreamsConfig:
    """The same for commands that only talk to Kafka: to the local broker, if no other is named."""
    config = configuration(file, settings, servers)
    fallback = {"bootstrap.servers": LOCAL_BROKER, "task.timeout.ms": _PATIENCE_MS}
    return as_client(StreamsConfig({**fallback, **config.given()}))


def as_client(config: StreamsConfig) -> StreamsConfig:
    """The configuration with a name for our clients, where no application gives one."""
    return StreamsConfig({"application.id": "headrace-cli", **config.given()})


def pairs(settings: list[str] | None) -> dict[str, Any]:
    """What `--set` says."""
    return dict(map(_pair, settings or []))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        shown = "A secret" if is_secret_name(text) else repr(text)
        raise typer.BadParameter(f"{shown} is not of the form key=value", param_hint="--set")
    return key.strip(), value.strip()
