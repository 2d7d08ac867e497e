"""Testing SQL, with no Kafka and no Spark.

`Rehearsal`: statements, records as JSON in, records as JSON out. `SqlTestDriver`: statements one by
one, with rows by INSERT VALUES and checks by ASSERT VALUES.
"""

from headrace.testing.sql.rehearsal import Rehearsal, Written
from headrace.testing.sql.script import AssertionFailed, SqlTestDriver

__all__ = ["AssertionFailed", "Rehearsal", "SqlTestDriver", "Written"]
