"""Clients of Kafka: positions, transactions, changelogs, topics; and a broker for tests."""
