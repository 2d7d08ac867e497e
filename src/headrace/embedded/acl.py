"""A right in an embedded cluster: what a user may do, where nobody may do anything by default."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)


class Acl(NamedTuple):
    """An operation on a resource, both by Kafka's names: `Acl("READ", "TOPIC", "orders")`.

    `prefixed`: on all resources whose names begin with `name`.
    """

    operation: str
    resource: str
    name: str
    prefixed: bool = False

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}{'*' if self.prefixed else ''}"

    def binding(self, user: str) -> AclBinding:
        """The right as clients give it to a user."""
        return AclBinding(*self._parts(user))

    def filter(self, user: str) -> AclBindingFilter:
        """What finds the right of that user, and no other."""
        return AclBindingFilter(*self._parts(user))

    def _parts(self, user: str) -> tuple[Any, ...]:
        pattern = ResourcePatternType.PREFIXED if self.prefixed else ResourcePatternType.LITERAL
        return (
            ResourceType[self.resource],
            self.name,
            pattern,
            f"User:{user}",
            "*",
            AclOperation[self.operation],
            AclPermissionType.ALLOW,
        )
