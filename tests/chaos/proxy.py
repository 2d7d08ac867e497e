"""A proxy between an application and its brokers, which loses answers to commits on purpose.

It knows Kafka's requests by their headers. What it passes on it doesn't change: brokers must tell
clients its ports as theirs (`EmbeddedKafka(advertised_ports=…)`).
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from types import TracebackType
from typing import NamedTuple, Self

HOST = "127.0.0.1"
_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">hhi")
_CORRELATION = struct.Struct(">i")
_END_TXN = 26
_FLEXIBLE = 3
"""From this version on, which Java's clients write, EndTxn has tagged fields and short lengths."""


class Loss(Enum):
    """What becomes of an answer."""

    DROPPED = "dropped"
    """The connection stays, and the client waits in vain."""
    DELAYED = "delayed"
    """It comes when nobody waits for it any more."""
    CUT = "cut"
    """The connection ends instead; the client may ask again."""


class EndTxn(NamedTuple):
    """A request to commit or abort a transaction."""

    transactional_id: str
    producer_id: int
    epoch: int
    commits: bool

    @classmethod
    def read(cls, frame: bytes) -> EndTxn:
        _, version, _ = _HEADER.unpack_from(frame)
        _, at = _string(frame, _HEADER.size)  # the client's id
        if version >= _FLEXIBLE:
            # No tagged fields are known in the header, so that there are none.
            transactional_id, at = _compact_string(frame, at + 1)
        else:
            transactional_id, at = _string(frame, at)
        producer_id, epoch, commits = struct.unpack_from(">qhb", frame, at)
        return cls(transactional_id, producer_id, epoch, bool(commits))


class KafkaProxy:
    """Listens on `ports`, one for each broker, once it is entered.

    `ends` are all EndTxn requests in their order, each with what became of its answer: None if it
    was passed on.
    """

    def __init__(self, brokers: int = 1, delay_s: float = 50.0) -> None:
        self.ports: list[int] = []
        self.ends: list[tuple[EndTxn, Loss | None]] = []
        self._brokers = brokers
        self._delay_s = delay_s
        self._targets: Sequence[int] = ()
        self._planned: deque[Loss] = deque()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        for number in range(self._brokers):
            listening = asyncio.run_coroutine_threadsafe(self._listen(number), self._loop)
            self.ports.append(listening.result(10))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def connect(self, bootstrap_servers: str) -> None:
        """Say where the brokers really are."""
        self._targets = [int(each.rpartition(":")[2]) for each in bootstrap_servers.split(",")]

    def lose(self, losses: Iterable[Loss]) -> None:
        """Have these happen to the answers of the next commits."""
        self._planned.extend(losses)

    @property
    def pending(self) -> int:
        return len(self._planned)

    @property
    def lost(self) -> list[tuple[EndTxn, Loss]]:
        """The commits whose answers didn't come, or not in time."""
        return [(end, loss) for end, loss in list(self.ends) if loss is not None]

    # In the loop

    async def _listen(self, number: int) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(number, reader, writer)

        server = await asyncio.start_server(serve, HOST, 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _serve(
        self, number: int, client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        broker, to_broker = await asyncio.open_connection(HOST, self._targets[number])
        losses: dict[int, Loss] = {}
        ways = [
            asyncio.ensure_future(self._pass_requests(client, to_broker, losses)),
            asyncio.ensure_future(self._pass_answers(broker, to_client, losses)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            to_broker.close()
            to_client.close()

    async def _pass_requests(
        self, client: asyncio.StreamReader, broker: asyncio.StreamWriter, losses: dict[int, Loss]
    ) -> None:
        while True:
            frame = await _frame(client)
            key, _, correlation = _HEADER.unpack_from(frame)
            if key == _END_TXN:
                end = EndTxn.read(frame)
                loss = self._planned.popleft() if end.commits and self._planned else None
                self.ends.append((end, loss))
                if loss is not None:
                    losses[correlation] = loss
            broker.write(_SIZE.pack(len(frame)) + frame)
            await broker.drain()

    async def _pass_answers(
        self, broker: asyncio.StreamReader, client: asyncio.StreamWriter, losses: dict[int, Loss]
    ) -> None:
        while True:
            frame = await _frame(broker)
            match losses.pop(_CORRELATION.unpack_from(frame)[0], None):
                case Loss.CUT:
                    return
                case Loss.DROPPED:
                    continue
                case Loss.DELAYED:
                    # Brokers answer in order: whatever follows on the connection waits too.
                    await asyncio.sleep(self._delay_s)
            client.write(_SIZE.pack(len(frame)) + frame)
            await client.drain()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    return await reader.readexactly(size)


def _string(frame: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", frame, at)
    end = at + 2 + max(length, 0)
    return frame[at + 2 : end].decode(), end


def _compact_string(frame: bytes, at: int) -> tuple[str, int]:
    length = shift = 0
    while True:
        byte = frame[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    end = at + length - 1
    return frame[at:end].decode(), end
