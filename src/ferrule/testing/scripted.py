"""A provider that answers from a list: a real `Provider`, without a network."""

from __future__ import annotations

import difflib
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..ports.clock import Clock
from ..types.completion import (
    CallReady,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    Request,
    TextChunk,
    UsageReported,
)
from ..types.messages import Message
from ..types.tools import ToolCall
from ..types.usage import Usage


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing comes for so many seconds."""

    seconds: float


Step = ProviderEvent | Pause | Exception
Answer = Iterable[Step] | Exception | Callable[[Request], Iterable[Step]]


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

    An answer is a list of events. Among them may stand a `Pause`, which lets
    time pass on `clock`, and an exception, which is raised at that point; an
    exception instead of a list refuses the request at once. A function makes
    the answer from the request. When the list is used up, the next request
    raises `AssertionError`, so that a test cannot pass by asking more often
    than it meant to; `check_asked` says what was asked and that nothing is left.

    Args:
        answers: In the order of the requests.
        clock: On which pauses pass; without it an answer with a pause is refused.
        name: As config, logs and events show it.
    """

    def __init__(self, *answers: Answer, clock: Clock | None = None, name: str = "scripted") -> None:
        self.name = name
        self._answers = deque(answers)
        self._clock = clock
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """Give the next answer of the list."""
        self.requests.append(request)
        if not self._answers:
            raise AssertionError(f"request {len(self.requests)} has no scripted answer")
        answer = self._answers.popleft()
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        for step in answer:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, Pause):
                if self._clock is None:
                    raise AssertionError("a script with pauses needs ScriptedProvider(..., clock=...)")
                await self._clock.sleep(step.seconds)
            else:
                yield step

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return len(self._answers)

    def check_asked(self, *requests: Sequence[str]) -> None:
        """Compare what was asked with `requests`: for each, the lines of `told` that are new since the one before.

        Raises:
            AssertionError: something else was asked, or answers are left.
        """
        found = [f"request {i}: {line}" for i, new in enumerate(self._news(), 1) for line in new]
        wanted = [f"request {i}: {line}" for i, new in enumerate(requests, 1) for line in new]
        if found != wanted:
            changes = difflib.unified_diff(wanted, found, "wanted", "asked", lineterm="", n=2)
            raise AssertionError("the model was asked something else:\n" + "\n".join(changes))
        if self._answers:
            raise AssertionError(f"{self.left} answers were not asked for")

    def _news(self) -> list[list[str]]:
        before: list[str] = []
        out: list[list[str]] = []
        for request in self.requests:
            lines = [told(message) for message in request.messages]
            is_longer = lines[: len(before)] == before
            out.append(lines[len(before) :] if is_longer else lines)
            before = lines
        return out


def told(message: Message) -> str:
    """Return a message as one line, such as ``user: hi``, ``assistant: -> look {"path": "a"}`` or ``tool look: r``."""
    calls = [f"-> {c.name} {json.dumps(c.arguments, ensure_ascii=False)}" for c in message.calls]
    who = f"tool {message.name}" if message.role == "tool" else message.role
    parts = [f"<{type(part).__name__}>" for part in message.parts]
    return f"{who}: {' '.join([*([message.text] if message.text else []), *parts, *calls])}"
