"""One SQLite file: WAL, `synchronous=FULL`, migrations, and a commit that all sessions of one loop iteration share.

A write is acknowledged when its transaction is on disk. Growing the
write-ahead log costs more than overwriting it, so it is grown once, when the
file is made.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw

from ..types.errors import StoreError
from ..types.unstoppable import Unstoppable
from .atomic import make_folder

T = TypeVar("T")
Row = tuple[object, ...]
Migration = str
"""SQL text; its place in the list is its number."""

BUSY_MS = 5_000
WAL_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement with the rows it is run for."""

    sql: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A write that the next commit takes along."""

    statements: Sequence[Statement]
    undo: Callable[[], None]
    done: Unstoppable[None]


class Database:
    """A connection that belongs to one event loop."""

    def __init__(self, path: Path, migrations: Sequence[Migration]) -> None:
        """Open or create the file.

        Raises:
            StoreError: it is readable by others, no database, damaged, of a newer version, or cannot be written.
        """
        self.path = path
        self.holders = 0  # sessions that are held: one that is alone has nobody to share a commit with
        self._pending: list[Waiting] = []
        self._connection = self._guarded(lambda: _connect(path, migrations))

    def write(
        self, statements: Sequence[Statement], undo: Callable[[], None], *, at_once: bool = False
    ) -> Unstoppable[None]:
        """Run statements in one transaction with everything else of this loop iteration.

        The future is done when the transaction is on disk. A caller that is
        cancelled meanwhile undoes neither what others wrote with it nor what
        it wrote itself.

        Args:
            undo: Called when the transaction failed, whether or not somebody
                still awaits it: the last write's first, before anything new
                can be written.
            at_once: Nothing more comes from its holder now; a lone holder's is on disk when this returns.

        Raises:
            StoreError: nothing of the transaction was written.
        """
        loop = asyncio.get_running_loop()
        done: Unstoppable[None] = Unstoppable(loop=loop)
        self._pending.append(Waiting(statements, undo, done))
        if at_once and self.holders == 1:
            self._flush()
        elif len(self._pending) == 1:
            loop.call_soon(self._flush)
        return done

    def read(self, sql: str, row: Row = ()) -> list[Row]:
        """Return all rows of a query.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._guarded(lambda: list(self._connection.execute(sql, row)))

    async def close(self) -> None:
        """Write what waits, then close; safe to call twice.

        Raises:
            StoreError: the file could not be closed properly; what was acknowledged is in it.
        """
        if self._pending:
            self._flush()
        self._guarded(self._connection.close)

    def _flush(self) -> None:
        batch, self._pending = self._pending, []
        if not batch:  # `close`, or a lone holder, was quicker
            return
        failure = self._commit(batch)
        if failure is not None:
            for waiting in reversed(batch):
                waiting.undo()
        for waiting in batch:
            if failure is None:
                waiting.done.set_result(None)
            else:
                waiting.done.set_exception(failure)

    def _commit(self, batch: Sequence[Waiting]) -> StoreError | None:
        try:
            self._run(batch)
        # Values that SQLite cannot hold (half a character, 2**63) end the wait of all as a full disk does.
        except (apsw.Error, ValueError, TypeError, OverflowError) as error:
            return _failure(self.path, error)
        return None

    def _run(self, batch: Sequence[Waiting]) -> None:
        """Run a batch in one transaction; `begin immediate` waits for other writers before anything is done."""
        connection = self._connection
        connection.execute("begin immediate")
        try:
            for waiting in batch:
                for statement in waiting.statements:
                    connection.executemany(statement.sql, statement.rows)
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:  # a full disk may have ended it already
                connection.execute("rollback")
            raise

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (apsw.Error, OSError) as error:
            raise _failure(self.path, error) from error


def _connect(path: Path, migrations: Sequence[Migration]) -> apsw.Connection:
    new = not path.exists()
    make_folder(path.parent)
    if new:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    _refuse_open_file(path)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(BUSY_MS)
        _use_log(connection)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"pragma {pragma}").fetchall()
        _migrate(path, connection, migrations)
        if new:
            _grow_log(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_log(connection: apsw.Connection) -> None:
    """Switch to the write-ahead log; the busy time-out does not cover two processes that make one file."""
    end = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode=WAL").fetchall()
        except apsw.BusyError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate(path: Path, connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    found = _version(connection)
    if found > len(migrations):
        raise StoreError(
            f"{path} was written by a newer Ferrule (version {found}, this one knows {len(migrations)})",
            hint="use the newer Ferrule, or restore a backup",
            code="store.newer",
        )
    while found < len(migrations):
        connection.execute("begin immediate")
        try:  # somebody else may have migrated while we waited
            found = _version(connection)
            if found < len(migrations):
                connection.execute(migrations[found])
                connection.execute(f"pragma user_version = {found + 1}")
                found += 1
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")


def _version(connection: apsw.Connection) -> int:
    return int(str(connection.pragma("user_version")))


def _grow_log(connection: apsw.Connection) -> None:
    table = f"grow_{os.getpid()}"  # another process may be growing the same log
    connection.execute(f"create table {table} (bytes blob)")
    connection.execute(f"insert into {table} values (zeroblob(?))", (WAL_BYTES,))
    connection.execute(f"drop table {table}")
    connection.execute("pragma wal_checkpoint(passive)").fetchall()


def _refuse_open_file(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise StoreError(
            f"{path} can be read by others (mode {mode:04o})", hint=f"chmod 600 {path}", code="store.permissions"
        )


def _failure(path: Path, error: Exception) -> StoreError:
    hints: dict[type[Exception], str] = {
        apsw.FullError: "free space on the disk",
        apsw.IOError: "check the disk",
        apsw.NotADBError: "move the file away, or restore a backup",
        apsw.CorruptError: "restore a backup",
        apsw.BusyError: "another process is writing; repeat",
        apsw.ReadOnlyError: "correct the permissions of the file and its folder",
        apsw.CantOpenError: "correct the permissions of the file and its folder",
    }
    cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    hint = next((text for kind, text in hints.items() if isinstance(error, kind)), "check the disk and the permissions")
    return StoreError(f"{path}: {cause}", hint=hint)
