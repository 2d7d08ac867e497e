"""One broker as a process of the operating system."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from signal import Signals
from typing import NamedTuple

from headrace.embedded import keeper
from headrace.embedded.directory import ClusterDirectory

_LOGGING = """\
<Configuration status="ERROR">
  <Appenders>
    <Console name="out"><PatternLayout pattern="%d %p %c{1}: %m%n"/></Console>
  </Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


class Vote(NamedTuple):
    """Which broker is the controller, in the last election that a broker heard of."""

    leader: int
    epoch: int


class BrokerProcess:
    """A broker in a directory of its own, with its settings, log and data.

    It doesn't outlive this process, even if that dies by kill -9.
    """

    def __init__(self, cluster: ClusterDirectory, node: int) -> None:
        directory = cluster.path / f"broker-{node}"
        self._cluster = cluster
        self.data = directory / "data"
        self.log = directory / "broker.log"
        self._properties = directory / "server.properties"
        self._logging = directory / "log4j2.xml"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def configure(self, properties: Mapping[str, object]) -> None:
        self._properties.parent.mkdir(parents=True, exist_ok=True)
        self._logging.write_text(_LOGGING)
        self._properties.touch(mode=0o600)  # Passwords of users are in it.
        # A properties file is Latin-1, with the escapes of JSON.
        values = {name: json.dumps(str(value))[1:-1] for name, value in properties.items()}
        self._properties.write_text("".join(f"{name}={values[name]}\n" for name in values))

    @property
    def running(self) -> bool:
        return self._keeper is not None and self._keeper.poll() is None

    def start(self, java: Sequence[str]) -> None:
        """`java` is the command up to the class that is to run."""
        remove = str(self._cluster.path) if self._cluster.temporary else ""
        command = [
            *(sys.executable, "-I", "-S", keeper.__file__, remove),
            *java,
            f"-Dlog4j2.configurationFile={self._logging}",
            *("kafka.Kafka", str(self._properties)),
        ]
        # In a session of its own: Ctrl-C in a terminal is for us, and we stop it in order.
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._keeper = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[self._cluster.lock.fileno()],
                start_new_session=True,
            )

    def signal(self, *signals: Signals) -> None:
        """Send signals, if it still runs."""
        if self._keeper is not None and self._keeper.stdin is not None:
            with suppress(BrokenPipeError):
                self._keeper.stdin.write("".join(f"{each.name}\n" for each in signals).encode())
                self._keeper.stdin.flush()

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended in time."""
        if self._keeper is None:
            return True
        try:
            self._keeper.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        if self._keeper.stdin is not None:
            with suppress(BrokenPipeError):  # A signal that came too late.
                self._keeper.stdin.close()
        self._keeper = None
        return True

    def last_vote(self) -> Vote:
        state = json.loads((self.data / "__cluster_metadata-0" / "quorum-state").read_text())
        return Vote(state["leaderId"], state["leaderEpoch"])

    def end_of_log(self, lines: int = 15) -> str:
        """What it said last since it was started, without the lines of stack traces."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read().decode(errors="replace").splitlines()
        return "\n".join([line for line in text if not line.startswith("\tat ")][-lines:])
