"""What a command line names: `module:topology`, or `path/to/file.py:topology`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.terminal import UserCodeError
from headrace.core.arguments import shown
from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError, HeadraceError
from headrace.core.references import named
from headrace.dsl.builder import StreamsBuilder
from headrace.topology.topology import Topology

if TYPE_CHECKING:
    from headrace.app.streams import KafkaStreams

Target = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:TOPOLOGY",
        help="A Topology, a StreamsBuilder, a function that gives one, or a KafkaStreams.",
    ),
]


def topology_of(reference: str, config: StreamsConfig) -> Topology:
    """The topology that is named; that of the application if it is a KafkaStreams."""
    found = _load(reference)
    if _is_application(found):
        topology: Topology = found.topology
        return topology
    return _topology(found, reference, config)


def application_of(reference: str, config: StreamsConfig) -> KafkaStreams:
    """The application that is named, or one made of the topology that is.

    An application that the user's code made has its own configuration: settings that were given
    for it here, too, are an error and not ignored.
    """
    from headrace.app.streams import KafkaStreams

    found = _load(reference)
    if isinstance(found, KafkaStreams):
        passed = [
            key for key in config.given() if config.origin(key) == "the settings that were passed"
        ]
        if passed:
            raise ConfigError(
                f"{reference} is a KafkaStreams, which has its configuration already: "
                f"{', '.join(passed)} can't be given here. Name the topology instead."
            )
        return found
    return KafkaStreams(_topology(found, reference, config), config)


def _load(reference: str) -> Any:
    module, _, path = reference.partition(":")
    module = _importable(module)
    try:
        found = named(f"{module}:{path or 'topology'}", "The topology")
    except ConfigError as error:
        if error.__cause__ is None or isinstance(error.__cause__, ModuleNotFoundError):
            raise
        raise UserCodeError(str(error)) from error.__cause__
    if isinstance(found, Topology | StreamsBuilder) or _is_application(found):
        return found
    return _called(found, reference) if callable(found) else found


def _importable(module: str) -> str:
    """The name of a module, having seen to it that it can be imported."""
    directory = Path.cwd()
    if module.endswith(".py"):
        file = Path(module).absolute()
        if not file.is_file():
            raise ConfigError(f"The topology is in {module}, but there is no such file.")
        directory, module = file.parent, file.stem
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
        importlib.invalidate_caches()
    # Spark's workers are processes that import it as well.
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(directory) not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(directory), *filter(None, known)])
    return module


def _called(function: Callable[[], Any], reference: str) -> Any:
    try:
        return function()
    except HeadraceError:
        raise
    except Exception as error:
        raise UserCodeError(f"{reference} raised {type(error).__name__}: {error}") from error


def _topology(found: Any, reference: str, config: StreamsConfig) -> Topology:
    if isinstance(found, StreamsBuilder):
        return found.build(config)
    if isinstance(found, Topology):
        return found
    raise ConfigError(
        f"{reference} must be a Topology, a StreamsBuilder, or a function that gives one, "
        f"but is {shown(found)}."
    )


def _is_application(found: Any) -> bool:
    # Only a program that has imported it can have made one.
    module = sys.modules.get("headrace.app.streams")
    return module is not None and isinstance(found, module.KafkaStreams)
