"""Completion of keywords and names while one types."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from headrace.cli.shell.client import KsqlClient, ServerError
from headrace.cli.shell.commands import HELP

_KEYWORDS = """
ALL ALTER AND ARRAY AS ASSERT AVRO BETWEEN BIGINT BOOLEAN BY BYTES CASE CAST CHANGES CONNECTOR
CONNECTORS CREATE DATE DECIMAL DEFINE DELETE DELIMITED DESCRIBE DISTINCT DOUBLE DROP ELSE EMIT
END EXISTS EXPLAIN EXTENDED FALSE FINAL FROM FULL FUNCTION FUNCTIONS GRACE GROUP HAVING HEADER
HEADERS HOPPING IF IN INNER INSERT INT INTEGER INTO IS JOIN JSON JSON_SR KAFKA KAFKA_TOPIC KEY
KEY_FORMAT LEFT LIKE LIMIT LIST MAP NONE NOT NULL ON OR OUTER PARTITION PARTITIONS PAUSE PERIOD
PRIMARY PRINT PROPERTIES PROTOBUF QUERIES REPLACE RESUME RETENTION RIGHT ROWOFFSET ROWPARTITION
ROWTIME SELECT SESSION SET SHOW SIZE SOURCE STREAM STREAMS STRING STRUCT TABLE TABLES TERMINATE
THEN TIME TIMESTAMP TOPIC TOPICS TRUE TUMBLING TYPE TYPES UNDEFINE UNSET VALUES VALUE_FORMAT
VARCHAR VARIABLES WHEN WHERE WINDOW WINDOWEND WINDOWSTART WITH WITHIN
"""
KEYWORDS = tuple(_KEYWORDS.split())
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_COMMANDS = tuple(word for name, _ in HELP for word in name.split("[")[0].split()[:1])


class Names:
    """Names that the server knows: sources, their columns, functions, topics and queries."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        """By name: what it is."""
        self._loading: threading.Thread | None = None

    def refresh(self, client: KsqlClient) -> None:
        """Ask for them, in a thread of its own, so that nobody must wait for it."""
        self.wait()
        self._loading = threading.Thread(target=self.load, args=(client,), name="names")
        self._loading.start()

    def wait(self) -> None:
        """Until they have been asked for."""
        if self._loading is not None:
            self._loading.join()

    def load(self, client: KsqlClient) -> None:
        words: dict[str, str] = {}
        for sql in ("LIST FUNCTIONS;", "DESCRIBE STREAMS;", "DESCRIBE TABLES;", "LIST QUERIES;"):
            try:
                for entity in client.execute(sql, {}, {}):
                    words.update(_names(entity))
            except ServerError:
                continue  # what can't be asked for is not completed
        self.words = words


def _names(entity: dict[str, Any]) -> dict[str, str]:
    words: dict[str, str] = {}
    for each in entity.get("functions") or ():
        words[each["name"]] = "function"
    for each in entity.get("queries") or ():
        words[each["id"]] = "query"
    for each in entity.get("sourceDescriptions") or ():
        for field in each["fields"]:
            words.setdefault(field["name"], "column")
        words[each["topic"]] = "topic"
        words[each["name"]] = str(each["type"]).lower()
    return words


class SqlCompleter(Completer):
    """Words that begin with what is typed, in any case."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        typed = document.get_word_before_cursor(pattern=_WORD)
        if not typed:
            return
        known = dict.fromkeys(KEYWORDS, "")
        if not document.text_before_cursor.removesuffix(typed).strip():
            known |= dict.fromkeys(_COMMANDS, "command")
        known |= self._names.words
        lower = typed.islower()
        for word in sorted(known, key=str.upper):
            if word.upper().startswith(typed.upper()) and word != typed:
                shown = word.lower() if lower and word.isupper() else word
                yield Completion(shown, -len(typed), display_meta=known[word])
