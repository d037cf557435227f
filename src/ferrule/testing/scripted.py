"""A provider that answers from a list: a real `Provider`, without a network."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping

from ..types.completion import (
    CallReady,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    Request,
    TextChunk,
    UsageReported,
)
from ..types.tools import ToolCall
from ..types.usage import Usage

Answer = Iterable[ProviderEvent] | Exception


def say(text: str, *, pieces: int = 1, usage: Usage | None = None) -> list[ProviderEvent]:
    """Answer with text, in about `pieces` pieces."""
    size = max(1, -(-len(text) // pieces))
    events: list[ProviderEvent] = [TextChunk(text=text[i : i + size]) for i in range(0, len(text), size)]
    if usage is not None:
        events.append(UsageReported(usage=usage))
    return [*events, Finished(reason="stop")]


def think(reasoning: str, text: str) -> list[ProviderEvent]:
    """Answer with reasoning, then text."""
    return [ReasoningChunk(text=reasoning, field="reasoning_content"), *say(text)]


def call(name: str, arguments: Mapping[str, object] | str = "", *, id: str = "") -> ToolCall:
    """Make a tool call as a decoder would; a string is taken as the raw argument text."""
    if isinstance(arguments, str):
        return ToolCall(id=id or f"call_{name}", name=name, arguments={}, raw=arguments)
    return ToolCall(id=id or f"call_{name}", name=name, arguments=dict(arguments), raw=json.dumps(arguments))


def ask(*calls: ToolCall, text: str = "", usage: Usage | None = None) -> list[ProviderEvent]:
    """Answer with tool calls, after some text if given."""
    events: list[ProviderEvent] = [TextChunk(text=text)] if text else []
    events += [CallReady(call=c) for c in calls]
    if usage is not None:
        events.append(UsageReported(usage=usage))
    return [*events, Finished(reason="tool_calls")]


class ScriptedProvider:
    """Answers from a list; remembers what it was asked.

    An exception in the list is raised instead of an answer. When the list is
    used up, the next request raises `AssertionError`, so that a test cannot
    pass by asking more often than it meant to.
    """

    name = "scripted"

    def __init__(self, *answers: Answer) -> None:
        self._answers = deque(answers)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Give the next answer of the list."""
        self.requests.append(request)
        if not self._answers:
            raise AssertionError(f"request {len(self.requests)} has no scripted answer")
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        for event in answer:
            yield event
