"""TLS and SASL under the names of both clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.errors import ConfigError
from headrace.kafka.security import for_java, for_librdkafka

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_nothing_given_is_nothing_told() -> None:
    assert for_librdkafka({}) == for_java({}) == {}


# TLS


def test_pem_files_under_javas_names(tmp_path: Path) -> None:
    given = {
        "ssl.truststore.type": "pem",
        "ssl.truststore.location": write(tmp_path / "ca.pem", CERTIFICATE),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": write(tmp_path / "own.pem", CERTIFICATE + KEY),
        "ssl.key.password": "secret",
    }
    assert for_librdkafka(given) == {
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "ssl.certificate.location": str(tmp_path / "own.pem"),
        "ssl.key.location": str(tmp_path / "own.pem"),
        "ssl.key.password": "secret",
    }
    assert for_java(given) == given | {"ssl.truststore.type": "PEM"}


def test_the_type_of_a_store_is_seen_by_its_content(tmp_path: Path) -> None:
    given = {
        "ssl.truststore.location": write(tmp_path / "ca", CERTIFICATE),
        "ssl.keystore.location": write(tmp_path / "own", b"\x30\x82\x01"),
        "ssl.keystore.password": "secret",
    }
    assert for_librdkafka(given) == {
        "ssl.ca.location": str(tmp_path / "ca"),
        "ssl.keystore.location": str(tmp_path / "own"),
        "ssl.keystore.password": "secret",
    }
    assert for_java(given) == given | {
        "ssl.truststore.type": "PEM",
        "ssl.keystore.type": "PKCS12",
    }


def test_pem_texts_under_javas_names() -> None:
    given = {
        "ssl.truststore.certificates": CERTIFICATE,
        "ssl.keystore.certificate.chain": CERTIFICATE,
        "ssl.keystore.key": KEY,
    }
    assert for_librdkafka(given) == {
        "ssl.ca.pem": CERTIFICATE,
        "ssl.certificate.pem": CERTIFICATE,
        "ssl.key.pem": KEY,
    }
    assert for_java(given) == given | {"ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM"}


def test_pem_under_librdkafkas_names(tmp_path: Path) -> None:
    given = {
        "ssl.ca.location": write(tmp_path / "ca.pem", CERTIFICATE),
        "ssl.certificate.location": write(tmp_path / "own.pem", CERTIFICATE),
        "ssl.key.location": write(tmp_path / "own.key", KEY),
        "ssl.key.password": "secret",
        "enable.ssl.certificate.verification": "true",
    }
    assert for_librdkafka(given) == given
    assert for_java(given) == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CERTIFICATE,
        "ssl.keystore.key": KEY,
        "ssl.key.password": "secret",
    }
    texts = {"ssl.ca.pem": CERTIFICATE, "ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": KEY}
    assert for_librdkafka(texts) == texts
    assert for_java(texts) == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": CERTIFICATE,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CERTIFICATE,
        "ssl.keystore.key": KEY,
    }


@pytest.mark.parametrize(
    ("given", "librdkafka", "java"),
    [("", "none", ""), ("none", "none", ""), ("HTTPS", "https", "https")],
)
def test_the_name_of_the_host_may_go_unchecked(given: str, librdkafka: str, java: str) -> None:
    key = "ssl.endpoint.identification.algorithm"
    assert for_librdkafka({key: given}) == {key: librdkafka}
    assert for_java({key: given}) == {key: java}


def test_what_one_of_the_clients_cannot_do_is_an_error(tmp_path: Path) -> None:
    jks = write(tmp_path / "store.jks", b"\xfe\xed\xfe\xed\x00")
    with pytest.raises(ConfigError, match=r"store\.jks is a Java key store.*PEM"):
        for_librdkafka({"ssl.truststore.location": jks})
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location .*store\.jks is a Java key"):
        for_librdkafka({"ssl.keystore.location": jks, "ssl.keystore.type": "JKS"})
    with pytest.raises(ConfigError, match=r"Spark's client always verifies"):
        for_java({"enable.ssl.certificate.verification": "false"})
    old = write(tmp_path / "old.key", KEY.replace("PRIVATE", "RSA PRIVATE"))
    with pytest.raises(ConfigError, match=r"PKCS#1.*openssl pkcs8"):
        for_java({"ssl.key.location": old})


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location can't be read: .*missing"):
        for_librdkafka({"ssl.truststore.location": missing})
    with pytest.raises(ConfigError, match=r"ssl\.key\.location can't be read: .*missing"):
        for_java({"ssl.key.location": missing})


# SASL


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
@pytest.mark.parametrize("password", ["simple", 'qu"ote', "back\\slash", "semi;colon, space"])
def test_user_and_password_both_ways(mechanism: str, module: str, password: str) -> None:
    protocol = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism}
    ours = protocol | {"sasl.username": "ann", "sasl.password": password}
    java = for_java(ours)
    assert java["sasl.mechanism"] == mechanism
    assert java["sasl.jaas.config"].startswith(f'{module} required username="ann" password="')
    expected = {"sasl.mechanism": mechanism, "sasl.username": "ann", "sasl.password": password}
    assert for_librdkafka(ours) == expected
    # And back.
    given = protocol | {"sasl.jaas.config": java["sasl.jaas.config"]}
    assert for_librdkafka(given) == expected
    assert for_java(given) == java


@pytest.mark.parametrize(
    "line",
    [
        f'{PLAIN} required username="ann" password="secret";',
        f"{PLAIN}  required\n  username=ann\n  password = secret ;",
        f'{PLAIN} sufficient password="secret" username="ann" user_bob="other";',
    ],
)
def test_jaas_lines(line: str) -> None:
    given = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanisms": "PLAIN",
        "sasl.jaas.config": line,
    }
    assert for_librdkafka(given) == {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "secret",
    }
    assert for_java(given) == {"sasl.mechanism": "PLAIN", "sasl.jaas.config": line}


def test_wrong_logins_are_errors_that_do_not_tell_the_password() -> None:
    protocol = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config can't be read") as raised:
        for_librdkafka(protocol | {"sasl.jaas.config": "password=hunter2"})
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ConfigError, match=r"there is no password"):
        for_librdkafka(protocol | {"sasl.username": "ann"})
    with pytest.raises(ConfigError, match=r"doesn't fit sasl\.mechanism PLAIN"):
        for_librdkafka(protocol | {"sasl.jaas.config": f'{OAUTH} required clientId="a";'})
    with pytest.raises(ConfigError, match=r"sasl\.mechanism is not set"):
        for_java({"security.protocol": "SASL_SSL"})


def test_without_a_sasl_protocol_logins_are_not_used() -> None:
    assert for_librdkafka({"sasl.mechanism": "PLAIN", "sasl.username": "ann"}) == {}


def test_oauth_by_client_credentials() -> None:
    protocol = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
    }
    expected = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "shop",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "cluster=a,pool=b",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
    }
    ours = protocol | {
        "sasl.oauthbearer.client.credentials.client.id": "shop",
        "sasl.oauthbearer.client.credentials.client.secret": "secret",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "cluster=a,pool=b",
    }
    assert for_librdkafka(ours) == expected
    java = for_java(ours)
    assert java["sasl.jaas.config"] == (
        f'{OAUTH} required clientId="shop" clientSecret="secret" scope="kafka" '
        'extension_cluster="a" extension_pool="b";'
    )
    assert java["sasl.login.callback.handler.class"].endswith("OAuthBearerLoginCallbackHandler")
    assert java["sasl.oauthbearer.token.endpoint.url"] == "https://id/token"
    given = protocol | {"sasl.jaas.config": java["sasl.jaas.config"]}
    assert for_librdkafka(given) == expected
    assert for_java(given) == java


def test_what_oauth_needs() -> None:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "shop",
    }
    with pytest.raises(ConfigError, match=r"sasl\.oauthbearer\.client\.secret is not set"):
        for_librdkafka(given)


def test_kerberos() -> None:
    protocol = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
    }
    expected = {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.keytab": "/etc/shop.keytab",
        "sasl.kerberos.principal": "shop@REALM",
    }
    ours = protocol | {
        "sasl.kerberos.keytab": "/etc/shop.keytab",
        "sasl.kerberos.principal": "shop@REALM",
    }
    assert for_librdkafka(ours) == expected
    java = for_java(ours)
    assert java["sasl.jaas.config"] == (
        "com.sun.security.auth.module.Krb5LoginModule required "
        'keyTab="/etc/shop.keytab" principal="shop@REALM" useKeyTab="true" storeKey="true";'
    )
    given = protocol | {"sasl.jaas.config": java["sasl.jaas.config"]}
    assert for_librdkafka(given) == expected
