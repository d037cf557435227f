"""On which line each key of a TOML text stands.

`tomllib` reads values but forgets where they stood. This scanner walks a text
that `tomllib` has accepted, so it checks nothing; it only has to know where
strings, arrays and inline tables end. Grammar: https://toml.io/en/v1.0.0.
"""

from __future__ import annotations

import re
import tomllib

from .problems import Path

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_KEY_PART = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_SCALAR = re.compile(r"[^,\]}#\n]*")


def positions(text: str) -> dict[Path, int]:
    """Map every key, table and array element to its line, counted from 1; the first mention wins."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def sections(text: str) -> dict[Path, int]:
    """Map every table with a header to the last line that belongs to its keys: where a new one goes."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.ends


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.ends: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}

    def document(self) -> None:
        """Walk all statements."""
        table: Path = ()
        self._blank()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
                self._end_of(table)
            self._blank()

    def _header(self) -> Path:
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        path = self._inside_arrays(self._key())
        for length in range(1, len(path)):
            self._note(path[:length], start)
        if double:
            number = self._tables.get(path, -1) + 1
            self._tables[path] = number
            self._note(path, start)
            path = (*path, number)
        self._note(path, start)
        self.at += 2 if double else 1
        self._end_of(path)
        return path

    def _inside_arrays(self, path: Path) -> Path:
        """A table named below an array of tables belongs to the array's last element."""
        full: Path = ()
        for step in path[:-1]:
            full = (*full, step)
            if full in self._tables:
                full = (*full, self._tables[full])
        return (*full, path[-1])

    def _pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self._key())
        for length in range(len(table) + 1, len(path) + 1):
            self._note(path[:length], start)
        self.at += 1  # the equals sign
        self._blank()
        self._value(path)

    def _value(self, path: Path) -> None:
        first = self.text[self.at]
        if first == "{":
            self._members(path, "}")
        elif first == "[":
            self._members(path, "]")
        elif match := _STRING.match(self.text, self.at):
            self.at = match.end()
        else:
            self.at = _end(_SCALAR, self.text, self.at)

    def _members(self, path: Path, closing: str) -> None:
        self.at += 1
        self._blank()
        number = 0
        while self.text[self.at] != closing:
            if closing == "}":
                self._pair(path)
            else:
                self._note((*path, number), self.at)
                self._value((*path, number))
            number += 1
            self._blank()
            if self.text[self.at] == ",":
                self.at += 1
                self._blank()
        self.at += 1

    def _key(self) -> Path:
        """Read a dotted key and stop behind the blanks that follow it."""
        steps: list[str | int] = []
        while True:
            self._blank()
            end = _end(_KEY_PART, self.text, self.at)
            steps.append(_plain(self.text[self.at : end]))
            self.at = end
            self._blank()
            if self.text[self.at] != ".":
                return tuple(steps)
            self.at += 1

    def _blank(self) -> None:
        self.at = _end(_BLANK, self.text, self.at)

    def _note(self, path: Path, at: int) -> None:
        self.lines.setdefault(path, self._line(at))

    def _end_of(self, table: Path) -> None:
        self.ends[table] = self._line(self.at)

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _plain(part: str) -> str:
    return str(tomllib.loads(f"k = {part}")["k"]) if part[0] in "\"'" else part
