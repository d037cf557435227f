"""A tool call that a person makes by hand: the same dispatcher, gate and approval, no model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..types.events import AgentEvent, Head
from ..types.tools import ToolCall, ToolResult
from .hooks import HookSet
from .parts import AgentParts
from .toolset import ToolSet


class HandCall:
    """The surroundings of one call by hand; it is not part of the conversation."""

    def __init__(self, parts: AgentParts, listener: Callable[[AgentEvent], None] | None) -> None:
        options = parts.options
        self._parts = parts
        self._listener = listener
        self._seq = 0
        self.head = Head(session_id=parts.conversation.session.id, turn_id=options.ids.new("trn"), agent=options.name)
        self.hooks: HookSet = parts.hooks.current
        self.tools: ToolSet = parts.toolbox.refresh()

    @property
    def listens(self) -> bool:
        """Whether anybody sees events."""
        return self._listener is not None or bool(self.hooks.events)

    def emit(self, kind: type[Any], /, **fields: object) -> None:
        """Send an event, if anybody listens."""
        self._seq += 1
        event = kind(head=self.head, seq=self._seq, at_ms=self._parts.options.clock.now_ms(), **fields)
        if self._listener is not None:
            self._listener(event)
        self.hooks.event(event)

    def waiting(self) -> AbstractContextManager[None]:
        """A person's own call has no clock to stop."""
        return nullcontext()

    def reserve_call(self) -> ToolResult | None:
        """A person's own call counts against no limit."""
        return None

    async def intend(self, call: ToolCall) -> None:
        """The person sees the outcome or the crash: there is no conversation in which it could be in doubt."""

    def denied(self, rule: str) -> None:
        """The result says so; there is no turn to note it in."""
