"""Asks other hosts of a cluster for what they have."""

from __future__ import annotations

import ssl
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import orjson

from headrace.app.metadata import HostInfo
from headrace.core.config import StreamsConfig
from headrace.query.local_state import GLOBAL
from headrace.server.answers import Lookup
from headrace.server.problems import ProblemError, not_now
from headrace.server.routes import Parameters

_PATIENCE_S = 10.0


class Elsewhere:
    """Passes lookups on to the host that has a partition, and its answers back."""

    def __init__(self, config: StreamsConfig) -> None:
        self._token: str | None = config["server.token"]
        certificate: str | None = config["server.certificate.file"]
        self._tls = None if certificate is None else ssl.create_default_context(cafile=certificate)

    def ask(self, host: HostInfo, lookup: Lookup, asked: Parameters) -> dict[str, Any]:
        """Raises the problem that the other host tells, or that it doesn't answer."""
        rest = {name: value for name, value in asked.items() if value is not None}
        store = quote(rest.pop("store"), safe="")
        if rest["partition"] == GLOBAL:
            del rest["partition"]
        scheme = "http" if self._tls is None else "https"
        name = f"[{host.host}]" if ":" in host.host else host.host
        address = f"{scheme}://{name}:{host.port}/v1/stores/{store}/{lookup}?{urlencode(rest)}"
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        request = Request(address, headers=headers)  # noqa: S310, http or https
        try:
            with urlopen(request, timeout=_PATIENCE_S, context=self._tls) as response:  # noqa: S310
                found: dict[str, Any] = orjson.loads(response.read())
                return found
        except HTTPError as error:
            with error:
                raise _problem_of(error, error.read()) from None
        except (URLError, OSError, ValueError):
            raise not_now(
                "host-not-reached",
                f"The host that has this, {host.host}:{host.port}, doesn't answer.",
                "Ask again soon: its tasks are moved to another one if it is gone.",
            ) from None


def _problem_of(error: HTTPError, body: bytes) -> ProblemError:
    try:
        form = orjson.loads(body)
        kind, detail, hint = form["kind"], form["detail"], form["hint"]
    except (ValueError, KeyError, TypeError):
        return not_now("host-not-reached", "The host that has this is not well.", "Ask again soon.")
    after = error.headers.get("Retry-After")
    headers = {} if after is None else {"Retry-After": after}
    return ProblemError(error.code, kind, detail, hint, headers)
