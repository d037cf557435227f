"""A message's encoded bytes, kept with the message so that a long history is encoded once."""

from __future__ import annotations

from typing import Protocol, cast

from ..types.messages import Message


class _Writable(Protocol):
    wire: tuple[str, bytes] | None


def remember(message: Message, dialect: str, encoded: bytes) -> None:
    """Keep `encoded` in `message`: frozen for the type checker only, and `wire` is a cache, no part of the value."""
    cast(_Writable, message).wire = (dialect, encoded)
