"""Where conversations are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..types.messages import Message, Role
from ..types.tools import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """One line of a list of sessions; times in milliseconds since 1970.

    Attributes:
        title: The first line that a person wrote, at most 80 characters.
        messages: How many there are; those that were taken back do not count.
    """

    id: str
    agent: str
    person: str
    audience: str
    title: str
    messages: int
    created_ms: int
    changed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """Which session to open, and for whom.

    Attributes:
        agent: The agent's alias.
        person: Whose session it is; "" for the operator.
        audience: Who will see what is sent; "" is unknown and counts as public.
        id: An existing session; "" starts a new one.
    """

    agent: str
    person: str = ""
    audience: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """One message that a search found.

    Attributes:
        snippet: The text around the first word that was found, on one line, with an ellipsis where it was cut.
        at_ms: When the message was made, milliseconds since 1970; 0 when nobody noted it.
    """

    session_id: str
    message_id: str
    agent: str
    title: str
    role: Role
    snippet: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChange:
    """What an undo took back, or a redo brought back."""

    turns: int
    messages: int


class Session(Protocol):
    """One conversation, append-only, held by one writer.

    When `append` or `intend` returns, the bytes are on disk. A store without
    disk says so in its documentation.
    """

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first, without what was taken back. Read-only; grows with `append`."""
        ...

    @property
    def interrupted(self) -> Sequence[ToolCall]:
        """Calls that were begun before a crash and have no result: their outcome is unknown.

        Each has the arguments that it was given to `intend` with, which may not be those that the model wrote.
        """
        ...

    def append(self, messages: Sequence[Message]) -> Awaitable[None]:
        """Add messages, all or none, in this order.

        A store whose writes cannot be called back returns an `Unstoppable`,
        which spares the loop a task; an ``async def`` is as good.

        Raises:
            StoreError: nothing was added.
        """
        ...

    def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> Awaitable[None]:
        """Add messages and record that these calls are about to run, before they do.

        Raises:
            StoreError: nothing was added; the calls must not run.
        """
        ...

    async def close(self) -> None:
        """Let go of the session, after what was given to it is written; safe to call twice."""
        ...


class SessionStore(Protocol):
    """All sessions of a home.

    Every method that takes a session id wants the whole id; `find` makes one
    of its beginning. A missing session is a `StoreError` with the code
    ``session.missing``, everywhere.
    """

    async def open(self, key: SessionKey) -> Session:
        """Open or start a session and hold it.

        Raises:
            SessionBusy: another process holds it; `pid` names it.
            StoreError: no such session, or it cannot be read.
        """
        ...

    async def find(self, beginning: str) -> SessionFacts:
        """Return the one session whose id is, or begins with, `beginning`.

        Raises:
            StoreError: none does (``session.missing``), or several do (``session.ambiguous``; the hint names some).
        """
        ...

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first; `agent` "" means all."""
        ...

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session without holding it; what was taken back is left out.

        Raises:
            StoreError: no such session, or it cannot be read.
        """
        ...

    async def search(self, words: str, *, agent: str = "", limit: int = 20) -> Sequence[SessionHit]:
        """Find the messages that hold all of these words, the best first.

        A word is found inside other words too, in every script and whatever
        its case. No text is an error: quotes and operators are words or
        nothing. Text that was taken back or deleted is never found.

        Raises:
            StoreError: the store cannot be read.
        """
        ...

    async def branch(self, session_id: str, *, at: str = "", agent: str = "") -> SessionFacts:
        """Start a session with a copy of another's history, which may be in use and is not changed.

        Args:
            session_id: What to copy; person and audience are copied too.
            at: The last message to copy, by its id or an unambiguous part; "" copies all. A message with
                calls and its results are one group, which is never split.
            agent: Whose session the copy is; "" for the same agent.

        Raises:
            StoreError: no such session or message, or it cannot be read or written; nothing was made.
        """
        ...

    async def take(self, key: SessionKey, messages: Sequence[Message]) -> SessionFacts:
        """Start a session, under a new id, with messages that came from elsewhere, all or none.

        Calls without a result count as begun: whoever opens it is told that their outcome is unknown.

        Raises:
            StoreError: nothing was made.
        """
        ...

    async def undo(self, session_id: str, turns: int = 1) -> SessionChange:
        """Take back the last turns. Nothing is destroyed, and nothing outside the session changes.

        Raises:
            SessionBusy: somebody holds the session.
            StoreError: no such session, or it has fewer turns (``session.turns``); nothing was taken back.
        """
        ...

    async def redo(self, session_id: str) -> SessionChange:
        """Bring back what the last undo took, unless something was said since.

        Raises:
            SessionBusy: somebody holds the session.
            StoreError: no such session, or there is nothing to bring back (``session.redo``).
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Remove a session for good: messages, what was taken back, and what a search remembers.

        Raises:
            SessionBusy: somebody holds the session; nothing was removed.
            StoreError: no such session, or it could not be removed.
        """
        ...

    async def close(self) -> None:
        """Write what waits and close; safe to call twice."""
        ...
