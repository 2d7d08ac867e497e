"""Masking: statements without the values that only their author should see, as ksqlDB has them:
those of connectors, and of settings that are secret."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.core.masking import is_secret_name

_HIDDEN = "'[string]'"
_CONNECTOR = re.compile(r"\bCONNECTOR\b", re.IGNORECASE)
_TEXT = re.compile(r"'((?:[^']|'')*)('|\Z)")
_IS_NAME = re.compile(r"\s*=")
_OF_SETTING = re.compile(r"'([^']*)'\s*=\s*\Z")


def masked_statement(sql: str) -> str:
    """The statement, whether it can be parsed or not."""
    parts, end = [], 0
    for found in _secrets(sql):
        parts += [sql[end : found.start()], _HIDDEN]
        end = found.end()
    return "".join(parts) + sql[end:]


def masked_message(message: str, sql: str) -> str:
    """What is said about a statement: it may quote what is wrong with it."""
    for found in _secrets(sql):
        if found[1]:
            message = message.replace(found[1], "[string]")
    return message


def _secrets(sql: str) -> Iterator[re.Match[str]]:
    in_connector = _CONNECTOR.search(sql) is not None
    for found in _TEXT.finditer(sql):
        if _IS_NAME.match(sql, found.end()):
            continue
        named = _OF_SETTING.search(sql, 0, found.start())
        if in_connector or (named is not None and is_secret_name(named[1])):
            yield found
