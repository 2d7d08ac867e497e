"""Asking an application that runs elsewhere: its REST server."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

import typer

from headrace.cli.options import configuration
from headrace.cli.terminal import RemoteError
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.masking import masked

_PATIENCE_S = 10.0

# An application is seldom behind a proxy of the environment, and never if it is on this machine.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="The application's address, as http://127.0.0.1:8080. Default: application.server "
        "of the environment (HEADRACE_APPLICATION_SERVER) or of --config.",
    ),
]


class Remote:
    """An application's server. The token goes into a header."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self.url = masked(self._url)
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def get(self, *path: str, **parameters: Any) -> Any:
        """What it answers to GET /v1/…; parameters that are None are left out."""
        url = f"{self._url}/v1/" + "/".join(quote(part, safe="") for part in path)
        given = {name: value for name, value in parameters.items() if value is not None}
        if given:
            url += f"?{urlencode(given)}"
        try:
            request = urllib.request.Request(url, headers=self._headers)  # noqa: S310, see _address
            with _direct.open(request, timeout=_PATIENCE_S) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except json.JSONDecodeError:
            raise RemoteError(
                f"What answers at {self.url} is not a Headrace application."
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise RemoteError(self._why(error)) from error

    def _refusal(self, error: urllib.error.HTTPError) -> RemoteError:
        try:
            problem = json.loads(error.read())
            lines = [str(problem["detail"])]
        except (ValueError, KeyError, TypeError, OSError):
            return RemoteError(
                f"What answers at {self.url} is not a Headrace application: it says {error.code}."
            )
        if error.code == http.client.UNAUTHORIZED:
            lines.append("Set HEADRACE_SERVER_TOKEN to the application's server.token.")
        elif problem.get("hint"):
            lines.append(str(problem["hint"]))
        return RemoteError(" ".join(lines), error.code)

    def _why(self, error: OSError | http.client.HTTPException) -> str:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return (
                f"The certificate of {self.url} can't be trusted: {reason.verify_message}. "
                "SSL_CERT_FILE names a file with certificates to trust."
            )
        return (
            f"No application answers at {self.url} ({_text(reason)}). Is it running, with the "
            "setting application.server? Another address: --server http://HOST:PORT."
        )


def remote(server: str | None, file: Path | None, settings: list[str] | None) -> Remote:
    """The application that the options name. Raises ConfigError."""
    config = configuration(file, settings, None)
    return Remote(_address(server, config), config["server.token"])


def _address(server: str | None, config: StreamsConfig) -> str:
    if server is None:
        server = config["application.server"]
        if server is None:
            raise ConfigError(
                "Which application? Give its address: --server http://127.0.0.1:8080, or "
                "HEADRACE_APPLICATION_SERVER=127.0.0.1:8080."
            )
    if "://" not in server:
        scheme = "http" if config["server.certificate.file"] is None else "https"
        server = f"{scheme}://{server}"
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"--server must be like http://127.0.0.1:8080, but is {masked(server)!r}."
        )
    return server


def _text(reason: object) -> str:
    if isinstance(reason, OSError) and reason.errno is not None:
        return os.strerror(reason.errno) if reason.errno > 0 else str(reason.strerror)
    return str(reason) or type(reason).__name__
