"""One conversation, as rows that are only ever added."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from ...ports.clock import Clock
from ...ports.session import SessionFacts
from ...types.codec import clean
from ...types.cuts import title_of, unanswered
from ...types.errors import StoreError
from ...types.messages import Message
from ...types.tools import ToolCall
from ...types.unstoppable import Unstoppable, settled
from ..session_locks import SessionLock
from ..sqlite import Database, Statement
from .rows import decoded_arguments, encoded, encoded_value, numbered

_NEW = "insert into sessions values (?, ?, ?, ?, ?, ?, ?)"
_ADD = "insert into messages values (?, ?, ?, ?, ?)"
_INTEND = "insert or replace into intents values (?, ?, ?, ?, ?, ?, ?)"
_TOUCH = "update sessions set changed_ms = max(changed_ms, ?), title = iif(title = '', ?, title) where id = ?"


class SqliteSession:
    """One conversation, held by this process. A session without messages leaves no row behind."""

    def __init__(
        self, database: Database, clock: Clock, facts: SessionFacts, lock: SessionLock, *, is_new: bool = False
    ) -> None:
        """Read what is there.

        Raises:
            StoreError: it cannot be read.
        """
        self._database = database
        self._clock = clock
        self._facts = facts
        self._lock: SessionLock | None = lock
        self._is_new = is_new
        self._last: Unstoppable[None] | None = None
        self.id = facts.id
        self._messages = [] if is_new else [message for _, message in numbered(database, facts.id)]
        self._next = 0 if is_new else _after(database, facts.id)
        self._in_doubt = () if is_new else _in_doubt(database, facts.id, self._messages)
        database.holders += 1

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first."""
        return self._messages

    @property
    def interrupted(self) -> Sequence[ToolCall]:
        """Calls that were begun before a crash and have no result yet."""
        return _without_result(self._in_doubt, self._messages) if self._in_doubt else ()

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
        """Let go of the session, after what was given to it is written; safe to call twice."""
        if (
            self._last is not None and not self._last.done()
        ):  # nobody else may hold the session while this one still writes
            await asyncio.wait([self._last])
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            self._database.holders -= 1

    def _write(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> Unstoppable[None]:
        if self._lock is None:
            raise StoreError(f"session {self.id!r} is closed", hint="open it again", code="session.closed")
        if not messages and not calls:
            return settled()
        was_new, begin, number, now = self._is_new, len(self._messages), self._next, self._clock.now_ms()
        begun = [
            (call, changed_arguments(self.id, call, chain(reversed(messages), reversed(self._messages))))
            for call in calls
        ]
        if was_new:
            statements = whole(self._facts, messages, begun, now)
        else:
            statements = added(self._facts, number, messages, begun, now)

        def forget() -> None:
            del self._messages[begin:]
            self._is_new, self._next = was_new, number

        self._messages.extend(messages)  # a second append must find its place before this one is on disk
        self._is_new, self._next = False, number + len(messages)
        self._last = self._database.write(statements, undo=forget, at_once=not calls)
        return self._last


Begun = tuple[ToolCall, bytes | None]
"""A call that is about to run, and the arguments that it runs with where they are not what the model wrote."""


def whole(facts: SessionFacts, messages: Sequence[Message], begun: Collection[Begun], now: int) -> list[Statement]:
    """Return what makes a session with all its messages."""
    changed = max(facts.changed_ms, now)
    who = (facts.agent, facts.person, facts.audience)
    row = (facts.id, *who, clean(title_of(messages)), facts.created_ms, changed)
    return [Statement(_NEW, [row]), *_said(facts, 0, messages, begun, now)]


def added(
    facts: SessionFacts, number: int, messages: Sequence[Message], begun: Collection[Begun], now: int
) -> list[Statement]:
    """Return what adds messages and the calls that are about to run.

    Args:
        facts: Whose session it is.
        number: The number of the first message.
        messages: What was said.
        begun: What is about to run.
        now: The time, in milliseconds since 1970.
    """
    touch = Statement(_TOUCH, [(now, clean(title_of(messages)), facts.id)])
    return [*_said(facts, number, messages, begun, now), touch]


def _said(
    facts: SessionFacts, number: int, messages: Sequence[Message], begun: Collection[Begun], now: int
) -> list[Statement]:
    who = (facts.person, facts.audience)
    out: list[Statement] = []
    rows = [(facts.id, number + i, *who, encoded(facts.id, message)) for i, message in enumerate(messages)]
    if rows:
        out.append(Statement(_ADD, rows))
    if begun:
        rows_of_calls = [(facts.id, call.id, *who, clean(call.name), now, changed) for call, changed in begun]
        out.append(Statement(_INTEND, rows_of_calls))
    return out


def _after(database: Database, session_id: str) -> int:
    """Return the number after the last message, also when that one was taken back."""
    ((last,),) = database.read("select ifnull(max(seq), -1) from messages where session_id = ?", (session_id,))
    return int(str(last)) + 1


def as_begun(database: Database, session_id: str, calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Return those of the calls that were begun, each with the arguments it was to run with.

    Raises:
        StoreError: they cannot be read.
    """
    rows = database.read("select call_id, arguments from intents where session_id = ?", (session_id,))
    changed = {str(call_id): arguments for call_id, arguments in rows}
    return [_with(session_id, call, changed[call.id]) for call in calls if call.id in changed]


def _in_doubt(database: Database, session_id: str, messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls whose intent is on disk and whose result is not."""
    return tuple(as_begun(database, session_id, unanswered(messages)))


def changed_arguments(session_id: str, call: ToolCall, newest_first: Iterable[Message]) -> bytes | None:
    """Return a call's arguments, as bytes, where the model wrote others; None where it wrote these.

    Raises:
        StoreError: they are no JSON.
    """
    asked = next((one for message in newest_first for one in message.calls if one.id == call.id), None)
    if asked is not None and asked.arguments == call.arguments:
        return None
    return encoded_value(session_id, call.arguments)


def _with(session_id: str, call: ToolCall, changed: object) -> ToolCall:
    if changed is None:
        return call
    return replace(call, arguments=decoded_arguments(session_id, changed), raw="")


def _without_result(calls: Sequence[ToolCall], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    answered = {message.call_id for message in messages if message.role == "tool"}
    return tuple(call for call in calls if call.id not in answered)
