"""Where conversations are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..types.messages import Message
from ..types.tools import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """One line of a list of sessions; times in milliseconds since 1970."""

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
        """The whole history, oldest first, as appended. Read-only; grows with `append`."""
        ...

    @property
    def interrupted(self) -> Sequence[ToolCall]:
        """Calls that were begun before a crash and have no result: their outcome is unknown."""
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
        """Let go of the session; safe to call twice."""
        ...


class SessionStore(Protocol):
    """All sessions of a home."""

    async def open(self, key: SessionKey) -> Session:
        """Open or start a session and hold it.

        Raises:
            SessionBusy: another process holds it; `pid` names it.
            StoreError: no such session, or it cannot be read.
        """
        ...

    async def list(self, *, agent: str = "", limit: int = 100) -> Sequence[SessionFacts]:
        """List sessions, the last changed first."""
        ...

    async def read(self, session_id: str) -> Sequence[Message]:
        """Read a session without holding it.

        Raises:
            StoreError: no such session, or it cannot be read.
        """
        ...

    async def close(self) -> None:
        """Write what waits and close; safe to call twice."""
        ...
