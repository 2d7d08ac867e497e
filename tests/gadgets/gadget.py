"""Gadgets: bytes that do something as soon as somebody takes them for code.

What they do is to make a file, the canary. Each has with it the careless reader that it is meant
for, so that a test can see that it works.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import marshal
import os
import pathlib
import pickle
import pickletools
import posix
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pydoc import locate
from typing import Any

import yaml
from pyspark import cloudpickle

from headrace.core.errors import HeadraceError


@dataclass(frozen=True)
class Gadget:
    """`data` makes the canary if `fire` reads it."""

    name: str
    data: bytes
    fire: Callable[[bytes], object]

    @property
    def text(self) -> str:
        """The data where a text is wanted."""
        return self.data.decode("latin-1")


class Gadgets:
    """All of them, for one canary. To go through them is to see that none has worked."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary
        # As Python writes them: no quotes of its own, and nothing that a shell would look at.
        made = str(canary)
        assert made.isprintable()
        assert not set(made) & set(" '\"\\$`;{}")
        self._all = [*pickles(made), *codes(made), *documents(made), *texts(made)]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Gadget]:
        for gadget in self._all:
            yield gadget
            assert not self.canary.exists(), f"{gadget.name} was run"

    def put_to(self, place: Callable[[Gadget], object]) -> None:
        """Give each to a place, which may take it as what it is, or say in an error of ours that it
        can't; no other error is expected."""
        for gadget in self:
            with suppress(HeadraceError):
                place(gadget)


# Pickles


class _Call:
    """What is a call of a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


def pickles(canary: str) -> Iterator[Gadget]:
    touch = f"touch {canary}"
    python = f"open({canary!r}, 'w').close()"
    system = _Call(posix.system, touch)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield _pickle(f"pickle, protocol {protocol}", pickle.dumps(system, protocol))
    calls = {
        "subprocess": _Call(subprocess.check_call, ["touch", canary]),
        "exec": _Call(exec, python),
        "eval": _Call(eval, python),
        "path": _Call(pathlib.Path.touch, Path(canary)),
        "mknod": _Call(os.mknod, canary),
        "import": _Call(eval, f"__import__('os').system({touch!r})"),
    }
    for name, call in calls.items():
        yield _pickle(f"pickle of {name}", pickle.dumps(call))
    opened = pickle.dumps(_Call(open, canary, "w"))
    yield Gadget("pickle of open", opened, lambda data: pickle.loads(data).close())
    yield _pickle("pickle within a dict", pickle.dumps({"key": [1, (system,)]}))
    yield _pickle("pickle as a key of a dict", pickle.dumps({_Hashable(posix.system, touch): 1}))
    yield _pickle("pickle by GLOBAL", b"cos\nsystem\n(S'%s'\ntR." % touch.encode())
    yield _pickle("pickle by INST", b"(S'%s'\nios\nsystem\n." % touch.encode())
    yield _pickle("pickle by OBJ", b"(cos\nsystem\nS'%s'\no." % touch.encode())
    yield _pickle("pickle, optimised", pickletools.optimize(pickle.dumps(system)))
    encoded = base64.b64encode(pickle.dumps(system))
    yield Gadget("pickle in base64", encoded, lambda data: pickle.loads(base64.b64decode(data)))
    shipped = cloudpickle.dumps(lambda: posix.system(touch))  # type: ignore[no-untyped-call]
    yield Gadget("cloudpickle", shipped, lambda data: cloudpickle.loads(data)())


class _Hashable(_Call):
    """A call that is made before it is known that its result is to be a key."""

    def __hash__(self) -> int:
        return 1


def _pickle(name: str, data: bytes) -> Gadget:
    return Gadget(name, data, pickle.loads)


# Compiled code


def codes(canary: str) -> Iterator[Gadget]:
    code = compile(f"open({canary!r}, 'w').close()", "gadget", "exec")
    compiled = marshal.dumps(code)
    yield Gadget("marshal", compiled, lambda data: exec(marshal.loads(data)))
    head = importlib.util.MAGIC_NUMBER + bytes(12)
    yield Gadget("pyc", head + compiled, lambda data: exec(marshal.loads(data[16:])))


# Documents with names of what is to be called


def documents(canary: str) -> Iterator[Gadget]:
    touch = f"touch {canary}"
    applied = f"!!python/object/apply:os.system [{touch!r}]"
    yield Gadget("yaml, apply", applied.encode(), yaml.unsafe_load)
    new = f"!!python/object/new:subprocess.check_call [[touch, {canary}]]"
    yield Gadget("yaml, new", new.encode(), yaml.unsafe_load)
    forms: dict[str, dict[str, Any]] = {
        "jsonpickle": {"py/reduce": [{"py/function": "os.system"}, {"py/tuple": [touch]}]},
        "json, __class__": {"__class__": "os.system", "args": [touch]},
        "json, @type": {"@type": "subprocess.getoutput", "args": [touch]},
        "json, $type": {"$type": "os.popen", "args": [touch]},
    }
    for name, form in forms.items():
        yield Gadget(name, json.dumps(form).encode(), _call_what_is_named)


def _call_what_is_named(data: bytes) -> object:
    """As libraries do that make objects of JSON."""
    match json.loads(data):
        case {"py/reduce": [{"py/function": name}, {"py/tuple": arguments}]}:
            pass
        case {"args": arguments, **rest}:
            (name,) = rest.values()
    function: Any = locate(name)
    result = function(*arguments)
    return result.close() if hasattr(result, "close") else result


# Texts that are code where somebody makes code of them


def texts(canary: str) -> Iterator[Gadget]:
    call = f"__import__('os').system('touch {canary}')"
    yield Gadget("expression", call.encode(), eval)
    yield Gadget("statement", f"import os\nos.system('touch {canary}')\n".encode(), exec)
    quoted = {
        "out of quotes": (f"'+str({call})+'", "'{}'"),
        "out of double quotes": (f'"+str({call})+"', '"{}"'),
        "out of three quotes": (f"'''+str({call})+'''", "'''{}'''"),
        "out of a call": (f"0), {call}, (0", "print({})"),
        "in an f-string": (f"{{{call}}}", 'f"{}"'),
        "on a new line": (f"x\n{call}\n", "#{}"),
        "as a default": (f"x={call}", "lambda {}: 0"),
    }
    for name, (text, template) in quoted.items():
        yield Gadget(name, text.encode(), _within(template))
    for name, shell in (("$()", "$({})"), ("backquotes", "`{}`"), ("semicolon", "x; {}; y")):
        command = shell.format(f"touch {canary}")
        yield Gadget(f"shell, {name}", command.encode(), _in_a_shell)


def _within(template: str) -> Callable[[bytes], object]:
    before, _, after = template.partition("{}")
    return lambda data: exec(before + data.decode() + after)


def _in_a_shell(data: bytes) -> object:
    return subprocess.run(f"echo {data.decode()}", shell=True, capture_output=True)
