"""Looks at sessions that are kept, without opening an agent."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.system_clock import RandomIds, SystemClock
from ..ports.session import SessionFacts
from ..storage.sessions import open_sessions
from ..types.messages import Message
from .home import Home


async def list_sessions(home: Home, *, agent: str, limit: int) -> Sequence[SessionFacts]:
    """List sessions, the last changed first; none when there is no store yet.

    Raises:
        StoreError: the store cannot be used.
    """
    if not home.layout.sessions.exists():
        return []
    async with open_sessions(home.layout.sessions, SystemClock(), RandomIds()) as store:
        return await store.list(agent=agent, limit=limit)


async def read_session(home: Home, session_id: str) -> Sequence[Message]:
    """Return the messages of one session.

    Raises:
        StoreError: there is no such session, or the store cannot be used.
    """
    home.layout.prepare()
    async with open_sessions(home.layout.sessions, SystemClock(), RandomIds()) as store:
        return await store.read(session_id)
