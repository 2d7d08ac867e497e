"""Tools: what some tests need beyond Python. Without one they are skipped, and the last lines say
how to get it; in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import pytest


@dataclass(frozen=True, slots=True)
class Tool:
    """Something to have. `remedy` is the command that brings it."""

    name: str
    remedy: str
    programs: tuple[str, ...] = ()
    """Any of these is it."""
    variable: str | None = None
    """The environment's, which names the program."""

    def program(self) -> str:
        """Where it is; skips the test if it is nowhere."""
        named = os.environ.get(self.variable) if self.variable else None
        found = named or next(filter(None, map(shutil.which, self.programs)), None)
        if found is None:
            self.is_missing()
        return found

    def is_missing(self, why: str = "") -> NoReturn:
        """Skips the test, but fails it in CI: there everything has to be tested."""
        reason = f"{self.reason}. {why}".rstrip(". ")
        if os.environ.get("CI", "false").lower() not in ("", "0", "false"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    @property
    def reason(self) -> str:
        return f"{self.name} is missing: {self.remedy}"


CHROMIUM = Tool(
    "Chromium",
    "apt-get install chromium (or name one with the variable CHROMIUM)",
    ("chromium", "chromium-browser", "google-chrome", "chrome"),
    "CHROMIUM",
)
OPENSSL = Tool("OpenSSL", "apt-get install openssl", ("openssl",))
NODE = Tool("Node.js", "apt-get install nodejs npm", ("node",))
NPM = Tool("npm", "apt-get install nodejs npm", ("npm",))
NPM_CLIENTS = Tool("a client of ksqlDB from npm", "npm ci in tests/ksql/clients/node")
PYPI_CLIENT = Tool("ksql-python-ng", "pip install ksql-python-ng (the network)")
JAVA_COMPILER = Tool("A Java compiler", "apt-get install openjdk-17-jdk-headless")
QUERY_CASES = Tool(
    "ksqlDB's set of query validation cases",
    "put it into ../shared/qtt, or say with HEADRACE_QTT_DIR where it is",
)

TOOLS = (CHROMIUM, OPENSSL, NODE, NPM, NPM_CLIENTS, PYPI_CLIENT, JAVA_COMPILER, QUERY_CASES)


def closing_line(reasons: Iterable[str]) -> str | None:
    """What tests were skipped for want of, and how to get it; None if there were none."""
    lacking = Counter(
        tool for reason in reasons for tool in TOOLS if reason.startswith(tool.reason)
    )
    if not lacking:
        return None
    tests = lacking.total()
    wants = "; ".join(f"{tool.reason} ({count})" for tool, count in lacking.most_common())
    return f"{tests} {'test was' if tests == 1 else 'tests were'} not run. {wants}"
