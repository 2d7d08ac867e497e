"""How an embedded broker asks clients who they are, and shows who it is."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from headrace.core.errors import ArgumentError, BrokerError
from headrace.kafka.java import find_java, java_home

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_KEYSTORE_PASSWORD = "embedded"  # Of a key that is good for nothing but this broker.
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class ListenerSecurity:
    """The protocol of the listener for clients: SASL by user and password, TLS, both or none."""

    def __init__(self, protocol: str, users: Mapping[str, str] | None) -> None:
        if protocol not in PROTOCOLS:
            raise ArgumentError(f"security={protocol!r}: must be one of {', '.join(PROTOCOLS)}")
        self.protocol = protocol
        self.sasl = protocol.startswith("SASL")
        self.tls = protocol.endswith("SSL")
        if users and not self.sasl:
            raise ArgumentError(f"users need a SASL listener, security={protocol!r} is none")
        self.users = dict(users or {"client": "client-secret"})

    def broker_properties(self, directory: Path) -> dict[str, object]:
        properties: dict[str, object] = {}
        if self.sasl:
            known = " ".join(f"user_{user}={_quoted(word)}" for user, word in self.users.items())
            properties["sasl.enabled.mechanisms"] = "PLAIN"
            properties["listener.name.client.plain.sasl.jaas.config"] = f"{_LOGIN} {known};"
        if self.tls:
            self._make_certificate(directory)
            properties["ssl.keystore.type"] = "PKCS12"
            properties["ssl.keystore.location"] = directory / "broker.p12"
            properties["ssl.keystore.password"] = _KEYSTORE_PASSWORD
            properties["ssl.key.password"] = _KEYSTORE_PASSWORD
        return properties

    def client_settings(self, directory: Path, user: str | None) -> dict[str, str]:
        """What a client needs to connect, by the names that Kafka's Java clients use."""
        settings = {"security.protocol": self.protocol}
        if self.sasl:
            name = user or next(iter(self.users))
            if name not in self.users:
                raise ArgumentError(f"no user {name!r}, only {', '.join(self.users)}")
            login = f"username={_quoted(name)} password={_quoted(self.users[name])}"
            settings["sasl.mechanism"] = "PLAIN"
            settings["sasl.jaas.config"] = f"{_LOGIN} {login};"
        if self.tls:
            settings["ssl.truststore.type"] = "PEM"
            settings["ssl.truststore.location"] = str(directory / "broker.pem")
        return settings

    def _make_certificate(self, directory: Path) -> None:
        """A key and a self-signed certificate, once for all brokers in a directory."""
        store, certificate = directory / "broker.p12", directory / "broker.pem"
        if certificate.exists():
            return
        unfinished = directory / "broker.pem.unfinished"
        store.unlink(missing_ok=True)
        keytool = java_home(find_java()) / "bin" / "keytool"
        access = ["-keystore", str(store), "-storetype", "PKCS12", "-alias", "broker"]
        access += ["-storepass", _KEYSTORE_PASSWORD]
        about = ["-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1,DNS:localhost"]
        key = ["-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650"]
        for arguments in (
            ["-genkeypair", *access, *key, *about],
            ["-exportcert", *access, "-rfc", "-file", str(unfinished)],
        ):
            done = subprocess.run([keytool, *arguments], capture_output=True, text=True)
            if done.returncode != 0:
                raise BrokerError(f"{keytool} can't make a certificate: {done.stdout}")
        unfinished.replace(certificate)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
