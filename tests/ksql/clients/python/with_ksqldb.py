"""The client ksqldb: what it is answered, as JSON. A program of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from ksqldb import KSQLdbClient

EARLIEST = {"auto.offset.reset": "earliest"}
STREAM = (
    "CREATE STREAM clicks (user STRING KEY, page INT, price DECIMAL(4, 2)) "
    "WITH (kafka_topic='clicks', value_format='JSON', partitions=2);"
)
TABLE = "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;"
PUSH = "SELECT user, page, price FROM clicks EMIT CHANGES LIMIT 3;"


def main(url: str) -> dict[str, Any]:
    client = KSQLdbClient(url)
    said: dict[str, Any] = {"properties": client.get_properties()}
    said["stream"] = client.ksql(STREAM)
    said["table"] = client.ksql(TABLE, stream_properties=EARLIEST)
    client.ksql("INSERT INTO clicks VALUES ('anna', 1, 1.50);")
    said["acks"] = client.inserts_stream("clicks", [{"user": "anna", "page": 2}, {"user": "otto"}])

    async def pushed() -> list[Any]:
        return [row async for row in client.query_async(PUSH, stream_properties=EARLIEST)]

    said["push"] = asyncio.run(pushed())
    while True:
        said["pull"] = client.query_sync("SELECT * FROM counts WHERE user = 'anna';")
        if ["anna", 2] in said["pull"]:
            break
    said["closed"] = client.close_query("nothing")
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
