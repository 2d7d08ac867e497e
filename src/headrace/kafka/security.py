"""TLS and SASL, as Java's clients and librdkafka each want to be told.

Either's names may be given: certificates are PEM (or, for the client's own, PKCS#12), a user and
password are a JAAS line or `sasl.username` and `sasl.password`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from headrace.core.errors import ConfigError

logger = logging.getLogger("headrace.kafka")

_MODULES = "org.apache.kafka.common.security."
_OAUTH_HANDLER = f"{_MODULES}oauthbearer.OAuthBearerLoginCallbackHandler"
_JAAS = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b")
_JAAS_OPTION = re.compile(
    r'\s*(?P<name>[\w.]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;]+))'
)


def for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    """The security settings under librdkafka's names."""
    return {**_tls_for_librdkafka(given), **_sasl_for_librdkafka(given)}


def for_java(given: Mapping[str, str]) -> dict[str, str]:
    """The security settings under the names of Java's clients."""
    return {**_tls_for_java(given), **_sasl_for_java(given)}


def _tls_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    told = _picked(
        given,
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.key.password",
        "enable.ssl.certificate.verification",
    )
    told.update(
        _renamed(
            given,
            {
                "ssl.truststore.certificates": "ssl.ca.pem",
                "ssl.keystore.certificate.chain": "ssl.certificate.pem",
                "ssl.keystore.key": "ssl.key.pem",
            },
        )
    )
    if truststore := given.get("ssl.truststore.location"):
        if _store_type(given, "truststore") != "PEM":
            raise _not_pem("ssl.truststore", truststore, "keytool -list -rfc -keystore")
        told["ssl.ca.location"] = truststore
    if keystore := given.get("ssl.keystore.location"):
        kind = _store_type(given, "keystore")
        if kind == "PEM":
            told["ssl.certificate.location"] = told["ssl.key.location"] = keystore
        elif kind == "PKCS12":
            told.update(_picked(given, "ssl.keystore.location", "ssl.keystore.password"))
        else:
            raise _not_pem("ssl.keystore", keystore, "keytool -importkeystore … -srckeystore")
    if "ssl.endpoint.identification.algorithm" in given:
        algorithm = given["ssl.endpoint.identification.algorithm"].strip().lower()
        told["ssl.endpoint.identification.algorithm"] = algorithm or "none"
    return told


def _tls_for_java(given: Mapping[str, str]) -> dict[str, str]:
    if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise ConfigError(
            "enable.ssl.certificate.verification=false is not possible: Spark's client always "
            "verifies. Give the broker's certificate authority as ssl.ca.location."
        )
    told = _picked(
        given,
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.certificates",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.key.password",
    )
    told.update(
        _renamed(
            given,
            {
                "ssl.ca.location": "ssl.truststore.location",
                "ssl.ca.pem": "ssl.truststore.certificates",
                "ssl.certificate.pem": "ssl.keystore.certificate.chain",
                "ssl.key.pem": "ssl.keystore.key",
            },
        )
    )
    # Java takes both in one file or as text, never as two files.
    if "ssl.certificate.location" in given:
        told["ssl.keystore.certificate.chain"] = _text(given, "ssl.certificate.location")
    if "ssl.key.location" in given:
        told["ssl.keystore.key"] = _text(given, "ssl.key.location")
    if "BEGIN RSA PRIVATE KEY" in told.get("ssl.keystore.key", ""):
        raise ConfigError(
            "The private key of ssl.key.location is in the PKCS#1 format, which Spark's client "
            "can't read. Convert it: openssl pkcs8 -topk8 -nocrypt -in key.pem -out key8.pem"
        )
    if "ssl.truststore.location" in told or "ssl.truststore.certificates" in told:
        told["ssl.truststore.type"] = _store_type(given, "truststore", "ssl.ca.location")
    if "ssl.keystore.location" in told or "ssl.keystore.key" in told:
        told["ssl.keystore.type"] = _store_type(given, "keystore")
    if "ssl.endpoint.identification.algorithm" in given:
        algorithm = given["ssl.endpoint.identification.algorithm"].strip().lower()
        told["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else algorithm
        if algorithm in ("", "none"):
            _warn_of_unchecked_names()
    return told


@cache
def _warn_of_unchecked_names() -> None:
    """Once in a process: settings are translated for every client."""
    logger.warning(
        "ssl.endpoint.identification.algorithm is off: whoever has any certificate of the "
        "authority can pretend to be a broker. Leave it out, and give brokers certificates for "
        "their host names."
    )


def _sasl_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = _mechanism(given)
    if mechanism is None:
        return {}
    told = {"sasl.mechanism": mechanism}
    module, options = _jaas(given.get("sasl.jaas.config", ""))
    if mechanism == "OAUTHBEARER":
        told.update(_oauth(given, options))
        told["sasl.oauthbearer.method"] = "oidc"
    elif mechanism == "GSSAPI":
        told.update(_picked(given, "sasl.kerberos.service.name"))
        for key, option in (("keytab", "keyTab"), ("principal", "principal")):
            value = given.get(f"sasl.kerberos.{key}", options.get(option))
            if value is not None:
                told[f"sasl.kerberos.{key}"] = value
    else:
        if module and not module.endswith(("PlainLoginModule", "ScramLoginModule")):
            raise ConfigError(
                f"sasl.jaas.config names {module}, which doesn't fit sasl.mechanism {mechanism}."
            )
        for key in ("username", "password"):
            value = given.get(f"sasl.{key}", options.get(key))
            if value is None:
                raise ConfigError(
                    f"sasl.mechanism is {mechanism}, but there is no {key}. Set sasl.{key}, or "
                    f'give it in sasl.jaas.config: … required username="…" password="…";'
                )
            told[f"sasl.{key}"] = value
    return told


def _sasl_for_java(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = _mechanism(given)
    if mechanism is None:
        return {}
    told = {"sasl.mechanism": mechanism}
    told.update(
        _picked(
            given,
            "sasl.jaas.config",
            "sasl.kerberos.service.name",
            "sasl.login.callback.handler.class",
            "sasl.oauthbearer.token.endpoint.url",
        )
    )
    if mechanism == "OAUTHBEARER":
        told.setdefault("sasl.login.callback.handler.class", _OAUTH_HANDLER)
    if "sasl.jaas.config" in given:
        return told
    if mechanism == "OAUTHBEARER":
        oauth = _oauth(given, {})
        options = _renamed(
            oauth,
            {
                "sasl.oauthbearer.client.id": "clientId",
                "sasl.oauthbearer.client.secret": "clientSecret",
                "sasl.oauthbearer.scope": "scope",
            },
        )
        for extension in filter(None, given.get("sasl.oauthbearer.extensions", "").split(",")):
            name, _, value = extension.partition("=")
            options[f"extension_{name.strip()}"] = value.strip()
        module = f"{_MODULES}oauthbearer.OAuthBearerLoginModule"
    elif mechanism == "GSSAPI":
        options = _renamed(
            given,
            {"sasl.kerberos.keytab": "keyTab", "sasl.kerberos.principal": "principal"},
        )
        options.update(useKeyTab="true", storeKey="true")
        module = "com.sun.security.auth.module.Krb5LoginModule"
    else:
        user = _sasl_for_librdkafka(given)
        options = {"username": user["sasl.username"], "password": user["sasl.password"]}
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        module = f"{_MODULES}{kind}LoginModule"
    told["sasl.jaas.config"] = _jaas_line(module, options)
    return told


def _oauth(given: Mapping[str, str], jaas: Mapping[str, str]) -> dict[str, str]:
    """The client-credentials login, under librdkafka's names."""
    told = _renamed(
        given,
        {
            "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
            "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.id",
            "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.scope": "sasl.oauthbearer.scope",
            "sasl.oauthbearer.extensions": "sasl.oauthbearer.extensions",
            "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
        },
    )
    for option, key in (("clientId", "client.id"), ("clientSecret", "client.secret")):
        if option in jaas:
            told.setdefault(f"sasl.oauthbearer.{key}", jaas[option])
    if "scope" in jaas:
        told.setdefault("sasl.oauthbearer.scope", jaas["scope"])
    extensions = [
        f"{name.removeprefix('extension_')}={value}"
        for name, value in jaas.items()
        if name.startswith("extension_")
    ]
    if extensions:
        told.setdefault("sasl.oauthbearer.extensions", ",".join(extensions))
    for key in ("client.id", "client.secret", "token.endpoint.url"):
        if f"sasl.oauthbearer.{key}" not in told:
            raise ConfigError(
                f"sasl.mechanism is OAUTHBEARER, but sasl.oauthbearer.{key} is not set. The login "
                "by client credentials needs client.id, client.secret and token.endpoint.url."
            )
    return told


def _mechanism(given: Mapping[str, str]) -> str | None:
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if not protocol.startswith("SASL_"):
        return None
    mechanism = given.get("sasl.mechanism") or given.get("sasl.mechanisms")
    if not mechanism:
        raise ConfigError(
            f"security.protocol is {protocol}, but sasl.mechanism is not set. Set it to PLAIN, "
            "SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI, as the brokers have it."
        )
    return mechanism


def _jaas(line: str) -> tuple[str, dict[str, str]]:
    """The login module and the options of a JAAS line."""
    if not line.strip():
        return "", {}
    head = _JAAS.match(line)
    if not head:
        raise ConfigError(
            "sasl.jaas.config can't be read. It is one line such as: "
            f'{_MODULES}plain.PlainLoginModule required username="…" password="…";'
        )
    options: dict[str, str] = {}
    at = head.end()
    while option := _JAAS_OPTION.match(line, at):
        quoted, bare = option["quoted"], option["bare"]
        options[option["name"]] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = option.end()
    return head["module"], options


def _jaas_line(module: str, options: Mapping[str, str]) -> str:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    listed = "".join(f" {name}={quoted(value)}" for name, value in options.items())
    return f"{module} required{listed};"


def _store_type(given: Mapping[str, str], store: str, *aliases: str) -> str:
    """PEM, PKCS12 or JKS: as given, or else by what the file looks like."""
    given_type = given.get(f"ssl.{store}.type")
    if given_type:
        return given_type.upper()
    for key in (f"ssl.{store}.location", *aliases):
        path = given.get(key)
        if path is None:
            continue
        if key in aliases:
            return "PEM"
        try:
            head = Path(path).read_bytes()[:4096]
        except OSError as error:
            raise ConfigError(f"{key} can't be read: {error}.") from None
        if b"-----BEGIN" in head:
            return "PEM"
        return "JKS" if head.startswith(b"\xfe\xed\xfe\xed") else "PKCS12"
    return "PEM"


def _not_pem(key: str, path: str, command: str) -> ConfigError:
    return ConfigError(
        f"{key}.location {path} is a Java key store, which librdkafka can't read. Export it as PEM "
        f"({command} {path}) and set {key}.type=PEM; Spark's client reads PEM too."
    )


def _text(given: Mapping[str, str], key: str) -> str:
    try:
        return Path(given[key]).read_text()
    except OSError as error:
        raise ConfigError(f"{key} can't be read: {error}.") from None


def _picked(given: Mapping[str, str], *keys: str) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given}


def _renamed(given: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {new: given[old] for old, new in names.items() if old in given}
