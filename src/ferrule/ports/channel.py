"""A chat platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """What arrived.

    Attributes:
        id: The platform's own id, by which repeats are recognised.
        sender: The platform's stable id of the person.
        reply_to: Where an answer goes (a chat, room or thread).
        text: The message.
        at_ms: When it was sent, milliseconds since 1970.
    """

    id: str
    sender: str
    reply_to: str
    text: str
    at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage:
    """What is sent: `text` to `recipient`, in `thread` if not empty."""

    text: str
    recipient: str
    thread: str = ""


@runtime_checkable
class Channel(Protocol):
    """Carries messages; it never sees an agent, and an agent never sees it."""

    @property
    def name(self) -> str:
        """The platform's name."""
        ...

    async def send(self, message: SendMessage) -> None:
        """Deliver one message.

        Raises:
            FerruleError: it was not delivered; the caller retries.
        """
        ...

    async def listen(self, receive: Callable[[ChannelMessage], Awaitable[None]]) -> None:
        """Hand over messages as they come, until cancelled. A message is acknowledged to the platform only
        after `receive` returned."""
        ...
