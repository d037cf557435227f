"""Hooks: methods on plain objects, called at named steps of the loop.

A step first emits its event to observers, then awaits the hooks in the order
they were added. None passes, a string (also an empty one) short-circuits,
anything else is a `HookTypeError`. What a string means depends on the step:

before_send          rejects the message; nothing is written
inner_loops_start    interrupts the turn; the message stays in the history
inner_loop_start     interrupts the turn before a request
tool_call            denies this call; the string is its result
unknown_tool         is the result of the call
tool_result          replaces the result's text
inner_loop_end, inner_loops_end, after_send   cannot veto: the value is ignored
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar

from ..types.errors import HookTypeError
from ..types.events import AgentEvent
from ..types.tools import ToolCall, ToolResult
from ..types.usage import Usage

log = logging.getLogger(__name__)

Step = Literal[
    "before_send",
    "inner_loops_start",
    "inner_loop_start",
    "tool_call",
    "unknown_tool",
    "tool_result",
    "inner_loop_end",
    "inner_loops_end",
    "after_send",
]

STEPS: tuple[Step, ...] = (
    "before_send",
    "inner_loops_start",
    "inner_loop_start",
    "tool_call",
    "unknown_tool",
    "tool_result",
    "inner_loop_end",
    "inner_loops_end",
    "after_send",
)

Hook = Callable[..., Awaitable[object] | object]
T = TypeVar("T")


class SendContext(Protocol):
    """What the turn's hooks see; the same object through the whole turn."""

    turn_id: str
    content: object
    rounds: int
    usage: Usage
    state: dict[str, object]


class UnknownTool:
    """What `unknown_tool` sees: the call, and the names that the agent may use."""

    __slots__ = ("call", "names")

    def __init__(self, call: ToolCall, names: tuple[str, ...]) -> None:
        self.call = call
        self.names = names


class FinishedCall:
    """What `tool_result` sees: the call's context and its result."""

    __slots__ = ("context", "result")

    def __init__(self, context: object, result: ToolResult) -> None:
        self.context = context
        self.result = result


class HookTable:
    """The hooks of one agent by step; an absent hook costs one dictionary lookup."""

    def __init__(self) -> None:
        self._steps: dict[Step, list[Hook]] = {}
        self._events: list[Callable[[AgentEvent], object]] = []
        self._observers: list[Callable[[str, object], object]] = []

    @property
    def wants_events(self) -> bool:
        """Whether anyone observes the event stream."""
        return bool(self._events)

    @property
    def watch_ends(self) -> bool:
        """Whether a hook runs when a turn ends."""
        return "inner_loops_end" in self._steps or "after_send" in self._steps

    def add(self, hooks: object) -> None:
        """Take every hook method that `hooks` has.

        Raises:
            HookTypeError: it has none, which is surely a mistake.
        """
        found = False
        for step in STEPS:
            if (method := _method(hooks, step)) is not None:
                self._steps.setdefault(step, []).append(method)
                found = True
        if (method := _method(hooks, "event")) is not None:
            self._events.append(method)
            found = True
        if (method := _method(hooks, "step")) is not None:
            self._observers.append(method)
            found = True
        if not found:
            raise HookTypeError(
                f"{type(hooks).__name__} has no hook method", hint=f"hooks are: {', '.join(STEPS)}, event"
            )

    def event(self, event: AgentEvent) -> None:
        """Show an event to the observers; what they raise is logged, never passed on."""
        for observer in self._events:
            _observe(observer, event)

    async def ask(self, step: Step, context: object) -> str | None:
        """Run a step's hooks until one answers with a string.

        Raises:
            HookTypeError: a hook returned neither None nor a string.
        """
        for observer in self._observers:
            _observe(observer, step.replace("_", "-"), context)
        for hook in self._steps.get(step, ()):
            answer = await _call(hook, context)
            if answer is None:
                continue
            if not isinstance(answer, str):
                name = f"{hook.__qualname__}" if inspect.ismethod(hook) else repr(hook)
                raise HookTypeError(f"{name} returned {type(answer).__name__}", hint="return None to pass, or a string")
            return answer
        return None

    async def tell(self, step: Step, context: object) -> None:
        """Run all hooks of a step that cannot veto; what they return or raise is logged."""
        for observer in self._observers:
            _observe(observer, step.replace("_", "-"), context)
        for hook in self._steps.get(step, ()):
            try:
                answer = await _call(hook, context)
            # The turn is over: whatever a guest does now must not change its outcome.
            except Exception:
                log.exception("hook %s failed", step)
                continue
            if answer is not None:
                log.warning("hook %s returned a value, which this step ignores", step)


async def _call(hook: Hook, context: object) -> object:
    answer = hook(context)
    return await answer if inspect.isawaitable(answer) else answer


def _observe(observer: Callable[..., object], *arguments: object) -> None:
    try:
        observer(*arguments)
    # An observer is somebody else's code that only looks: it may not stop the turn.
    except Exception:
        log.exception("an observer failed")


def _method(hooks: object, name: str) -> Callable[..., Any] | None:
    method: object = getattr(hooks, name, None)
    return method if callable(method) else None
