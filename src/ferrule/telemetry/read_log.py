"""Reads the log again: the last lines, and those that are still to come."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from .rotated import KEPT, older

Entry = dict[str, object]
Wanted = Callable[[Entry], bool]


def last(path: Path, count: int, wanted: Wanted, *, end: int | None = None) -> list[Entry]:
    """Return the last `count` entries that are wanted, oldest first; older files are read when needed.

    Args:
        path: The log.
        count: How many.
        wanted: Says which entries count.
        end: Where to stop in the current file, so that a `Follower` can go on from there.
    """
    found: deque[Entry] = deque()
    for number in range(KEPT + 1):
        content = _content(older(path, number)) if number else _content(path)[:end]
        entries = [entry for entry in _entries(content) if wanted(entry)]
        room = count - len(found)
        found.extendleft(reversed(entries[-room:] if room > 0 else []))
        if len(found) >= count:
            break
    return list(found)


class Follower:
    """Reads what is written after it was made, also past a rotation; the log need not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open(path)
        self._rest = b""
        self.start = os.lseek(self._file, 0, os.SEEK_END) if self._file is not None else 0

    def entries(self, wanted: Wanted, pause: Callable[[], bool]) -> Iterator[Entry]:
        """Yield wanted entries; `pause` is called when there are none, and ends the reading with False."""
        while True:
            piece = os.read(self._file, 65_536) if self._file is not None else b""
            if piece:
                whole, _, self._rest = (self._rest + piece).rpartition(b"\n")
                yield from (entry for entry in _entries(whole) if wanted(entry))
            elif _replaced(self._path, self._file):
                self.close()
                self._file, self._rest = _open(self._path), b""
            elif not pause():
                return

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _entries(content: bytes) -> Iterator[Entry]:
    """Yield what can be read; a line cut by a crash or by its length is left out."""
    for line in content.split(b"\n"):
        try:
            entry = orjson.loads(line) if line else None
        except orjson.JSONDecodeError:
            continue
        if isinstance(entry, dict):
            yield entry


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _replaced(path: Path, file: int | None) -> bool:
    """Tell whether the path names another file than the one that is read."""
    try:
        now = os.stat(path).st_ino
    except FileNotFoundError:
        return False
    return file is None or os.fstat(file).st_ino != now
