"""Lookups in stores whose partitions are on several hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import StoreNotAvailableError
from headrace.query.pages import Cursor
from headrace.server.answers import KeyMetadata, Lookup
from headrace.server.application import Places
from headrace.server.elsewhere import Elsewhere
from headrace.server.lookups import Lookups
from headrace.server.routes import Parameters


class SpreadLookups:
    """The same as Lookups: what is here is answered from here, for the rest other hosts are
    asked. A scan goes through one partition after the other, as it does on one host."""

    def __init__(self, here: Lookups, places: Places, elsewhere: Elsewhere) -> None:
        self._here = here
        self._places = places
        self._elsewhere = elsewhere

    def value(self, asked: Parameters) -> Any:
        number = asked["partition"]
        if number is None:
            number = self._places.partition_of(asked["store"], self._here.key_of(asked))
        return self._part("value", self._here.value, _of(asked, number))

    def entries(self, asked: Parameters) -> Any:
        return self._page("entries", self._here.entries, asked)

    def windows(self, asked: Parameters) -> Any:
        return self._page("windows", self._here.windows, asked)

    def sessions(self, asked: Parameters) -> Any:
        return self._page("sessions", self._here.sessions, asked)

    def versions(self, asked: Parameters) -> Any:
        return self._page("versions", self._here.versions, asked)

    def where(self, asked: Parameters) -> KeyMetadata:
        return self._here.where(asked)

    def _page(
        self, lookup: Lookup, handle: Callable[[Parameters], Any], asked: Parameters
    ) -> dict[str, Any]:
        cursor = None if asked["cursor"] is None else Cursor.from_text(asked["cursor"])
        numbers = self._places.partitions(asked["store"])
        if asked["partition"] is not None:
            numbers = [number for number in numbers if number == asked["partition"]]
        items: list[Any] = []
        for number in numbers:
            if cursor is not None and number < cursor.partition:
                continue
            left = asked["limit"] - len(items)
            if not left:
                return {"items": items, "next": Cursor.at_start_of(number).to_text()}
            is_begun = cursor is not None and number == cursor.partition
            part = {**_of(asked, number), "limit": left}
            part["cursor"] = asked["cursor"] if is_begun else None
            found = self._part(lookup, handle, part)
            items += found["items"]
            if found["next"] is not None:
                return {"items": items, "next": found["next"]}
        return {"items": items, "next": None}

    def _part(self, lookup: Lookup, handle: Callable[[Parameters], Any], asked: Parameters) -> Any:
        """What one partition answers."""
        stale = asked["stale"] == "true"
        host = self._places.place(asked["store"], asked["partition"], stale=stale)
        if host is not None:
            if asked["only_here"] == "true":
                raise StoreNotAvailableError(
                    f"Partition {asked['partition']} of store {asked['store']} was moved elsewhere."
                )
            only_here = "true" if self._places.knows_all else "false"
            return self._elsewhere.ask(host, lookup, {**asked, "only_here": only_here})
        found = handle(asked)
        return found if lookup == "value" else {"items": found.items, "next": found.next}


def _of(asked: Parameters, partition: int) -> dict[str, Any]:
    return {**asked, "partition": partition}
