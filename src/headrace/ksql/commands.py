"""Commands: statements that all servers execute, in one order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from headrace.core.errors import SerializationError
from headrace.sql.syntax import ast
from headrace.sql.topics import TopicInfo


@dataclass(frozen=True)
class Command:
    """A statement that was found to be right, and what it relied on: settings made for it, and the
    sizes of topics, which may be gone or others when it is executed again."""

    statement: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    topics: tuple[TopicInfo, ...] = ()

    def to_bytes(self) -> bytes:
        return orjson.dumps(
            {
                "version": 1,
                "statement": self.statement,
                "properties": dict(self.properties),
                "topics": {
                    topic.name: {"partitions": topic.partitions, "replicas": topic.replicas}
                    for topic in self.topics
                },
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Command:
        """Raises SerializationError if that isn't a command."""
        try:
            content = orjson.loads(data)
            if content["version"] != 1:
                raise ValueError(f"its version is {content['version']}, and only 1 is known")
            topics = content["topics"].items()
            return cls(
                str(content["statement"]),
                dict(content["properties"]),
                tuple(TopicInfo(name, of["partitions"], of["replicas"]) for name, of in topics),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SerializationError(
                f"A record of the command topic can't be read: {error!r}."
            ) from error


class CommandWriter(Protocol):
    """The right to write to the log. Nobody else has it meanwhile."""

    @property
    def end(self) -> int:
        """The offset after all commands that there are. What is written relies on these."""
        ...

    def append(self, command: Command) -> int:
        """Write a command. Gives its offset."""
        ...


class Overtaken(Exception):
    """Another server has written meanwhile: look at its command, and try again."""


class CommandLog(Protocol):
    """All commands that there ever were, for all servers of a service."""

    def writing(self) -> AbstractContextManager[CommandWriter]:
        """Get the right to write. Raises Overtaken, at the end at the latest, if it was lost."""
        ...

    def end(self) -> int:
        """The offset after the last command."""
        ...

    def read(self, offset: int, timeout_s: float) -> tuple[list[tuple[int, Command]], int]:
        """Commands from an offset on, with theirs, and the offset to go on from. None, if none come
        in time."""
        ...

    def close(self) -> None: ...


class InMemoryCommandLog:
    """A log that lives as long as the process."""

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._changed = threading.Condition()
        self._writing = threading.RLock()

    @contextmanager
    def writing(self) -> Iterator[InMemoryCommandLog._Writer]:
        with self._writing:
            yield self._Writer(self)

    class _Writer:
        def __init__(self, log: InMemoryCommandLog) -> None:
            self._log = log

        @property
        def end(self) -> int:
            return self._log.end()

        def append(self, command: Command) -> int:
            log = self._log
            with log._changed:
                log._commands.append(command)
                log._changed.notify_all()
                return len(log._commands) - 1

    def end(self) -> int:
        return len(self._commands)

    def read(self, offset: int, timeout_s: float) -> tuple[list[tuple[int, Command]], int]:
        with self._changed:
            self._changed.wait_for(lambda: len(self._commands) > offset, timeout_s)
            found = list(enumerate(self._commands[offset:], offset))
        return found, offset + len(found)

    def close(self) -> None:
        """There is nothing to close."""


def command_id(statement: ast.Statement) -> str | None:
    """`type/entity/action` of a statement that is a command; None if it is none."""
    match statement:
        case ast.CreateSource(kind=kind, name=name) | ast.CreateAsSelect(kind=kind, name=name):
            return f"{kind.value.lower()}/{name}/create"
        case ast.InsertInto(target=target):
            return f"stream/`{target}`/create"
        case ast.DropSource(kind=kind, name=name):
            return f"{kind.value.lower()}/{name}/drop"
        case ast.AlterSource(kind=kind, name=name):
            return f"{kind.value.lower()}/{name}/alter"
        case ast.ControlQuery(action=action, query_id=query_id):
            return f"{action.value.lower()}/{query_id or 'ALL'}/execute"
        case ast.CreateType(name=name):
            return f"type/{name}/create"
        case ast.DropType(name=name):
            return f"type/{name}/drop"
        case _:
            return None
