"""Who holds which session: record locks on one file, which the kernel frees when their holder dies.

Each session is one byte of the file, far beyond its end. So a session that
is opened makes no file, and one that ends leaves none behind.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

from ..types.errors import StoreError
from .locks import LockHeld

_HELD = (errno.EACCES, errno.EAGAIN)  # POSIX allows either
_FLOCK = struct.Struct("@hhqqi")  # type, whence, start, length, pid: the layout of 64-bit Linux


class _Shared:
    """One lock file of this process.

    The kernel counts record locks by process: closing any descriptor of the
    file would free all of them, and a second lock by this process would
    succeed. So a process has one descriptor of each file, and its own book.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.users = 0
        self.held: set[int] = set()


_files: dict[tuple[int, int], _Shared] = {}
_guard = threading.Lock()


def _forked() -> None:
    _files.clear()  # record locks are not inherited
    _guard.release()


# Held over a fork, so that no child begins with a guard that a thread it does not have will never release.
os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forked)


class SessionLocks:
    """The lock file of one store of sessions.

    Raises:
        StoreError: the file cannot be made or opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _guard:
            try:
                self._key, self._file = _open(path)
            except OSError as error:
                raise StoreError(
                    f"the lock file {path} cannot be used: {error.strerror}",
                    hint="free space, correct the permissions, or move away what has its name",
                ) from error
            self._file.users += 1

    def acquire(self, session_id: str) -> SessionLock:
        """Take a session's lock.

        Raises:
            LockHeld: another process, or another part of this one, has it; the error names the process.
            StoreError: the file system refuses locks.
        """
        place = _place(session_id)
        with _guard:
            if place in self._file.held:
                raise LockHeld(self._path, os.getpid())
            try:
                fcntl.lockf(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError as error:
                if error.errno in _HELD:
                    raise LockHeld(self._path, _holder(self._file.descriptor, place)) from None
                raise StoreError(
                    f"{self._path} cannot be locked: {error.strerror}",
                    hint="keep the home on a file system with record locks",
                ) from error
            self._file.held.add(place)
        return SessionLock(self._file, place)

    def close(self) -> None:
        """Let go of the file; locks that are still held stay."""
        with _guard:
            self._file.users -= 1
            _close_unused(self._key)


class SessionLock:
    """A session that this process holds."""

    def __init__(self, file: _Shared, place: int) -> None:
        self._file = file
        self._place: int | None = place

    def release(self) -> None:
        """Let go; safe to call twice."""
        with _guard:
            if self._place is None:
                return
            place, self._place = self._place, None
            self._file.held.discard(place)
            fcntl.lockf(self._file.descriptor, fcntl.LOCK_UN, 1, place)
            for key in [key for key, file in _files.items() if file is self._file]:
                _close_unused(key)


def _open(path: Path) -> tuple[tuple[int, int], _Shared]:
    """Return the process's only descriptor of a file; a file that is open already must not be opened again."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        facts = os.stat(path)
    key = (facts.st_dev, facts.st_ino)
    if key not in _files:
        _files[key] = _Shared(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    return key, _files[key]


def _close_unused(key: tuple[int, int]) -> None:
    file = _files.get(key)
    if file is not None and file.users == 0 and not file.held:
        del _files[key]
        with suppress(OSError):  # the descriptor is gone and its locks free, whatever the disk says about the file
            os.close(file.descriptor)


def _place(session_id: str) -> int:
    """Give a session its byte: 62 bits of a digest, so that two sessions never share one in practice."""
    return int.from_bytes(hashlib.blake2b(session_id.encode(), digest_size=8).digest(), "big") >> 2


def _holder(descriptor: int, place: int) -> int | None:
    """Ask the kernel for the process that holds a byte; None where its answer has another layout."""
    if not sys.platform.startswith("linux"):
        return None
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return pid if kind != fcntl.F_UNLCK and pid > 0 else None
