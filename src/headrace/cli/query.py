"""`headrace query`: what the stores of an application that runs hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from headrace.cli.options import ConfigFile, Settings
from headrace.cli.remote import Remote, Server, remote
from headrace.cli.terminal import note, say
from headrace.core.errors import ConfigError

_LARGEST_PAGE = 1000


class Encoding(StrEnum):
    """How a key is written."""

    TEXT = "text"
    JSON = "json"
    BASE64 = "base64"


_TIME_HELP = "TIME is 2026-11-16T09:00 (of this machine's clock), or milliseconds since 1970."


def query(
    store: Annotated[str, typer.Argument(help="The store's name.")],
    key: Annotated[
        str | None, typer.Argument(help="A key. Without one, all entries are listed.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="TIME", help=f"The window that starts then. {_TIME_HELP}"),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Windows or versions since then.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Windows or versions until then.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="The version that was valid then.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="Entries whose keys begin with it.")
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="The last ones first.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="At most so many, where there are several.")
    ] = 100,
    encoding: Annotated[
        Encoding | None, typer.Option("--encoding", help="How the key is written.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One line of JSON for each, with all that is known.")
    ] = False,
    server: Server = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Look up a key of a store, or list its entries, windows, sessions or versions.

    What is shown is what was last committed. Ends with code 1 if there is no such key.
    """
    application = remote(server, config, settings)
    lookups = application.get("stores", store)["lookups"]
    given = {
        "--window": window, "--from": start, "--to": end, "--as-of": as_of, "--prefix": prefix,
    }  # fmt: skip
    route = _route(store, lookups, key, {name for name, value in given.items() if value})
    parameters = {
        "key": key,
        "prefix": prefix,
        "as_of": _time("--as-of", as_of),
        "from": _time("--window", window) if window else _time("--from", start),
        "to": _time("--window", window) if window else _time("--to", end),
        "encoding": encoding,
    }
    if route == "value":
        found = application.get("stores", store, route, **parameters)
        say(json.dumps(found, ensure_ascii=False) if as_json else _text(found["value"]))
        return
    parameters["order"] = "desc" if descending else "asc"
    if _show(_pages(application, store, route, parameters, limit), limit, as_json) == 0:
        note("Nothing found.")
        raise typer.Exit(1)


def _route(store: str, lookups: list[str], key: str | None, options: set[str]) -> str:
    """Which of the lookups that a store answers is meant."""
    known = {
        "value": {"--as-of"} if "versions" in lookups else set(),
        "entries": {"--prefix"},
        "windows": {"--window", "--from", "--to"},
        "sessions": {"--from", "--to"},
        "versions": {"--from", "--to"},
    }
    if key is not None and "value" in lookups and not options & {"--from", "--to"}:
        route = "value"
    elif key is None and "versions" in lookups:
        raise ConfigError(f"Which key of {store}? A versioned store can't be listed.")
    else:
        routes = [
            name for name in ("entries", "windows", "sessions", "versions") if name in lookups
        ]
        if not routes:
            raise ConfigError(f"Store {store} belongs to an operator, and can't be queried.")
        route = routes[0]
    unknown = sorted(options - known[route])
    if unknown or (route == "entries" and key is not None):
        raise ConfigError(
            f"{unknown[0] if unknown else 'A key with these options'} means nothing for store "
            f"{store}, which is asked for {', '.join(lookups)}."
        )
    return route


def _pages(
    application: Remote, store: str, route: str, parameters: dict[str, Any], limit: int
) -> Iterator[dict[str, Any]]:
    cursor = None
    size = min(limit + 1, _LARGEST_PAGE)
    while True:
        page = application.get("stores", store, route, **parameters, limit=size, cursor=cursor)
        yield from page["items"]
        cursor = page["next"]
        if cursor is None:
            return


def _show(items: Iterator[dict[str, Any]], limit: int, as_json: bool) -> int:
    """One line for each; how many there were."""
    shown = 0
    for item in islice(items, limit):
        say(json.dumps(item, ensure_ascii=False) if as_json else "\t".join(_columns(item)))
        shown += 1
    if shown == limit and next(items, None) is not None:
        note(f"There are more than {limit:,}: --limit shows them.")
    return shown


def _columns(item: dict[str, Any]) -> Iterator[str]:
    if "key" in item:
        yield _text(item["key"])
    if "start" in item:
        yield f"{_moment(item['start'])} - {_moment(item['end'])}"
    elif "valid_to" in item:
        until = "now" if item["valid_to"] is None else _moment(item["valid_to"])
        yield f"{_moment(item['timestamp'])} - {until}"
    yield _text(item["value"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _moment(timestamp: int) -> str:
    try:
        shown = datetime.fromtimestamp(timestamp / 1000)
    except (OverflowError, OSError, ValueError):
        return str(timestamp)
    return shown.isoformat(timespec="milliseconds" if timestamp % 1000 else "seconds")


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise ConfigError(f"{option} is {text!r}, which is no time. {_TIME_HELP}") from None
