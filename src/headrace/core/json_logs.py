"""Logs as lines of JSON, for machines that collect them."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every log record has; the rest was given with `extra`."""


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line: time, level, logger and message, whatever was given as
    `extra`, and the error if there is one.

    Headrace gives task_id, topic, partition and offset wherever a record is at hand, and node and
    stage where a handler is asked.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, without a line end."""
        time = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        fields.update(
            (key, value) for key, value in vars(record).items() if key not in _USUAL | set(fields)
        )
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, _ = record.exc_info
            fields["error"] = {
                "kind": kind.__name__,
                "message": str(error),
                "trace": self.formatException(record.exc_info),
            }
        return json.dumps(fields, default=str, ensure_ascii=False)


def log_as_json() -> None:
    """Have what Headrace logs in this process written to standard error as JSON, once."""
    logger = logging.getLogger("headrace")
    if not any(isinstance(handler.formatter, JsonFormatter) for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(JsonFormatter())
        logger.addHandler(handler)
        logger.propagate = False
