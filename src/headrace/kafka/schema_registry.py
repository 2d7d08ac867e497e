"""A schema registry over HTTP, by confluent-kafka's client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
)

from headrace.core.errors import BrokerError, ConfigError
from headrace.core.masking import masked
from headrace.sql.formats.catalog import FormatError
from headrace.sql.formats.registry import Reference, RegisteredSchema, SchemaText

T = TypeVar("T")

_PREFIX = "ksql.schema.registry."
_SETTINGS = frozenset(
    {
        "url",
        "basic.auth.user.info",
        "bearer.auth.token",
        "bearer.auth.credentials.source",
        "bearer.auth.logical.cluster",
        "bearer.auth.identity.pool.id",
        "ssl.ca.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.certificate.location",
    }
)
_NUMBERS: Mapping[str, Callable[[Any], float]] = {"timeout": float, "max.retries": int}
_NOT_FOUND = 404
_REFUSED = frozenset({409, 422})


class HttpSchemaRegistry:
    """The registry at an address. It connects when it is first asked; pickled, it is its settings.

    `settings` are ksqlDB's: `ksql.schema.registry.url` and those beside it.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        given = {
            name.removeprefix(_PREFIX): value
            for name, value in settings.items()
            if name.startswith(_PREFIX)
        }
        self._settings = {name: value for name, value in given.items() if name in _SETTINGS}
        for name, number in _NUMBERS.items():
            if name in given:
                try:
                    self._settings[name] = number(given[name])
                except ValueError:
                    raise ConfigError(
                        f"{_PREFIX}{name} must be a number, not {given[name]!r}."
                    ) from None
        self.url = masked(str(self._settings.get("url") or ""))
        if not self.url:
            raise ConfigError(f"{_PREFIX}url must be set: it says where the schema registry is.")

    def __reduce__(self) -> tuple[type[HttpSchemaRegistry], tuple[dict[str, Any]]]:
        return type(self), ({_PREFIX + name: value for name, value in self._settings.items()},)

    @cached_property
    def _client(self) -> Any:
        try:
            return SchemaRegistryClient(self._settings)
        except (ValueError, TypeError) as reason:
            raise ConfigError(
                f"The settings {_PREFIX}* can't be used: {masked(str(reason))}"
            ) from reason

    def register(self, subject: str, schema: SchemaText) -> int:
        references = [SchemaReference(r.name, r.subject, r.version) for r in schema.references]
        given = Schema(schema.text, schema.kind, references)
        id: int | None = self._asked(lambda: self._client.register_schema(subject, given))
        if id is None:
            raise FormatError(f"The schema registry at {self.url} can't register {subject!r}")
        return id

    def latest(self, subject: str) -> RegisteredSchema | None:
        found = self._asked(lambda: self._client.get_latest_version(subject))
        return None if found is None else _registered(found)

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        found = self._asked(lambda: self._client.get_version(subject, version))
        return None if found is None else _registered(found)

    def by_id(self, id: int) -> SchemaText | None:
        found = self._asked(lambda: self._client.get_schema(id))
        return None if found is None else _text(found)

    def delete(self, subject: str) -> None:
        self._asked(lambda: self._client.delete_subject(subject))
        # Else it would go on to think that what it has registered is there.
        self._client.clear_caches()

    def close(self) -> None:
        """Give back what it is connected with; asked again, it connects again."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """The answer, or None if there is no such thing."""
        try:
            return ask()
        except SchemaRegistryError as reason:
            if reason.http_status_code == _NOT_FOUND:
                return None
            if reason.http_status_code in _REFUSED:
                raise FormatError(
                    f"The schema registry refused the schema: {reason.error_message}"
                ) from reason
            raise BrokerError(
                f"The schema registry at {self.url} answered: {masked(str(reason))}",
                retriable=reason.http_status_code >= 500,
            ) from reason
        except OSError as reason:
            raise self._unreachable(reason) from reason
        except ConfigError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise BrokerError(
                f"What is at {self.url} doesn't answer as a schema registry: "
                f"{masked(str(reason))}. Check {_PREFIX}url."
            ) from reason
        except Exception as reason:
            if type(reason).__module__.startswith("httpx"):  # its errors have no common base here
                raise self._unreachable(reason) from reason
            raise

    def _unreachable(self, reason: Exception) -> BrokerError:
        return BrokerError(
            f"The schema registry at {self.url} can't be reached: {masked(str(reason))}",
            retriable=True,
        )


def _registered(found: Any) -> RegisteredSchema:
    return RegisteredSchema(found.subject, found.version, found.schema_id, _text(found.schema))


def _text(schema: Any) -> SchemaText:
    if not isinstance(schema.schema_str, str):
        raise FormatError("The schema registry has answered with a schema that has no text")
    references = tuple(Reference(r.name, r.subject, r.version) for r in schema.references or ())
    return SchemaText(schema.schema_type or "AVRO", schema.schema_str, references)
