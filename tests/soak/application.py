"""The application that runs for long, in a process of its own:
`python -m tests.soak.application SPEC`.

Its state is bounded: there are so many keys, and windows are soon forgotten. Whatever else grows
is a leak.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from headrace import KStream, Materialized, StreamsBuilder, TimeWindows, Topology, serdes
from headrace.app.lifecycle import State
from headrace.app.streams import KafkaStreams

SOURCE, COUNTS, WINDOWS = "soak.clicks", "soak.counts", "soak.windows"
TOPICS = SOURCE, COUNTS, WINDOWS

_TEXT, _NUMBER = serdes.string(), serdes.long()
_WINDOW = timedelta(seconds=10)
_GRACE = timedelta(minutes=1)
_VITALS_EVERY_S = 30.0


def topology() -> Topology:
    """Counts by key, and by windows of another key, with a topic in between."""
    builder = StreamsBuilder()
    clicks: KStream[str, str] = builder.stream(SOURCE, key=_TEXT, value=_TEXT)
    counts = clicks.group_by_key().count(Materialized("counts", value=_NUMBER))
    counts.to_stream().to(COUNTS, key=_TEXT, value=_NUMBER)
    pages = clicks.group_by(lambda _, page: page, key=_TEXT, value=_TEXT, name="by-page")
    windows = pages.windowed_by(TimeWindows.of_size(_WINDOW, grace=_GRACE))
    windows.count(Materialized("windows", value=_NUMBER)).to_stream().to(
        WINDOWS, key=serdes.time_windowed(_TEXT, _WINDOW), value=_NUMBER
    )
    return builder.build()


def vitals(streams: KafkaStreams) -> dict[str, float]:
    """What only the process itself can tell. Of Java's heap, what a collection has left: all else
    of it is waste that nobody has had to clear away yet."""
    java: Any = SparkContext._jvm
    java.java.lang.System.gc()
    pools = java.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    left = [pool.getCollectionUsage() for pool in pools]
    return {
        "seconds": time.monotonic(),
        "batches": streams.status().batches,
        "heap": sum(usage.getUsed() for usage in left if usage is not None),
    }


def _tell(streams: KafkaStreams, path: Path, ended: threading.Event) -> None:
    while not ended.wait(_VITALS_EVERY_S):
        if streams.state is not State.RUNNING:
            continue
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(vitals(streams)))
        unfinished.rename(path)


def main(spec: str) -> None:
    form = json.loads(Path(spec).read_text())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = KafkaStreams(topology(), form["settings"])
    ended = threading.Event()
    teller = threading.Thread(
        target=_tell, args=(streams, Path(form["vitals"]), ended), name="vitals", daemon=True
    )
    teller.start()
    try:
        streams.run()
    finally:
        ended.set()
        teller.join()


if __name__ == "__main__":
    main(sys.argv[1])
