"""Goes on otherwise while an agent is open: in another session, before the last turn, with another model."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from ..core.agent import Agent
from ..ports.provider import CompletionProvider, Provider
from ..ports.session import Session, SessionChange, SessionFacts, SessionKey
from ..storage.sessions import SqliteSessions
from ..types.errors import FerruleError, StoreError, UsageError

log = logging.getLogger(__name__)

AnyProvider = Provider | CompletionProvider
OpenProvider = Callable[[str], Awaitable[AnyProvider]]
"""Opens the agent's provider with another model."""

BuildAgent = Callable[[AnyProvider, Session], Agent]


@runtime_checkable
class Listing(Protocol):
    """A provider that knows which models it has."""

    async def models(self) -> tuple[str, ...]:
        """Name them.

        Raises:
            ProviderError: the server does not say.
        """
        ...


class Desk:
    """One agent's present session and model; the gate, and what was allowed for always, stay."""

    def __init__(
        self,
        sessions: SqliteSessions,
        session: Session,
        provider: AnyProvider,
        *,
        build: BuildAgent,
        open_provider: OpenProvider,
        alias: str,
    ) -> None:
        self._sessions = sessions
        self._session = session
        self._build = build
        self._open_provider = open_provider
        self._alias = alias
        self.provider = provider
        self.agent = build(provider, session)

    async def close(self) -> None:
        """Let go of the session."""
        await self._session.close()

    async def new(self) -> None:
        """Go on in a new session."""
        await self._move(await self._sessions.open(SessionKey(agent=self._alias)))

    async def resume(self, beginning: str) -> None:
        """Go on in another session of this agent.

        Raises:
            UsageError: it is this session, or another agent's.
            StoreError: no session or several begin so, it is in use, or it cannot be read; the present one stays.
        """
        found = await self._sessions.find(beginning)
        if found.id == self._session.id:
            raise UsageError(f"this is session {found.id} already", hint="/resume lists the others")
        refuse_another_agents(found, self._alias)
        await self._move(await self._sessions.open(key_of(found)))

    async def undo(self, turns: int) -> SessionChange:
        """Take back the last turns of the conversation; files and commands stay as they are.

        Raises:
            UsageError: nothing was said yet.
            StoreError: it has fewer turns, or cannot be written.
        """
        if not self._session.messages:
            raise UsageError("there is nothing to take back: nothing was said yet", hint="/resume goes on in another")
        return await self._changed(lambda held: self._sessions.undo(held, turns))

    async def redo(self) -> SessionChange:
        """Bring back what the last undo took.

        Raises:
            UsageError: nothing was taken back.
            StoreError: something was said since, or it cannot be written.
        """
        return await self._changed(self._sessions.redo)

    async def use_model(self, name: str) -> None:
        """Ask another model of the same provider from now on; the session goes on.

        Raises:
            FerruleError: the provider has no choice of models; the present one stays.
        """
        self.provider = await self._open_provider(name)
        self.agent = self._build(self.provider, self._session)
        log.info("the model is %s from now on", name)

    async def sessions(self, limit: int) -> list[SessionFacts]:
        """List this agent's sessions, the last changed first."""
        return list(await self._sessions.list(agent=self._alias, limit=limit))

    async def models(self) -> tuple[str, ...]:
        """Name the models that the provider has; none when it does not say."""
        if not isinstance(self.provider, Listing):
            return ()
        try:
            return await self.provider.models()
        except FerruleError as error:
            log.info("the provider does not name its models: %s", error)
            return ()

    async def _changed(self, change: Callable[[str], Awaitable[SessionChange]]) -> SessionChange:
        """Let go of the session for a change that wants nobody to hold it; it is held again whatever happens."""
        held = self._session.id
        await self._session.close()
        try:
            return await change(held)
        except StoreError as error:
            if error.code != "session.missing":
                raise
            raise UsageError(
                "there is nothing to bring back: nothing was taken back here", hint="/undo comes first"
            ) from error
        finally:
            self._sit(await self._again(held))

    async def _again(self, held: str) -> Session:
        try:
            return await self._sessions.open(key_of(await self._sessions.find(held)))
        except StoreError as error:
            if error.code != "session.missing":
                raise
            return await self._sessions.open(SessionKey(agent=self._alias))  # it never held a message

    async def _move(self, session: Session) -> None:
        left = self._session
        self._sit(session)
        await left.close()

    def _sit(self, session: Session) -> None:
        self._session = session
        self.agent = self._build(self.provider, session)


def key_of(found: SessionFacts) -> SessionKey:
    """Return what opens a session that was found."""
    return SessionKey(agent=found.agent, person=found.person, audience=found.audience, id=found.id)


def refuse_another_agents(found: SessionFacts, alias: str) -> None:
    """Refuse a session of another agent.

    Raises:
        UsageError: it is one.
    """
    if found.agent != alias:
        raise UsageError(
            f"session {found.id!r} belongs to the agent {found.agent!r}, not to {alias!r}",
            hint=f"add --agent {found.agent}, or continue in a copy with --fork",
        )
