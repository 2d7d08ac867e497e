"""How an embedded broker asks clients who they are, and shows who it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from headrace.core.errors import ArgumentError
from headrace.embedded.key_stores import make_key_store, trust

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

# Of a key that is good for nothing but this broker.
_KEYSTORE_PASSWORD = "embedded"  # noqa: S105
_MODULES = "org.apache.kafka.common.security"
_NAMES = "SAN=IP:127.0.0.1,DNS:localhost"
_ITERATIONS = 4096
_CLIENT = "listener.name.client"


class ListenerSecurity:
    """The protocol of the listener for clients: SASL by user and password, TLS, both or none.

    Users of a TLS listener without SASL have certificates, each in a key store with the user's
    password; who has none isn't let in.
    """

    def __init__(
        self,
        protocol: str,
        users: Mapping[str, str] | None,
        mechanism: str = "PLAIN",
        authorizer: bool = False,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise ArgumentError(f"security={protocol!r}: must be one of {', '.join(PROTOCOLS)}")
        if mechanism not in MECHANISMS:
            raise ArgumentError(f"mechanism={mechanism!r}: must be one of {', '.join(MECHANISMS)}")
        self.protocol = protocol
        self.sasl = protocol.startswith("SASL")
        self.tls = protocol.endswith("SSL")
        if users and protocol == "PLAINTEXT":
            raise ArgumentError("users need a listener with SASL or SSL, security='PLAINTEXT'")
        if self.sasl and not users:
            users = {"client": "client-secret"}
        if authorizer and not users:
            raise ArgumentError("authorizer=True needs users, whose rights it looks at")
        self.users = dict(users or {})
        self.mechanism = mechanism
        self._authorizer = authorizer

    def broker_properties(self, directory: Path) -> dict[str, object]:
        properties: dict[str, object] = {}
        if self.sasl:
            name = f"{_CLIENT}.{self.mechanism.lower()}.sasl.jaas.config"
            properties["sasl.enabled.mechanisms"] = self.mechanism
            properties[name] = f"{self._login} {self._known_users()};"
        if self.tls:
            store = make_key_store(directory, "broker", _KEYSTORE_PASSWORD, _NAMES)
            properties["ssl.keystore.type"] = "PKCS12"
            properties["ssl.keystore.location"] = store
            properties["ssl.keystore.password"] = _KEYSTORE_PASSWORD
            properties["ssl.key.password"] = _KEYSTORE_PASSWORD
        if self._by_certificate:
            for user, password in self.users.items():
                make_key_store(directory, f"user-{user}", password, name=user)
            known = [f"user-{user}" for user in self.users]
            properties[f"{_CLIENT}.ssl.client.auth"] = "required"
            properties[f"{_CLIENT}.ssl.truststore.type"] = "PEM"
            properties[f"{_CLIENT}.ssl.truststore.location"] = trust(directory, "users", known)
            # A user is called the same, however the broker came to know.
            properties["ssl.principal.mapping.rules"] = "RULE:^CN=([^,]+)$/$1/"
        if self._authorizer:
            authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            properties["authorizer.class.name"] = authorizer
            # Brokers, controllers and ourselves, by listeners of their own.
            properties["super.users"] = "User:ANONYMOUS"
        return properties

    def client_settings(self, directory: Path, user: str | None) -> dict[str, str]:
        """What a client needs to connect, by the names that Kafka's Java clients use."""
        settings = {"security.protocol": self.protocol}
        name = user or next(iter(self.users), "")
        if name and name not in self.users:
            raise ArgumentError(f"no user {name!r}, only {', '.join(self.users)}")
        if self.sasl:
            login = f"username={_quoted(name)} password={_quoted(self.users[name])}"
            settings["sasl.mechanism"] = self.mechanism
            settings["sasl.jaas.config"] = f"{self._login} {login};"
        if self.tls:
            settings["ssl.truststore.type"] = "PEM"
            settings["ssl.truststore.location"] = str(directory / "broker.pem")
        if self._by_certificate:
            settings["ssl.keystore.type"] = "PKCS12"
            settings["ssl.keystore.location"] = str(directory / f"user-{name}.p12")
            settings["ssl.keystore.password"] = self.users[name]
            settings["ssl.key.password"] = self.users[name]
        return settings

    def credentials(self) -> list[UserScramCredentialUpsertion]:
        """What the cluster must be told of the users when it runs: not with PLAIN, whose users are
        a setting of the brokers."""
        if not self.sasl or self.mechanism == "PLAIN":
            return []
        mechanism = ScramMechanism[self.mechanism.replace("-", "_")]
        info = ScramCredentialInfo(mechanism, _ITERATIONS)
        return [
            UserScramCredentialUpsertion(user, info, password.encode())
            for user, password in self.users.items()
        ]

    @property
    def _by_certificate(self) -> bool:
        return self.protocol == "SSL" and bool(self.users)

    @property
    def _login(self) -> str:
        kind = "plain.Plain" if self.mechanism == "PLAIN" else "scram.Scram"
        return f"{_MODULES}.{kind}LoginModule required"

    def _known_users(self) -> str:
        if self.mechanism != "PLAIN":
            return ""
        return " ".join(f"user_{user}={_quoted(word)}" for user, word in self.users.items())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
