"""What a task tells the driver about a batch."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from headrace.core import errors
from headrace.core.errors import HeadraceError, StreamsError
from headrace.metrics.recorder import Measurement


@dataclass(frozen=True, slots=True)
class Failure:
    """An error on its way from a worker to the driver."""

    kind: str
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        shown = error.__cause__ or error
        known = (kind.__name__ for kind in type(error).__mro__ if _is_known(kind))
        kind = next(known, type(error).__name__)
        return cls(kind, str(error), "".join(traceback.format_exception(shown)))

    def error(self) -> HeadraceError:
        """The error as the driver raises it; its cause shows the worker's traceback."""
        kind = getattr(errors, self.kind, None)
        if kind is not None and _is_known(kind):
            error: HeadraceError = kind(self.message)
        else:
            error = StreamsError(f"{self.kind}: {self.message}")
        error.__cause__ = RemoteTraceback(self.trace)
        return error


def _is_known(kind: type) -> bool:
    """Whether it is one of the errors that everybody knows, rather than a layer's own."""
    return issubclass(kind, HeadraceError) and kind.__module__ == errors.__name__


class RemoteTraceback(Exception):
    """Shows the traceback of a worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


@dataclass(frozen=True, slots=True)
class TaskReport:
    """One task's part of a batch. `steps` are milliseconds by step, of the whole slot."""

    task: str
    slot: int
    worker: str
    records: int = 0
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    """Committed offsets, by topic and partition."""
    metrics: list[Measurement] = field(default_factory=list)
    """What the task has measured since its last report, in whichever process that was."""
    slot_metrics: list[Measurement] = field(default_factory=list)
    """The same of its slot, in the first report of a batch."""
    global_metrics: list[Measurement] = field(default_factory=list)
    """The same of the global stores that the slot brought up to date, in the first report."""
    restored: int = 0
    steps: dict[str, float] = field(default_factory=dict)
    node: str | None = None
    """The state directory that it has, see Nodes."""
    is_complete: bool = True
    """False: rows of the batch were left, as the slot was asked to stop."""
    wake_at_ms: int | None = None
    """When the task wants to look at the wall clock next."""
    failure: Failure | None = None

    def to_json(self) -> bytes:
        return orjson.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: bytes | str) -> TaskReport:
        fields: dict[str, Any] = orjson.loads(text)
        if fields["failure"] is not None:
            fields["failure"] = Failure(**fields["failure"])
        for measured in ("metrics", "slot_metrics", "global_metrics"):
            fields[measured] = [
                (key, tuple(tags), tuple(values)) for key, tags, values in fields[measured]
            ]
        return cls(**fields)


def error_in(reports: Iterable[TaskReport]) -> HeadraceError | None:
    """The first error that is reported."""
    failures = (report.failure for report in reports if report.failure is not None)
    return next((failure.error() for failure in failures), None)
