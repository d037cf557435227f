"""Keeps configured secrets out of everything that is shown or stored."""

from __future__ import annotations

from typing import Protocol


class StreamGuard(Protocol):
    """Guards one stream; holds back only a suffix that really begins a secret."""

    def feed(self, text: str) -> str:
        """Take a piece and return what may be shown now."""
        ...

    def flush(self) -> str:
        """Return what was held back; the stream has ended."""
        ...


class Guard(Protocol):
    """Exact match of configured secrets, in all their encodings."""

    def clean(self, text: str) -> str:
        """Return `text` with every secret masked."""
        ...

    def stream(self) -> StreamGuard:
        """Begin guarding a stream."""
        ...
