"""A real Kafka on this machine: EmbeddedKafka, and the processes that it is made of."""

from headrace.embedded.acl import Acl
from headrace.embedded.kafka import EmbeddedKafka

__all__ = ["Acl", "EmbeddedKafka"]
