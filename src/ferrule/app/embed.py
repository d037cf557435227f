"""What Python programs embed: a provider that owns its connections, and sessions on disk."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType

from ..core.system_clock import RandomIds, SystemClock
from ..providers._chat.provider import Endpoint, OpenAIChat
from ..sandbox.dialer import HttpDialer
from ..storage.sessions import SqliteSessions, open_sessions
from ..types.completion import ProviderEvent, Request


class OpenAI:
    """OpenAI, or any server that speaks its chat-completions dialect. Close it, or use it as a context manager."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str = "https://api.openai.com/v1",
        name: str = "openai.default",
    ) -> None:
        """Make a provider; nothing is connected yet.

        Args:
            model: As the vendor names it.
            api_key: Sent as a bearer token; None for servers without keys.
            base_url: Up to and including the version.
            name: How logs and events name it.
        """
        self.name = name
        self.model = model
        self._dialer = HttpDialer()
        endpoint = Endpoint(model=model, base_url=base_url, api_key=api_key)
        self._chat = OpenAIChat(name=name, endpoint=endpoint, dialer=self._dialer, clock=SystemClock())

    def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Ask the model once; raises what `Provider.stream` raises."""
        return self._chat.stream(request)

    async def close(self) -> None:
        """Close the connections; safe to call twice."""
        await self._dialer.close()

    async def __aenter__(self) -> OpenAI:
        """Return the provider."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()


class Sessions:
    """Conversations on disk: ``async with Sessions.at("sessions.db") as sessions``."""

    @staticmethod
    def at(path: str | os.PathLike[str]) -> AbstractAsyncContextManager[SqliteSessions]:
        """Open the sessions of a SQLite file, which is created when it is missing.

        Raises:
            StoreError: on entering, when the file cannot be used.
        """
        return open_sessions(Path(path), SystemClock(), RandomIds())
