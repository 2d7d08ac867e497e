"""An application's numbers for Prometheus, in its text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.app.lifecycle import State
from headrace.app.status import Status

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class _Family(NamedTuple):
    """`samples` are values by label."""

    name: str
    kind: str
    doc: str
    label: str
    samples: Iterable[tuple[str, float]]


def exposition(status: Status, application_id: str) -> bytes:
    """What is known of an application."""
    lines: list[str] = []
    for family in _families(status):
        lines.append(f"# HELP {family.name} {family.doc}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for value, number in family.samples:
            labels = f'application_id="{application_id}"'
            if family.label:
                labels += f',{family.label}="{value.translate(_ESCAPES)}"'
            lines.append(f"{family.name}{{{labels}}} {float(number)}")
    return "\n".join([*lines, ""]).encode()


def _families(status: Status) -> Iterator[_Family]:
    def gauge(name: str, doc: str, value: float) -> _Family:
        return _Family(f"headrace_{name}", "gauge", doc, "", [("", value)])

    def counter(name: str, doc: str, value: float) -> _Family:
        return _Family(f"headrace_{name}_total", "counter", doc, "", [("", value)])

    states = [(state.value, float(state is status.state)) for state in State]
    yield _Family("headrace_state", "gauge", "1 for the state it is in.", "state", states)
    yield counter("records", "Records processed.", status.records_total)
    yield counter("batches", "Batches committed.", status.batches)
    yield gauge("batch_seconds", "How long the last batch took.", status.batch_ms / 1000)
    if status.lag is not None:
        yield gauge("lag_records", "Records that wait to be processed.", status.lag)
    yield gauge("restoring_stores", "Store partitions being restored.", len(status.restoring))
    names = dict.fromkeys(name for report in status.tasks.values() for name in report.metrics)
    for name in names:
        yield _Family(
            f"headrace_task_{name.replace('-', '_')}",
            "counter",
            f"{name} of a task.",
            "task",
            [
                (task, report.metrics[name])
                for task, report in sorted(status.tasks.items())
                if name in report.metrics
            ],
        )
