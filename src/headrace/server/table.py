"""The table of routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.console.picture import Picture
from headrace.core.windowed import LONG_MAX
from headrace.query.keys import ENCODINGS
from headrace.server import answers
from headrace.server.dead_letters import MOST, DeadLetterList
from headrace.server.limits import MAX_RESULTS, USUAL_RESULTS
from headrace.server.lookups import Lookups
from headrace.server.overview import Overview
from headrace.server.routes import Parameter, Parameters, Route
from headrace.server.spread import SpreadLookups
from headrace.server.stores import StoreList
from headrace.server.topic_records import MOST as MOST_RECORDS
from headrace.server.topic_records import USUAL as USUAL_RECORDS
from headrace.server.topic_records import TopicRecords

_MOST_PARTITIONS = 2**31 - 1

_STORE = Parameter("store", "The name of a store.", where="path", required=True)
_KEY = Parameter("key", "A key, written as `encoding` says.", required=True)
_ENCODING = Parameter(
    "encoding",
    "How keys are written. text: as they are, numbers and UUIDs too. json: as JSON. base64: the "
    "bytes that the store has. Else, what is usual for the store: its key_encoding.",
    choices=ENCODINGS,
)
_RAW = Parameter(
    "raw",
    "Whether keys and values are answered as the bytes that the store's serdes make of them, in "
    "base64, rather than as JSON.",
    default="false",
    choices=("false", "true"),
)
_PARTITION = Parameter(
    "partition", "Only this partition of the store.", "integer", maximum=_MOST_PARTITIONS
)
_STALE = Parameter(
    "stale",
    "Whether a standby may answer, which is a little behind, when the host that has the partition "
    "doesn't.",
    default="false",
    choices=("false", "true"),
)
_ONLY_HERE = Parameter(
    "only_here",
    "Whether this host is to answer itself, or not at all: hosts say it to each other.",
    default="false",
    choices=("false", "true"),
)
_PAGE = (
    _PARTITION,
    _STALE,
    _ONLY_HERE,
    Parameter(
        "order",
        "Ascending or descending. One partition comes after the other in both.",
        default="asc",
        choices=("asc", "desc"),
    ),
    Parameter(
        "limit",
        "How many there may be on a page.",
        "integer",
        default=USUAL_RESULTS,
        minimum=1,
        maximum=MAX_RESULTS,
    ),
    Parameter("cursor", "The `next` of the page before."),
)
_KEYS = (
    Parameter("key", "A key, written as `encoding` says. Else, all keys."),
    Parameter("key_from", "The first of several keys."),
    Parameter("key_to", "The last of several keys."),
    _ENCODING,
    _RAW,
)


def _times(first: str, last: str) -> tuple[Parameter, Parameter]:
    return (
        Parameter("from", first, "integer", default=0),
        Parameter("to", last, "integer", default=LONG_MAX),
    )


def _plain(handle: Callable[[], Any]) -> Callable[[Parameters], Any]:
    return lambda asked: handle()


def table(
    overview: Overview,
    stores: StoreList,
    lookups: Lookups | SpreadLookups,
    letters: DeadLetterList,
    records: TopicRecords,
) -> tuple[Route, ...]:
    """All routes below /v1."""
    return (
        Route(
            "GET",
            "/v1/health",
            answers.Health,
            _plain(overview.health),
            "Whether the application runs: 200, or 503",
            is_open=True,
            also_answers=(503,),
            status=lambda health: 200 if health.healthy else 503,
        ),
        Route("GET", "/v1/state", answers.State, _plain(overview.state), "How the application is"),
        Route(
            "GET",
            "/v1/topology",
            answers.Topology,
            _plain(overview.topology),
            "Nodes, sub-topologies, stores and topics",
        ),
        Route(
            "GET",
            "/v1/topology/picture",
            Picture,
            _plain(overview.picture),
            "Where the console draws them",
        ),
        Route("GET", "/v1/tasks", answers.Tasks, _plain(overview.tasks), "Tasks, and how far"),
        Route("GET", "/v1/stores", answers.Stores, _plain(stores.all), "All stores"),
        Route(
            "GET",
            "/v1/stores/{store}",
            answers.Store,
            lambda asked: stores.one(asked["store"]),
            "A store, and what it can be asked",
            (_STORE,),
            (404,),
        ),
        *_lookups(lookups),
        Route(
            "GET",
            "/v1/lags",
            answers.Lags,
            _plain(overview.lags),
            "How far stores are behind their changelogs",
            problems=(503,),
            blocks=True,
        ),
        Route(
            "GET",
            "/v1/metadata",
            answers.Metadata,
            _plain(overview.metadata),
            "The instances of the application, and what each has",
        ),
        Route(
            "GET",
            "/v1/metadata/key",
            answers.KeyMetadata,
            lookups.where,
            "Which instance has a key",
            (Parameter("store", "The name of a store.", required=True), _KEY, _ENCODING),
            (404, 503),
        ),
        Route(
            "GET",
            "/v1/topics/{topic}/records",
            answers.Records,
            lambda asked: records.latest(asked["topic"], asked["limit"]),
            "The last records of a topic that the topology reads or writes",
            (
                Parameter("topic", "The name of a topic.", where="path", required=True),
                Parameter(
                    "limit",
                    "How many.",
                    "integer",
                    default=USUAL_RECORDS,
                    minimum=1,
                    maximum=MOST_RECORDS,
                ),
            ),
            (404, 503),
            blocks=True,
        ),
        Route(
            "GET",
            "/v1/config",
            answers.Configuration,
            _plain(overview.configuration),
            "The settings, without secrets",
        ),
        Route("GET", "/v1/metrics", answers.Metrics, _plain(overview.metrics), "All metrics"),
        Route(
            "GET",
            "/v1/errors",
            answers.Failures,
            _plain(overview.failures),
            "What went wrong lately",
        ),
        Route(
            "GET",
            "/v1/dead-letters",
            answers.DeadLetters,
            lambda asked: letters.latest(asked["limit"]),
            "The last records of the dead letter topic",
            (Parameter("limit", "How many.", "integer", default=20, minimum=1, maximum=MOST),),
            (503,),
            blocks=True,
        ),
        Route(
            "POST",
            "/v1/pause",
            answers.State,
            _plain(overview.paused),
            "Stop processing after the current batch",
            problems=(503,),
        ),
        Route(
            "POST",
            "/v1/resume",
            answers.State,
            _plain(overview.resumed),
            "Go on after a pause",
            problems=(503,),
        ),
    )


def _lookups(lookups: Lookups | SpreadLookups) -> tuple[Route, ...]:
    problems = (404, 503)
    is_spread = isinstance(lookups, SpreadLookups)
    return (
        Route(
            "GET",
            "/v1/stores/{store}/value",
            answers.Value,
            lookups.value,
            "The value of a key in a key-value store, or its version in a versioned one",
            (
                _STORE,
                _KEY,
                _ENCODING,
                _RAW,
                _PARTITION,
                _STALE,
                _ONLY_HERE,
                Parameter("as_of", "The version that was valid at that time.", "integer"),
            ),
            problems,
            blocks=is_spread,
        ),
        Route(
            "GET",
            "/v1/stores/{store}/entries",
            answers.Entries,
            lookups.entries,
            "Keys and values of a key-value store",
            (
                _STORE,
                Parameter("from", "The first key."),
                Parameter("to", "The last key."),
                Parameter("prefix", "What the bytes of keys begin with: text, or base64."),
                _ENCODING,
                _RAW,
                *_PAGE,
            ),
            problems,
            blocks=True,
        ),
        Route(
            "GET",
            "/v1/stores/{store}/windows",
            answers.Windows,
            lookups.windows,
            "Windows of a key, of several or of all",
            (
                _STORE,
                *_KEYS,
                *_times("The earliest window start.", "The latest window start."),
                *_PAGE,
            ),
            problems,
            blocks=True,
        ),
        Route(
            "GET",
            "/v1/stores/{store}/sessions",
            answers.Windows,
            lookups.sessions,
            "Sessions of a key, of several or of all",
            (
                _STORE,
                *_KEYS,
                *_times("The earliest session end.", "The latest session start."),
                *_PAGE,
            ),
            problems,
            blocks=True,
        ),
        Route(
            "GET",
            "/v1/stores/{store}/versions",
            answers.Versions,
            lookups.versions,
            "The versions of a key in a versioned store",
            (
                _STORE,
                _KEY,
                _ENCODING,
                *_times("Valid then or later.", "Valid then or earlier."),
                *_PAGE,
            ),
            problems,
            blocks=True,
        ),
    )
