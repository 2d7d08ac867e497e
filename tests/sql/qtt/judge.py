"""Runs a case of either suite."""

from __future__ import annotations

import httpx

from headrace.core.errors import HeadraceError

from .cases import Case
from .http_server import RealServer
from .rest import run_rest
from .run import run


def judged(case: Case) -> str | None:
    """Why the case fails, or None if it passes."""
    if case.suite == "qtt":
        return run(case)
    with RealServer() as server:
        try:
            return run_rest(case, server)
        except (AssertionError, HeadraceError, httpx.HTTPError) as error:
            return f"{type(error).__name__}: {error}"
