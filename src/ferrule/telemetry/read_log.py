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


def last(path: Path, count: int, wanted: Wanted) -> list[Entry]:
    """Return the last `count` entries that are wanted, oldest first; older files are read when needed."""
    found: deque[Entry] = deque()
    for file in (path, *(older(path, number) for number in range(1, KEPT + 1))):
        entries = [entry for entry in _entries(_content(file)) if wanted(entry)]
        room = count - len(found)
        found.extendleft(reversed(entries[-room:] if room > 0 else []))
        if len(found) >= count:
            break
    return list(found)


def follow(path: Path, wanted: Wanted, pause: Callable[[], bool]) -> Iterator[Entry]:
    """Yield wanted entries that are written from now on, also after a rotation.

    Args:
        path: The log; it need not be there yet.
        wanted: Says which entries are yielded.
        pause: Called when there is nothing to read; False ends the reading.
    """
    file: int | None = None
    rest = b""
    try:
        file = _open(path)
        if file is not None:
            os.lseek(file, 0, os.SEEK_END)
        while True:
            piece = os.read(file, 65_536) if file is not None else b""
            if piece:
                whole, _, rest = (rest + piece).rpartition(b"\n")
                yield from (entry for entry in _entries(whole) if wanted(entry))
            elif _replaced(path, file):
                if file is not None:
                    os.close(file)
                file, rest = _open(path), b""
            elif not pause():
                return
    finally:
        if file is not None:
            os.close(file)


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
