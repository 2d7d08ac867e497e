"""`headrace status`: how an application that runs is."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from headrace.cli.options import ConfigFile, Settings
from headrace.cli.remote import Server, remote
from headrace.cli.terminal import out, say

_MOST_TASKS = 50
_MOST_STORES = 12
_HEALTHY = ("RUNNING", "REBALANCING")


def status(
    server: Server = None,
    as_json: Annotated[bool, typer.Option("--json", help="As the server answers.")] = False,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Show how a running application is: its state, rate and lag, and its tasks.

    Ends with code 0 while it runs or starts, 1 if it has failed, is ending or doesn't answer.
    """
    from headrace.cli.remote_view import figures, headline, restoring, tasks

    application = remote(server, config, settings)
    state = application.get("state")
    found = application.get("tasks")["tasks"]
    if as_json:
        say(json.dumps({**state, "tasks": found}, indent=2, ensure_ascii=False))
    else:
        out.print(headline(state).append(f"   {figures(state)}"), soft_wrap=True)
        if state["restoring"]:
            out.print(restoring(state["restoring"], _MOST_STORES))
        if found:
            out.print(tasks(found, _MOST_TASKS), soft_wrap=not out.is_terminal)
        if state["reason"]:
            out.print(state["reason"], markup=False, style="yellow", soft_wrap=True)
        if state["last_error"]:
            out.print(state["last_error"], markup=False, style="red", soft_wrap=True)
    if state["state"] not in _HEALTHY:
        raise typer.Exit(1)
