"""The application under test, in a process of its own: `python -m tests.chaos.driver SPEC`."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from headrace.app.streams import KafkaStreams

from .pipeline import Pipeline


def main(spec: str) -> None:
    form = json.loads(Path(spec).read_text())
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("py4j").setLevel(logging.ERROR)
    pipeline = Pipeline(form["application_id"], form["partitions"])
    streams = KafkaStreams(pipeline.topology(), form["settings"])
    streams.set_state_listener(lambda new, old: print("state", new.value, flush=True))
    streams.run()


if __name__ == "__main__":
    main(sys.argv[1])
