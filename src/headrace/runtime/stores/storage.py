"""Where the stores of a task keep their entries: named maps, and a few numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headrace.core.errors import StreamsError
from headrace.runtime.stores.ordered_map import InMemoryOrderedMap, OrderedMap


class StorageError(StreamsError):
    """The storage of a task failed. No handler is asked: state that can't be read is not a bad
    record."""


class Storage(Protocol):
    """The maps of a task by name, and the facts of its stores.

    A store that is made with a storage which has its maps and facts already goes on where the
    store before it stopped. The maps of store `s` are called `s` or `s/…`; a name of a store has
    no slash in it.
    """

    def map(self, name: str) -> OrderedMap:
        """The map of that name, which is empty at first."""
        ...

    def names(self, prefix: str) -> list[str]:
        """Of the maps that there are already; empty ones may be left out."""
        ...

    def drop(self, name: str) -> None:
        """Forget a map with all its entries. Whoever has it must not use it any more."""
        ...

    def facts(self, store: str) -> Mapping[str, int]:
        """What `Store.facts` was at the last commit; nothing, for a new store."""
        ...


class InMemoryStorage:
    """Lasts as long as it is referred to, and so has no facts from before."""

    def __init__(self) -> None:
        self._maps: dict[str, InMemoryOrderedMap] = {}

    def map(self, name: str) -> OrderedMap:
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = InMemoryOrderedMap()
        return found

    def names(self, prefix: str) -> list[str]:
        return [name for name in self._maps if name.startswith(prefix)]

    def drop(self, name: str) -> None:
        self._maps.pop(name, None)

    def facts(self, store: str) -> Mapping[str, int]:
        return {}
