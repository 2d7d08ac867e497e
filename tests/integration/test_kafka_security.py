"""Clusters that ask who one is and what one may do.

An application needs little, says what it lacks, and never takes a stranger for a broker."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pyspark.sql import SparkSession

from headrace import AuthorizationError, BrokerError, KafkaStreams, StreamsBuilder, serdes
from headrace.app.lifecycle import State
from headrace.core.errors import ConfigError
from headrace.embedded import Acl, EmbeddedKafka
from headrace.kafka.security import for_librdkafka
from headrace.kafka.settings import ClientSettings
from tests.integration.applications import Cluster, close, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
SOON_S = 60.0
"""How long an application may take to say what it lacks."""
KEYS = 20
TIMES = 5


@pytest.fixture(scope="module")
def by_password() -> Iterator[EmbeddedKafka]:
    # Who is connected has to show the password every few seconds, so that a change is noticed.
    with guarded("SASL_SSL", {"connections.max.reauth.ms": 4_000}) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def by_certificate() -> Iterator[EmbeddedKafka]:
    with guarded("SSL") as kafka:
        yield kafka


@contextmanager
def guarded(
    protocol: str, properties: Mapping[str, object] | None = None
) -> Iterator[EmbeddedKafka]:
    users = {"tester": "may-do-all", "app": "may-do-little"}
    with EmbeddedKafka(
        security=protocol,
        mechanism="SCRAM-SHA-512",
        users=users,
        authorizer=True,
        properties=properties,
    ) as kafka:
        resources = ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
        kafka.allow("tester", *(Acl("ALL", resource, "*") for resource in resources))
        yield kafka


def rights(name: str) -> dict[str, Acl]:
    """All that an application of that name needs."""
    own = f"{name}-"
    return {
        "read the input": Acl("READ", "TOPIC", f"{name}.in"),
        "write the output": Acl("WRITE", "TOPIC", f"{name}.out"),
        "create internal topics": Acl("CREATE", "TOPIC", own, prefixed=True),
        "read internal topics": Acl("READ", "TOPIC", own, prefixed=True),
        "write internal topics": Acl("WRITE", "TOPIC", own, prefixed=True),
        "purge internal topics": Acl("DELETE", "TOPIC", own, prefixed=True),
        "check internal topics": Acl("DESCRIBE_CONFIGS", "TOPIC", own, prefixed=True),
        "use its groups": Acl("READ", "GROUP", name, prefixed=True),
        "have transactions": Acl("WRITE", "TRANSACTIONAL_ID", own, prefixed=True),
    }


class Trial:
    """An application that counts what it reads, by another key than it comes with."""

    def __init__(
        self, kafka: EmbeddedKafka, spark: SparkSession, directory: Path, name: str
    ) -> None:
        self.kafka = kafka
        self.name = name
        self.source, self.sink = f"{name}.in", f"{name}.out"
        kafka.create_topic(self.source, 2)
        kafka.create_topic(self.sink)
        self.cluster = Cluster(kafka, spark, directory)
        settings = kafka.client_settings("tester")
        self.cluster.client |= {
            "security.protocol": settings["security.protocol"],
            **for_librdkafka(settings),
        }

    def allow_all_but(self, *left_out: str) -> None:
        allowed = (acl for what, acl in rights(self.name).items() if what not in left_out)
        self.kafka.allow("app", *allowed)

    def application(self, **changed: str) -> KafkaStreams:
        builder = StreamsBuilder()
        counts = (
            builder.stream(self.source, key=TEXT, value=TEXT)
            .group_by(lambda key, value: value, key=TEXT, value=TEXT, name="by-value")
            .count("counts")
        )
        counts.to_stream().to(self.sink, key=TEXT, value=serdes.long())
        settings = {**self.kafka.client_settings("app"), **changed}
        keywords = {key.replace(".", "_"): value for key, value in settings.items()}
        # Every update is seen, so that nothing can be missing or there twice.
        return self.cluster.application(
            builder.build(), self.name, statestore_cache_max_bytes=0, **keywords
        )

    def send(self) -> None:
        records = [(b"k%d" % (n % 3), b"v%d" % (n % KEYS)) for n in range(KEYS * TIMES)]
        self.cluster.send(self.source, records)

    def counts(self, expected: int = 0) -> list[tuple[bytes, int]]:
        """What is in the output, and committed."""
        found = self.cluster.read(self.sink, expected)
        return sorted((each.key(), int.from_bytes(each.value())) for each in found)

    def error_soon(self, streams: KafkaStreams) -> Exception:
        """What it ends with."""
        deadline = time.monotonic() + SOON_S
        try:
            with streams:
                return wait_for_error(streams, deadline)
        except BrokerError as error:
            assert time.monotonic() < deadline
            return error


def wait_for_error(streams: KafkaStreams, deadline: float) -> Exception:
    while streams.state is not State.ERROR:
        assert time.monotonic() < deadline, f"no error in time: {streams.status()}"
        time.sleep(0.05)
    assert streams.error is not None
    return streams.error


ALL = [(b"v%d" % key, count) for key in range(KEYS) for count in range(1, TIMES + 1)]


@pytest.fixture
def trial(by_password: EmbeddedKafka, session: SparkSession, tmp_path: Path, name: str) -> Trial:
    return Trial(by_password, session, tmp_path, name)


@pytest.mark.parametrize("kind", ["by_password", "by_certificate"])
def test_the_rights_that_are_documented_are_enough(
    kind: str,
    request: pytest.FixtureRequest,
    session: SparkSession,
    tmp_path: Path,
    name: str,
) -> None:
    trial = Trial(request.getfixturevalue(kind), session, tmp_path, name)
    trial.allow_all_but()
    trial.send()
    streams = trial.application()
    with streams:
        wait_until(lambda: streams.status().records_total >= 2 * KEYS * TIMES, "counts", streams)
        close(streams)
    assert trial.counts(len(ALL)) == sorted(ALL)


@pytest.mark.parametrize("lacking", rights(""))
def test_a_right_that_is_missing(trial: Trial, lacking: str) -> None:
    trial.allow_all_but(lacking)
    trial.send()
    error = trial.error_soon(trial.application())
    assert_names(error, rights(trial.name)[lacking])
    assert trial.counts() == []


@pytest.mark.parametrize("taken", ["read the input", "write the output", "have transactions"])
def test_a_right_that_is_taken_from_a_running_application(trial: Trial, taken: str) -> None:
    trial.allow_all_but()
    trial.send()
    streams = trial.application()
    with streams:
        wait_until(lambda: streams.status().records_total >= 2 * KEYS * TIMES, "counts", streams)
        trial.kafka.revoke("app", rights(trial.name)[taken])
        trial.send()
        error = wait_for_error(streams, time.monotonic() + SOON_S)
    assert_names(error, rights(trial.name)[taken])
    assert trial.counts(len(ALL)) == sorted(ALL)


def assert_names(error: Exception, right: Acl) -> None:
    assert isinstance(error, AuthorizationError)
    assert right.operation in str(error)
    assert right.name in str(error)
    assert "docs/security.md" in str(error)


# Strangers


@pytest.mark.parametrize("user", ["app", "eve"])
def test_a_wrong_password(trial: Trial, user: str) -> None:
    assert_is_of_the_password(trial.error_soon(trial.application(**login(user, "hunter2"))))


def login(user: str, password: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {"sasl.jaas.config": f'{module} required username="{user}" password="{password}";'}


def assert_is_of_the_password(error: Exception) -> None:
    assert isinstance(error, BrokerError)
    assert "sasl.password" in str(error)
    assert "hunter2" not in str(error)


def test_a_password_that_is_changed_under_a_running_application(trial: Trial) -> None:
    kafka = trial.kafka
    change_password(kafka, "newcomer", "hunter2")
    kafka.allow("newcomer", *rights(trial.name).values())
    trial.send()
    streams = trial.application(**login("newcomer", "hunter2"))
    with streams:
        wait_until(lambda: streams.status().records_total >= 2 * KEYS * TIMES, "counts", streams)
        change_password(kafka, "newcomer", "hunter3")
        trial.send()
        error = wait_for_error(streams, time.monotonic() + SOON_S)
    assert_is_of_the_password(error)
    # What comes next is what has not come yet.
    streams = trial.application(**login("newcomer", "hunter3"))
    with streams:
        trial.counts(2 * len(ALL))
        close(streams)
    later = [(key, TIMES + count) for key, count in ALL]
    assert trial.counts(2 * len(ALL)) == sorted(ALL + later)


def change_password(kafka: EmbeddedKafka, user: str, password: str) -> None:
    """Of a user, who is made if there is none."""
    kafka.allow("tester", Acl("ALTER", "BROKER", "kafka-cluster"))
    settings = kafka.client_settings("tester")
    plain = {key: settings[key] for key in ("bootstrap.servers", "security.protocol")}
    admin = AdminClient({**plain, **for_librdkafka(settings)})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    changed = UserScramCredentialUpsertion(user, info, password.encode())
    for future in admin.alter_user_scram_credentials([changed]).values():
        future.result(SOON_S)


def test_the_certificate_of_another_authority(trial: Trial, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    error = trial.error_soon(trial.application(**{"ssl.truststore.location": str(other.path)}))
    assert isinstance(error, BrokerError)
    assert "certificate" in str(error)


NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        pytest.param([x509.DNSName("kafka.example.com")], NOW + DAY, id="another host's"),
        pytest.param([x509.IPAddress(ip_address("127.0.0.1"))], NOW - DAY, id="expired"),
    ],
)
def test_a_certificate_that_is_not_good(
    tmp_path: Path, name: str, names: list[Any], ends: datetime
) -> None:
    authority = Authority(tmp_path / "authority")
    with authority.server(names, ends) as address:
        settings = {
            "bootstrap.servers": address,
            "security.protocol": "SSL",
            "ssl.truststore.location": str(authority.path),
        }
        assert "certificate" in str(refusal(tmp_path, name, settings))


def test_a_broker_that_speaks_only_an_old_version_of_tls(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Java itself would not speak it.
    (tmp_path / "java.security").write_text("jdk.tls.disabledAlgorithms=\n")
    options = os.environ.get("JAVA_TOOL_OPTIONS", "")
    lifted = f"{options} -Djava.security.properties='{tmp_path}/java.security'"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", lifted)
    with EmbeddedKafka(security="SSL", properties={"ssl.enabled.protocols": "TLSv1.1"}) as kafka:
        settings = kafka.client_settings()
        # Nothing else is wrong with it: who takes the old version is let in.
        assert version_spoken(settings, ssl.TLSVersion.TLSv1_1) == "TLSv1.1"
        error = refusal(tmp_path, name, settings)
    assert "no version of TLS in common" in str(error)
    assert "TLS 1.2" in str(error)


def refusal(tmp_path: Path, name: str, settings: Mapping[str, str]) -> BrokerError:
    """What an application says, and soon, of a broker that it doesn't trust."""
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("out")
    given = {"application.id": name, "state.dir": str(tmp_path / "state"), **settings}
    streams = KafkaStreams(builder.build(), given)
    began = time.monotonic()
    with pytest.raises(BrokerError) as caught:
        streams.start()
    assert time.monotonic() - began < SOON_S
    return caught.value


def version_spoken(settings: Mapping[str, str], version: ssl.TLSVersion) -> str | None:
    """What a client that speaks this version only agrees on with a broker, even if it is one that
    OpenSSL finds too weak by itself."""
    context = ssl.create_default_context(cafile=settings["ssl.truststore.location"])
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.deprecated_call():
        context.minimum_version = context.maximum_version = version
    host, _, port = settings["bootstrap.servers"].partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=SOON_S) as connection,
        context.wrap_socket(connection, server_hostname=host) as tls,
    ):
        return tls.version()


def test_certificates_are_always_verified(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError, match="always verifies"):
        trial.application(**{"enable.ssl.certificate.verification": "false"}).start()
    ClientSettings(
        {
            "application.id": trial.name,
            **trial.kafka.client_settings("app"),
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    assert "can pretend to be a broker" in caplog.text


class Authority:
    """Signs certificates; its own is at `path`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        own = self._certificate(self._key.public_key(), self._name, NOW + DAY, basic)
        self.path = directory / "authority.pem"
        self.path.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    @contextmanager
    def server(self, names: list[Any], ends: datetime) -> Iterator[str]:
        """What shows a certificate for these names to whoever connects: gives its address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        alternative = x509.SubjectAlternativeName(names)
        certificate = self._certificate(key.public_key(), subject, ends, alternative)
        path = self._directory / "server.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            threading.Thread(target=shake_hands, args=[listening, context], daemon=True).start()
            yield f"127.0.0.1:{listening.getsockname()[1]}"
            listening.shutdown(socket.SHUT_RDWR)

    def _certificate(
        self, key: Any, subject: x509.Name, ends: datetime, extension: Any
    ) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - 2 * DAY)
            .not_valid_after(ends)
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )


def shake_hands(listening: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(5)
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                continue
