"""Writes down what SQLite asks of its files, and lets calls fail: a layer over the one that it normally uses.

The memory that SQLite shares between processes (``-shm``) is not watched: it
is built anew at the next start. The errors are those that the normal layer
would make of the same `errno`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import apsw

from ._disk import Resize, Sync, SyncFolder, Tape, Write
from ._faults import Faults

BELOW = "unix"
NAME = "recorded"
T = TypeVar("T")

NEW_NAME = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
"""Kinds of files whose folder the normal layer puts on disk with their first sync (`unixSync`, UNIXFILE_DIRSYNC)."""

CODES = {
    "xRead": apsw.SQLITE_IOERR_READ,
    "xWrite": apsw.SQLITE_IOERR_WRITE,
    "xSync": apsw.SQLITE_IOERR_FSYNC,
    "xTruncate": apsw.SQLITE_IOERR_TRUNCATE,
    "xFileSize": apsw.SQLITE_IOERR_FSTAT,
    "xLock": apsw.SQLITE_IOERR_LOCK,
    "xDelete": apsw.SQLITE_IOERR_DELETE,
    "xAccess": apsw.SQLITE_IOERR_ACCESS,
}


class Disk:
    """The record and the faults of one process."""

    def __init__(self, tape: Tape, faults: Faults) -> None:
        self.tape = tape
        self._faults = faults

    def run(self, call: str, work: Callable[[], T]) -> T:
        """Do a call, or let it fail."""
        if self._faults.due(call):
            raise self._error(call)
        return work()

    def _error(self, call: str) -> Exception:
        if call == "xOpen":
            return apsw.CantOpenError("unable to open database file")
        if call == "xWrite" and self._faults.number == errno.ENOSPC:
            return apsw.FullError("database or disk is full")
        return apsw.exception_for(CODES[call])


class RecordedFile(apsw.VFSFile):
    """One file that SQLite holds open; `node` is None for files without a name, which end with their user."""

    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], disk: Disk, path: str) -> None:
        super().__init__(BELOW, name, flags)
        self._disk = disk
        node = disk.tape.node(path)
        if node is None and disk.tape.watches(path):
            node = disk.tape.make(path)
        self._node = node
        self._path = path
        self._names_unsafe = bool(flags[0] & NEW_NAME and flags[0] & apsw.SQLITE_OPEN_CREATE)

    def xRead(self, amount: int, offset: int) -> bytes:
        """Read."""
        return self._disk.run("xRead", lambda: super(RecordedFile, self).xRead(amount, offset))

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write, and note it."""
        self._disk.run("xWrite", lambda: super(RecordedFile, self).xWrite(data, offset))
        if self._node is not None:
            self._disk.tape.note(Write(self._node, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        """Cut, and note it."""
        self._disk.run("xTruncate", lambda: super(RecordedFile, self).xTruncate(newsize))
        if self._node is not None:
            self._disk.tape.note(Resize(self._node, newsize))

    def xSync(self, flags: int) -> None:
        """Put on disk, and note it; with the name, the first time after making a log."""
        try:
            self._disk.run("xSync", lambda: super(RecordedFile, self).xSync(flags))
        except apsw.IOError:
            if self._node is not None:
                self._disk.tape.note(Sync(self._node, failed=True))
            raise
        if self._node is not None:
            self._disk.tape.note(Sync(self._node))
            if self._names_unsafe:
                self._disk.tape.note(SyncFolder(self._disk.tape.folder_of(self._path)))
                self._names_unsafe = False

    def xFileSize(self) -> int:
        """Measure."""
        return self._disk.run("xFileSize", super().xFileSize)

    def xLock(self, level: int) -> None:
        """Lock."""
        self._disk.run("xLock", lambda: super(RecordedFile, self).xLock(level))


class RecordedLayer(apsw.VFS):
    """The layer itself; the default of the process while it is registered."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(NAME, BELOW, makedefault=True)
        self._disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Open, and note a new file."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        return self._disk.run("xOpen", lambda: RecordedFile(name, flags, self._disk, path))

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Remove, and note it."""
        self._disk.run("xDelete", lambda: super(RecordedLayer, self).xDelete(filename, syncdir))
        if self._disk.tape.node(filename) is not None:
            self._disk.tape.remove(filename)
        if syncdir:
            self._disk.tape.note(SyncFolder(self._disk.tape.folder_of(filename)))

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Look whether something is there."""
        return self._disk.run("xAccess", lambda: super(RecordedLayer, self).xAccess(pathname, flags))


@contextmanager
def recording(tape: Tape, faults: Faults) -> Iterator[None]:
    """Let every connection that this process opens be recorded."""
    layer = RecordedLayer(Disk(tape, faults))
    try:
        yield
    finally:
        layer.unregister()
