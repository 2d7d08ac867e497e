"""`headrace topics`: which topics there are, and to create and delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from headrace.cli.options import ConfigFile, Servers, Settings, client_configuration
from headrace.cli.terminal import count, note, out, say
from headrace.core.errors import ConfigError, MissingTopicError

if TYPE_CHECKING:
    from headrace.core.config import StreamsConfig
    from headrace.kafka.admin import Admin
    from headrace.kafka.port import TopicInfo

topics = typer.Typer(no_args_is_help=True, help="List, describe, create and delete topics.")

Names = Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Names of topics.")]


@topics.command("list")
def list_topics(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only names with this.")] = "",
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """List the topics and their numbers of partitions."""
    found = admin_of(client_configuration(config, settings, servers)).list_topics()
    shown = {name: found[name] for name in sorted(found) if text in name}
    if not out.is_terminal:
        for name, partitions in shown.items():
            say(f"{name}\t{partitions}")
        return
    table = Table("topic", box=None, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("partitions", justify="right")
    for name, partitions in shown.items():
        table.add_row(name, str(partitions))
    out.print(table)


@topics.command()
def describe(
    names: Names,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Show partitions with their offsets, and the settings of topics."""
    from headrace.core.record import TopicPartition
    from headrace.kafka.positions import GroupReader
    from headrace.kafka.settings import ClientSettings

    loaded = client_configuration(config, settings, servers)
    admin = admin_of(loaded)
    reader = GroupReader(ClientSettings(loaded))
    try:
        for name in names:
            topic = existing_topic(admin, name)
            partitions = [TopicPartition(name, number) for number in range(topic.partitions)]
            first, end = reader.first_offsets(partitions), reader.end_offsets(partitions)
            say(
                f"{name}: {count(topic.partitions, 'partition')}, "
                f"{count(topic.replication_factor, 'replica')}, id {topic.topic_id}"
            )
            for partition in partitions:
                say(f"  {partition.partition}: offsets {first[partition]} to {end[partition]}")
            for key, value in sorted(admin.configs([name])[name].items()):
                say(f"  {key} = {value}")
    finally:
        reader.close()


@topics.command()
def create(
    names: Names,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1)] = 1,
    replicas: Annotated[
        int, typer.Option("--replicas", "-r", help="-1: the brokers' default.")
    ] = -1,
    topic_settings: Annotated[
        list[str] | None,
        typer.Option("--topic-setting", "-t", metavar="KEY=VALUE", help="May be repeated."),
    ] = None,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Create topics."""
    from headrace.kafka.port import TopicSpec

    loaded = client_configuration(config, [*(settings or ()), *_prefixed(topic_settings)], servers)
    wanted = [TopicSpec(name, partitions, replicas, loaded.topic_settings()) for name in names]
    existing = admin_of(loaded).create(wanted)
    for name in names:
        if name not in existing:
            say(f"created {name} with {count(partitions, 'partition')}")
    if existing:
        raise ConfigError(
            f"There is a topic {' and a topic '.join(sorted(existing))} already. It was left as it "
            "is: see `headrace topics describe`."
        )


@topics.command()
def delete(
    names: Names,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Delete topics with all their records."""
    admin = admin_of(client_configuration(config, settings, servers))
    for name in names:
        existing_topic(admin, name)
    if not yes:
        typer.confirm(f"Delete {', '.join(names)} with all records?", abort=True, err=True)
    admin.delete(names)
    note(f"deleted {', '.join(names)}")


def admin_of(config: StreamsConfig) -> Admin:
    from headrace.kafka.admin import Admin
    from headrace.kafka.settings import ClientSettings

    return Admin(ClientSettings(config), timeout_s=config["task.timeout.ms"] / 1000)


def existing_topic(admin: Admin, name: str) -> TopicInfo:
    """Raises MissingTopicError, with names that are alike, if there is no such topic."""
    found = admin.describe([name])
    if name in found:
        return found[name]
    import difflib

    close = difflib.get_close_matches(name, admin.list_topics(), n=3)
    hint = f" There is {', '.join(close)}." if close else ""
    raise MissingTopicError(
        f"There is no topic {name!r}.{hint} Create it: `headrace topics create {name}`."
    )


def _prefixed(topic_settings: list[str] | None) -> list[str]:
    return [f"topic.{setting}" for setting in topic_settings or ()]
