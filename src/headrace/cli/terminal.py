"""What people see: colours and boxes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import importlib
import logging
import traceback
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from headrace.core.errors import (
    BrokerError,
    ConfigError,
    FencedError,
    HeadraceError,
    LockError,
    MissingTopicError,
    ProcessingError,
    SerializationError,
    TopologyError,
)
from headrace.core.json_logs import JsonFormatter
from headrace.core.own_code import is_own_code

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_IMPORTLIB = Path(importlib.__file__).parent


class UserCodeError(ConfigError):
    """The user's code raised while it was loaded. The original error is its `__cause__`."""


class RemoteError(HeadraceError):
    """An application that was asked says no, or nothing. `status` is HTTP's; None: no answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


_TITLES: list[tuple[type[HeadraceError], str]] = [
    (ConfigError, "Configuration"),
    (TopologyError, "Topology"),
    (MissingTopicError, "Missing topic"),
    (LockError, "State in use"),
    (FencedError, "Taken over"),
    (BrokerError, "Kafka"),
    (ProcessingError, "Processing"),
    (SerializationError, "Serde"),
    (RemoteError, "Application"),
]


def say(line: str) -> None:
    """A plain line on standard output, as it is: neither wrapped nor coloured."""
    print(line)


def note(line: str) -> None:
    """A remark for people: on standard error, so that it isn't mixed up with data."""
    err.print(line, markup=False, soft_wrap=True, style="dim" if err.is_terminal else "")


def count(number: int, noun: str) -> str:
    """1 record, 2,000 records."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def show_error(error: HeadraceError) -> None:
    """The message, and if the user's own code raised, where it did."""
    title = next((name for kind, name in _TITLES if isinstance(error, kind)), "Error")
    trace = _users_traceback(error)
    if trace:
        err.print(trace, markup=False, soft_wrap=True)
    if err.is_terminal:
        err.print(Panel(Text(str(error)), title=title, title_align="left", border_style="red"))
    else:
        err.print(f"headrace: {title}: {error}", markup=False, soft_wrap=True)


def log_to_stderr(level: int, *, as_json: bool = False) -> None:
    """Show what is logged, in the same place as everything else that people read; or as lines of
    JSON, for machines."""
    handler: logging.Handler
    if as_json:
        handler = logging.StreamHandler()
        handler.setFormatter(JsonFormatter())
    elif err.is_terminal:
        from rich.logging import RichHandler

        handler = RichHandler(console=err, show_path=False, log_time_format="%H:%M:%S")
        handler.setFormatter(logging.Formatter("%(message)s"))
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("py4j").setLevel(logging.INFO)
    if level > logging.DEBUG:
        # They complain while it is tried again; what counts comes as an error.
        for noisy in ("py4j", "pyspark", "headrace.kafka.client"):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)


def _users_traceback(error: HeadraceError) -> str:
    cause = error.__cause__
    if cause is None or not isinstance(error, ProcessingError | UserCodeError):
        return ""
    from headrace.engine.report import RemoteTraceback

    if isinstance(cause, RemoteTraceback):
        return str(cause).strip()
    told = traceback.TracebackException.from_exception(cause)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if not _is_machinery(frame.filename)]
    )
    return "".join(told.format(chain=False)).rstrip()


def _is_machinery(filename: str) -> bool:
    return (
        filename.startswith("<frozen importlib")
        or Path(filename).parent == _IMPORTLIB
        or is_own_code(filename)
    )
