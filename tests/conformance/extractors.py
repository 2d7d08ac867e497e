"""Timestamp extractors and topic name extractors by name (part 9 of the README)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace import ConsumerRecord, Headers, timestamps

from .functions import boom
from .text import NumberFormatException, parse_long, to_str

Extractor = Callable[[ConsumerRecord, int], int]

_BUILT_IN: dict[str, Extractor] = {
    "record": timestamps.fail_on_invalid,
    "log_and_skip": timestamps.log_and_skip,
    "use_partition_time": timestamps.use_partition_time,
    "wall_clock": timestamps.wall_clock,
}

_JSON_FIELD_POLICIES: dict[str, Extractor] = {
    "json_field_fail": timestamps.fail_on_invalid,
    "json_field_skip": timestamps.log_and_skip,
    "json_field_partition_time": timestamps.use_partition_time,
}


def timestamp_extractor(spec: str) -> Extractor:
    name, _, argument = spec.partition(":")
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _JSON_FIELD_POLICIES:
        return _checked_json_field(argument, _JSON_FIELD_POLICIES[name])
    match name:
        case "partition_time_plus":
            return lambda record, partition_time: partition_time + int(argument)
        case "json_field":
            return lambda record, partition_time: _json_field(record, argument)
        case "string_ts":
            return lambda record, partition_time: _leading_number(record)
        case "fail":
            return _fail
    raise KeyError(name)


def _json_field(record: ConsumerRecord, name: str) -> int:
    field = record.value.get(name) if isinstance(record.value, dict) else None
    return int(field) if isinstance(field, int | float) and not isinstance(field, bool) else -1


def _checked_json_field(name: str, policy: Extractor) -> Extractor:
    def extract(record: ConsumerRecord, partition_time: int) -> int:
        return policy(record._replace(timestamp=_json_field(record, name)), partition_time)

    return extract


def _leading_number(record: ConsumerRecord) -> int:
    try:
        return parse_long(to_str(record.value).partition(":")[0])
    except NumberFormatException:
        return -1


def _fail(record: ConsumerRecord, partition_time: int) -> int:
    raise boom("extractor")


@dataclass(frozen=True)
class TopicNameExtractor:
    """Its text is the spec itself, which `describe` shows."""

    spec: str

    def __call__(self, key: Any, value: Any, context: Any) -> str:
        name, _, argument = self.spec.partition(":")
        match name:
            case "by_key":
                return argument + to_str(key)
            case "by_first_char":
                return argument + ("none" if value is None else to_str(value)[:1] or "none")
            case "by_source_topic":
                return argument + to_str(context.topic)
            case "by_ts_parity":
                return argument + ("even" if context.timestamp % 2 == 0 else "odd")
            case "by_header":
                header = Headers(context.headers).last(argument)
                return "out-" + ("none" if header is None else header.decode())
        raise KeyError(name)

    def __str__(self) -> str:
        return self.spec
