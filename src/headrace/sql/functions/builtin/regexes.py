"""Functions of regular expressions."""

from __future__ import annotations

from headrace.sql.functions.java_regex import java_regex
from headrace.sql.functions.library import Library
from headrace.sql.functions.sizes import check_items

library = Library("REGULAR EXPRESSION")


@library.scalar(
    "regexp_extract",
    "(STRING pattern, STRING input) -> STRING",
    "(STRING pattern, STRING input, INT group) -> STRING",
)
def regexp_extract(pattern: str, text: str, group: int = 0) -> str | None:
    """The first match of a pattern in text, or a group of it."""
    regex = java_regex(pattern)
    if group > regex.groups:
        return None
    match = regex.find(text)
    return None if match is None else match[group]


@library.scalar(
    "regexp_extract_all",
    "(STRING pattern, STRING input) -> ARRAY<STRING>",
    "(STRING pattern, STRING input, INT group) -> ARRAY<STRING>",
)
def regexp_extract_all(pattern: str, text: str, group: int = 0) -> list[str | None] | None:
    """All matches of a pattern in text, or a group of each."""
    regex = java_regex(pattern)
    if group > regex.groups:
        return None
    found: list[str | None] = []
    for match in regex.find_all(text):
        found.append(match[group])
        check_items(len(found))
    return found


@library.scalar("regexp_replace", "(STRING str, STRING regexp, STRING newStr) -> STRING")
def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Text with all matches of a pattern replaced."""
    return java_regex(pattern).replace(text, replacement)


@library.scalar("regexp_split_to_array", "(STRING string, STRING regexp) -> ARRAY<STRING>")
def regexp_split_to_array(text: str, pattern: str) -> list[str]:
    """The parts of text between the matches of a pattern."""
    regex = java_regex(pattern)
    check_items(len(text))
    if regex.matches(""):
        return list(text) or [""]
    return regex.between(text)
