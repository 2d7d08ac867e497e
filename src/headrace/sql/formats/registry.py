"""The schema registry: what the formats ask of it, and one in memory."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol

from headrace.sql.formats.catalog import FormatError


def subject(topic: str, *, is_key: bool) -> str:
    """The subject under which a topic's schemas are registered."""
    return f"{topic}-{'key' if is_key else 'value'}"


@dataclass(frozen=True)
class Reference:
    """A schema that another one names."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class SchemaText:
    """A schema as it is registered. `kind` is the registry's: AVRO, PROTOBUF or JSON."""

    kind: str
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class RegisteredSchema:
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: SchemaText


class SchemaRegistry(Protocol):
    """Schemas by subject and by id."""

    def register(self, subject: str, schema: SchemaText) -> int:
        """Make it the newest version of the subject, unless it is already there. Gives its id."""
        ...

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest version of a subject."""
        ...

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        """A version of a subject."""
        ...

    def by_id(self, id: int) -> SchemaText | None:
        """The schema of an id."""
        ...

    def delete(self, subject: str) -> None:
        """Forget a subject, if there is one. Its schemas can still be found by their ids."""
        ...


class InMemorySchemaRegistry:
    """A registry that lives as long as the process. It takes every schema as compatible."""

    def __init__(self) -> None:
        self._versions: defaultdict[str, list[RegisteredSchema]] = defaultdict(list)
        self._ids: dict[int, SchemaText] = {}
        self._next_id = 1

    def register(self, subject: str, schema: SchemaText, id: int | None = None) -> int:
        """As in SchemaRegistry; `id` says which id a new schema gets."""
        for known in self._versions[subject]:
            if known.schema == schema:
                return known.id
        known_ids = (key for key, text in self._ids.items() if text == schema)
        new_id = id if id is not None else next(known_ids, self._next_id)
        self._next_id = max(self._next_id, new_id + 1)
        self._ids[new_id] = schema
        versions = self._versions[subject]
        versions.append(RegisteredSchema(subject, len(versions) + 1, new_id, schema))
        return new_id

    def latest(self, subject: str) -> RegisteredSchema | None:
        versions = self._versions.get(subject)
        return versions[-1] if versions else None

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        versions = self._versions.get(subject, [])
        return versions[version - 1] if 0 < version <= len(versions) else None

    def by_id(self, id: int) -> SchemaText | None:
        return self._ids.get(id)

    def delete(self, subject: str) -> None:
        self._versions.pop(subject, None)


def referenced(registry: SchemaRegistry, schema: SchemaText) -> dict[str, SchemaText]:
    """All schemas that a schema refers to, and those they refer to, by name; each after those that
    it needs itself."""
    found: dict[str, SchemaText] = {}
    _collect(registry, schema, found, ())
    return found


def _collect(
    registry: SchemaRegistry,
    schema: SchemaText,
    found: dict[str, SchemaText],
    around: tuple[str, ...],
) -> None:
    for reference in schema.references:
        if reference.name in found:
            continue
        if reference.name in around:
            raise FormatError(f"The schema {reference.name!r} refers to itself.")
        target = registry.version(reference.subject, reference.version)
        if target is None:
            raise FormatError(
                f"The schema refers to {reference.name!r}, version {reference.version} of subject "
                f"{reference.subject!r}, which the schema registry doesn't have."
            )
        _collect(registry, target.schema, found, (*around, reference.name))
        found[reference.name] = target.schema
