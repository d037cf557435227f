"""A private file of bounded size that several processes append whole lines to."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

KEPT = 3
"""Older files beside the current one: ``.1`` is the youngest."""


class RotatedFile:
    """Appends lines; when the file would grow past `max_bytes`, it becomes ``.1`` and a new one begins.

    A line is one `write` to a file opened for appending, so lines of two
    processes do not mix. Each process notices when another one has rotated.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._max_bytes = max_bytes
        self._file = self._open()

    def write(self, line: bytes) -> None:
        """Append one line, its line feed included; one that is longer than a file may be is cut.

        Raises:
            OSError: the disk is full, or the folder is gone.
        """
        if len(line) > self._max_bytes:
            line = line[: self._max_bytes - 1] + b"\n"
        if self._moved():
            self._reopen()
        if os.fstat(self._file).st_size + len(line) > self._max_bytes:
            self._rotate(len(line))
        os.write(self._file, line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(self._path, flags, 0o600)

    def _reopen(self) -> None:
        fresh = self._open()
        os.close(self._file)
        self._file = fresh

    def _moved(self) -> bool:
        """Tell whether the path no longer names the file that is open."""
        try:
            return os.stat(self._path).st_ino != os.fstat(self._file).st_ino
        except FileNotFoundError:
            return True

    def _rotate(self, wanted: int) -> None:
        """Shift the files by one, unless another process has just done so."""
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._moved():
                self._reopen()
            if os.fstat(self._file).st_size + wanted > self._max_bytes:
                for number in range(KEPT, 1, -1):
                    younger = older(self._path, number - 1)
                    if younger.exists():
                        os.replace(younger, older(self._path, number))
                os.replace(self._path, older(self._path, 1))
                self._reopen()
        finally:
            os.close(folder)


def older(path: Path, number: int) -> Path:
    """Name an older file.

    >>> older(Path("/x/ferrule.jsonl"), 2)
    PosixPath('/x/ferrule.jsonl.2')
    """
    return path.with_name(f"{path.name}.{number}")
