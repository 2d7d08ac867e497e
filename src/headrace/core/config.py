"""Settings: Kafka Streams' own keys, typed and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from headrace.core.errors import ConfigError

OPTIMIZATIONS = (
    "reuse.ktable.source.topics",
    "merge.repartition.topics",
    "single.store.self.join",
)
UPGRADABLE_VERSIONS = tuple(
    f"{major}.{minor}"
    for major, minor in [(2, minor) for minor in range(9)]
    + [(3, minor) for minor in range(10)]
    + [(4, minor) for minor in range(3)]
)

Check = Callable[[Any], "str | None"]
"""Says what is wrong with a value, or None."""


def _one_of(*allowed: object) -> Check:
    def check(value: Any) -> str | None:
        return None if value in allowed else f"must be one of {', '.join(map(repr, allowed))}"

    return check


def _at_least(minimum: int) -> Check:
    def check(value: Any) -> str | None:
        return None if value >= minimum else f"must be at least {minimum}"

    return check


def _optimizations(value: str) -> str | None:
    names = [name.strip() for name in value.split(",")]
    if names in (["none"], ["all"]) or all(name in OPTIMIZATIONS for name in names):
        return None
    return f"must be 'none', 'all' or a list of {', '.join(OPTIMIZATIONS)}"


def _function(value: Any) -> str | None:
    return None if callable(value) else "must be a function"


def _serde(value: Any) -> str | None:
    return None if hasattr(value, "deserialize") else "must be a serde, such as serdes.string()"


class Setting(NamedTuple):
    """One setting. `kind` is the type of its value, or None for any (a serde, a function)."""

    key: str
    kind: type | None
    default: Any
    doc: str
    check: Check | None = None

    def validated(self, value: Any) -> Any:
        if value is None:
            return value
        if self.kind is None:
            self._check(value)
            return value
        if self.kind is int and isinstance(value, str):
            value = self._parsed_int(value)
        if self.kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
            value = value.lower() == "true"
        if not isinstance(value, self.kind) or (self.kind is int and isinstance(value, bool)):
            raise ConfigError(
                f"{self.key} must be of type {self.kind.__name__}, but is {value!r}. {self.doc}"
            )
        self._check(value)
        return value

    def _check(self, value: Any) -> None:
        problem = self.check(value) if self.check else None
        if problem:
            raise ConfigError(f"{self.key} {problem}, but is {value!r}. {self.doc}")

    def _parsed_int(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ConfigError(
                f"{self.key} must be a whole number, but is {text!r}. {self.doc}"
            ) from None


SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting(
            "application.id", str, "app", "Names the application: its group, topics and state."
        ),
        Setting("default.key.serde", None, None, "The serde of keys where none is given.", _serde),
        Setting(
            "default.value.serde", None, None, "The serde of values where none is given.", _serde
        ),
        Setting(
            "default.timestamp.extractor",
            None,
            None,
            "`extractor(record, partition_time)` for sources that have none of their own.",
            _function,
        ),
        Setting(
            "deserialization.exception.handler",
            None,
            None,
            "What to do with a record that can't be deserialized.",
            _function,
        ),
        Setting(
            "processing.exception.handler",
            None,
            None,
            "What to do when a processor or user function raises.",
            _function,
        ),
        Setting(
            "production.exception.handler",
            None,
            None,
            "What to do with a record that can't be serialized or sent.",
            _function,
        ),
        Setting(
            "errors.dead.letter.queue.topic.name",
            str,
            None,
            "The topic that the built-in handlers send failed records to.",
        ),
        Setting(
            "statestore.cache.max.bytes",
            int,
            10 * 1024 * 1024,
            "Memory of the record caches of a thread. 0: every update goes downstream.",
            _at_least(0),
        ),
        Setting(
            "max.task.idle.ms",
            int,
            0,
            "How long a task waits for records of an empty input before it goes on without.",
        ),
        Setting(
            "topology.optimization", str, "none", "Which optimisations to apply.", _optimizations
        ),
        Setting(
            "dsl.store.suppliers.class",
            str,
            "persistent",
            "The kind of store that the DSL uses where none is given.",
            _one_of("persistent", "in_memory"),
        ),
        Setting(
            "dsl.store.format",
            str,
            "default",
            "'headers' keeps the headers of records in the stores of the DSL.",
            _one_of("default", "headers"),
        ),
        Setting(
            "ensure.explicit.internal.resource.naming",
            bool,
            False,
            "Refuse topologies whose internal topics or stores have generated names.",
        ),
        Setting(
            "processing.guarantee",
            str,
            "at_least_once",
            "What a failure may repeat.",
            _one_of("at_least_once", "exactly_once_v2"),
        ),
        Setting(
            "upgrade.from",
            str,
            None,
            "The version to upgrade from, while its instances may still be running.",
            _one_of(*UPGRADABLE_VERSIONS),
        ),
        Setting(
            "metrics.recording.level",
            str,
            "INFO",
            "How much is measured.",
            _one_of("INFO", "DEBUG", "TRACE"),
        ),
        Setting(
            "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__",
            int,
            1000,
            "How often, at most, unmatched join results are looked for.",
        ),
        Setting(
            "__emit.interval.ms.kstreams.windowed.aggregation__",
            int,
            1000,
            "How often, at most, closed windows are looked for.",
        ),
    )
}


class StreamsConfig(Mapping[str, Any]):
    """All settings with their defaults. An unknown or wrong one raises, and says what to do."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        if not isinstance(settings, Mapping | None):
            raise ConfigError(f"Settings are a dict of names and values, not {settings!r}")
        given = dict(settings or {})
        unknown = [key for key in given if key not in SETTINGS]
        if unknown:
            raise ConfigError(" ".join(map(_unknown, unknown)))
        self._given = frozenset(given)
        self._values = {
            key: setting.validated(given[key]) if key in given else setting.default
            for key, setting in SETTINGS.items()
        }

    @property
    def application_id(self) -> str:
        return str(self._values["application.id"])

    @property
    def optimizations(self) -> frozenset[str]:
        """The optimisations that are switched on."""
        value = self._values["topology.optimization"]
        if value == "none":
            return frozenset()
        if value == "all":
            return frozenset(OPTIMIZATIONS)
        return frozenset(name.strip() for name in value.split(","))

    def is_given(self, key: str) -> bool:
        """Whether the setting was given, and is not only the default."""
        return key in self._given

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _unknown(key: str) -> str:
    import difflib  # only now: it isn't cheap to load

    close = difflib.get_close_matches(key, SETTINGS, n=1)
    return f"Unknown setting {key!r}." + (f" Did you mean {close[0]!r}?" if close else "")
