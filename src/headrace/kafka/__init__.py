"""Clients of Kafka: positions, transactions, changelogs, topics."""
