"""Settings: those of the server, and those that a session sets over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.sql.errors import SqlError

STREAMS_PREFIX = "ksql.streams."

_STREAMS = frozenset(
    (
        "auto.offset.reset",
        "cache.max.bytes.buffering",
        "commit.interval.ms",
        "max.task.idle.ms",
        "num.stream.threads",
        "processing.guarantee",
        "statestore.cache.max.bytes",
        "topology.optimization",
    )
)
"""Settings of Kafka Streams that statements may make: none of them names code, files or hosts."""

_KSQL = frozenset(
    (
        "ksql.fail.on.deserialization.error",
        "ksql.output.topic.name.prefix",
        "ksql.persistence.default.format.key",
        "ksql.persistence.default.format.value",
        "ksql.persistence.wrap.single.values",
        "ksql.query.pull.limit.clause.enabled",
        "ksql.query.pull.range.scan.enabled",
        "ksql.query.pull.table.scan.enabled",
        "ksql.query.push.v2.enabled",
        "ksql.timestamp.throw.on.invalid",
    )
)
"""Settings of ksqlDB that statements may make."""


class Settings(Mapping[str, Any]):
    """Settings by name. What a session sets goes before what the server was given."""

    def __init__(self, base: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> None:
        self._base = dict(base)
        self._overrides: dict[str, Any] = {}
        for name, value in (overrides or {}).items():
            self.override(name, value)

    def override(self, name: str, value: Any) -> None:
        """Raises SqlError for settings that aren't a session's to make."""
        if name.removeprefix(STREAMS_PREFIX) not in _STREAMS and name not in _KSQL:
            raise SqlError(
                f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'. "
                f"Can be set: {', '.join(sorted(_STREAMS | _KSQL))}."
            )
        self._overrides[name] = value

    def reset(self, name: str) -> None:
        """As the server has it."""
        self._overrides.pop(name, None)

    def over(self, overrides: Mapping[str, Any]) -> Settings:
        """These, with some more over them."""
        return Settings({**self._base, **self._overrides}, overrides)

    def flag(self, name: str, default: bool) -> bool:
        """A setting that is true or false, in any spelling."""
        return str(self.get(name, default)).lower() == "true"

    def streams(self) -> dict[str, Any]:
        """What is Kafka Streams' business, without ksqlDB's prefix."""
        settings = {name: value for name, value in self.items() if name in _STREAMS}
        for name, value in self.items():
            if name.startswith(STREAMS_PREFIX):
                settings[name.removeprefix(STREAMS_PREFIX)] = value
        settings.pop("default.timestamp.extractor", None)  # a class of Java's
        fails = self.flag("ksql.fail.on.deserialization.error", False)
        handler = "log_and_fail" if fails else "log_and_continue"
        settings.setdefault("deserialization.exception.handler", handler)
        return settings

    def __getitem__(self, name: str) -> Any:
        return self._overrides[name] if name in self._overrides else self._base[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._base, **self._overrides})

    def __len__(self) -> int:
        return len({**self._base, **self._overrides})
