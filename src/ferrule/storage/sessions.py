"""Sessions in SQLite: append-only rows of encoded messages, one writer per session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from ..ports.clock import Clock, Ids
from ..ports.session import SessionFacts, SessionKey
from ..types.codec import clean, message_from_dict, message_to_dict
from ..types.errors import SessionBusy, StoreError
from ..types.messages import Message
from ..types.tools import ToolCall
from ..types.unstoppable import Unstoppable, settled
from .locks import LockHeld
from .session_locks import SessionLock, SessionLocks
from .sqlite import Database, Row, Statement

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
)

_NEW = "insert into sessions values (?, ?, ?, ?, ?, ?, ?)"
_ADD = "insert into messages values (?, ?, ?, ?, ?)"
_INTEND = "insert or replace into intents values (?, ?, ?, ?, ?, ?)"
_TOUCH = "update sessions set changed_ms = max(changed_ms, ?), title = iif(title = '', ?, title) where id = ?"

TITLE_CHARS = 80


class SqliteSessions:
    """All sessions of one file."""

    def __init__(self, path: Path, clock: Clock, ids: Ids) -> None:
        _make_folder(path.parent)
        self._locks = SessionLocks(path.with_suffix(".lock"))
        try:
            self._database = Database(path, MIGRATIONS)
        except BaseException:
            self._locks.close()
            raise
        self._clock = clock
        self._ids = ids
        self._closed = False

    async def open(self, key: SessionKey) -> SqliteSession:
        """Open or start a session and hold it.

        Raises:
            SessionBusy: another process, or another part of this one, holds it.
            StoreError: no such session, or it cannot be read.
        """
        if not key.id:
            return self._start(key, ())
        facts = self._row(key.id)
        lock = self._lock(key.id)
        try:
            return SqliteSession(self._database, self._clock, facts, tuple(await self.read(key.id)), lock)
        except BaseException:
            lock.release()
            raise

    async def fork(self, session_id: str, key: SessionKey) -> SqliteSession:
        """Start a new session with a copy of another's messages; the other may be in use.

        Raises:
            StoreError: no such session, or it cannot be read.
        """
        messages = await self.read(session_id)
        session = self._start(key, ())
        await session.append(messages)
        return session

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first."""
        rows = self._database.read(
            "select id, agent, person, audience, title, (select count(*) from messages m where m.session_id = s.id),"
            " created_ms, changed_ms from sessions s where agent = ? or ? = '' order by changed_ms desc limit ?",
            (agent, agent, limit),
        )
        return [_listed(row) for row in rows]

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session without holding it.

        Raises:
            StoreError: no such session, or it cannot be read.
        """
        self._row(session_id)
        sql = "select body from messages where session_id = ? order by seq"
        return [_decoded(session_id, body) for (body,) in self._database.read(sql, (session_id,))]

    async def close(self) -> None:
        """Write what waits and close; safe to call twice."""
        if not self._closed:
            self._closed = True
            await self._database.close()
            self._locks.close()

    def _start(self, key: SessionKey, messages: Sequence[Message]) -> SqliteSession:
        now = self._clock.now_ms()
        facts = SessionFacts(
            id=self._ids.new("ses"),
            agent=key.agent,
            person=key.person,
            audience=key.audience,
            title="",
            messages=0,
            created_ms=now,
            changed_ms=now,
        )
        return SqliteSession(self._database, self._clock, facts, messages, self._lock(facts.id), is_new=True)

    def _row(self, session_id: str) -> SessionFacts:
        rows = self._database.read(
            "select id, agent, person, audience, title, 0, created_ms, changed_ms from sessions where id = ?",
            (session_id,),
        )
        if not rows:
            raise StoreError(
                f"there is no session {session_id!r}", hint="`ferrule sessions` lists them", code="session.missing"
            )
        return _listed(rows[0])

    def _lock(self, session_id: str) -> SessionLock:
        try:
            return self._locks.acquire(session_id)
        except LockHeld as held:
            raise SessionBusy(session_id, pid=held.pid) from held


class SqliteSession:
    """One conversation, held by this process. A session without messages leaves no row behind."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        facts: SessionFacts,
        messages: Sequence[Message],
        lock: SessionLock,
        *,
        is_new: bool = False,
    ) -> None:
        self._database = database
        self._clock = clock
        self._facts = facts
        self._messages = list(messages)
        self._lock: SessionLock | None = lock
        self._is_new = is_new
        self.id = facts.id
        self.interrupted = () if is_new else _interrupted(database, facts.id, self._messages)

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first."""
        return self._messages

    def append(self, messages: Sequence[Message]) -> Unstoppable[None]:
        """Add messages, all or none, in this order; on disk when it returns.

        Raises:
            StoreError: nothing was added, or the session is closed.
        """
        return self._write(messages, ())

    def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> Unstoppable[None]:
        """Add messages and record that these calls are about to run; on disk when it returns.

        Raises:
            StoreError: nothing was added; the calls must not run.
        """
        return self._write(messages, calls)

    async def close(self) -> None:
        """Let go of the session; safe to call twice."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> Unstoppable[None]:
        if self._lock is None:
            raise StoreError(f"session {self.id!r} is closed", hint="open it again", code="session.closed")
        if not messages and not calls:
            return settled()
        was_new, begin = self._is_new, len(self._messages)
        statements = self._statements(messages, calls, begin)

        def forget() -> None:
            del self._messages[begin:]
            self._is_new = was_new

        self._messages.extend(messages)  # a second append must find its place before this one is on disk
        self._is_new = False
        return self._database.write(statements, undo=forget)

    def _statements(self, messages: Sequence[Message], calls: Sequence[ToolCall], begin: int) -> list[Statement]:
        facts, now = self._facts, self._clock.now_ms()
        who = (facts.person, facts.audience)
        out: list[Statement] = []
        if self._is_new:
            row = (facts.id, facts.agent, *who, "", facts.created_ms, facts.changed_ms)
            out.append(Statement(_NEW, [row]))
        rows = [(facts.id, begin + i, *who, _encoded(facts.id, message)) for i, message in enumerate(messages)]
        if rows:
            out.append(Statement(_ADD, rows))
        if calls:
            out.append(Statement(_INTEND, [(facts.id, call.id, *who, clean(call.name), now) for call in calls]))
        title = next((message.text for message in messages if message.role == "user"), "")
        out.append(Statement(_TOUCH, [(now, clean(" ".join(title.split())[:TITLE_CHARS]), facts.id)]))
        return out


@asynccontextmanager
async def open_sessions(path: Path, clock: Clock, ids: Ids) -> AsyncIterator[SqliteSessions]:
    """Open the sessions of a file; closing writes what waits.

    Raises:
        StoreError: the file cannot be used; names the path, the cause and the fix.
    """
    sessions = SqliteSessions(path, clock, ids)
    try:
        yield sessions
    finally:
        await sessions.close()


def _interrupted(database: Database, session_id: str, messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls whose intent is on disk and whose result is not."""
    rows = database.read("select call_id from intents where session_id = ?", (session_id,))
    intended = {call_id for (call_id,) in rows}
    answered = {message.call_id for message in messages if message.role == "tool"}
    return tuple(
        call for message in messages for call in message.calls if call.id in intended and call.id not in answered
    )


def _listed(row: Row) -> SessionFacts:
    names = ("id", "agent", "person", "audience", "title", "messages", "created_ms", "changed_ms")
    values: dict[str, object] = dict(zip(names, row, strict=True))
    return SessionFacts(**values)  # type: ignore[arg-type]  # the strict table holds these types


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder {folder} cannot be made: {error.strerror}",
            hint="free space, correct the permissions, or move away what has its name",
        ) from error


def _encoded(session_id: str, message: Message) -> bytes:
    try:
        return orjson.dumps(message_to_dict(message))
    except TypeError as error:  # half a character in an id, or an argument that is no JSON
        raise StoreError(
            f"message {message.id!r} of session {session_id!r} cannot be stored: {error}",
            hint="ids must be valid text, and arguments JSON values",
        ) from error


def _decoded(session_id: str, body: object) -> Message:
    try:
        document = orjson.loads(body)  # type: ignore[arg-type]  # the column is a blob
        if not isinstance(document, dict):
            raise ValueError("it is no JSON object")
        return message_from_dict(document)
    except ValueError as error:  # no JSON, or no base64 in a part
        raise _damaged(session_id, error) from error
    except StoreError as error:
        raise _damaged(session_id, error, error.hint) from error


def _damaged(session_id: str, cause: object, hint: str | None = None) -> StoreError:
    text = f"a message of session {session_id!r} cannot be read: {cause}"
    return StoreError(text, hint=hint or "restore a backup", code="session.damaged")
