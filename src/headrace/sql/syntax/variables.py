"""Variables: `${name}` stands for a literal or a name, never for more.

Values are bound to tokens, not pasted into the text. So a value can't end a string, begin a clause
or add a statement: where it isn't exactly one literal or one name, that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from headrace.sql.errors import ParseError, underlined
from headrace.sql.syntax.tokens import Kind, Token, tokenize

_INSIDE = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
_BINDABLE = frozenset(
    {Kind.WORD, Kind.QUOTED, Kind.STRING, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}
)


def bind(text: str, tokens: list[Token], variables: Mapping[str, str]) -> list[Token]:
    """The tokens with values in the place of variables, also inside of quotes. `variables` have
    names in lower case, as names of variables don't care about it.

    Raises ParseError if a variable isn't defined, or its value is more than a literal or a name.
    """
    bound: list[Token] = []
    for token in tokens:
        if token.kind is Kind.VARIABLE:
            bound += _bound(text, token, variables)
        elif token.kind in (Kind.STRING, Kind.QUOTED) and "${" in token.value:
            bound.append(replace(token, value=_inside(text, token, variables)))
        else:
            bound.append(token)
    return bound


def _bound(text: str, token: Token, variables: Mapping[str, str]) -> list[Token]:
    value = _look_up(text, token, token.value, variables)
    parts = tokenize(value)[:-1]
    signed = len(parts) == 2 and parts[0].text == "-" and parts[1].kind is not Kind.WORD
    if not (len(parts) == 1 or signed) or parts[-1].kind not in _BINDABLE:
        raise _error(
            text,
            token,
            f"The variable {token.value!r} has the value {value!r}. That isn't one literal or one "
            "name, and nothing else can stand for a variable. A string needs quotes of its own: "
            "DEFINE v = '''text'''.",
        )
    return [
        replace(part, position=token.position, start=token.start, end=token.end) for part in parts
    ]


def _inside(text: str, token: Token, variables: Mapping[str, str]) -> str:
    return _INSIDE.sub(lambda match: _look_up(text, token, match[1], variables), token.value)


def _look_up(text: str, token: Token, name: str, variables: Mapping[str, str]) -> str:
    value = variables.get(name.lower())
    if value is None:
        raise _error(text, token, f"Fail to substitute undefined variable: {name}")
    return value


def _error(text: str, token: Token, what: str) -> ParseError:
    excerpt = underlined(text, *token.position, token.end - token.start)
    return ParseError(f"line {token.position}: {what}", text.strip(), excerpt)
