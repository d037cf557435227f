"""A session that lives as long as the process: for embedding, and for tests."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from ..types.messages import Message
from ..types.tools import ToolCall
from ..types.unstoppable import settled


class MemorySession:
    """Keeps messages in memory only; nothing is written anywhere."""

    def __init__(self, session_id: str, messages: Sequence[Message] = ()) -> None:
        self.id = session_id
        self._messages = list(messages)

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first."""
        return self._messages

    @property
    def interrupted(self) -> Sequence[ToolCall]:
        """Nothing survives a crash, so nothing is ever in doubt."""
        return ()

    def append(self, messages: Sequence[Message]) -> Awaitable[None]:
        """Add messages."""
        self._messages.extend(messages)
        return settled()

    def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> Awaitable[None]:
        """Add messages; intents are of no use without a disk."""
        return self.append(messages)

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
