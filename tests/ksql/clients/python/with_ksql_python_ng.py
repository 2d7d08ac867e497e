"""The client ksql-python-ng: what it is answered, as JSON. A program of its own."""

from __future__ import annotations

import json
import sys
from typing import Any

from ksql import KSQLAPI
from ksql.errors import KSQLError

EARLIEST = {"auto.offset.reset": "earliest"}


def main(url: str) -> dict[str, Any]:
    client = KSQLAPI(url)
    said: dict[str, Any] = {"version": client.get_ksql_version()}
    client.create_stream("clicks", ["user VARCHAR KEY", "page INT"], "clicks', partitions='1")
    said["streams"] = client.ksql("SHOW STREAMS")
    client.ksql(
        "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;",
        stream_properties=EARLIEST,
    )
    said["acks"] = client.inserts_stream("clicks", [{"user": "anna", "page": 1}, {"user": "anna"}])
    said["push"] = list(
        client.query(
            "SELECT user, page FROM clicks EMIT CHANGES LIMIT 2",
            stream_properties=EARLIEST,
            use_http2=True,
            parse=True,
        )
    )
    while '["anna",2]' not in (
        pulled := "".join(client.query("SELECT * FROM counts WHERE user = 'anna'"))
    ):
        pass
    said["pull"] = pulled
    try:
        client.ksql("DROP STREAM nothing;")
    except KSQLError as error:
        said["error"] = str(error)
    said["closed"] = client.close_query("nothing")
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
