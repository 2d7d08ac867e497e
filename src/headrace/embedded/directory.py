"""The directory of an embedded cluster: whose it is, and that it is used once at a time."""

from __future__ import annotations

import fcntl
import json
import shutil
import tempfile
import time
from pathlib import Path

from headrace.core.errors import ConfigError, LockError
from headrace.embedded.program import new_id

_IDENTITY = "cluster.json"
_LOCK = ".lock"
# Brokers whose owner was killed end by themselves within this time.
_WAIT_SECONDS = 20.0


class ClusterDirectory:
    """A given directory, kept and found again, or a temporary one that goes when released."""

    def __init__(self, given: Path | None, brokers: int) -> None:
        self.temporary = given is None
        self.path = given or Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
        identity = self.path / _IDENTITY
        if self.path.exists() and not identity.exists():
            others = [path.name for path in self.path.iterdir() if path.name != _LOCK]
            if others:
                raise ConfigError(
                    f"{self.path} isn't a Kafka's, it has {min(others)!r}: give another directory"
                )
        self.path.mkdir(parents=True, exist_ok=True)
        # Every broker's keeper inherits it, so that the lock lasts as long as any of them.
        self.lock = (self.path / _LOCK).open("w")
        try:
            self._take_lock()
            if not identity.exists():
                unfinished = identity.with_suffix(".unfinished")
                unfinished.write_text(json.dumps({"cluster_id": new_id(), "brokers": brokers}))
                unfinished.replace(identity)
            known = json.loads(identity.read_text())
            if known["brokers"] != brokers:
                raise ConfigError(
                    f"{self.path} has a Kafka of {known['brokers']} brokers, not {brokers}: "
                    "start it as it was, or give another directory"
                )
            self.cluster_id = str(known["cluster_id"])
        except BaseException:
            self.lock.close()
            raise

    def release(self) -> None:
        self.lock.close()
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)

    def _take_lock(self) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LockError(
                        f"{self.path} is in use by another Kafka: stop it, or give another "
                        "directory"
                    ) from None
                time.sleep(0.1)
