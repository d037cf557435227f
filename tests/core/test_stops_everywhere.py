"""A turn is stopped at every single step of the event loop, in three ways; the same laws hold each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

import pytest

from ferrule.core.agent import Agent
from ferrule.core.history import valid_history
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ask, call, say
from ferrule.testing.stores import RamSession, RamSessions
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.completion import ProviderEvent, Request
from ferrule.types.events import AgentEvent, TurnFinished
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from tests.core._agents import double, options


async def step() -> None:
    await asyncio.sleep(0)


async def stubborn_step() -> None:
    """Let other tasks run, and take no notice of being stopped."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)


Step = Callable[[], Awaitable[None]]


class Script:
    """Answers from a list, and lets other tasks run before each event."""

    name = "script"

    def __init__(self, step: Step) -> None:
        self._step = step
        both = ask(call("double", {"n": 1}), call("touches", {}), call("touches", {}), text="let me")
        self._answers = [both, ask(call("touches", {})), say("a b", pieces=2)]
        self.is_next = False

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        assert list(request.messages) == valid_history(request.messages)
        for event in say("next") if self.is_next else self._answers.pop(0):
            await self._step()
            yield event


class Store(RamSession):
    """A session whose writes take a while; knows which calls were about to run."""

    async def append(self, messages: Sequence[Message]) -> None:
        await step()
        await super().append(messages)
        await step()

    async def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> None:
        await step()
        await super().intend(messages, calls)


class Hooks:
    """Lets other tasks run in every hook, and remembers every event and step."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self.events: list[AgentEvent] = []
        self.steps: list[str] = []
        for name in ("before_send", "inner_loops_start", "inner_loop_start", "tool_call", "tool_result"):
            setattr(self, name, self._wait)
        for name in ("inner_loop_end", "inner_loops_end", "after_send"):
            setattr(self, name, self._wait)

    async def _wait(self, context: object) -> None:
        await self._step()

    def event(self, event: AgentEvent) -> None:
        self.events.append(event)

    def step(self, name: str, context: object) -> None:
        self.steps.append(name)


class Person:
    """Agrees, after a while."""

    def __init__(self, step: Step) -> None:
        self._step = step

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        await self._step()
        return ApprovalAnswer(answer="allow", by="operator")


class World:
    """One agent, everything around it, and what ran."""

    def __init__(self, step: Step) -> None:
        self.ran: list[str] = []

        @tool(needs={"files.write"})
        async def touches() -> str:
            """Change something."""
            self.ran.append("begun")
            await step()
            self.ran.append("done")
            return "done"

        self.store = RamSessions()
        self.session = Store(self.store, SessionKey(agent="default"), "ses_w")
        self.provider, self.hooks = Script(step), Hooks(step)
        gate = TableGate({}, default=Ask(reason="r", rule="r"))
        self.agent = Agent(
            self.provider,
            gate=gate,
            tools=[double, touches],
            approver=Person(step),
            session=self.session,
            options=options(),
        )
        self.agent.use(self.hooks)

    async def check(self, before: set[asyncio.Task[object]]) -> None:
        """Hold the laws against what the turn left."""
        assert asyncio.all_tasks() == before
        hooks, messages = self.hooks, list(self.session.messages)
        types = [event.type for event in hooks.events]
        assert types.count("tool.started") == types.count("tool.finished")
        assert types.count("approval.asked") == types.count("approval.answered")
        assert types.count("turn.finished") == (1 if "before-send" in hooks.steps else 0)
        if types:
            last = hooks.events[-1]
            assert isinstance(last, TurnFinished)
            assert last.status in ("cancelled", "completed")
            assert (last.error is None) == (last.status == "completed")
        for name in ("inner-loop", "inner-loops"):
            assert hooks.steps.count(f"{name}-start") == hooks.steps.count(f"{name}-end")
        assert hooks.steps.count("before-send") == hooks.steps.count("after-send")
        calls = [c.id for m in messages for c in m.calls]
        assert sorted(calls) == sorted(m.call_id for m in messages if m.role == "tool")
        assert {m.status for m in messages} <= {"completed", "aborted"}
        assert self.session.interrupted == []
        assert self.ran.count("begun") <= len(self.session.intents)
        self.provider.is_next = True
        assert (await self.agent.send("next")).text == "next"
        assert [m.text for m in self.session.messages][-2:] == ["next", "next"]


async def stopped_by_cancel(world: World, steps: int) -> bool:
    turn = asyncio.ensure_future(world.agent.send("go"))
    for _ in range(steps):
        await step()
    asked = world.agent.cancel("enough")
    result = await turn
    assert (result.status == "cancelled") == asked
    assert result.outcome
    return turn.done() and not asked and steps > 0


async def stopped_by_the_task(world: World, steps: int) -> bool:
    turn = asyncio.ensure_future(world.agent.send("go"))
    for _ in range(steps):
        await step()
    is_over = not turn.cancel()
    with suppress(asyncio.CancelledError):
        await turn
    assert turn.cancelled() is not is_over
    return is_over


async def stopped_by_leaving(world: World, steps: int) -> bool:
    async def follow() -> None:
        async with aclosing(world.agent.stream("go")) as stream:
            async for event in stream:
                seen.append(event)

    seen: list[AgentEvent] = []
    follower = asyncio.ensure_future(follow())
    for _ in range(steps):
        await step()
    is_over = not follower.cancel()
    with suppress(asyncio.CancelledError):
        await follower
    return is_over


@pytest.mark.parametrize("stop", [stopped_by_cancel, stopped_by_the_task, stopped_by_leaving])
@pytest.mark.parametrize("part", [step, stubborn_step])
async def test_wherever_a_turn_is_stopped_everything_is_tidy_and_the_next_message_works(
    stop: object, part: Step
) -> None:
    before = asyncio.all_tasks()
    for steps in range(1, 1000):
        world = World(part)
        is_over = await stop(world, steps)  # type: ignore[operator]  # one of the three
        await world.check(before)
        if is_over:
            break
    assert is_over
    assert steps > 40
    assert world.ran == ["begun", "done"] * 3 or sorted(world.ran) == ["begun"] * 3 + ["done"] * 3
