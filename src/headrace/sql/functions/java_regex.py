"""Regular expressions of Java, with Python's engine."""

from __future__ import annotations

import re
from functools import lru_cache

_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0B\f\r",
    "L": "^\\W\\d_",
    "IsAlphabetic": "^\\W\\d_",
    "N": r"\d",
    "Nd": r"\d",
    "IsDigit": r"\d",
}
_DIFFERENT = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|\\(?P<negated>[pP])(?:\{(?P<name>\w+)\}|(?P<letter>[A-Z]))"
    r"|\\(?P<escape>.)"
    r"|(?P<group>\(\?<(?![=!]))",
    re.DOTALL,
)
_ESCAPES = {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t\xA0]", "R": r"(?:\r\n|[\n\r])", "e": r"\x1B"}


@lru_cache(maxsize=10_000)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Java's pattern as Python's; ValueError if it can't be one."""
    in_class = _positions_in_classes(pattern)

    def translated(match: re.Match[str]) -> str:
        if match["quoted"] is not None:
            return re.escape(match["quoted"])
        if match["group"] is not None:
            return match[0] if match.start() in in_class else "(?P<"
        if match["negated"] is not None:
            name = match["name"] or match["letter"]
            content = _CLASSES.get(name.removeprefix("Is")) or _CLASSES.get(name)
            if content is None:
                raise ValueError(f"Unknown character property name {{{name}}} in {pattern}")
            if match.start() in in_class:
                if match["negated"] == "P" or content.startswith("^"):
                    raise ValueError(f"{match[0]} isn't supported in a character class: {pattern}")
                return content
            negated = (match["negated"] == "P") != content.startswith("^")
            return f"[{'^' if negated else ''}{content.removeprefix('^')}]"
        return _ESCAPES.get(match["escape"], match[0])

    try:
        return re.compile(_DIFFERENT.sub(translated, pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"{error} in the regular expression {pattern}") from error


def _positions_in_classes(pattern: str) -> frozenset[int]:
    """The positions between `[` and `]`."""
    found, at, depth = [], 0, 0
    while at < len(pattern):
        character = pattern[at]
        if depth:
            found.append(at)
        if character == "\\":
            at += 1
        elif character == "[":
            depth += 1
        elif character == "]" and depth:
            depth -= 1
        at += 1
    return frozenset(found)


_REFERENCE = re.compile(r"\\(.)|\$(?:\{(\w+)\}|(\d+))|(\$|\\)", re.DOTALL)


def replaced(text: str, pattern: str, replacement: str) -> str:
    """Java's `replaceAll`: `$1` and `${name}` are groups, `\\` takes the next as it is."""
    regex = java_regex(pattern)

    def expand(match: re.Match[str]) -> str:
        def part(reference: re.Match[str]) -> str:
            literal, name, number, stray = reference.groups()
            if stray is not None:
                raise ValueError(f"Illegal group reference in {replacement}")
            if literal is not None:
                return str(literal)
            if name is not None:
                return match[name] or ""
            # Java takes as many digits as there are groups for.
            digits = number[0]
            for digit in number[1:]:
                if int(digits + digit) > regex.groups:
                    break
                digits += digit
            if int(digits) > regex.groups:
                raise ValueError(f"No group {digits}")
            return (match[int(digits)] or "") + number[len(digits) :]

        return _REFERENCE.sub(part, replacement)

    return regex.sub(expand, text)
