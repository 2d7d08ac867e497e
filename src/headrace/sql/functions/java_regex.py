"""Regular expressions of Java, matched by RE2: in time that grows with the text, and no faster.

An engine that tries one way after another, as Java's and Python's do, can take years for thirty
letters. What RE2 can't do for that reason is refused: references to groups, and looking ahead or
behind. It also lets other threads run meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from headrace.sql.functions.regex_syntax import translated
from headrace.sql.functions.sizes import check_text

_MOST_PATTERN = 10_000
_MOST_STEPS = 1_000_000_000
"""Letters of a text, times the states of an expression."""
_MOST_SCANNED = 20_000_000_000
"""Letters looked at for all matches in a text: each search may go to its end."""
_MEMORY = 1 << 20
_KEPT = 200
_SPECIAL = re.compile(r"[$\\]")
"""In replacements."""


class Match:
    """A match, and its groups."""

    __slots__ = ("_match", "end", "start")

    def __init__(self, match: Any) -> None:
        self._match = match
        self.start, self.end = match.span()
        """In the bytes of the text."""

    def __getitem__(self, group: int) -> str | None:
        found = self._match[group]
        return None if found is None else _decode(found)


class JavaRegex:
    """A pattern. Raises ValueError if there is something in it that can't be done."""

    def __init__(self, pattern: str) -> None:
        re2, options = _engine()
        try:
            self._compiled: Any = re2.compile(_encode(translated(pattern)), options)
        except re2.error as error:
            raise ValueError(
                f"{_decode(error.args[0])} in the regular expression {pattern}"
            ) from error
        self.groups: int = self._compiled.groups
        self.names: dict[str, int] = {
            name.decode(): group for name, group in self._compiled.groupindex.items()
        }
        self._most_text = _MOST_STEPS // max(self._compiled.programsize, 1)

    def matches(self, text: str) -> bool:
        """Whether the whole text does."""
        return self._compiled.fullmatch(self._bytes(text)) is not None

    def find(self, text: str) -> Match | None:
        """The first match."""
        return next(self._find(self._bytes(text)), None)

    def find_all(self, text: str) -> Iterator[Match]:
        """One after another, none over another."""
        return self._find(self._bytes(text))

    def between(self, text: str) -> list[str]:
        """The parts of a text around the matches."""
        data, parts, at = self._bytes(text), [], 0
        for match in self._find(data):
            parts.append(_decode(data[at : match.start]))
            at = match.end
        return [*parts, _decode(data[at:])]

    def replace(self, text: str, replacement: str) -> str:
        """Java's `replaceAll`: `$1` and `${name}` are groups, `\\` takes the next as it is."""
        data, at, size = self._bytes(text), 0, 0
        parts: list[str] = []
        template = self._template(replacement)
        for match in self._find(data):
            expanded = "".join(
                [part if isinstance(part, str) else match[part] or "" for part in template]
            )
            parts += (_decode(data[at : match.start]), expanded)
            size += match.start - at + len(expanded)
            check_text(size)
            at = match.end
        return "".join((*parts, _decode(data[at:])))

    def _find(self, data: bytes) -> Iterator[Match]:
        search, at, scanned = self._compiled.search, 0, 0
        while at <= len(data):
            scanned += len(data) - at
            if scanned > _MOST_SCANNED:
                raise ValueError("The text is too long for so many matches")
            found = search(data, at)
            if found is None:
                return
            match = Match(found)
            if _is_within(data, match.start):  # RE2 looks at bytes
                at = match.start + 1
                continue
            yield match
            at = match.end
            if match.start == at:
                at += 1
                while _is_within(data, at):
                    at += 1

    def _template(self, replacement: str) -> list[str | int]:
        """Text and numbers of groups."""
        parts: list[str | int] = []
        at = 0
        for special in _SPECIAL.finditer(replacement):
            if special.start() < at:  # it belongs to the one before
                continue
            parts.append(replacement[at : special.start()])
            at = special.end()
            if special[0] == "$":
                group, at = self._reference(replacement, at)
                parts.append(group)
            elif at == len(replacement):
                raise ValueError(f"Illegal group reference in {replacement}")
            else:
                parts.append(replacement[at])
                at += 1
        return [*parts, replacement[at:]]

    def _reference(self, replacement: str, at: int) -> tuple[int, int]:
        """A group that is referred to, and where that ends."""
        if replacement.startswith("{", at) and (end := replacement.find("}", at)) > 0:
            name = replacement[at + 1 : end]
            if name not in self.names:
                raise ValueError(f"No group with name {{{name}}}")
            return self.names[name], end + 1
        end = at
        # Java takes as many digits as there are groups for.
        while end < len(replacement) and replacement[end] in "0123456789":
            if end > at and int(replacement[at : end + 1]) > self.groups:
                break
            end += 1
        if end == at:
            raise ValueError(f"Illegal group reference in {replacement}")
        group = int(replacement[at:end])
        if group > self.groups:
            raise ValueError(f"No group {group}")
        return group, end

    def _bytes(self, text: str) -> bytes:
        data = _encode(text)
        if len(data) > self._most_text:
            raise ValueError(
                f"A text of {len(data):,} bytes is too long for so large a regular expression"
            )
        return data


@lru_cache(maxsize=_KEPT)
def java_regex(pattern: str) -> JavaRegex:
    """A pattern of a user, which may come again."""
    if len(pattern) > _MOST_PATTERN:
        raise ValueError(f"A regular expression may have {_MOST_PATTERN:,} characters")
    return JavaRegex(pattern)


@cache
def _engine() -> tuple[Any, Any]:
    """RE2 and its options. It is loaded when the first expression is needed."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return re2, options


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _is_within(data: bytes, at: int) -> bool:
    """Whether a position is inside of a character."""
    return at < len(data) and data[at] & 0xC0 == 0x80
