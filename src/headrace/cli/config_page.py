"""The settings as a page of the documentation, made from the tables that the code reads."""

# ruff: noqa: E501 (the rows of tables can't be broken)

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.core import client_settings, settings
from headrace.core.client_settings import CLIENT_SETTINGS, CLIENTS
from headrace.core.setting import Setting
from headrace.core.settings import SETTINGS

_INTRODUCTION = """\
# Configuration

<!-- Made by `headrace config --format markdown`. Change src/headrace/core/settings.py instead. -->

Settings have Kafka Streams' names. They are given, from strongest to weakest,

1. as keywords: `KafkaStreams(topology, application_id="shop", bootstrap_servers="localhost:9092")`,
2. as a mapping: `KafkaStreams(topology, {"application.id": "shop"})`; on the command line as
   `--set application.id=shop`,
3. as variables of the environment: `HEADRACE_APPLICATION_ID=shop`,
4. in a file: `StreamsConfig.load(file="shop.toml")`; on the command line `--config shop.toml`.

A file is Java properties (`.properties`) or TOML (`.toml`), where `application.id = "shop"`,
`"application.id" = "shop"` and `[application]` with `id = "shop"` are the same.

An unknown setting is an error that suggests the right name. `headrace config --file shop.toml` checks
a file, `headrace config TEXT` looks settings up. Secrets (passwords, keys, JAAS) are never shown.

| prefix | for |
|---|---|
| none | Headrace, and all Kafka clients |
| `consumer.`, `producer.`, `admin.` | one kind of Kafka client |
| `main.consumer.`, `restore.consumer.`, `global.consumer.` | the consumer of input, of changelogs, of global stores: before `consumer.` |
| `topic.` | internal topics that are created: `topic.min.insync.replicas` |
| `spark.` | Spark, where Headrace makes the session: `spark.master`, `spark.executor.memory` |

Serdes and functions are objects in Python. As text they are `module:attribute`; serdes also
`string`, `json`, `long` …, handlers `log_and_fail` and `log_and_continue`, timestamp extractors
`fail_on_invalid`, `log_and_skip`, `use_partition_time` and `wall_clock`; Java's class names
(`org.apache.kafka.common.serialization.Serdes$StringSerde`, `LogAndContinueExceptionHandler` …)
mean the same. Durations (`….ms`) may be a `timedelta`. A variable of the environment can't spell
Spark's settings that have capital letters.

## What differs from Kafka Streams

| setting | Kafka Streams | Headrace | why |
|---|---|---|---|
| `commit.interval.ms` | 30000, with exactly_once_v2 100 | 100 | a batch ends with a commit, and results are sent at its end |
| `num.stream.threads` | 1 | all cores of Spark | Spark has them anyway |
| `state.dir` | `kafka-streams` in the directory for temporary files | `headrace` in the user's directory for state | it is private, and outlasts a restart of the machine |
| unknown settings | a warning | an error | a typo in a setting is a bug |
"""

_CLIENTS = """
## Settings of Kafka clients

They are passed on if they are given; defaults are the clients' own. Java's names and
librdkafka's are translated, so that the same configuration serves Python's clients (librdkafka) and
Spark's (Java).

| setting | client | |
|---|---|---|
"""

_NO_EFFECT = """
## Settings that have no effect

They are accepted, with a warning, so that the configuration of a Java application can be used.

| setting | why |
|---|---|
"""

_REFUSED = """
## Settings that are refused

| setting | why |
|---|---|
"""


class Row(NamedTuple):
    """A setting as people look it up."""

    key: str
    kind: str
    default: str
    importance: str
    doc: str


def rows() -> Iterator[Row]:
    """All settings that do something: our own, then those of clients."""
    for setting in _public():
        yield Row(setting.key, setting.kind, default_text(setting), setting.importance, setting.doc)
    for client in sorted(CLIENT_SETTINGS.values()):
        yield Row(client.key, _clients_text(client.clients), "", "client", client.doc)


def markdown() -> str:
    """`docs/configuration.md`."""
    lines = [_INTRODUCTION]
    for importance in ("high", "medium", "low"):
        lines.append(f"\n## Settings of {importance} importance\n\n")
        lines.append("| setting | type | default | |\n|---|---|---|---|\n")
        for setting in _public():
            if setting.importance == importance:
                default = default_text(setting)
                value = default if setting.shown_default else f"`{default}`" if default else ""
                lines.append(
                    f"| `{setting.key}` | {setting.kind} | {value} | {_cell(setting.doc)} |\n"
                )
    lines.append("\nNames that Kafka Streams deprecated are understood: ")
    lines.append(", ".join(f"`{old}` is `{new}`" for old, new in settings.RENAMED.items()) + ".\n")
    lines.append(_CLIENTS)
    for client in sorted(CLIENT_SETTINGS.values()):
        lines.append(f"| `{client.key}` | {_clients_text(client.clients)} | {client.doc} |\n")
    lines.append(_NO_EFFECT)
    lines.extend(_table(sorted({**client_settings.NO_EFFECT, **settings.NO_EFFECT}.items())))
    lines.append(_REFUSED)
    lines.extend(_table(client_settings.REFUSED.items()))
    return "".join(lines)


def default_text(setting: Setting) -> str:
    """The default as people read it; "" if there is none."""
    if setting.shown_default:
        return setting.shown_default
    match setting.default:
        case None:
            return ""
        case bool():
            return "true" if setting.default else "false"
    return str(setting.default)


def _public() -> list[Setting]:
    return [setting for setting in SETTINGS.values() if setting.importance != "internal"]


def _clients_text(letters: str) -> str:
    return "all" if len(letters) == len(CLIENTS) else ", ".join(CLIENTS[each] for each in letters)


def _table(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, why in entries:
        yield f"| `{key}` | {_cell(why)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
