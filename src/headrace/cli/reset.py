"""`headrace reset`: has an application begin anew."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import ApplicationId, ConfigFile, Servers, Settings, configuration
from headrace.cli.terminal import note, say
from headrace.core.errors import ArgumentError, StateError
from headrace.core.record import TopicPartition

if TYPE_CHECKING:
    from headrace.core.config import StreamsConfig
    from headrace.kafka.admin import Admin
    from headrace.kafka.port import Position
    from headrace.state.directory import StateDirectory

_WATCH_S = 2.0
_PATIENCE_S = 30.0


def reset(
    application_id: ApplicationId = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Where to begin in the input: earliest, latest, or a time such as "
            "2024-05-01T12:00. Without it, as auto.offset.reset and the topology say.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="TOPIC", help="Don't delete this topic. May be repeated."),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it. Without this, only the plan is shown.")
    ] = False,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Forget positions, internal topics and local state of an application that doesn't run.

    Its output topics stay as they are. State on other machines is not seen: it doesn't fit new
    topics, and is rebuilt.
    """
    from headrace.kafka.admin import Admin
    from headrace.kafka.settings import ClientSettings
    from headrace.state.directory import StateDirectory

    loaded = configuration(config, settings, servers, application_id)
    loaded.require("application.id", "bootstrap.servers")
    client = ClientSettings(loaded)
    admin = Admin(client, timeout_s=_PATIENCE_S)
    state = StateDirectory.of(loaded)
    plan = Plan.of(loaded.application_id, admin, state, keep or ())
    plan.begin = _positions(loaded, plan.inputs, to)
    for line in plan.lines():
        say(line)
    if not execute:
        note("Nothing was done. Do it with --execute.")
        return
    plan.refuse_while_running(admin)
    plan.execute(admin, state)
    note(f"{loaded.application_id} begins anew when it is started next")


@dataclass
class Plan:
    """What a reset does."""

    application_id: str
    offsets: Mapping[TopicPartition, int]
    topics: Collection[str]
    state: Path | None
    """None: there is none on this machine."""
    begin: Mapping[TopicPartition, Position] | None = None

    @classmethod
    def of(
        cls, application_id: str, admin: Admin, state: StateDirectory, keep: Collection[str]
    ) -> Plan:
        from headrace.kafka.internal_topics import is_internal_name

        return cls(
            application_id,
            admin.group_offsets(application_id),
            sorted(
                name
                for name in admin.list_topics()
                if is_internal_name(name, application_id) and name not in keep
            ),
            state.path if state.path.exists() else None,
        )

    @property
    def inputs(self) -> list[TopicPartition]:
        """The partitions that were read, but for those of internal topics."""
        from headrace.kafka.internal_topics import is_internal_name

        return sorted(
            part for part in self.offsets if not is_internal_name(part.topic, self.application_id)
        )

    def lines(self) -> list[str]:
        lines = [f"group {self.application_id}: positions of {len(self.offsets)} partitions go"]
        for part in self.inputs:
            begin = "" if self.begin is None else f", begins at {self.begin[part].offset}"
            lines.append(f"  {part}: was at {self.offsets[part]}{begin}")
        lines.append(f"topics: {len(self.topics)} are deleted")
        lines += [f"  {name}" for name in self.topics]
        if self.topics:
            lines.append(
                f"  (Those of an application whose id begins with {self.application_id + '-'!r} "
                "look the same: --keep what is not meant.)"
            )
        lines.append(f"local state: {self.state or 'none on this machine'}")
        return lines

    def refuse_while_running(self, admin: Admin) -> None:
        """Raises StateError if somebody is in the group, or commits."""
        from headrace.kafka.internal_topics import claim_topic

        for group in (self.application_id, claim_topic(self.application_id)):
            if members := admin.group_members(group):
                raise StateError(
                    f"{self.application_id} is running: {', '.join(sorted(set(members)))} is in "
                    f"the consumer group {group}. Stop it first; a group is free some seconds "
                    "after that."
                )
        time.sleep(_WATCH_S)
        if admin.group_offsets(self.application_id) != self.offsets:
            raise StateError(
                f"{self.application_id} is running: its positions have just changed. Stop it first."
            )

    def execute(self, admin: Admin, state: StateDirectory) -> None:
        """Positions first: an instance that was overlooked finds itself shut out."""
        from headrace.kafka.internal_topics import claim_topic

        state.wipe()  # raises if a process uses it, when nothing has been done yet
        admin.delete_group(claim_topic(self.application_id))
        admin.delete_group(self.application_id)
        admin.delete(self.topics)
        if self.begin:
            admin.alter_offsets(self.application_id, self.begin)


def _positions(
    config: StreamsConfig, inputs: list[TopicPartition], to: str | None
) -> dict[TopicPartition, Position] | None:
    from headrace.kafka.port import Position
    from headrace.kafka.positions import GroupReader
    from headrace.kafka.settings import ClientSettings

    if to is None:
        return None
    timestamp = None if to in ("earliest", "latest") else _timestamp(to)
    reader = GroupReader(ClientSettings(config), timeout_s=_PATIENCE_S)
    try:
        if timestamp is not None:
            found = reader.offsets_at(inputs, timestamp)
        else:
            find = reader.first_offsets if to == "earliest" else reader.end_offsets
            found = find(inputs)
    finally:
        reader.close()
    return {part: Position(offset) for part, offset in found.items()}


def _timestamp(text: str) -> int:
    """Milliseconds since the epoch of an ISO time; UTC if it says no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentError(
            f"--to is {text!r}, but must be earliest, latest, or a time such as 2024-05-01T12:00."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
