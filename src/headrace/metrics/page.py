"""`docs/metrics.md`, made of the catalogue: python -m headrace.metrics.page > docs/metrics.md"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.metrics.absent import ABSENT
from headrace.metrics.catalogue import SENSORS
from headrace.metrics.sensor import (
    CACHE,
    CLIENT,
    CONSUMER,
    NODE,
    STATE_UPDATER,
    STORE,
    TASK,
    THREAD,
    TOPIC,
    Scope,
)

_HEAD = """\
# Metrics

What `streams.metrics()` has, under the names, groups and tags of Kafka Streams.
[monitoring](monitoring/README.md) has a dashboard and alert rules for Prometheus.

```python
from headrace import KafkaStreams, StreamsBuilder

builder = StreamsBuilder()
builder.stream("orders").to("copies")
streams = KafkaStreams(builder.build(), application_id="shop", bootstrap_servers="localhost:9092")

for name, value in streams.metrics().items():
    print(name.group, name.name, dict(name.tags), value)
```

- **Levels.** `metrics.recording.level` is INFO, DEBUG or TRACE. At INFO nothing is done for single
  records: they are counted by the chunk, and every 127th is looked at (all of them, when a batch
  has at most 250) for its size and its age. Measured (`scripts/bench metrics`), that costs the
  kernel 0 to 3%, also if a task takes turns between its inputs every two records. At DEBUG records
  take 1.3 to 1.7 times as long, at TRACE up to 2 times.
- **Rates, averages, extremes** are those of the last `metrics.num.samples` (2) samples of
  `metrics.sample.window.ms` (30 s). What was not measured in that time is NaN, a rate is 0.
- **Totals** are since the start of this `KafkaStreams`. Tasks report what is new since their last
  report, and the driver adds it up, so that a task which moves to another process neither loses nor
  doubles anything. A batch that failed is not counted; it is when it is processed again. Lost
  is only what a process has committed that died before its report arrived.
- **Threads** are slots, and are called `<application.id>-<slot>`. A task may run in another one
  from batch to batch: its metrics then have another `thread-id`. A host that keeps copies of tasks
  (`num.standby.replicas`) is a thread, too: `<application.id>-standby-<host>`.
- **Prometheus** calls a metric `headrace_`, what it is of, and its name with `_` for `-`. Labels
  are the tags; below threads, without `thread-id`. A store has `store_scope`
  (`rocksdb-window-state`) and `store`.
- **OpenTelemetry** has the same with dots: `headrace.thread.commit-latency-avg`.

What Kafka Streams 4.3 has and is not here is [at the end](#not-here).
"""

_TITLES: dict[Scope, tuple[str, str]] = {
    CLIENT: ("The application", ""),
    CONSUMER: ("Lag", "Looked at every 5 s."),
    THREAD: ("Threads", ""),
    STATE_UPDATER: ("Restore", ""),
    TASK: ("Tasks", ""),
    NODE: (
        "Processor nodes",
        "A terminal node that is no sink is taken to be as late as its sources at INFO; at DEBUG "
        "it is measured what really comes there.",
    ),
    TOPIC: ("Topics", "Of sources and sinks. Changelogs are not counted."),
    STORE: (
        "Stores",
        "The last tag is named after the kind of the store, as in Kafka Streams: "
        "`rocksdb-state-id` for persistent key-value stores, `in-memory-window-state-id` …",
    ),
    CACHE: ("Record caches", ""),
}


def page() -> str:
    """The whole page."""
    sections = (line for scope in _TITLES for line in _section(scope))
    return "\n".join([_HEAD, *sections, *_not_here()])


def _section(scope: Scope) -> Iterator[str]:
    title, remark = _TITLES[scope]
    tags = ", ".join(f"`{tag}`" for tag in scope.tags if tag not in ("store-scope", "store"))
    if scope is STORE:
        tags += ", `<kind>-id`"
    yield f"## {title}"
    yield ""
    where = f"Group `{scope.group}`, tags {tags}; in Prometheus `headrace_{scope.word}_…`."
    yield f"{where} {remark}".strip()
    yield ""
    yield "| metric | level | |"
    yield "|---|---|---|"
    for sensor in SENSORS.values():
        if sensor.scope is scope:
            for metric in sensor.metrics:
                yield f"| `{metric.name}` | {sensor.level.name} | {metric.description} |"
    yield ""


def _not_here() -> Iterator[str]:
    yield "## Not here"
    yield ""
    yield "Sensors of your own, metrics of the Kafka clients but for the lag, and these:"
    yield ""
    yield "| of | metrics | why |"
    yield "|---|---|---|"
    for scope, names, why in ABSENT:
        shown = ", ".join(f"`{name}`" for name in names)
        yield f"| `{scope.group}` | {shown} | {why} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
