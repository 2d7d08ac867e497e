"""A made-up application over HTTP: what the console is shown, without Kafka and Spark."""

from __future__ import annotations

import dataclasses
import hashlib
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from headrace import Topology
from headrace.cli import store_purchases
from headrace.console.files import HEADERS, PAGE, files
from headrace.console.picture import picture
from headrace.server import answers

WINDOW_MS = 300_000
NINE = 1_800_000_000_000


class FakeApplication:
    """Answers as a server does that runs `topology`. Attributes are what it answers with."""

    def __init__(
        self,
        topology: Topology | None = None,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.topology = topology or store_purchases.topology()
        self.application_id = "store-purchases"
        self.state = "RUNNING"
        self.paused = False
        self.token: str | None = None
        self.rate = 310.0
        self.lag: int | None = 4
        self.reason: str | None = None
        self.last_error: str | None = None
        self.restoring: list[answers.Restoration] = []
        self.errors: list[answers.Failure] = []
        self.dead_letters = answers.DeadLetters(None, [])
        self.metrics: list[answers.Metric] = []
        self.records: list[answers.Record] = []
        """Of every topic."""
        self.values: dict[str, Any] = {"ann": 214, "bob": 88}
        self.problem: answers.Problem | None = None
        """Answered to every lookup."""
        self.requests: list[str] = []
        self.bytes_sent = 0
        self._began = time.monotonic()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # What it answers

    def answer(self, path: str, query: dict[str, str]) -> Any:
        match path.removeprefix("/v1/").split("/"):
            case ["state"] | ["pause"] | ["resume"]:
                return self._state()
            case ["topology"]:
                return self._topology()
            case ["topology", "picture"]:
                return picture(self.topology.describe().to_dict(), self.application_id)
            case ["tasks"]:
                return answers.Tasks(self._tasks())
            case ["stores"]:
                return answers.Stores(self._stores())
            case ["stores", name]:
                found = [store for store in self._stores() if store.name == unquote(name)]
                return found[0] if found else _no_store(name)
            case ["stores", name, lookup]:
                return self.problem or self._lookup(unquote(name), lookup, query)
            case ["topics", name, "records"]:
                return self.problem or answers.Records(unquote(name), self.records)
            case ["config"]:
                return answers.Configuration(_settings(self.application_id))
            case ["metrics"]:
                return answers.Metrics(self.metrics)
            case ["errors"]:
                return answers.Failures(self.errors, 0)
            case ["dead-letters"]:
                return self.dead_letters
        return answers.Problem("about:blank", "Not found", 404, f"No route {path}.", "no-route")

    def _state(self) -> answers.State:
        seconds = time.monotonic() - self._began
        return answers.State(
            application_id=self.application_id,
            state=self.state,  # type: ignore[arg-type]
            paused=self.paused,
            version="0.1.0",
            uptime_ms=int(seconds * 1000),
            tasks=6,
            records_total=48_210 + int(seconds * self.rate),
            rate=self.rate,
            lag=self.lag,
            batches=212 + int(seconds * 4),
            batch_ms=240.0 + 30 * (int(seconds) % 3),
            restoring=self.restoring,
            reason=self.reason,
            last_error=self.last_error,
        )

    def _topology(self) -> answers.Topology:
        description = self.topology.describe()
        parts = []
        reads: dict[str, list[str]] = {}
        writes: dict[str, list[str]] = {}
        for part in description.to_dict()["subtopologies"]:
            nodes = []
            for node in part["nodes"]:
                topics = node.get("topics") or ([node["topic"]] if node.get("topic") else [])
                for topic in topics:
                    by = reads if node["kind"] == "source" else writes
                    by.setdefault(topic, []).append(node["name"])
                nodes.append(
                    answers.Node(
                        node["name"],
                        node["kind"],
                        topics,
                        node.get("pattern"),
                        node.get("extractor"),
                        node.get("stores", []),
                    )
                )
            parts.append(
                answers.Subtopology(
                    part["id"], part["global"], nodes, part["edges"], part["stores"]
                )
            )
        topics = [
            answers.Topic(
                name, name.endswith("-repartition"), 2, reads.get(name, []), writes.get(name, [])
            )
            for name in dict.fromkeys([*reads, *writes])
        ]
        return answers.Topology(str(description), parts, topics)

    def _tasks(self) -> list[answers.Task]:
        seconds = time.monotonic() - self._began
        tasks = []
        for part in self._topology().subtopologies:
            sources = [node for node in part.nodes if node.kind == "source"]
            for partition in range(2):
                position = 24_000 + int(seconds * self.rate / 2)
                inputs = [
                    answers.InputPartition(
                        topic, partition, node.name, position, position + 2, 2 * (part.id == 0)
                    )
                    for node in sources
                    for topic in node.topics
                ]
                tasks.append(
                    answers.Task(
                        f"{part.id}_{partition}",
                        part.id,
                        partition,
                        partition,
                        f"127.0.0.1:{4711 + partition}",
                        position,
                        self.rate / 2,
                        0,
                        2 * (part.id == 0),
                        inputs,
                        part.stores,
                        0,
                    )
                )
        return tasks

    def _stores(self) -> list[answers.Store]:
        def store(name: str, kind: Any, lookups: list[Any]) -> answers.Store:
            changelog = f"{self.application_id}-{name}-changelog"
            return answers.Store(
                name, kind, True, False, True, changelog, 1, [0, 1], lookups, "text"
            )

        return [
            store("points", "key-value", ["value", "entries"]),
            store("per-department", "window", ["windows"]),
            store("prices", "versioned", ["value", "versions"]),
            store("visits", "session", ["sessions"]),
        ]

    def _lookup(self, name: str, lookup: str, query: dict[str, str]) -> Any:
        if lookup == "value":
            key = query["key"]
            if key not in self.values:
                return answers.Problem(
                    "about:blank", "No such key", 404, f"Store {name} has no key {key!r}.", "no-key"
                )
            return answers.Value(key, self.values[key], NINE, None)
        if lookup == "entries":
            keys = sorted(self.values)
            start = int(query.get("cursor") or 0)
            size = int(query["limit"])
            page = [answers.Entry(key, self.values[key], NINE) for key in keys[start:][:size]]
            rest = start + size < len(keys)
            return answers.Entries(page, str(start + size) if rest else None)
        if lookup == "versions":
            found = [answers.Version(n, NINE + n, None if n == 2 else NINE + n + 1) for n in (1, 2)]
            return answers.Versions(found, None)
        return answers.Windows(
            [
                answers.Window(
                    query.get("key") or "coffee", start, start + WINDOW_MS, 17 + number, start
                )
                for number, start in enumerate(range(NINE, NINE + 3 * WINDOW_MS, WINDOW_MS))
            ],
            None,
        )

    # How it answers

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        application = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                application._get(self)

            def do_POST(self) -> None:
                application.paused = self.path == "/v1/pause"
                application._get(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _get(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(request.path)
        url = urlsplit(request.path)
        if url.path == "/" or url.path.startswith("/console/"):
            file = files().get(url.path.rpartition("/")[2] or PAGE)
            assert file is not None, request.path
            self._send(request, 200, file.content, {"Content-Type": file.media_type, **HEADERS})
            return
        token = request.headers.get("Authorization")
        found: Any
        if self.token is not None and token != f"Bearer {self.token}":
            found = answers.Problem("about:blank", "Token", 401, "Give the token.", "no-token")
        else:
            given = parse_qs(url.query, keep_blank_values=True)
            found = self.answer(url.path, {name: texts[0] for name, texts in given.items()})
        status = found.status if isinstance(found, answers.Problem) else 200
        body = orjson.dumps(dataclasses.asdict(found))
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.headers.get("If-None-Match") == tag:
            self._send(request, 304, b"", {"ETag": tag})
        else:
            self._send(request, status, body, {"Content-Type": "application/json", "ETag": tag})

    def _send(
        self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]
    ) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if status != 304:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        self.bytes_sent += len(body)


def _no_store(name: str) -> answers.Problem:
    return answers.Problem(
        "about:blank",
        "No such store",
        404,
        f"There is no store {name}.",
        "no-store",
        "Ask /v1/stores.",
    )


def _settings(application_id: str) -> list[answers.Setting]:
    return [
        answers.Setting("application.id", application_id, True, "high", "The name of the whole."),
        answers.Setting("sasl.password", "****", True, "client", "The password."),
        answers.Setting("commit.interval.ms", "100", False, "medium", "How often to commit."),
    ]


Make = Callable[..., FakeApplication]
