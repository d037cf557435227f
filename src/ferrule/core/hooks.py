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

A hook that raises ends the turn at the first three steps, fails the call at
the next three, and is only logged at the last three, which always run. A turn
sees the hooks that were there when it began.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..types.errors import FerruleError, HookTypeError
from ..types.events import AgentEvent
from ..types.messages import Message
from ..types.tools import ToolCall, ToolResult
from ..types.usage import Usage
from .foreign import Broke, called, ran

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


class SendContext(Protocol):
    """What the turn's hooks see; the same object through the whole turn.

    Attributes:
        turn_id: The turn's id.
        content: What was sent, whole.
        rounds: Model requests made.
        usage: Tokens and money so far.
        state: Room for hooks, for the length of the turn.
    """

    turn_id: str
    content: object
    rounds: int
    usage: Usage
    state: dict[str, object]

    @property
    def agent(self) -> str:
        """Alias of the agent."""
        ...

    @property
    def session_id(self) -> str:
        """The session of the turn."""
        ...

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as it is now; read-only."""
        ...


class UnknownTool:
    """What `unknown_tool` sees: the call, the names that the agent may use, and its alias."""

    __slots__ = ("agent", "call", "names")

    def __init__(self, call: ToolCall, names: tuple[str, ...], agent: str = "") -> None:
        self.call = call
        self.names = names
        self.agent = agent


class FinishedCall:
    """What `tool_result` sees: the call's context and its result."""

    __slots__ = ("context", "result")

    def __init__(self, context: object, result: ToolResult) -> None:
        self.context = context
        self.result = result


@dataclass(frozen=True, slots=True)
class HookSet:
    """The hooks of one turn by step; an absent hook costs one dictionary lookup."""

    steps: Mapping[Step, tuple[Hook, ...]] = field(default_factory=dict)
    events: tuple[Callable[[AgentEvent], object], ...] = ()
    observers: tuple[Callable[[str, object], object], ...] = ()

    @property
    def watch_ends(self) -> bool:
        """Whether a hook runs when a turn ends."""
        return "inner_loops_end" in self.steps or "after_send" in self.steps

    def looks_at(self, step: Step) -> bool:
        """Whether anybody would notice that a step is asked or told."""
        return step in self.steps or bool(self.observers)

    def event(self, event: AgentEvent) -> None:
        """Show an event to the observers; what they raise is logged, never passed on."""
        for observer in self.events:
            _observe(observer, event)

    async def ask(self, step: Step, context: object) -> str | None:
        """Run a step's hooks until one answers with a string.

        Raises:
            HookTypeError: a hook returned neither None nor a string.
            FerruleError: a hook raised it; or it raised something else, with the code ``hook.failed``.
        """
        for observer in self.observers:
            _observe(observer, step.replace("_", "-"), context)
        for hook in self.steps.get(step, ()):
            answer = await ran(hook, context)
            if answer is None:
                continue
            if isinstance(answer, str):
                return answer
            if isinstance(answer, Broke):
                raise _failure(hook, answer)
            raise HookTypeError(
                f"{_name(hook)} returned {type(answer).__name__}", hint="return None to pass, or a string"
            )
        return None

    async def tell(self, step: Step, context: object) -> None:
        """Run all hooks of a step that cannot veto; what they return or raise is logged."""
        for observer in self.observers:
            _observe(observer, step.replace("_", "-"), context)
        for hook in self.steps.get(step, ()):
            answer = await ran(hook, context)
            if isinstance(answer, Broke):
                log.error("hook %s of %s failed", _name(hook), step, exc_info=answer.error)
            elif answer is not None:
                log.warning("hook %s returned a value, which %s ignores", _name(hook), step)


class HookTable:
    """The hooks of one agent; `current` is what the next turn sees."""

    def __init__(self) -> None:
        self.current = HookSet()

    def add(self, hooks: object) -> None:
        """Take every hook method that `hooks` has.

        Raises:
            HookTypeError: it has none, which is surely a mistake; or an observer is a coroutine, which nobody awaits.
        """
        found = {step: method for step in STEPS if (method := _method(hooks, step)) is not None}
        event, step = _method(hooks, "event"), _method(hooks, "step")
        if not found and event is None and step is None:
            raise HookTypeError(
                f"{type(hooks).__name__} has no hook method", hint=f"hooks are: {', '.join(STEPS)}, event, step"
            )
        for observer in (event, step):
            if observer is not None and inspect.iscoroutinefunction(observer):
                raise HookTypeError(f"{_name(observer)} is a coroutine", hint="observers are plain functions")
        now = self.current
        self.current = HookSet(
            {**now.steps, **{name: (*now.steps.get(name, ()), method) for name, method in found.items()}},
            now.events if event is None else (*now.events, event),
            now.observers if step is None else (*now.observers, step),
        )


def _failure(hook: Hook, broke: Broke) -> FerruleError:
    if isinstance(broke.error, FerruleError):
        return broke.error
    log.error("hook %s failed", _name(hook), exc_info=broke.error)
    return FerruleError(
        f"the hook {_name(hook)} broke: {broke.told}", code="hook.failed", hint="`ferrule logs` shows where"
    )


def _observe(observer: Callable[..., object], *arguments: object) -> None:
    answer = called(observer, *arguments)
    if isinstance(answer, Broke):
        log.error("an observer failed", exc_info=answer.error)


def _name(hook: Hook) -> str:
    return hook.__qualname__ if inspect.ismethod(hook) or inspect.isfunction(hook) else repr(hook)


def _method(hooks: object, name: str) -> Callable[..., Any] | None:
    method: object = getattr(hooks, name, None)
    return method if callable(method) else None
