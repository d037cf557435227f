"""The file as it was read, with what the environment and flags put over it, and where each value came from."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Literal

from .positions import positions
from .problems import InvalidConfig, Path, Problem, dotted

Source = Literal["flag", "environment", "file", "default"]

_AT = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a value came from: flag > environment > file > default.

    Attributes:
        source: Which of the four.
        where: The flag, the variable, or ``<file>:<line>``; "" for a default.
    """

    source: Source
    where: str = ""

    def __str__(self) -> str:
        """For people."""
        return f"{self.source} {self.where}".strip()


@dataclass(slots=True)
class Document:
    """Plain data with its origins.

    Attributes:
        data: Nested tables, as `tomllib` gives them, overrides merged in.
        file: The file's name for messages.
        lines: Where each key of the file stands.
        given: Which keys came from elsewhere.
    """

    data: dict[str, object]
    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    given: dict[Path, Origin] = field(default_factory=dict)

    def origin(self, path: Path) -> Origin:
        """Say where the value at `path` came from."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.given:
                return self.given[path[:length]]
        if path in self.lines:
            return Origin(source="file", where=f"{self.file}:{self.lines[path]}")
        return Origin(source="default")

    def problem(self, path: Path, cause: str, hint: str = "") -> Problem:
        """Make a fault of the value at `path`, or of the nearest table that was written."""
        origin = self.origin(path)
        if origin.source == "default":  # a table that only keys from outside made
            origin = next((by for given, by in self.given.items() if given[: len(path)] == path), origin)
        where, line = origin.where, 0
        if origin.source in ("file", "default"):
            where = self.file
            line = next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)
        return Problem(where=where, line=line, key=dotted(path), cause=cause, hint=hint)

    def value(self, path: Path) -> object:
        """Return the value at `path`; None when there is none, which TOML cannot write."""
        reached, found = follow(self.data, path)
        return found if reached == path else None

    def put(self, path: Path, value: object, origin: Origin) -> bool:
        """Put a value over what the file says; False when a plain value stands where a table is needed."""
        table: dict[str, object] = self.data
        for step in path[:-1]:
            inner = table.setdefault(str(step), {})
            if not isinstance(inner, dict):
                return False
            table = inner
        table[str(path[-1])] = deepcopy(value)
        self.given[path] = origin
        return True


def follow(data: object, path: Path) -> tuple[Path, object]:
    """Walk down as far as there is something; returns how far that was and what is there."""
    for length, step in enumerate(path):
        if isinstance(data, Mapping) and step in data:
            data = data[str(step)]
            continue
        if isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
            continue
        return path[:length], data
    return path, data


def read_bytes(path: FilePath) -> bytes | None:
    """Read the file; None when there is none.

    Raises:
        InvalidConfig: it is there and cannot be read, which is not the same as empty.
    """
    try:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            if not path.is_symlink():
                return None
            cause = "a link to a file that is not there"
            raise InvalidConfig([Problem(where=str(path), key="", cause=cause)]) from None
    except OSError as error:
        cause = f"cannot be read: {error.strerror}"
        raise InvalidConfig([Problem(where=str(path), key="", cause=cause, hint=f"ls -l {path}")]) from error


def parse(content: bytes, file: str) -> Document:
    """Read TOML.

    Raises:
        InvalidConfig: the bytes are no UTF-8 or no TOML; names the line.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidConfig([Problem(where=file, line=line, key="", cause="not UTF-8 text")]) from error
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        cause = f"not TOML: {_AT.sub('', str(error))}"
        raise InvalidConfig([Problem(where=file, line=line, key="", cause=cause)]) from error
    return Document(data=data, file=file, lines=positions(text))


def digest_of(content: bytes | None) -> str:
    """Name a version of the file; an absent file has a version, too."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()
