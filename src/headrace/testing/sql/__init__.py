"""Testing SQL, with no Kafka and no Spark: statements, records as JSON in, records as JSON out."""

from headrace.testing.sql.rehearsal import Rehearsal, Written

__all__ = ["Rehearsal", "Written"]
