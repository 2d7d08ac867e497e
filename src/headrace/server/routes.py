"""Routes: what can be asked, with which parameters, and what is answered.

One table serves the router, the checks of parameters, and the OpenAPI document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from headrace.core.windowed import LONG_MAX
from headrace.server.problems import ProblemError, bad_request

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True)
class Parameter:
    """A part of the path, or of what follows the question mark."""

    name: str
    doc: str
    kind: Literal["text", "integer"] = "text"
    where: Literal["query", "path"] = "query"
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = LONG_MAX

    def read(self, text: str) -> Any:
        if self.kind == "integer":
            if not _INTEGER.fullmatch(text):
                raise self._wrong(text, "a whole number")
            number = int(text)
            if not self.minimum <= number <= self.maximum:
                raise self._wrong(text, f"from {self.minimum} to {self.maximum}")
            return number
        if self.choices and text not in self.choices:
            raise self._wrong(text, f"one of {', '.join(self.choices)}")
        return text

    def schema(self) -> dict[str, Any]:
        form: dict[str, Any] = {"type": "string" if self.kind == "text" else "integer"}
        if self.choices:
            form["enum"] = [*self.choices]
        if self.kind == "integer":
            form |= {"minimum": self.minimum, "maximum": self.maximum}
        if self.default is not None:
            form["default"] = self.default
        return form

    def _wrong(self, text: str, wanted: str) -> ProblemError:
        return bad_request(
            "bad-parameter", f"{self.name} must be {wanted}, not {text[:80]!r}.", self.doc
        )


Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Route:
    """`handle` makes the answer of the parameters. It must not block, unless `blocks` says so: then
    it has a thread of its own. `problems` are the statuses it may answer with besides those that
    every route may."""

    method: Literal["GET", "POST"]
    path: str
    answer: type
    handle: Callable[[Parameters], Any]
    summary: str
    parameters: tuple[Parameter, ...] = ()
    problems: tuple[int, ...] = ()
    blocks: bool = False
    is_open: bool = False
    """It needs no token."""
    also_answers: tuple[int, ...] = ()
    """Statuses other than 200 that have the same answer."""
    status: Callable[[Any], int] = lambda answer: 200

    def read(self, path: Mapping[str, str], query: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The parameters of a request, all of them: those that it doesn't have are their
        defaults. Raises ProblemError."""
        known = {parameter.name: parameter for parameter in self.parameters}
        values = {name: parameter.default for name, parameter in known.items()}
        given = dict(path)
        for name, text in query:
            if name not in known or known[name].where == "path":
                raise self._unknown(name)
            if name in given:
                raise bad_request("bad-parameter", f"{name} is there twice.")
            given[name] = text
        for parameter in self.parameters:
            if parameter.name in given:
                values[parameter.name] = parameter.read(given[parameter.name])
            elif parameter.required:
                raise bad_request(
                    "missing-parameter", f"{parameter.name} must be given.", parameter.doc
                )
        return values

    def _unknown(self, name: str) -> ProblemError:
        names = [parameter.name for parameter in self.parameters if parameter.where == "query"]
        close = get_close_matches(name, names, 1)
        hint = f"Did you mean {close[0]}?" if close else None
        if hint is None:
            hint = f"There are {', '.join(names)}." if names else "There are none."
        return bad_request("unknown-parameter", f"There is no parameter {name[:80]!r}.", hint)
