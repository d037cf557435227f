"""Rules of waiting: turns of one agent come one after the other; too many, and sends from inside, are refused."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.errors import NestedSend
from ferrule.types.events import AgentEvent
from ferrule.types.limits import Limits
from ferrule.types.turn import TurnResult
from tests.core._agents import agent, events_of, options


def held(*answers: str, **changes: object) -> tuple[Agent, asyncio.Event]:
    """Make an agent whose first turn waits until the event is set."""
    release = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        await release.wait()
        return "ok"

    rounds = [ask(call("waits", {})), *[say(text) for text in answers]]
    return agent(*rounds, tools=(waits,), **changes), release


async def started(one: Agent) -> None:
    """Let the other tasks run until the agent's first turn has been stored or waits."""
    for _ in range(3):
        await asyncio.sleep(0)
    assert isinstance(one, Agent)


async def test_eight_messages_wait_in_order_and_the_ninth_is_refused_without_a_trace() -> None:
    one, release = held(*[f"answer {i}" for i in range(10)])
    seen: list[str] = []

    class Watch:
        async def after_send(self, context: object) -> None:
            seen.append("after_send")

    one.use(Watch())
    running = [asyncio.ensure_future(one.send(f"m{i}")) for i in range(9)]
    await started(one)
    refused = await one.send("too many")
    assert (refused.status, refused.error and refused.error.code) == ("failed", "turn.busy")
    assert "8 messages wait" in refused.outcome
    assert seen == []
    release.set()
    results = await asyncio.gather(*running)
    assert [r.text for r in results] == [f"answer {i}" for i in range(9)]
    assert [m.text for m in one.session.messages if m.role == "user"] == [f"m{i}" for i in range(9)]
    assert (await one.send("now")).text == "answer 9"


async def test_lists_of_two_turns_are_never_interleaved() -> None:
    one = agent(ask(call("double", {"n": 1})), say("a"), ask(call("double", {"n": 2})), say("b"))
    await asyncio.gather(one.send("first"), one.send("second"))
    said = [(m.role, m.text) for m in one.session.messages]
    assert said == [
        ("user", "first"),
        ("assistant", ""),
        ("tool", "2"),
        ("assistant", "a"),
        ("user", "second"),
        ("assistant", ""),
        ("tool", "4"),
        ("assistant", "b"),
    ]


async def test_a_waiting_message_that_is_cancelled_leaves_no_trace_and_frees_its_place() -> None:
    one, release = held("first", "third", limits=Limits(queue=1))
    events: list[str] = []

    class Watch:
        def step(self, name: str, context: object) -> None:
            events.append(name)

    first = asyncio.ensure_future(one.send("m1"))
    await started(one)
    one.use(Watch())
    waiting = asyncio.ensure_future(one.send("m2"))
    await started(one)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    third = asyncio.ensure_future(one.send("m3"))
    await started(one)
    release.set()
    assert [(await first).text, (await third).text] == ["first", "third"]
    assert [m.text for m in one.session.messages if m.role == "user"] == ["m1", "m3"]
    assert events.count("before-send") == 1


async def test_a_waiting_stream_that_is_left_leaves_no_trace() -> None:
    one, release = held("first", "third")
    first = asyncio.ensure_future(one.send("m1"))
    await started(one)
    async with aclosing(one.stream("m2")) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await started(one)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    release.set()
    await first
    assert [m.text for m in one.session.messages if m.role == "user"] == ["m1"]
    assert (await one.send("m3")).text == "third"


async def test_cancel_stops_the_running_turn_and_not_those_that_wait() -> None:
    one, _ = held("second")
    first = asyncio.ensure_future(one.send("m1"))
    second = asyncio.ensure_future(one.send("m2"))
    await started(one)
    assert one.cancel()
    assert ((await first).status, (await second).status) == ("cancelled", "completed")


async def test_a_send_from_the_agents_own_hook_is_misuse_that_ends_the_turn_and_raises() -> None:
    class Sends:
        async def inner_loop_start(self, context: object) -> None:
            await one.send("inner")

        def event(self, event: AgentEvent) -> None:
            events.append(event.type)

    events: list[str] = []
    one = agent(say("never"))
    one.use(Sends())
    with pytest.raises(NestedSend):
        await events_of(one.stream("outer"))
    assert events[-1] == "turn.finished"


@pytest.mark.parametrize("step", ["tool_call", "tool_result", "unknown_tool"])
async def test_a_send_from_the_agents_own_hook_of_a_call_is_misuse_that_raises(step: str) -> None:
    async def sends(context: object) -> None:
        await one.send("inner")

    one = agent(ask(call("nothing", {})), say("never"))
    one.use(type("Sends", (), {step: staticmethod(sends)})())
    with pytest.raises(NestedSend):
        await one.send("outer")
    assert [m.role for m in one.session.messages] == ["user", "assistant", "tool"]


async def test_a_send_from_the_agents_own_tool_raises_there_and_is_the_calls_failure() -> None:
    @tool
    async def nested() -> str:
        """Send from inside."""
        await one.send("inner")
        return "never"

    one = agent(ask(call("nested", {})), say("ok"), tools=(nested,))
    result = await one.send("outer")
    assert (result.status, one.session.messages[2].is_error) == ("completed", True)
    assert "NestedSend" in one.session.messages[2].text


async def test_a_send_from_the_agents_own_approver_raises_there_and_nobody_was_asked() -> None:
    class Sends:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            await one.send("inner")
            return ApprovalAnswer(answer="allow", by="operator")

    @tool
    def runs() -> str:
        """Run."""
        return "ran"

    gate = TableGate({}, default=Ask(reason="r", rule="r"))
    provider = ScriptedProvider(ask(call("runs", {})), say("ok"))
    one = Agent(provider, gate=gate, tools=[runs], approver=Sends(), options=options())
    await one.send("outer")
    assert one.session.messages[2].code == "approval.nobody"


async def test_another_agents_send_is_fine_and_a_circle_of_two_is_not() -> None:
    @tool
    async def asks() -> str:
        """Ask the other agent."""
        return (await other.send("what now?")).text

    @tool
    async def back() -> str:
        """Ask the first agent."""
        with pytest.raises(NestedSend):
            await one.send("and you?")
        return "it is busy with me"

    one = agent(ask(call("asks", {})), say("ok"), tools=(asks,))
    other = agent(ask(call("back", {})), say("this"), tools=(back,))
    assert (await one.send("outer")).text == "ok"
    assert one.session.messages[2].text == "this"
    assert other.session.messages[2].text == "it is busy with me"


async def test_the_same_parts_in_another_session_are_another_agent() -> None:
    @tool
    async def asks() -> str:
        """Ask in a session of its own."""
        return (await one.in_session(None).send("what now?")).text

    one = agent(ask(call("asks", {})), say("inner"), say("outer"), tools=(asks,))
    assert (await one.send("go")).text == "outer"
    assert one.session.messages[2].text == "inner"


async def test_what_a_turn_started_may_send_when_the_turn_is_over() -> None:
    later: list[asyncio.Task[str]] = []
    over = asyncio.Event()

    @tool
    async def schedules() -> str:
        """Send later."""

        async def send() -> str:
            await over.wait()
            return (await one.send("later")).text

        later.append(asyncio.ensure_future(send()))
        return "scheduled"

    one = agent(ask(call("schedules", {})), say("now"), say("then"), tools=(schedules,))
    assert (await one.send("go")).text == "now"
    over.set()
    assert await later[0] == "then"


async def test_a_send_while_following_the_stream_waits_its_turn() -> None:
    one = agent(say("a"), say("b"))
    answers: list[asyncio.Task[TurnResult]] = []
    async for event in one.stream("first"):
        if event.type == "turn.started":
            answers.append(asyncio.ensure_future(one.send("second")))
    (second,) = await asyncio.gather(*answers)
    assert second.text == "b"
    assert [m.text for m in one.session.messages] == ["first", "a", "second", "b"]
    assert [e.type for e in await events_of(agent(say("x")).stream("y"))][-1] == "turn.finished"
