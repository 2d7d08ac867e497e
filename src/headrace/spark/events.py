"""Events: what workers and nodes tell the driver while a batch is running, and what it tells nodes.

A connection begins with the driver's token and a newline. Then there is a line of JSON for each
event, and for each message in turn. A node pings, and is answered: so that each side notices when
the other's host has vanished, of which the network says nothing.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from select import POLLIN, poll
from typing import Any

import orjson

from headrace.core.record import TaskId, TopicPartition
from headrace.engine.slot_runner import STOP

Send = Callable[[Any], None]
Address = tuple[str, int, str]
"""Host, port and token."""

PING_EVERY_S = 10.0
SILENCE_S = 45.0
"""After so long without a word, who pings takes the driver for gone, and the driver takes it."""

_MOST_UNPROVEN = 64
"""So many connections may be about to show their token. Those who have shown it are workers and
nodes, and there are as many as Spark has started."""
_PATIENCE_S = 5.0
_LONGEST_LINE = 4 << 20
_PING, _PONG = ["ping"], "pong"

log = logging.getLogger("headrace")


class EventServer:
    """Hears of what happens in workers: (event, store, topic, partition, numbers …), or ("alive",).

    `on_event(event, send)`: with `send`, who told it can be told something in turn. When a
    connection ends, the event is ("gone",). `address` is what a sender needs. Of those who don't
    know the token nothing is read but as many bytes as it has.
    """

    def __init__(
        self,
        host: str,
        on_event: Callable[[list[Any], Send], None],
        *,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._on_event = on_event
        self._silence_s = silence_s
        self._token = secrets.token_hex(16)
        self._unproven = threading.BoundedSemaphore(_MOST_UNPROVEN)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        self._listening = socket.create_server((host, 0), backlog=_MOST_UNPROVEN)
        self.address: Address = (host, int(self._listening.getsockname()[1]), self._token)
        threading.Thread(target=self._accept, name="headrace-events", daemon=True).start()

    def close(self) -> None:
        """Hear nothing more. Nodes notice that their driver has ended."""
        with self._lock:
            self._is_closed = True
            ending = [self._listening, *self._connections]
        for each in ending:
            _shut(each)
        self._listening.close()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # it is closed, or there are too many open files
                time.sleep(0.1)
                continue
            if not self._unproven.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                is_proven = self._is_proven(connection)
            finally:
                self._unproven.release()
            if is_proven and self._admit(connection):
                try:
                    self._hear(connection)
                finally:
                    with self._lock:
                        self._connections.discard(connection)

    def _is_proven(self, connection: socket.socket) -> bool:
        """Whether the token comes first, and soon."""
        token = self._token.encode() + b"\n"
        deadline = time.monotonic() + _PATIENCE_S
        said = b""
        with suppress(OSError):
            while len(said) < len(token):
                connection.settimeout(max(0.0, deadline - time.monotonic()))
                part = connection.recv(len(token) - len(said))
                if not part:
                    break
                said += part
        return hmac.compare_digest(said, token)

    def _admit(self, connection: socket.socket) -> bool:
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with self._lock:
            if not self._is_closed:
                self._connections.add(connection)
            return not self._is_closed

    def _hear(self, connection: socket.socket) -> None:
        sender = _Sender(connection)
        try:
            for event in _read_lines(connection):
                if event == _PING:
                    # From now on it is to be heard of regularly.
                    connection.settimeout(self._silence_s)
                    sender.send(_PONG)
                else:
                    self._pass_on(event, sender.send)
        finally:
            self._pass_on(["gone"], sender.send)

    def _pass_on(self, event: list[Any], send: Send) -> None:
        try:
            self._on_event(event, send)
        except Exception:  # a listener of the user's, for example
            log.exception("The event %s could not be handled", event)


class EventSender:
    """A listener that tells the driver. If the driver can't be reached, nobody is told."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._address: Address = host, port, token
        self._socket: socket.socket | None = None
        self._sent_at = time.monotonic()
        self._stop_asked = False
        self._heard = b""

    def alive(self) -> None:
        """Said once a second at most. The answer may be to stop."""
        if time.monotonic() - self._sent_at > 1.0:
            self._send("alive")
            self._listen()

    def stop_asked(self) -> bool:
        return self._stop_asked

    def progressed(self, positions: Mapping[TopicPartition, int]) -> None:
        self._send("progressed", [(*part, offset) for part, offset in positions.items()])

    def starting(self, slot: int, task: TaskId) -> None:
        self._send("starting", slot, str(task))

    def attempt_failed(self, slot: int, task: TaskId | None, error: Exception) -> None:
        name = None if task is None else str(task)
        self._send("attempt_failed", slot, name, type(error).__name__, str(error))

    def restore_started(self, store: str, partition: TopicPartition, start: int, end: int) -> None:
        self._send("restore_started", store, *partition, start, end)

    def batch_restored(
        self, store: str, partition: TopicPartition, offset: int, records: int
    ) -> None:
        self._send("batch_restored", store, *partition, offset, records)

    def restore_ended(self, store: str, partition: TopicPartition, records: int) -> None:
        self._send("restore_ended", store, *partition, records)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._heard = b""

    def _listen(self) -> None:
        """Take what the driver has said, if anything."""
        if self._socket is None or not _has_input(self._socket):
            return
        with suppress(OSError):
            self._heard += self._socket.recv(4096)
        *lines, self._heard = self._heard.split(b"\n")
        self._stop_asked = self._stop_asked or any(orjson.loads(line) == STOP for line in lines)

    def _send(self, *event: Any) -> None:
        self._sent_at = time.monotonic()
        try:
            if self._socket is None:
                self._socket = _connect(self._address)
            self._socket.sendall(_line(event))
        except OSError:
            self.close()


class DriverConnection:
    """A node's connection to its driver. It must `ping` every PING_EVERY_S."""

    def __init__(self, address: Address, *, silence_s: float = SILENCE_S) -> None:
        self._socket = _connect(address)
        self._socket.settimeout(silence_s)
        self._sender = _Sender(self._socket)
        self.own_host: str = self._socket.getsockname()[0]
        self.ping()

    def ping(self) -> None:
        self._sender.send(_PING)

    def tell(self, *event: Any) -> None:
        self._sender.send(event)

    def messages(self) -> Iterator[Any]:
        """What the driver says, until it ends or nothing is heard of it any more."""
        return (message for message in _read_lines(self._socket) if message != _PONG)

    def close(self) -> None:
        self._socket.close()


class _Sender:
    """Sends one line at a time, for several threads. If that fails, the connection ends, as a line
    may have been cut short."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: Any) -> None:
        with self._lock:
            try:
                self._connection.sendall(_line(message))
            except OSError:
                _shut(self._connection)


def _has_input(connection: socket.socket) -> bool:
    """Whether something can be read at once. Unlike `select`, also where the process has more than
    1,024 files open."""
    looked_at = poll()
    looked_at.register(connection, POLLIN)
    return bool(looked_at.poll(0))


def _connect(address: Address) -> socket.socket:
    host, port, token = address
    connection = socket.create_connection((host, port), timeout=_PATIENCE_S)
    try:
        connection.sendall(token.encode() + b"\n")
    except BaseException:
        connection.close()
        raise
    return connection


def _read_lines(connection: socket.socket) -> Iterator[Any]:
    """What comes, until the connection ends, is silent for too long, or has no lines of ours."""
    with connection.makefile("rb") as lines, suppress(OSError, orjson.JSONDecodeError):
        while (line := lines.readline(_LONGEST_LINE)).endswith(b"\n"):
            yield orjson.loads(line)
        if len(line) == _LONGEST_LINE:
            log.warning("A line of more than %d bytes ended an event connection", _LONGEST_LINE)


def _line(message: Any) -> bytes:
    return orjson.dumps(message) + b"\n"


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
