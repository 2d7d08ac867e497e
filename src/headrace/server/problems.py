"""Why a request can't be answered, as RFC 9457 has it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.core.errors import (
    ArgumentError,
    BrokerError,
    HeadraceError,
    NotStartedError,
    RebalancingError,
    StateError,
    StoppedError,
    StoreNotAvailableError,
    UnknownPartitionError,
    UnknownStoreError,
)
from headrace.server.answers import Problem

MEDIA_TYPE = "application/problem+json"

TITLES = {
    400: "The request is wrong",
    401: "A token is needed",
    403: "Not from there",
    404: "There is no such thing",
    405: "Not with this method",
    406: "Not in this format",
    408: "The request came too slowly",
    413: "The request is too large",
    415: "The request has a body that can't be read",
    429: "Too many requests",
    500: "Something is broken here",
    503: "Not now",
}

_SOON_S = 1
_LATER_S = 10


class ProblemError(Exception):
    """Ends a request. `kind` is a word for programs, `hint` says what to do."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(
            f"urn:headrace:problem:{kind}",
            TITLES[status],
            status,
            without_paths(detail),
            kind,
            hint,
        )
        self.headers = dict(headers or {})


def bad_request(kind: str, detail: str, hint: str | None = None) -> ProblemError:
    return ProblemError(400, kind, detail, hint)


def not_now(kind: str, detail: str, hint: str, after_s: int = _SOON_S) -> ProblemError:
    return ProblemError(503, kind, detail, hint, {"Retry-After": str(after_s)})


def problem_of(error: Exception) -> ProblemError | None:
    """What to answer to an error of Headrace's; None if it should not have happened."""
    match error:
        case ProblemError():
            return error
        case UnknownStoreError():
            return ProblemError(404, "unknown-store", str(error), "GET /v1/stores lists them.")
        case UnknownPartitionError():
            return ProblemError(404, "unknown-partition", str(error))
        case NotStartedError():
            return not_now("not-started", str(error), "Ask again when it runs.", _LATER_S)
        case RebalancingError():
            return not_now("rebalancing", str(error), "Ask again soon.")
        case StoreNotAvailableError():
            return not_now("store-not-available", str(error), "Ask again soon.")
        case StoppedError():
            return not_now("stopped", str(error), "Ask again when it was started anew.", _LATER_S)
        case StateError():
            return not_now("wrong-time", str(error), "Ask again when it runs.", _LATER_S)
        case ArgumentError():
            return bad_request("bad-argument", str(error))
        case BrokerError():
            return not_now("kafka-unreachable", str(error), "Ask again later.", _LATER_S)
        case HeadraceError():
            return None
    return None


_PATH = re.compile(r"(?<![\w/:.])/(?:[\w.@+-]+/)+([\w.@+-]*)")


def without_paths(text: str) -> str:
    """A text for people elsewhere, who have no business with the directories of this machine."""
    return _PATH.sub(r"…/\1", text)
