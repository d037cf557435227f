"""Output of a running tool on its way to people: guarded as one stream, however it is cut into pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..ports.guard import Guard, StreamGuard
from ..types.events import ToolOutput

StreamName = Literal["stdout", "stderr"]


class GuardedPump:
    """Implements `Pump` for one call; `flush` shows what was held back, when the call has ended."""

    def __init__(self, guard: Guard, emit: Callable[..., None], call_id: str) -> None:
        self._guard = guard
        self._emit = emit
        self._call_id = call_id
        self._streams: dict[StreamName, StreamGuard] = {}

    async def __call__(self, stream: StreamName, text: str) -> None:
        """Show a piece, as far as it cannot be the beginning of a secret."""
        guarded = self._streams.get(stream)
        if guarded is None:
            guarded = self._streams[stream] = self._guard.stream()
        self._show(stream, guarded.feed(text))

    def flush(self) -> None:
        """Show the rest."""
        for stream, guarded in self._streams.items():
            self._show(stream, guarded.flush())

    def _show(self, stream: StreamName, text: str) -> None:
        if text:
            self._emit(ToolOutput, call_id=self._call_id, stream=stream, text=text)
