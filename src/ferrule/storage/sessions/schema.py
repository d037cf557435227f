"""The tables of sessions, how they changed, and the backup that is made before they change."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path

import apsw

from ...types.errors import StoreError
from .. import atomic
from ..atomic import PREFIX, SUFFIX, sync_folder
from ..locks import LockHeld
from ..session_locks import SessionLocks
from ..sqlite import BUSY_MS, Database

log = logging.getLogger(__name__)

MIGRATIONS = (
    """
    create table sessions (
        id text primary key, agent text not null, person text not null, audience text not null,
        title text not null, created_ms integer not null, changed_ms integer not null
    ) strict, without rowid;
    create table messages (
        session_id text not null references sessions(id), seq integer not null,
        person text not null, audience text not null, body blob not null,
        primary key (session_id, seq)
    ) strict, without rowid;
    create table intents (
        session_id text not null references sessions(id), call_id text not null,
        person text not null, audience text not null, name text not null, at_ms integer not null,
        primary key (session_id, call_id)
    ) strict, without rowid;
    create index sessions_changed on sessions(changed_ms);
    """,
    # Sorting the sessions of a home costs less than an index that every turn has to write.
    # `undone` marks messages that were taken back. `places` and `words` are what a search looks at, `indexed` says up
    # to which message they hold a session; all three are made from `messages`, by the search that needs them.
    """
    drop index sessions_changed;
    create table undone (
        session_id text not null references sessions(id), seq integer not null,
        person text not null, audience text not null, mark integer not null,
        primary key (session_id, seq)
    ) strict, without rowid;
    create table places (
        id integer primary key, session_id text not null references sessions(id), seq integer not null,
        message_id text not null, role text not null, at_ms integer not null,
        unique (session_id, seq)
    ) strict;
    create table indexed (
        session_id text primary key references sessions(id), upto integer not null
    ) strict, without rowid;
    create virtual table words using fts5(text, tokenize = 'trigram');
    insert into words(words, rank) values ('secure-delete', 1);
    """,
    # What a call was to run with, where that is not what the model wrote; null where it is.
    "alter table intents add column arguments blob",
)

MIGRATION = "migration"
"""The name of the lock for it; ids of sessions look otherwise."""

MIGRATION_WAIT_S = 60.0
HEADER_BYTES = 100


def open_database(path: Path, locks: SessionLocks) -> Database:
    """Open or create the file, and bring an older one to the present version after a backup of it was made.

    Deleted rows are overwritten with zeros.

    Raises:
        StoreError: the file cannot be used, or no backup could be made; it is as it was.
    """
    if _is_older(path):
        with _alone(path, locks):
            if _is_older(path):  # nobody else did it while we waited
                back_up(path)
            return _erasing(Database(path, MIGRATIONS))
    return _erasing(Database(path, MIGRATIONS))


def make_folder(folder: Path) -> None:
    """Make a private folder.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        atomic.make_folder(folder)
    except OSError as error:
        raise StoreError(
            f"the folder {folder} cannot be made: {error.strerror}",
            hint="free space, correct the permissions, or move away what has its name",
        ) from error


def back_up(path: Path) -> Path:
    """Copy a store to ``<name>.v<version>.backup`` beside it, whole and on disk.

    An older backup of the same version is kept: the new one gets a number.

    Raises:
        StoreError: it could not be made.
    """
    temporary = path.with_name(f"{PREFIX}{os.getpid()}-backup{SUFFIX}")
    try:
        temporary.unlink(missing_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with closing(_connected(path)) as connection:
            target = _free_name(path, _version(connection))
            connection.execute("vacuum into ?", (str(temporary),))
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, target)
        sync_folder(path.parent)
    except (OSError, apsw.Error) as error:
        with suppress(OSError):  # the first cause is told
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} is of an older version and was left as it is: no backup could be made: {error}",
            hint="free space or correct the permissions of the folder, then repeat",
            code="store.backup",
        ) from error
    log.info("made a backup before the store is changed: %s", target)
    return target


def backups(path: Path) -> list[Path]:
    """List the backups that lie beside a store."""
    return sorted(path.parent.glob(f"{path.name}.v*.backup"))


def _is_older(path: Path) -> bool:
    """Tell whether a file is a store of an older version that holds sessions; one without has nothing to back up."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:  # absent, or whoever opens it next says why it cannot be read
        return False
    # The version in the header may be older than the one in the log, but never newer.
    if not header.startswith(b"SQLite format 3\0") or int.from_bytes(header[60:64], "big") >= len(MIGRATIONS):
        return False
    try:
        with closing(_connected(path)) as connection:
            if not 0 < _version(connection) < len(MIGRATIONS):
                return False
            return bool(connection.execute("select exists(select 1 from sessions)").fetchall()[0][0])
    except apsw.Error:  # damaged: whoever opens it next says so
        return False


def _free_name(path: Path, version: int) -> Path:
    names = (f"{path.name}.v{version}{number}.backup" for number in chain([""], (f".{n}" for n in count(2))))
    return next(target for target in map(path.with_name, names) if not target.exists())


@contextmanager
def _alone(path: Path, locks: SessionLocks) -> Iterator[None]:
    """Let one process after the other look whether the store must be changed."""
    end = time.monotonic() + MIGRATION_WAIT_S
    while True:
        try:
            lock = locks.acquire(MIGRATION)
            break
        except LockHeld as held:
            if time.monotonic() >= end:
                raise StoreError(
                    f"{path} is being brought to a new version by process {held.pid}",
                    hint="wait until it has finished, then repeat",
                ) from held
            time.sleep(0.02)
    try:
        yield
    finally:
        lock.release()


def _version(connection: apsw.Connection) -> int:
    return int(str(connection.pragma("user_version")))


def _connected(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MS)
    return connection


def _erasing(database: Database) -> Database:
    database.read("pragma secure_delete = on")
    return database
