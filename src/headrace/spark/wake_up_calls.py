"""Wake-up calls: rows that the driver writes into a running query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession


class WakeUpCalls:
    """A source of Spark's that has a row, `value`, for each task that is to look at the wall clock;
    and none while there is nothing to wake: an idle application has no batches."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        java: Any = session._jvm
        self._java = java
        streaming = java.org.apache.spark.sql.execution.streaming
        integers = java.org.apache.spark.sql.Encoders.INT()
        self._stream = streaming.MemoryStream.apply(integers, session._jsparkSession.sqlContext())

    def rows(self) -> DataFrame:
        return DataFrame(self._stream.toDF(), self._session)

    def add(self, tasks: Iterable[int]) -> None:
        self._stream.addData(self._java.PythonUtils.toSeq(list(tasks)))
