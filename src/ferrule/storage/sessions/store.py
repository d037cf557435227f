"""All sessions of one file."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ...ports.clock import Clock, Ids
from ...ports.session import SessionChange, SessionFacts, SessionHit, SessionKey
from ...types.codec import clean
from ...types.cuts import cut_after, start_of_last, title_of, unanswered
from ...types.errors import SessionBusy, StoreError
from ...types.messages import Message
from ...types.tools import ToolCall
from ..locks import LockHeld
from ..session_locks import SessionLock, SessionLocks
from ..sqlite import BUSY_MS, Statement
from . import search
from .rows import FACTS, decoded, facts_of, missing, numbered, the_session
from .schema import make_folder, open_database
from .session import SqliteSession, as_begun, changed_arguments, whole

log = logging.getLogger(__name__)

_MARK = "insert into undone values (?, ?, ?, ?, (select ifnull(max(mark), 0) from undone where session_id = ?) + ?)"
_CHANGE = "update sessions set changed_ms = max(changed_ms, ?), title = ? where id = ?"
_LAST_MARK = (
    "select u.seq, m.body from undone u join messages m on m.session_id = u.session_id and m.seq = u.seq"
    " where u.session_id = ? and u.mark = (select max(mark) from undone where session_id = ?) order by u.seq"
)
_UNMARK = "delete from undone where session_id = ? and mark = (select max(mark) from undone where session_id = ?)"
_DELETE = (
    "delete from words where rowid in (select id from places where session_id = ?)",
    *(f"delete from {table} where session_id = ?" for table in ("places", "indexed", "undone", "intents", "messages")),
    "delete from sessions where id = ?",
)
_HELD_HINT = "end it, or wait until it ends, then repeat"
ERASE_WAIT_MS = 200
SHOWN = 5
"""How many sessions an ambiguous id names."""


class SqliteSessions:
    """All sessions of one file."""

    def __init__(self, path: Path, clock: Clock, ids: Ids) -> None:
        make_folder(path.parent)
        self._locks = SessionLocks(path.with_suffix(".lock"))
        try:
            self._database = open_database(path, self._locks)
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
            facts = self._begin(key, ())
            return SqliteSession(self._database, self._clock, facts, self._lock(facts.id), is_new=True)
        facts, lock = self._hold(key.id)
        try:
            return SqliteSession(self._database, self._clock, facts, lock)
        except BaseException:
            lock.release()
            raise

    async def find(self, beginning: str) -> SessionFacts:
        """Return the one session whose id is, or begins with, `beginning`.

        Raises:
            StoreError: none does, or several do; the hint names some.
        """
        wanted = clean(beginning)
        sql = f"{FACTS} where ? != '' and id >= ? and id < ? || char(1114111) order by id limit ?"
        found = [facts_of(row) for row in self._database.read(sql, (wanted, wanted, wanted, SHOWN + 1))]
        exact = [facts for facts in found if facts.id == wanted] or found
        if not exact:
            raise missing(beginning)
        if len(exact) > 1:
            names = ", ".join(facts.id for facts in exact[:SHOWN]) + (" ..." if len(exact) > SHOWN else "")
            raise StoreError(
                f"more than one session begins with {beginning!r}",
                hint=f"write more of it: {names}",
                code="session.ambiguous",
            )
        return exact[0]

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first."""
        sql = f"{FACTS} where ? in ('', agent) order by changed_ms desc, id desc limit ?"
        return [facts_of(row) for row in self._database.read(sql, (clean(agent), limit))]

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session without holding it.

        Raises:
            StoreError: no such session, or it cannot be read.
        """
        facts = the_session(self._database, session_id)
        return [message for _, message in numbered(self._database, facts.id)]

    async def search(self, words: str, *, agent: str = "", limit: int = 20) -> Sequence[SessionHit]:
        """Find the messages that hold all of these words, the best first.

        Raises:
            StoreError: the store cannot be read.
        """
        await search.catch_up(self._database)
        return search.hits(self._database, words, agent=agent, limit=limit)

    async def branch(self, session_id: str, *, at: str = "", agent: str = "") -> SessionFacts:
        """Start a session with a copy of another's history; the other may be in use.

        Raises:
            StoreError: no such session or message, or it cannot be read or written; nothing was made.
        """
        facts = the_session(self._database, session_id)
        messages = await self.read(session_id)
        key = SessionKey(agent=agent or facts.agent, person=facts.person, audience=facts.audience)
        kept = messages[: cut_after(messages, at)]
        begun = {call.id: call for call in as_begun(self._database, session_id, unanswered(kept))}
        return await self._take(key, kept, [begun.get(call.id, call) for call in unanswered(kept)])

    async def take(self, key: SessionKey, messages: Sequence[Message]) -> SessionFacts:
        """Start a session, under a new id, with messages that came from elsewhere, all or none.

        Raises:
            StoreError: there are no messages, or they cannot be written; nothing was made.
        """
        return await self._take(key, messages, unanswered(messages))

    async def _take(self, key: SessionKey, messages: Sequence[Message], calls: Sequence[ToolCall]) -> SessionFacts:
        if not messages:
            raise StoreError(
                "a session without messages is not kept", hint="copy one that has some", code="session.empty"
            )
        facts = self._begin(key, messages)
        begun = [(call, changed_arguments(facts.id, call, messages)) for call in calls]
        statements = whole(facts, messages, begun, facts.created_ms)
        await self._database.write(statements, undo=_nothing)
        return facts

    async def undo(self, session_id: str, turns: int = 1) -> SessionChange:
        """Take back the last turns: their rows are marked, not destroyed.

        Raises:
            SessionBusy: somebody holds the session.
            StoreError: no such session, or it has fewer turns; nothing was taken back.
        """
        facts, lock = self._hold(session_id, hint=_HELD_HINT)
        try:
            rows = numbered(self._database, facts.id)
            messages = [message for _, message in rows]
            start = start_of_last(messages, turns)
            who = (facts.person, facts.audience)
            # the first row makes the new mark, the others join it
            marks = [(facts.id, seq, *who, facts.id, 0 if i else 1) for i, (seq, _) in enumerate(rows[start:])]
            await self._change(facts.id, messages[:start], Statement(_MARK, marks))
            return SessionChange(turns=turns, messages=len(marks))
        finally:
            lock.release()

    async def redo(self, session_id: str) -> SessionChange:
        """Bring back what the last undo took, unless something was said since.

        Raises:
            SessionBusy: somebody holds the session.
            StoreError: no such session, or there is nothing to bring back.
        """
        facts, lock = self._hold(session_id, hint=_HELD_HINT)
        try:
            twice = (facts.id, facts.id)
            back = self._database.read(_LAST_MARK, twice)
            rows = numbered(self._database, facts.id)
            if not back or (rows and rows[-1][0] > int(str(back[0][0]))):
                raise StoreError(
                    f"there is nothing to bring back in session {facts.id!r}",
                    hint="what was taken back can return until something new is said",
                    code="session.redo",
                )
            returned = [decoded(facts.id, body) for _, body in back]
            now = [message for _, message in rows] + returned
            await self._change(facts.id, now, Statement(_UNMARK, [twice]))
            turns = sum(message.role == "user" for message in returned)
            return SessionChange(turns=turns, messages=len(returned))
        finally:
            lock.release()

    async def delete(self, session_id: str) -> None:
        """Remove a session for good; its bytes are overwritten, in the file and in its log.

        Raises:
            SessionBusy: somebody holds the session; nothing was removed.
            StoreError: no such session, or it could not be removed.
        """
        facts, lock = self._hold(session_id, hint=_HELD_HINT)
        try:
            await self._database.write([Statement(sql, [(facts.id,)]) for sql in _DELETE], undo=_nothing)
            if not self._empty_log():  # somebody reads an older state
                log.warning("session %s is deleted; its bytes leave the log of the store later", facts.id)
        finally:
            lock.release()

    async def close(self) -> None:
        """Write what waits and close; safe to call twice."""
        if not self._closed:
            self._closed = True
            await self._database.close()
            self._locks.close()

    def _empty_log(self) -> bool:
        """Move the log into the file and cut it, so that it holds no deleted bytes; tells whether that was possible."""
        self._database.read(f"pragma busy_timeout = {ERASE_WAIT_MS}")
        try:
            ((busy, *_),) = self._database.read("pragma wal_checkpoint(truncate)")
        finally:
            self._database.read(f"pragma busy_timeout = {BUSY_MS}")
        return not busy

    async def _change(self, session_id: str, messages: Sequence[Message], what: Statement) -> None:
        change = Statement(_CHANGE, [(self._clock.now_ms(), clean(title_of(messages)), session_id)])
        await self._database.write([what, change], undo=_nothing)

    def _begin(self, key: SessionKey, messages: Sequence[Message]) -> SessionFacts:
        now = self._clock.now_ms()
        return SessionFacts(
            id=self._ids.new("ses"),
            agent=key.agent,
            person=key.person,
            audience=key.audience,
            title=clean(title_of(messages)),
            messages=len(messages),
            created_ms=now,
            changed_ms=now,
        )

    def _hold(self, session_id: str, *, hint: str = "") -> tuple[SessionFacts, SessionLock]:
        """Lock a session that is there, also after the lock was waited for."""
        lock = self._lock(the_session(self._database, session_id).id, hint=hint)
        try:
            return the_session(self._database, session_id), lock  # it may have been deleted meanwhile
        except BaseException:
            lock.release()
            raise

    def _lock(self, session_id: str, *, hint: str = "") -> SessionLock:
        try:
            return self._locks.acquire(session_id)
        except LockHeld as held:
            busy = SessionBusy(session_id, pid=held.pid)
            busy.hint = hint or busy.hint
            raise busy from held


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


def _nothing() -> None:
    """Nothing is kept in memory that a failed write would have to take back."""
