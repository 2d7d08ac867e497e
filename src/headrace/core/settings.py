"""The table of settings: Kafka Streams' own keys, and a few of ours.

Settings of the Kafka clients are in `client_settings`. `StreamsConfig` reads both tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple

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

Kind = Literal["str", "int", "bool", "list", "serde", "function"]
Importance = Literal["high", "medium", "low", "internal"]

NO_NAMES: Mapping[str, str] = {}


class Setting(NamedTuple):
    """One setting.

    `names` are other words for values, such as Java's classes: for a serde or a function they
    stand for "module:attribute". `normalize` is applied to text that may be written in any case.
    `shown_default` describes a default that isn't a plain value. The value of a `secret` is never
    shown.
    """

    key: str
    kind: Kind
    default: Any
    importance: Importance
    doc: str
    check: Check | None = None
    names: Mapping[str, str] = NO_NAMES
    normalize: Callable[[str], str] | None = None
    shown_default: str = ""
    secret: bool = False

    def validated(self, value: Any) -> Any:
        """The value as the setting's kind; ConfigError if it can't be that."""
        if value is None:
            return None
        value = self._read(value)
        problem = self.check(value) if self.check else None
        if problem:
            shown = "" if self.secret else f", but is {value!r}"
            raise ConfigError(f"{self.key} {problem}{shown}. {self.doc}")
        return value

    def _read(self, value: Any) -> Any:
        match self.kind, value:
            case "str", str():
                return self._word(value)
            case "str", os.PathLike():
                return os.fspath(value)
            case "int", str():
                return self._number(value)
            case "int", timedelta() if self.is_duration:
                return value // timedelta(milliseconds=1)
            case ("int", int()) if not isinstance(value, bool):
                return value
            case "bool", bool():
                return value
            case "bool", str() if value.lower() in ("true", "false"):
                return value.lower() == "true"
            case "list", str():
                return value
            case "list", list() | tuple():
                return ",".join(map(str, value))
            case (("serde" | "function"), str()):
                return self._referenced(value)
            case (("serde" | "function"), _):
                return value
        wanted = "int or timedelta" if self.is_duration else self.kind
        shown = type(value).__name__ if self.secret else repr(value)
        raise ConfigError(f"{self.key} must be of type {wanted}, but is {shown}. {self.doc}")

    @property
    def is_duration(self) -> bool:
        return self.kind == "int" and ".ms" in self.key

    def _word(self, text: str) -> str:
        if self.normalize:
            text = self.normalize(text)
        return self.names.get(_last_part(text), text)

    def _number(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ConfigError(
                f"{self.key} must be a whole number, but is {text!r}. {self.doc}"
            ) from None

    def _referenced(self, text: str) -> Any:
        from headrace.core.references import named

        reference = self.names.get(text) or self.names.get(_last_part(text), text)
        if ":" not in reference:
            words = "".join(f" or {name}" for name in self.names if name.islower())
            raise ConfigError(
                f"{self.key} must be a {self.kind}, but is {text!r}. "
                f"As text, it is 'module:attribute'{words}. {self.doc}"
            )
        found = named(reference, self.key)
        # A serde is made by a function (serdes.string), so that is what files name.
        makes_serde = self.kind == "serde" and not hasattr(found, "deserialize")
        return found() if makes_serde and callable(found) else found


def _last_part(text: str) -> str:
    """The simple name of a Java class: `StringSerde` of `…serialization.Serdes$StringSerde`."""
    return text.replace("$", ".").rpartition(".")[2]


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


def _reference(value: str) -> str | None:
    module, _, function = value.partition(":")
    return None if module and function else "must be 'module:function'"


def _serde(value: Any) -> str | None:
    return None if hasattr(value, "deserialize") else "must be a serde, such as serdes.string()"


def _application_id(value: str) -> str | None:
    legal = value.isascii() and all(char.isalnum() or char in "._-" for char in value)
    if value and legal:
        return None
    return "must be of letters, digits, '.', '_' and '-', as it is part of the names of topics"


def _servers(value: str) -> str | None:
    servers = [server.strip() for server in value.split(",")]
    wrong = [server for server in servers if not _is_address(server)]
    return "must be a list of host:port" if wrong else None


def _is_address(server: str) -> bool:
    host, _, port = server.rpartition("://")[2].rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def _server(value: str) -> str | None:
    host, colon, port = value.rpartition(":")
    is_port = port.isdecimal() and int(port) < 65536
    is_host = not host or ":" not in host or host.startswith("[")
    return None if colon and is_port and is_host else "must be host:port"


def _token(value: str) -> str | None:
    legal = value.isascii() and value.isprintable() and " " not in value
    return None if len(value) >= 16 and legal else "must have 16 characters or more, and no spaces"


def _replicas(value: int) -> str | None:
    return None if value == -1 or value > 0 else "must be positive, or -1 for the broker's default"


_SERDES = {
    "string": "headrace.serdes:string",
    "json": "headrace.serdes:json",
    "bytes": "headrace.serdes:bytes_",
    "short": "headrace.serdes:short",
    "integer": "headrace.serdes:integer",
    "long": "headrace.serdes:long",
    "float": "headrace.serdes:float_",
    "double": "headrace.serdes:double",
    "boolean": "headrace.serdes:boolean",
    "uuid": "headrace.serdes:uuid",
    "void": "headrace.serdes:void",
    "StringSerde": "headrace.serdes:string",
    "ByteArraySerde": "headrace.serdes:bytes_",
    "BytesSerde": "headrace.serdes:bytes_",
    "ByteBufferSerde": "headrace.serdes:bytes_",
    "ShortSerde": "headrace.serdes:short",
    "IntegerSerde": "headrace.serdes:integer",
    "LongSerde": "headrace.serdes:long",
    "FloatSerde": "headrace.serdes:float_",
    "DoubleSerde": "headrace.serdes:double",
    "BooleanSerde": "headrace.serdes:boolean",
    "UUIDSerde": "headrace.serdes:uuid",
    "VoidSerde": "headrace.serdes:void",
}
_EXTRACTORS = {
    "fail_on_invalid": "headrace.timestamps:fail_on_invalid",
    "log_and_skip": "headrace.timestamps:log_and_skip",
    "use_partition_time": "headrace.timestamps:use_partition_time",
    "wall_clock": "headrace.timestamps:wall_clock",
    "FailOnInvalidTimestamp": "headrace.timestamps:fail_on_invalid",
    "LogAndSkipOnInvalidTimestamp": "headrace.timestamps:log_and_skip",
    "UsePartitionTimeOnInvalidTimestamp": "headrace.timestamps:use_partition_time",
    "WallclockTimestampExtractor": "headrace.timestamps:wall_clock",
}
_HANDLERS = {
    "log_and_fail": "headrace.core.handlers:log_and_fail",
    "log_and_continue": "headrace.core.handlers:log_and_continue",
    "LogAndFailExceptionHandler": "headrace.core.handlers:log_and_fail",
    "LogAndContinueExceptionHandler": "headrace.core.handlers:log_and_continue",
    "LogAndFailProcessingExceptionHandler": "headrace.core.handlers:log_and_fail",
    "LogAndContinueProcessingExceptionHandler": "headrace.core.handlers:log_and_continue",
    "DefaultProductionExceptionHandler": "headrace.core.handlers:log_and_fail",
}
_STORES = {
    "rocksDB": "persistent",
    "RocksDBDslStoreSuppliers": "persistent",
    "InMemoryDslStoreSuppliers": "in_memory",
}

_TABLE = (
    Setting(
        "application.id",
        "str",
        "app",
        "high",
        "Names the application: its consumer group, its internal topics and its state. Two "
        "applications on one Kafka cluster need two names.",
        _application_id,
        shown_default="(must be given)",
    ),
    Setting(
        "bootstrap.servers",
        "list",
        None,
        "high",
        "Some brokers of the Kafka cluster, as host:port,host:port.",
        _servers,
        shown_default="(must be given)",
    ),
    Setting(
        "state.dir",
        "str",
        f"{os.environ.get('TMPDIR', '/tmp').rstrip('/')}/headrace",
        "high",
        "Where stores are kept, on every machine that runs tasks. Losing it loses nothing but the "
        "time to restore from changelogs. Must be on a local disk.",
        shown_default="headrace, in the system's directory for temporary files",
    ),
    Setting(
        "processing.guarantee",
        "str",
        "at_least_once",
        "high",
        "What a failure may repeat: at_least_once may repeat results, exactly_once_v2 repeats "
        "nothing.",
        _one_of("at_least_once", "exactly_once_v2"),
    ),
    Setting(
        "ensure.explicit.internal.resource.naming",
        "bool",
        False,
        "high",
        "Refuse topologies whose internal topics or stores have generated names.",
    ),
    Setting(
        "num.stream.threads",
        "int",
        None,
        "medium",
        "How many tasks run at the same time, over all machines: each is a Spark task with a "
        "Python process of its own.",
        _at_least(1),
        shown_default="the number of cores that Spark has",
    ),
    Setting(
        "commit.interval.ms",
        "int",
        100,
        "medium",
        "How often a batch begins, at most; every batch ends with a commit. Kafka Streams' "
        "default for at_least_once is 30000, but there a commit isn't what makes results visible.",
        _at_least(0),
    ),
    Setting(
        "max.batch.records",
        "int",
        500_000,
        "medium",
        "How many records a batch takes at most, so that memory and the size of transactions "
        "stay bounded while the application catches up; as many again of each repartition topic. "
        "Headrace's own.",
        _at_least(1),
    ),
    Setting(
        "default.key.serde",
        "serde",
        None,
        "medium",
        "The serde of keys where none is given.",
        _serde,
        _SERDES,
    ),
    Setting(
        "default.value.serde",
        "serde",
        None,
        "medium",
        "The serde of values where none is given.",
        _serde,
        _SERDES,
    ),
    Setting(
        "default.timestamp.extractor",
        "function",
        None,
        "medium",
        "`extractor(record, partition_time)` for sources that have none of their own.",
        _function,
        _EXTRACTORS,
        shown_default="fail_on_invalid",
    ),
    Setting(
        "deserialization.exception.handler",
        "function",
        None,
        "medium",
        "What to do with a record that can't be deserialized.",
        _function,
        _HANDLERS,
        shown_default="log_and_fail",
    ),
    Setting(
        "processing.exception.handler",
        "function",
        None,
        "medium",
        "What to do when a processor or user function raises.",
        _function,
        _HANDLERS,
        shown_default="log_and_fail",
    ),
    Setting(
        "production.exception.handler",
        "function",
        None,
        "medium",
        "What to do with a record that can't be serialized or sent.",
        _function,
        _HANDLERS,
        shown_default="log_and_fail",
    ),
    Setting(
        "errors.dead.letter.queue.topic.name",
        "str",
        None,
        "medium",
        "The topic that the built-in handlers send failed records to.",
    ),
    Setting(
        "statestore.cache.max.bytes",
        "int",
        10 * 1024 * 1024,
        "medium",
        "Memory of the record caches of a thread. 0: every update goes downstream.",
        _at_least(0),
    ),
    Setting(
        "max.task.idle.ms",
        "int",
        0,
        "medium",
        "How long a task waits for records of an empty input before it goes on without. "
        "-1: not at all.",
    ),
    Setting(
        "task.timeout.ms",
        "int",
        300_000,
        "medium",
        "How long to retry when Kafka can't be reached or refuses, before that is an error.",
        _at_least(0),
    ),
    Setting(
        "replication.factor",
        "int",
        -1,
        "medium",
        "The number of replicas of internal topics. -1: the broker's default.",
        _replicas,
    ),
    Setting(
        "topology.optimization",
        "list",
        "none",
        "medium",
        f"Which optimisations to apply: none, all, or some of {', '.join(OPTIMIZATIONS)}. They "
        "are applied when the topology is built: pass them to build() as well.",
        _optimizations,
    ),
    Setting(
        "security.protocol",
        "str",
        "PLAINTEXT",
        "medium",
        "How to talk to the brokers.",
        _one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        normalize=str.upper,
    ),
    Setting(
        "application.server",
        "str",
        None,
        "medium",
        "Where the application answers HTTP requests, as host:port. Port 0: any that is free. Only "
        "programs of this machine can reach localhost; any other host needs server.token, "
        "server.certificate.file and server.key.file.",
        _server,
        shown_default="no server",
    ),
    Setting(
        "server.token",
        "str",
        None,
        "medium",
        "What a request to application.server must know: it comes as `Authorization: Bearer …`. "
        "Headrace's own.",
        _token,
        shown_default="no token",
        secret=True,
    ),
    Setting(
        "server.certificate.file",
        "str",
        None,
        "medium",
        "The TLS certificate of application.server, with its chain, in a PEM file. Headrace's own.",
        shown_default="no TLS",
    ),
    Setting(
        "server.key.file",
        "str",
        None,
        "medium",
        "The private key of server.certificate.file, in a PEM file. Headrace's own.",
        shown_default="no TLS",
    ),
    Setting(
        "server.requests.per.second",
        "int",
        1000,
        "low",
        "How many requests a second one client may make to application.server. Headrace's own.",
        _at_least(1),
    ),
    Setting(
        "num.standby.replicas",
        "int",
        0,
        "high",
        "How many hosts of a Spark cluster keep a copy of each task's state besides the one that "
        "has it, so that a task that moves there restores only the difference.",
        _at_least(0),
    ),
    Setting(
        "client.id",
        "str",
        None,
        "medium",
        "What brokers call the application's clients in their logs and metrics.",
        shown_default="made from application.id",
    ),
    Setting(
        "state.cleanup.delay.ms",
        "int",
        600_000,
        "low",
        "How long the local state of a task that runs elsewhere now is kept.",
        _at_least(0),
    ),
    Setting(
        "repartition.purge.interval.ms",
        "int",
        30_000,
        "low",
        "How often records that all tasks are done with are deleted from repartition topics.",
        _at_least(0),
    ),
    Setting(
        "windowstore.changelog.additional.retention.ms",
        "int",
        86_400_000,
        "low",
        "How much longer the changelog of a window store keeps records than the store does.",
        _at_least(0),
    ),
    Setting(
        "dsl.store.suppliers.class",
        "str",
        "persistent",
        "low",
        "The kind of store that the DSL uses where none is given.",
        _one_of("persistent", "in_memory"),
        _STORES,
    ),
    Setting(
        "dsl.store.format",
        "str",
        "default",
        "low",
        "'headers' keeps the headers of records in the stores of the DSL.",
        _one_of("default", "headers"),
        normalize=str.lower,
    ),
    Setting(
        "metrics.recording.level",
        "str",
        "INFO",
        "low",
        "How much is measured. DEBUG adds the latencies of stores and of single records, and cache "
        "hits; TRACE, how old records are at each store. Both cost throughput.",
        _one_of("INFO", "DEBUG", "TRACE"),
        normalize=str.upper,
    ),
    Setting(
        "metrics.sample.window.ms",
        "int",
        30_000,
        "low",
        "How long a sample is. Rates, averages and extremes are those of the last samples.",
        _at_least(1),
    ),
    Setting(
        "metrics.num.samples",
        "int",
        2,
        "low",
        "How many samples count.",
        _at_least(1),
    ),
    Setting(
        "log.format",
        "str",
        "text",
        "low",
        "How workers write their logs: text, or json for a line of JSON with task and record. "
        "Headrace's own.",
        _one_of("text", "json"),
        normalize=str.lower,
    ),
    Setting(
        "upgrade.from",
        "str",
        None,
        "low",
        "The version to upgrade from, while its instances may still be running.",
        _one_of(*UPGRADABLE_VERSIONS),
    ),
    Setting(
        "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__",
        "int",
        1000,
        "internal",
        "How often, at most, unmatched join results are looked for.",
    ),
    Setting(
        "__emit.interval.ms.kstreams.windowed.aggregation__",
        "int",
        1000,
        "internal",
        "How often, at most, closed windows are looked for.",
    ),
    Setting(
        "__step.observer__",
        "str",
        None,
        "internal",
        "'module:function', called with the slot and the step at each step of a commit. For tests "
        "of failures.",
        _reference,
    ),
)

SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _TABLE}

RENAMED = {
    "cache.max.bytes.buffering": "statestore.cache.max.bytes",
    "default.deserialization.exception.handler": "deserialization.exception.handler",
    "default.production.exception.handler": "production.exception.handler",
    "default.dsl.store": "dsl.store.suppliers.class",
}
"""Keys that Kafka Streams deprecated, and what they are called now."""

_NO_MEMBERS = "Spark assigns the tasks, the consumer group has no members."
_NO_REPLICAS = "Spark decides where tasks run, however far a standby is behind."

NO_EFFECT = {
    "acceptable.recovery.lag": _NO_REPLICAS,
    "allow.os.group.write.access": "State directories have the permissions of the process's umask.",
    "buffered.records.per.partition": "max.batch.records bounds what is in memory.",
    "built.in.metrics.version": "There is one version.",
    "default.client.supplier": "Clients are librdkafka's and Spark's.",
    "default.list.key.serde.inner": "Use serdes.list_(inner).",
    "default.list.key.serde.type": "Use serdes.list_(inner).",
    "default.list.value.serde.inner": "Use serdes.list_(inner).",
    "default.list.value.serde.type": "Use serdes.list_(inner).",
    "enable.metrics.push": "Python's client doesn't push metrics to brokers.",
    "group.protocol": _NO_MEMBERS,
    "log.summary.interval.ms": "`KafkaStreams.status()` tells how it goes.",
    "max.warmup.replicas": _NO_REPLICAS,
    "metric.reporters": "Java classes can't be loaded.",
    "poll.ms": "Spark polls.",
    "probing.rebalance.interval.ms": _NO_MEMBERS,
    "processing.exception.handler.global.enabled": "An error in a global store always stops.",
    "processor.wrapper.class": "Java classes can't be loaded.",
    "rack.aware.assignment.non_overlap_cost": _NO_MEMBERS,
    "rack.aware.assignment.strategy": _NO_MEMBERS,
    "rack.aware.assignment.tags": _NO_MEMBERS,
    "rack.aware.assignment.traffic_cost": _NO_MEMBERS,
    "rocksdb.config.setter": "Persistent stores are LMDB, which needs no tuning.",
    "state.cleanup.dir.max.age.ms": "Local state is checked when it is opened, however old it is.",
    "task.assignor.class": _NO_MEMBERS,
    "window.size.ms": "Use serdes.time_windowed(inner, size).",
    "windowed.inner.class.serde": "Use serdes.time_windowed(inner, size).",
}
"""Keys of Kafka Streams that are accepted, so that its configurations can be used, and why they do
nothing."""
