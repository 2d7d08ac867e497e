"""Java's syntax of regular expressions, in RE2's."""

from __future__ import annotations

import re

_POSIX = {"Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct"} | {
    *("Graph", "Print", "Blank", "Cntrl", "XDigit", "Space")
}
_PROPERTIES = {
    "Alphabetic": "L",
    "Letter": "L",
    "Digit": "Nd",
    "Uppercase": "Lu",
    "Lowercase": "Ll",
    "Punctuation": "P",
}
"""Of Unicode, as nearly as RE2 has them."""
_CLASSES = {
    "s": r"\t\n\x0B\f\r ",
    "h": r" \t\xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}",
    "v": r"\n\x0B\f\r\x{85}\x{2028}\x{2029}",
}
_LITERALS = {"e": r"\x1B", "R": r"(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])"}
_REFUSED = {
    "k": "references to groups are",
    "G": r"\G is",
    "X": r"\X is",
    "N": r"\N is",
    "Z": r"\Z is (\z is the end of the text)",
}
_REFUSED_GROUPS = {
    "(?=": "looking ahead is",
    "(?!": "looking ahead is",
    "(?<=": "looking behind is",
    "(?<!": "looking behind is",
    "(?>": "atomic groups are",
}
_FLAGS = re.compile(r"\(\?([A-Za-z]*)(-[A-Za-z]+)?([:)])")
_MEANT_ANYWAY = "ud"
"""Flags for what RE2 does by itself: letters and ends of lines of Unicode, and of Unix."""


def translated(pattern: str) -> str:
    """A pattern in RE2's syntax. Raises ValueError if there is something that RE2 hasn't; other
    mistakes are left for RE2 to find."""
    return _Translation(pattern).text()


class _Translation:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._in_class = False

    def text(self) -> str:
        parts = []
        while self._at < len(self._pattern):
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        if self._takes("\\"):
            return self._escape()
        if self._in_class:
            return self._of_class()
        if self._takes("["):
            self._in_class = True
            # A bracket that comes first is meant as such.
            return "[" + ("^" if self._takes("^") else "") + (r"\]" if self._takes("]") else "")
        if self._is_at("(?"):
            return self._group()
        return self._character()

    def _of_class(self) -> str:
        if self._is_at("[") or self._is_at("&&"):
            raise self._refused("a class within a class is")
        if self._is_at("]"):
            self._in_class = False
        return self._character()

    def _group(self) -> str:
        for opening, what in _REFUSED_GROUPS.items():
            if self._is_at(opening):
                raise self._refused(what)
        if self._takes("(?<"):
            return "(?P<"
        flags = _FLAGS.match(self._pattern, self._at)
        if flags is None:
            return self._character()
        self._at = flags.end()
        on, off, end = flags.groups(default="")
        for flag in {*on, *off[1:]} - {*"ims", *_MEANT_ANYWAY}:
            raise self._refused(f"the flag {flag} is")
        on, off = (
            "".join(each for each in part if each not in _MEANT_ANYWAY) for part in (on, off)
        )
        off = "" if off == "-" else off
        return f"(?{on}{off}{end}" if on or off or end == ":" else ""

    def _escape(self) -> str:
        if self._at == len(self._pattern):
            raise ValueError(f"\\ stands at the end of the regular expression {self._pattern}")
        letter = self._character()
        match letter:
            case "Q":
                end = self._pattern.find("\\E", self._at)
                quoted = self._pattern[self._at : end if end >= 0 else None]
                self._at = len(self._pattern) if end < 0 else end + 2
                return re.escape(quoted)
            case "p" | "P":
                return self._property(negated=letter == "P")
            case "u" | "0" | "c":
                return f"\\x{{{self._code(letter):x}}}"
            case "s" | "h" | "v":
                return _CLASSES[letter] if self._in_class else f"[{_CLASSES[letter]}]"
            case "S" | "H" | "V":
                if self._in_class:
                    raise self._refused(rf"\{letter} in a class is")
                return f"[^{_CLASSES[letter.lower()]}]"
            case _ if letter in _LITERALS:
                return _LITERALS[letter]
            case _ if letter in _REFUSED:
                raise self._refused(_REFUSED[letter])
            case _ if letter in "123456789":
                raise self._refused("references to groups are")
        return f"\\{letter}" if letter.isascii() else letter

    def _property(self, *, negated: bool) -> str:
        if self._takes("{"):
            end = self._pattern.find("}", self._at)
            name = self._pattern[self._at : end if end >= 0 else None]
            self._at += len(name) + 1
        else:
            name = self._pattern[self._at : self._at + 1]
            self._at += 1
        if name in _POSIX:
            found = f"[:{'^' if negated else ''}{name.lower()}:]"
            return found if self._in_class else f"[{found}]"
        name = name.rpartition("=")[2].removeprefix("Is")
        return f"\\{'P' if negated else 'p'}{{{_PROPERTIES.get(name, name)}}}"

    def _code(self, letter: str) -> int:
        """The character that is meant by its number."""
        if letter == "c":
            return ord(self._character() or "@") ^ 64
        digits = r"[0-3][0-7]{2}|[0-7]{1,2}" if letter == "0" else r"[0-9a-fA-F]{4}"
        found = re.compile(digits).match(self._pattern, self._at)
        if found is None:
            raise ValueError(
                f"\\{letter} lacks its digits in the regular expression {self._pattern}"
            )
        self._at = found.end()
        code = int(found[0], 8 if letter == "0" else 16)
        if 0xD800 <= code < 0xDC00 and self._takes("\\u"):
            return 0x10000 + ((code - 0xD800) << 10) + (self._code("u") - 0xDC00)
        return code

    def _is_at(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _takes(self, text: str) -> bool:
        found = self._is_at(text)
        self._at += len(text) * found
        return found

    def _character(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1 : self._at]

    def _refused(self, what: str) -> ValueError:
        return ValueError(
            f"{what[0].upper()}{what[1:]} not supported in regular expressions: {self._pattern}"
        )
