"""Exactly once, when brokers die, answers to commits are lost, and workers wake up too late.
`scripts/chaos` goes on for longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.positions import GroupReader
from tests.chaos.outages import (
    DROWSY,
    IMPATIENT,
    Role,
    check_producers,
    kill_broker,
    lose_answers,
    make_zombie,
)
from tests.chaos.proxy import KafkaProxy, Loss
from tests.chaos.runner import Run, fresh_load
from tests.kafka.cluster import settings


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[EmbeddedKafka]:
    """With three replicas of everything, two of which must be in sync."""
    with EmbeddedKafka(brokers=3) as kafka:
        yield kafka


def test_clients_find_the_next_leader(three_brokers: EmbeddedKafka, name: str) -> None:
    """By themselves they would wait for the one that they know."""
    three_brokers.create_topic(name, 3)
    parts = [TopicPartition(name, number) for number in range(3)]
    given = settings(three_brokers, name)
    with closing(GroupReader(given)) as group, closing(Admin(given)) as admin:
        for _ in range(2):
            assert group.end_offsets(parts) == dict.fromkeys(parts, 0)
            assert admin.describe([name]).keys() == {name}
            leader = three_brokers.leader(name)
            three_brokers.kill_broker(leader)
            assert group.end_offsets(parts) == dict.fromkeys(parts, 0)
            assert admin.describe([name]).keys() == {name}
            three_brokers.start_broker(leader)


def test_a_leader_and_the_controller_killed(three_brokers: EmbeddedKafka, tmp_path: Path) -> None:
    with Run(three_brokers, tmp_path, fresh_load(seed=21)) as run:
        run.start()
        for role in Role:
            kill_broker(run, role)
        run.finish()
        assert run.driver.starts == 1


def test_answers_to_commits_that_are_lost(tmp_path: Path) -> None:
    """The transaction is committed, but who asked for it doesn't hear so."""
    losses = [*Loss, Loss.CUT, Loss.CUT]
    with KafkaProxy() as proxy, EmbeddedKafka(advertised_ports=proxy.ports) as kafka:
        proxy.connect(kafka.bootstrap_servers)
        with Run(kafka, tmp_path, fresh_load(seed=22), settings=IMPATIENT) as run:
            run.start()
            lose_answers(run, proxy, losses)
            run.finish()
            assert [loss for _, loss in proxy.lost] == losses
            check_producers(proxy.ends)
            assert run.driver.starts == 1


def test_a_host_that_goes_on_when_it_was_replaced(
    embedded_kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    with Run(embedded_kafka, tmp_path, fresh_load(seed=23), settings=DROWSY) as run:
        run.start()
        make_zombie(run)
        run.finish()
