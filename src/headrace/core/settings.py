"""The table of settings: Kafka Streams' own keys, and a few of ours.

Settings of the Kafka clients are in `client_settings`. `StreamsConfig` reads both tables.
"""

from __future__ import annotations

from headrace.core.setting import Setting
from headrace.core.setting_checks import (
    OPTIMIZATIONS,
    application_id,
    at_least,
    function,
    one_of,
    optimizations,
    reference,
    replicas,
    serde,
    server,
    servers,
    token,
)
from headrace.core.user_directories import user_state_directory

UPGRADABLE_VERSIONS = tuple(
    f"{major}.{minor}"
    for major, minor in [(2, minor) for minor in range(9)]
    + [(3, minor) for minor in range(10)]
    + [(4, minor) for minor in range(3)]
)

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
        application_id,
        shown_default="(must be given)",
    ),
    Setting(
        "bootstrap.servers",
        "list",
        None,
        "high",
        "Some brokers of the Kafka cluster, as host:port,host:port.",
        servers,
        shown_default="(must be given)",
    ),
    Setting(
        "state.dir",
        "str",
        user_state_directory(),
        "high",
        "Where stores are kept, on every machine that runs tasks. Losing it loses nothing but the "
        "time to restore from changelogs. Must be on a local disk.",
        shown_default="~/.local/state/headrace, or in $XDG_STATE_HOME; without a home, "
        "headrace-<user id> in the directory for temporary files",
    ),
    Setting(
        "processing.guarantee",
        "str",
        "at_least_once",
        "high",
        "What a failure may repeat: at_least_once may repeat results, exactly_once_v2 repeats "
        "nothing.",
        one_of("at_least_once", "exactly_once_v2"),
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
        at_least(1),
        shown_default="the number of cores that Spark has",
    ),
    Setting(
        "commit.interval.ms",
        "int",
        100,
        "medium",
        "How often a batch begins, at most; every batch ends with a commit. Kafka Streams' "
        "default for at_least_once is 30000, but there a commit isn't what makes results visible.",
        at_least(0),
    ),
    Setting(
        "max.batch.records",
        "int",
        500_000,
        "medium",
        "How many records a batch takes at most, so that memory and the size of transactions "
        "stay bounded while the application catches up; as many again of each repartition topic. "
        "Headrace's own.",
        at_least(1),
    ),
    Setting(
        "default.key.serde",
        "serde",
        None,
        "medium",
        "The serde of keys where none is given.",
        serde,
        _SERDES,
    ),
    Setting(
        "default.value.serde",
        "serde",
        None,
        "medium",
        "The serde of values where none is given.",
        serde,
        _SERDES,
    ),
    Setting(
        "default.timestamp.extractor",
        "function",
        None,
        "medium",
        "`extractor(record, partition_time)` for sources that have none of their own.",
        function,
        _EXTRACTORS,
        shown_default="fail_on_invalid",
    ),
    Setting(
        "deserialization.exception.handler",
        "function",
        None,
        "medium",
        "What to do with a record that can't be deserialized.",
        function,
        _HANDLERS,
        shown_default="log_and_fail",
    ),
    Setting(
        "processing.exception.handler",
        "function",
        None,
        "medium",
        "What to do when a processor or user function raises.",
        function,
        _HANDLERS,
        shown_default="log_and_fail",
    ),
    Setting(
        "processing.exception.handler.global.enabled",
        "bool",
        False,
        "high",
        "Whether processing.exception.handler is asked, too, when the processor of a global store "
        "raises. Otherwise that always stops the application. Records that the handler would have "
        "sent elsewhere are dropped there, with a warning.",
    ),
    Setting(
        "production.exception.handler",
        "function",
        None,
        "medium",
        "What to do with a record that can't be serialized or sent.",
        function,
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
        at_least(0),
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
        at_least(0),
    ),
    Setting(
        "replication.factor",
        "int",
        -1,
        "medium",
        "The number of replicas of internal topics. -1: the broker's default.",
        replicas,
    ),
    Setting(
        "topology.optimization",
        "list",
        "none",
        "medium",
        f"Which optimisations to apply: none, all, or some of {', '.join(OPTIMIZATIONS)}. They "
        "are applied when the topology is built: pass them to build() as well.",
        optimizations,
    ),
    Setting(
        "security.protocol",
        "str",
        "PLAINTEXT",
        "medium",
        "How to talk to the brokers.",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
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
        server,
        shown_default="no server",
    ),
    Setting(
        "server.token",
        "str",
        None,
        "medium",
        "What a request to application.server must know: it comes as `Authorization: Bearer …`. "
        "Headrace's own.",
        token,
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
        at_least(1),
    ),
    Setting(
        "server.connections",
        "int",
        1000,
        "low",
        "How many connections application.server has at once. When there are more, those that are "
        "idle for longest are closed. Headrace's own.",
        at_least(1),
    ),
    Setting(
        "num.standby.replicas",
        "int",
        0,
        "high",
        "How many hosts of a Spark cluster keep a copy of each task's state besides the one that "
        "has it, so that a task that moves there restores only the difference.",
        at_least(0),
    ),
    Setting(
        "allow.secrets.without.spark.authenticate",
        "bool",
        False,
        "medium",
        "Whether passwords, keys and tokens of the configuration may be sent to the executors of a "
        "Spark cluster that doesn't have spark.authenticate: whoever reaches its ports can read "
        "them. Headrace's own.",
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
        at_least(0),
    ),
    Setting(
        "state.cleanup.dir.max.age.ms",
        "int",
        -1,
        "low",
        "Local state that nobody has used for so long is removed at the start, and restored; -1: "
        "none is, but for what is older than its changelog keeps deletions (delete.retention.ms).",
        at_least(-1),
    ),
    Setting(
        "repartition.purge.interval.ms",
        "int",
        30_000,
        "low",
        "How often records that all tasks are done with are deleted from repartition topics.",
        at_least(0),
    ),
    Setting(
        "windowstore.changelog.additional.retention.ms",
        "int",
        86_400_000,
        "low",
        "How much longer the changelog of a window store keeps records than the store does.",
        at_least(0),
    ),
    Setting(
        "dsl.store.suppliers.class",
        "str",
        "persistent",
        "low",
        "The kind of store that the DSL uses where none is given.",
        one_of("persistent", "in_memory"),
        _STORES,
    ),
    Setting(
        "dsl.store.format",
        "str",
        "default",
        "low",
        "'headers' keeps the headers of records in the stores of the DSL.",
        one_of("default", "headers"),
        normalize=str.lower,
    ),
    Setting(
        "metrics.recording.level",
        "str",
        "INFO",
        "low",
        "How much is measured. DEBUG adds the latencies of stores and of single records, and cache "
        "hits; TRACE, how old records are at each store. Both cost throughput.",
        one_of("INFO", "DEBUG", "TRACE"),
        normalize=str.upper,
    ),
    Setting(
        "metrics.sample.window.ms",
        "int",
        30_000,
        "low",
        "How long a sample is. Rates, averages and extremes are those of the last samples.",
        at_least(1),
    ),
    Setting(
        "metrics.num.samples",
        "int",
        2,
        "low",
        "How many samples count.",
        at_least(1),
    ),
    Setting(
        "instance.takeover",
        "bool",
        False,
        "low",
        "Take the application over at once from an instance that runs it, which then ends with "
        "FencedError. Otherwise this one stands by until the other has ended. Headrace's own.",
    ),
    Setting(
        "lost.positions",
        "str",
        "fail",
        "low",
        "What to do at a start if the application can't go on where it was, because records or "
        "positions are gone: fail, or reset, which begins there by auto.offset.reset. Headrace's "
        "own.",
        one_of("fail", "reset"),
    ),
    Setting(
        "log.format",
        "str",
        "text",
        "low",
        "How workers write their logs: text, or json for a line of JSON with task and record. "
        "Headrace's own.",
        one_of("text", "json"),
        normalize=str.lower,
    ),
    Setting(
        "upgrade.from",
        "str",
        None,
        "low",
        "The version to upgrade from, while its instances may still be running.",
        one_of(*UPGRADABLE_VERSIONS),
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
        "__lease__",
        "bool",
        True,
        "internal",
        "Whether instances know of each other. Not if whoever starts them sees to it that there is "
        "one.",
    ),
    Setting(
        "__step.observer__",
        "str",
        None,
        "internal",
        "'module:function', called with the slot and the step at each step of a commit. For tests "
        "of failures.",
        reference,
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
    "allow.os.group.write.access": "State directories are their owner's alone.",
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
    "processor.wrapper.class": "Java classes can't be loaded.",
    "rack.aware.assignment.non_overlap_cost": _NO_MEMBERS,
    "rack.aware.assignment.strategy": _NO_MEMBERS,
    "rack.aware.assignment.tags": _NO_MEMBERS,
    "rack.aware.assignment.traffic_cost": _NO_MEMBERS,
    "rocksdb.config.setter": "Persistent stores are LMDB, which needs no tuning.",
    "task.assignor.class": _NO_MEMBERS,
    "window.size.ms": "Use serdes.time_windowed(inner, size).",
    "windowed.inner.class.serde": "Use serdes.time_windowed(inner, size).",
}
"""Keys of Kafka Streams that are accepted, so that its configurations can be used, and why they do
nothing."""
