from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from headrace.core.errors import ArgumentError, BrokerError, ConfigError, LockError, StateError
from headrace.embedded import Acl, EmbeddedKafka

TIMEOUT = 60.0


def admin(kafka: EmbeddedKafka, **settings: str) -> AdminClient:
    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers, **dotted, "log_level": 0})


def produce(kafka: EmbeddedKafka, topic: str, count: int) -> int:
    """Sends records that all replicas must have; how many weren't delivered in the end."""
    servers = kafka.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    for number in range(count):
        producer.produce(topic, str(number))
    return producer.flush(TIMEOUT)


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def answers(server: str) -> bool:
    host, port = server.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


class TestTheBrokerOfTheFixture:
    def test_serves(self, embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]) -> None:
        topic = topic_name()
        embedded_kafka.create_topic(topic, 3)
        assert produce(embedded_kafka, topic, 100) == 0
        found = admin(embedded_kafka).list_topics(timeout=TIMEOUT)
        assert len(found.topics[topic].partitions) == 3
        assert embedded_kafka.client_settings() == {
            "bootstrap.servers": embedded_kafka.bootstrap_servers,
            "security.protocol": "PLAINTEXT",
        }

    def test_has_transactions(
        self, embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]
    ) -> None:
        topic = topic_name()
        embedded_kafka.create_topic(topic)
        producer = Producer(
            {
                "bootstrap.servers": embedded_kafka.bootstrap_servers,
                "transactional.id": topic,
                "log_level": 0,
            }
        )
        producer.init_transactions(TIMEOUT)
        producer.begin_transaction()
        producer.produce(topic, "a")
        producer.commit_transaction(TIMEOUT)

    def test_topics_have_settings(
        self, embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]
    ) -> None:
        topic = topic_name()
        embedded_kafka.create_topic(topic, cleanup_policy="compact", segment_ms=60_000)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        asking = admin(embedded_kafka)
        settings = asking.describe_configs([resource])[resource].result()
        assert settings["cleanup.policy"].value == "compact"
        assert settings["segment.ms"].value == "60000"
        assert settings["retention.ms"].value == "-1"

    def test_says_why_a_topic_cant_be(
        self, embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]
    ) -> None:
        topic = topic_name()
        embedded_kafka.create_topic(topic)
        with pytest.raises(BrokerError, match=rf"topic '{topic}'.*already exists"):
            embedded_kafka.create_topic(topic)
        with pytest.raises(BrokerError, match=r"nonsense\.setting"):
            embedded_kafka.create_topic(topic_name(), nonsense_setting=1)

    def test_doesnt_make_topics_by_itself(
        self, embedded_kafka: EmbeddedKafka, topic_name: Callable[[], str]
    ) -> None:
        topic = topic_name()
        admin(embedded_kafka).list_topics(topic, timeout=TIMEOUT)
        assert topic not in admin(embedded_kafka).list_topics(timeout=TIMEOUT).topics

    def test_is_there_once(self, embedded_kafka: EmbeddedKafka) -> None:
        with pytest.raises(StateError, match="running already"):
            embedded_kafka.start()
        with pytest.raises(StateError, match="broker 1 is running already"):
            embedded_kafka.start_broker(1)
        with pytest.raises(ArgumentError, match="no broker 2, only 1 to 1"):
            embedded_kafka.kill_broker(2)


def test_one_broker_stopped_killed_and_paused(tmp_path: Path) -> None:
    with EmbeddedKafka(tmp_path / "kafka") as kafka:
        kafka.create_topic("kept")
        cluster = admin(kafka).list_topics(timeout=TIMEOUT).cluster_id
        servers = kafka.bootstrap_servers

        kafka.kill_broker(1)
        assert not answers(servers)
        kafka.start_broker(1)
        assert "kept" in admin(kafka).list_topics(timeout=TIMEOUT).topics

        kafka.pause_broker(1)
        with pytest.raises(KafkaException):
            admin(kafka).list_topics(timeout=1)
        kafka.resume_broker(1)
        assert "kept" in admin(kafka).list_topics(timeout=TIMEOUT).topics

        kafka.pause_broker(1)
        kafka.stop_broker(1)

    # The data stayed, and the next start finds it.
    assert not answers(servers)
    with EmbeddedKafka(tmp_path / "kafka") as again:
        found = admin(again).list_topics(timeout=TIMEOUT)
        assert "kept" in found.topics
        assert found.cluster_id == cluster

    with pytest.raises(ConfigError, match="has a Kafka of 1 brokers, not 3"):
        EmbeddedKafka(tmp_path / "kafka", brokers=3).start()


def test_three_brokers() -> None:
    with EmbeddedKafka(brokers=3) as kafka:
        directory = kafka.directory
        assert len(kafka.bootstrap_servers.split(",")) == 3
        kafka.create_topic("replicated", 3)
        partitions = admin(kafka).list_topics(timeout=TIMEOUT).topics["replicated"].partitions
        assert all(len(partition.replicas) == 3 for partition in partitions.values())
        assert produce(kafka, "replicated", 100) == 0

        assert {kafka.leader("replicated", number) for number in range(3)} <= {1, 2, 3}
        controller = kafka.controller
        kafka.kill_broker(controller)
        assert until(lambda: kafka.controller not in (controller, -1))
        kafka.start_broker(controller)

        kafka.kill_broker(2)
        assert produce(kafka, "replicated", 100) == 0
        assert until(lambda: set(admin(kafka).list_topics(timeout=TIMEOUT).brokers) == {1, 3})
        kafka.start_broker(2)
        kafka.stop_broker(1)
        assert produce(kafka, "replicated", 100) == 0
    assert not directory.exists()


@pytest.fixture(scope="module", params=["SASL_PLAINTEXT", "SASL_SSL", "SSL"])
def secured(request: pytest.FixtureRequest) -> Iterator[EmbeddedKafka]:
    users = {"alice": 'in "wonder\\land"', "bob": "builder"}
    protocol = request.param
    with EmbeddedKafka(security=protocol, users=users if "SASL" in protocol else None) as kafka:
        kafka.create_topic("secret")
        yield kafka


class TestSecurity:
    def test_clients_with_the_settings_get_in(self, secured: EmbeddedKafka) -> None:
        settings = secured.client_settings()
        known = {"security_protocol": settings["security.protocol"]}
        if "SASL" in known["security_protocol"]:
            assert secured.client_settings("bob")["sasl.jaas.config"].endswith(
                'PlainLoginModule required username="bob" password="builder";'
            )
            known |= {"sasl_mechanism": settings["sasl.mechanism"]}
            known |= {"sasl_username": "alice", "sasl_password": 'in "wonder\\land"'}
        if "SSL" in known["security_protocol"]:
            assert settings["ssl.truststore.type"] == "PEM"
            known |= {"ssl_ca_location": settings["ssl.truststore.location"]}
        assert "secret" in admin(secured, **known).list_topics(timeout=TIMEOUT).topics

        if "SASL" in known["security_protocol"]:
            with pytest.raises(KafkaException):
                admin(secured, **{**known, "sasl_password": "wrong"}).list_topics(timeout=2)
            with pytest.raises(ArgumentError, match="no user 'eve', only alice, bob"):
                secured.client_settings("eve")

    def test_others_dont(self, secured: EmbeddedKafka) -> None:
        with pytest.raises(KafkaException):
            admin(secured).list_topics(timeout=2)


def test_scram_and_rights() -> None:
    users = {"alice": 'in "wonder\\land"', "bob": "builder"}
    with EmbeddedKafka(
        security="SASL_PLAINTEXT", mechanism="SCRAM-SHA-512", users=users, authorizer=True
    ) as kafka:
        kafka.create_topic("secret")

        def topics(user: str, password: str | None = None) -> set[str]:
            settings = kafka.client_settings(user)
            asking = admin(
                kafka,
                security_protocol=settings["security.protocol"],
                sasl_mechanism=settings["sasl.mechanism"],
                sasl_username=user,
                sasl_password=password or users[user],
            )
            return set(asking.list_topics(timeout=5).topics)

        assert topics("alice") == set()
        right = Acl("DESCRIBE", "TOPIC", "sec", prefixed=True)
        kafka.allow("alice", right)
        assert topics("alice") == {"secret"}
        assert topics("bob") == set()
        kafka.revoke("alice", right)
        assert topics("alice") == set()
        with pytest.raises(KafkaException):
            topics("alice", "wrong")


def test_users_with_certificates() -> None:
    users = {"alice": "wonderland", "bob": "builder"}
    with EmbeddedKafka(security="SSL", users=users, authorizer=True) as kafka:
        kafka.create_topic("secret")
        kafka.allow("alice", Acl("DESCRIBE", "TOPIC", "secret"))

        def topics(**changed: str) -> set[str]:
            settings = kafka.client_settings("alice")
            known = {
                "security_protocol": "SSL",
                "ssl_ca_location": settings["ssl.truststore.location"],
                "ssl_keystore_location": settings["ssl.keystore.location"],
                "ssl_keystore_password": settings["ssl.keystore.password"],
            }
            return set(admin(kafka, **{**known, **changed}).list_topics(timeout=5).topics)

        assert topics() == {"secret"}
        bob = kafka.client_settings("bob")
        assert (
            topics(
                ssl_keystore_location=bob["ssl.keystore.location"], ssl_keystore_password="builder"
            )
            == set()
        )
        with pytest.raises(KafkaException):
            topics(ssl_keystore_location="", ssl_keystore_password="")


class TestWhenItCantStart:
    def test_port_in_use(self, tmp_path: Path) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(BrokerError, match=f"Port {port} is in use by another program"):
                EmbeddedKafka(port=port).start()

    def test_the_log_says_why(self) -> None:
        kafka = EmbeddedKafka(properties={"num.io.threads": "many"})
        with pytest.raises(BrokerError, match=r"(?s)broker 1 ended.*many.*num\.io\.threads"):
            kafka.start()

    def test_foreign_directory(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(ConfigError, match=r"isn't a Kafka's, it has 'thesis\.tex'"):
            EmbeddedKafka(tmp_path).start()
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]

    def test_wrong_arguments(self) -> None:
        with pytest.raises(ArgumentError, match="brokers=0"):
            EmbeddedKafka(brokers=0)
        with pytest.raises(ArgumentError, match="security='TLS': must be one of PLAINTEXT, SSL"):
            EmbeddedKafka(security="TLS")
        with pytest.raises(ArgumentError, match="users need a listener with SASL or SSL"):
            EmbeddedKafka(users={"alice": "secret"})
        with pytest.raises(ArgumentError, match="mechanism='MD5': must be one of PLAIN, SCRAM"):
            EmbeddedKafka(security="SASL_SSL", mechanism="MD5")
        with pytest.raises(ArgumentError, match="authorizer=True needs users"):
            EmbeddedKafka(security="SSL", authorizer=True)

    def test_not_started(self) -> None:
        with pytest.raises(StateError, match="isn't running"):
            _ = EmbeddedKafka().bootstrap_servers
        with pytest.raises(StateError, match="isn't running"):
            EmbeddedKafka().create_topic("a")
        EmbeddedKafka().stop()


USER = """\
import sys, time
from headrace.embedded import EmbeddedKafka
kafka = EmbeddedKafka(*sys.argv[1:])
kafka.start()
print(kafka.bootstrap_servers, kafka.directory, flush=True)
time.sleep(600)
"""


def test_it_ends_with_a_process_that_is_killed() -> None:
    command = [sys.executable, "-c", USER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        servers, directory = user.stdout.readline().split()
        assert answers(servers)
        user.send_signal(signal.SIGKILL)
    assert until(lambda: not answers(servers))
    assert until(lambda: not Path(directory).exists())


def test_a_directory_is_used_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", USER, str(tmp_path / "kafka")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        user.stdout.readline()
        monkeypatch.setattr("headrace.embedded.directory._WAIT_SECONDS", 0.2)
        with pytest.raises(LockError, match="is in use by another Kafka"):
            EmbeddedKafka(tmp_path / "kafka").start()
        monkeypatch.undo()
        user.send_signal(signal.SIGKILL)
    # The broker of the killed process may still be on its way out.
    with EmbeddedKafka(tmp_path / "kafka") as kafka:
        kafka.create_topic("a")
