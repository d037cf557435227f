"""Works with sessions that are kept, without opening an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..core.system_clock import RandomIds, SystemClock
from ..storage.sessions import SqliteSessions, open_sessions
from ..storage.sessions.schema import backups
from .home import Home


@asynccontextmanager
async def kept_sessions(home: Home) -> AsyncIterator[SqliteSessions]:
    """Open the sessions of a home, which is prepared when it is new.

    Raises:
        FerruleError: the home or the store cannot be used; says how to mend it.
    """
    home.layout.prepare()
    async with open_sessions(home.layout.sessions, SystemClock(), RandomIds()) as store:
        yield store


def has_sessions(home: Home) -> bool:
    """Tell whether the home has a store yet."""
    return home.layout.sessions.exists()


def old_copies(home: Home) -> list[str]:
    """Name the backups of the store: what is deleted now is still in them."""
    return [str(path) for path in backups(home.layout.sessions)]
