"""What statements are answered, as people read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headrace.cli.shell.rows import cell, to_json

Entity = Mapping[str, Any]


def shown(entity: Entity) -> Iterator[RenderableType]:
    """The parts of an answer, one below the other."""
    show = _SHOWN.get(str(entity.get("@type")), _as_json)
    yield from show(entity)
    for warning in entity.get("warnings") or ():
        yield Text(f"WARNING: {warning['message']}", style="yellow")


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> RenderableType:
    """A table, or a line that says that there is nothing in it."""
    if not rows:
        return Text("(none)", style="dim")
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(names):
        grid.add_column(Text(name), overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*(Text(cell(value)) for value in row))
    return grid


def type_text(schema: Mapping[str, Any]) -> str:
    """A type, in SQL."""
    name = str(schema["type"])
    member = schema.get("memberSchema")
    if name == "ARRAY" and member:
        return f"ARRAY<{type_text(member)}>"
    if name == "MAP" and member:
        return f"MAP<STRING, {type_text(member)}>"
    if name == "STRUCT":
        fields = schema.get("fields") or ()
        inner = ", ".join(f"{each['name']} {type_text(each['schema'])}" for each in fields)
        return f"STRUCT<{inner}>"
    if name == "DECIMAL" and schema.get("parameters"):
        parameters = schema["parameters"]
        return f"DECIMAL({parameters['precision']}, {parameters['scale']})"
    return name


def _status(entity: Entity) -> Iterator[RenderableType]:
    status = entity["commandStatus"]
    style = "red" if status["status"] == "ERROR" else ""
    yield Text(str(status["message"]), style=style)


def _message(entity: Entity) -> Iterator[RenderableType]:
    yield Text(str(entity["message"]))


def _sources(member: str) -> Callable[[Entity], Iterator[RenderableType]]:
    def show(entity: Entity) -> Iterator[RenderableType]:
        yield table(
            ["Name", "Kafka topic", "Key format", "Value format", "Windowed"],
            [
                [
                    each["name"],
                    each["topic"],
                    each["keyFormat"],
                    each["valueFormat"],
                    each["isWindowed"],
                ]
                for each in entity[member]
            ],
        )

    return show


def _topics(entity: Entity) -> Iterator[RenderableType]:
    rows = []
    for each in entity["topics"]:
        replicas = each["replicaInfo"]
        row = [each["name"], len(replicas), replicas[0] if len(set(replicas)) == 1 else replicas]
        if "consumerCount" in each:
            row += [each["consumerCount"], each["consumerGroupCount"]]
        rows.append(row)
    names = ["Kafka topic", "Partitions", "Replicas"]
    if entity["@type"] == "kafka_topics_extended":
        names += ["Consumers", "Consumer groups"]
    yield table(names, rows)


def _queries(entity: Entity) -> Iterator[RenderableType]:
    yield table(
        ["Query", "Type", "Status", "Sink", "Kafka topic", "Statement"],
        [
            [
                each["id"],
                each["queryType"],
                _counted(each.get("statusCount")) or each.get("state"),
                ", ".join(each["sinks"]),
                ", ".join(each["sinkKafkaTopics"]),
                " ".join(each["queryString"].split()),
            ]
            for each in entity["queries"]
        ],
    )


def _counted(counts: Mapping[str, int] | None) -> str:
    return ", ".join(f"{name}:{count}" for name, count in (counts or {}).items())


def _properties(entity: Entity) -> Iterator[RenderableType]:
    rows = [
        [each["name"], each.get("scope"), each.get("level"), each["value"]]
        for each in entity["properties"]
    ]
    yield table(["Property", "Scope", "Level", "Value"], rows)


def _functions(entity: Entity) -> Iterator[RenderableType]:
    rows = [[each["name"], each["type"], each["category"]] for each in entity["functions"]]
    yield table(["Function", "Type", "Category"], rows)


def _function(entity: Entity) -> Iterator[RenderableType]:
    yield Text(str(entity["name"]), style="bold")
    yield Text(str(entity["description"]))
    for each in entity["functions"]:
        arguments = ", ".join(
            f"{argument['name']} {argument['type']}{'[]' if argument['isVariadic'] else ''}"
            for argument in each["arguments"]
        )
        yield Text(f"  {entity['name']}({arguments}) -> {each['returnType']}")


def _types(entity: Entity) -> Iterator[RenderableType]:
    rows = [[name, type_text(schema)] for name, schema in entity["types"].items()]
    yield table(["Type", "Schema"], rows)


def _variables(entity: Entity) -> Iterator[RenderableType]:
    rows = [[each["name"], each["value"]] for each in entity["variables"]]
    yield table(["Variable", "Value"], rows)


def _source(entity: Entity) -> Iterator[RenderableType]:
    yield from _described(entity["sourceDescription"])


def _many_sources(entity: Entity) -> Iterator[RenderableType]:
    for each in entity["sourceDescriptions"]:
        yield from _described(each)
        yield Text("")


def _described(source: Entity) -> Iterator[RenderableType]:
    yield Text.assemble(("Name: ", "dim"), (str(source["name"]), "bold"))
    if source["extended"]:
        rows = [
            ["Type", source["type"]],
            ["Kafka topic", source["topic"]],
            ["Partitions", source["partitions"]],
            ["Replicas", source["replication"]],
            ["Key format", source["keyFormat"]],
            ["Value format", source["valueFormat"]],
            ["Timestamp column", source["timestamp"] or "(of the record)"],
            ["Windows", source["windowType"] or "none"],
            ["Statement", source["statement"]],
        ]
        yield table(["", ""], rows)
    yield table(["Field", "Type"], [_field(each, source["type"]) for each in source["fields"]])
    for title, member in (("Read by", "readQueries"), ("Written by", "writeQueries")):
        if source[member]:
            queries = ", ".join(f"{each['id']} ({each['state']})" for each in source[member])
            yield Text.assemble((f"{title}: ", "dim"), queries)
    if source["extended"]:
        for summary in source["queryOffsetSummaries"]:
            yield from _offsets(summary)


def _field(field: Entity, kind: str) -> list[str]:
    text = type_text(field["schema"])
    if field.get("type") == "KEY":
        text += " (primary key)" if kind == "TABLE" else " (key)"
    elif field.get("type") == "HEADER":
        text += f" (header('{field['headerKey']}'))" if field.get("headerKey") else " (headers)"
    return [str(field["name"]), text]


def _offsets(summary: Entity) -> Iterator[RenderableType]:
    yield Text.assemble(("Consumer group: ", "dim"), str(summary["groupId"]))
    rows = [
        [
            topic["kafkaTopic"],
            each["partition"],
            each["logStartOffset"],
            each["logEndOffset"],
            each["consumerOffset"],
            each["logEndOffset"] - each["consumerOffset"],
        ]
        for topic in summary["topicSummaries"]
        for each in topic["offsets"]
    ]
    yield table(["Kafka topic", "Partition", "Start", "End", "Offset", "Lag"], rows)


def _query(entity: Entity) -> Iterator[RenderableType]:
    yield from _explained(entity["queryDescription"])


def _many_queries(entity: Entity) -> Iterator[RenderableType]:
    for each in entity["queryDescriptions"]:
        yield from _explained(each)
        yield Text("")


def _explained(query: Entity) -> Iterator[RenderableType]:
    rows = [
        ["ID", query["id"]],
        ["Type", query["queryType"]],
        ["State", query.get("state") or _counted(query.get("ksqlHostQueryStatus"))],
        ["SQL", query["statementText"]],
        ["Sources", ", ".join(query["sources"])],
        ["Sinks", ", ".join(query["sinks"])],
    ]
    yield table(["", ""], [row for row in rows if row[1]])
    yield table(["Field", "Type"], [_field(each, "") for each in query["fields"]])
    if query.get("overriddenProperties"):
        yield table(["Property", "Value"], list(query["overriddenProperties"].items()))
    for each in query.get("queryErrors") or ():
        yield Text(f"{each['type']}: {each['errorMessage']}", style="red")
    yield Text(str(query["topology"]).rstrip())


def _connectors(entity: Entity) -> Iterator[RenderableType]:
    rows = [
        [each["name"], each["type"], each["className"], each["state"]]
        for each in entity["connectors"]
    ]
    yield table(["Connector", "Type", "Class", "Status"], rows)


def _terminated(entity: Entity) -> Iterator[RenderableType]:
    done = "was terminated" if entity["wasTerminated"] else "could not be terminated"
    yield Text(f"Query {entity['queryId']} {done}.")


def _asserted(entity: Entity) -> Iterator[RenderableType]:
    what = entity.get("topicName") or entity.get("subject") or f"schema {entity.get('id')}"
    yield Text(f"{what} {'exists' if entity['exists'] else 'does not exist'}.")


def _as_json(entity: Entity) -> Iterator[RenderableType]:
    yield Text(to_json(entity, indent=True))


_SHOWN: dict[str, Callable[[Entity], Iterator[RenderableType]]] = {
    "assert_schema": _asserted,
    "assert_topic": _asserted,
    "connector_list": _connectors,
    "currentStatus": _status,
    "describe_function": _function,
    "function_names": _functions,
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics,
    "properties": _properties,
    "queries": _queries,
    "queryDescription": _query,
    "query_descriptions": _many_queries,
    "sourceDescription": _source,
    "source_descriptions": _many_sources,
    "streams": _sources("streams"),
    "tables": _sources("tables"),
    "terminate_query": _terminated,
    "type_list": _types,
    "variables": _variables,
    "warning_entity": _message,
}
