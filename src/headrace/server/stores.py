"""Which stores there are, and what they can be asked."""

from __future__ import annotations

from difflib import get_close_matches

from headrace.core.errors import ConfigError, UnknownStoreError
from headrace.engine.plan import Plan, full_name
from headrace.query.keys import usual_encoding
from headrace.runtime.serdes import SerdeResolver
from headrace.server.answers import Encoding, Lookup, Store, StoreKind, Stores
from headrace.server.application import Application
from headrace.topology.stores import (
    Backend,
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)

_KINDS: dict[type[StoreSpec], tuple[StoreKind, list[Lookup]]] = {
    KeyValueStoreSpec: ("key-value", ["value", "entries"]),
    VersionedStoreSpec: ("versioned", ["value", "versions"]),
    WindowStoreSpec: ("window", ["windows"]),
    SessionStoreSpec: ("session", ["sessions"]),
}


class StoreList:
    """The stores of a topology. They are known before the application runs."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._plan: Plan | None = None
        self._known: dict[str, Store] = {}

    def all(self) -> Stores:
        return Stores([*self._stores().values()])

    def one(self, name: str) -> Store:
        known = self._stores()
        if name not in known:
            close = get_close_matches(name, known, 1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise UnknownStoreError(f"The topology has no store {name[:80]!r}.{meant}")
        return known[name]

    def _stores(self) -> dict[str, Store]:
        """Every lookup needs one, so they are made once for a plan."""
        plan = self._application.plan
        if not self._known or plan is not self._plan:
            names = self._application.topology.stores
            self._plan, self._known = plan, {name: self._described(name) for name in names}
        return self._known

    def _described(self, name: str) -> Store:
        application = self._application
        topology, config, plan = application.topology, application.config, application.plan
        spec = topology.stores[name]
        kind, lookups = _KINDS.get(type(spec), ("internal", []))
        is_global = name in topology.global_stores
        users = [part for part in topology.subtopologies() if name in part.stores]
        part = next((part.id for part in users if part.is_global == is_global), None)
        source = topology.source_topics_of_stores.get(name)
        changelog = f"{config.application_id}-{name}-changelog" if spec.logging else None
        if source is not None:
            changelog = full_name(topology, config.application_id, source)
        backend = spec.backend or Backend(config["dsl.store.suppliers.class"])
        partitions = () if plan is None or is_global else plan.tasks
        return Store(
            name=name,
            kind=kind,
            timestamped=bool(getattr(spec, "timestamped", False)),
            is_global=is_global,
            persistent=backend is Backend.PERSISTENT,
            changelog=changelog,
            subtopology=part,
            partitions=[t.id.partition for t in partitions if t.id.subtopology == part],
            lookups=lookups,
            key_encoding=self._encoding(spec),
        )

    def _encoding(self, spec: StoreSpec) -> Encoding:
        try:
            return usual_encoding(SerdeResolver(self._application.config)(spec.key_serde, "key"))
        except ConfigError:  # it has none, and can't run
            return "text"
