"""Rules of stopping: time, tasks and what other code makes of being stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from ferrule.core.agent import Agent
from ferrule.core.context import ToolCallContext
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.completion import Finished, ProviderEvent, Request
from ferrule.types.errors import HookTypeError
from ferrule.types.events import TextDelta
from ferrule.types.limits import Limits
from tests.core._agents import agent, asked, double, events_of, options

HANGS = asyncio.Event  # an event that nobody sets


@pytest.mark.parametrize("parallel", [1, 2])
async def test_a_tool_that_swallows_the_end_of_the_time_ends_the_turn_all_the_same(parallel: int) -> None:
    ran: list[int] = []

    @tool
    async def stubborn(n: int) -> str:
        """Swallow the first stop."""
        ran.append(n)
        try:
            await HANGS().wait()
        except asyncio.CancelledError:
            return "went on"
        return ""

    calls = ask(call("stubborn", {"n": 1}), call("stubborn", {"n": 2}), call("stubborn", {"n": 3}))
    limits = Limits(wall_time_s=0.05, parallel_tools=parallel)
    one = agent(calls, say("never"), tools=(stubborn,), limits=limits)
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("limit", "limit.wall_time")
    assert ran == list(range(1, parallel + 1))
    texts = [m.text.partition(":")[0] for m in one.session.messages if m.role == "tool"]
    assert texts == ["went on"] * parallel + ["Not run"] * (3 - parallel)
    assert len(asked(one)) == 1


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_stop_is_repeated_until_it_is_heard(calls: int) -> None:
    heard: list[int] = []

    @tool
    async def deaf(n: int) -> str:
        """Swallow a stop and wait again."""
        for _ in range(2):
            try:
                await HANGS().wait()
            except asyncio.CancelledError:
                heard.append(n)
        return "in the end"

    one = agent(ask(*[call("deaf", {"n": n}) for n in range(calls)]), tools=(deaf,), limits=Limits(wall_time_s=0.02))
    result = await one.send("go")
    assert (result.status, len(heard)) == ("limit", 2 * calls)


async def test_the_tasks_own_cancellation_holds_when_a_tool_swallows_it() -> None:
    started = asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Swallow the stop."""
        started.set()
        try:
            await HANGS().wait()
        except asyncio.CancelledError:
            return "went on"
        return ""

    one = agent(ask(call("stubborn", {})), say("never"), tools=(stubborn,))
    task = asyncio.ensure_future(one.send("go"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert one.session.messages[-1].text == "went on"
    assert len(asked(one)) == 1


async def test_a_cancellation_of_the_task_during_the_last_hooks_is_passed_on_after_they_ran() -> None:
    seen: list[str] = []
    inside = asyncio.Event()

    class Ends:
        async def inner_loops_end(self, context: object) -> None:
            inside.set()
            await asyncio.sleep(0.01)
            seen.append("inner_loops_end")

        async def after_send(self, context: object) -> None:
            seen.append("after_send")

    one = agent(say("x"))
    one.use(Ends())
    task = asyncio.ensure_future(one.send("go"))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["inner_loops_end", "after_send"]


async def test_a_cancel_and_the_tasks_own_cancellation_together_are_passed_on() -> None:
    @tool
    async def waits() -> str:
        """Be stopped twice."""
        one.cancel("enough")
        task.cancel()
        await HANGS().wait()
        return ""

    one = agent(ask(call("waits", {})), say("next"), tools=(waits,))
    task = asyncio.ensure_future(one.send("go"))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await one.send("again")).text == "next"


async def test_a_task_that_cancelled_its_turn_goes_on_uncancelled() -> None:
    @tool
    async def waits() -> str:
        """Wait to be stopped."""
        one.cancel()
        await HANGS().wait()
        return ""

    one = agent(ask(call("waits", {})), tools=(waits,))
    await one.send("go")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


@pytest.mark.parametrize("where", ["provider", "before_send", "inner_loop_start"])
async def test_a_cancellation_that_nobody_asked_for_is_a_fault_of_the_part_that_leaked_it(where: str) -> None:
    class Leaks:
        name = "leaks"

        async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            if where == "provider":
                raise asyncio.CancelledError
            yield Finished()

    class Hook:
        async def before_send(self, context: object) -> None:
            if where == "before_send":
                raise asyncio.CancelledError

        async def inner_loop_start(self, context: object) -> None:
            if where == "inner_loop_start":
                raise asyncio.CancelledError

    one = Agent(Leaks(), gate=allow_all(), options=options())
    one.use(Hook())
    result = await one.send("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == ("turn.internal" if where == "provider" else "hook.failed")
    assert "CancelledError" in result.error.message


async def test_a_time_out_of_a_parts_own_is_not_the_end_of_the_turns_time() -> None:
    class Hook:
        async def inner_loop_start(self, context: object) -> None:
            async with asyncio.timeout(0):
                await HANGS().wait()

    one = agent(say("never"))
    one.use(Hook())
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "hook.failed")


async def test_an_approver_that_swallows_a_cancel_and_says_yes_lets_nothing_run() -> None:
    ran: list[int] = []

    @tool
    def runs() -> str:
        """Run."""
        ran.append(1)
        return ""

    class Stubborn:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            one.cancel("enough")
            try:
                await HANGS().wait()
            except asyncio.CancelledError:
                return ApprovalAnswer(answer="allow", by="operator")
            return ApprovalAnswer(answer="deny", by="operator")

    one = Agent(
        ScriptedProvider(ask(call("runs", {}))),
        gate=TableGate({}, default=Ask(reason="r", rule="r")),
        tools=[runs],
        approver=Stubborn(),
        options=options(),
    )
    assert ((await one.send("go")).status, ran) == ("cancelled", [])


async def test_a_failure_in_one_of_several_calls_stops_the_others_and_is_what_is_told() -> None:
    @tool
    async def waits() -> str:
        """Never end."""
        await HANGS().wait()
        return ""

    class One:
        async def tool_call(self, context: ToolCallContext) -> int | None:
            return 3 if context.name == "double" else None

    one = agent(ask(call("waits", {}), call("double", {"n": 1}), call("waits", {})), tools=(waits, double))
    one.use(One())
    with pytest.raises(HookTypeError, match="returned int"):
        await one.send("go")
    assert [m.code for m in one.session.messages if m.role == "tool"] == ["tool.cancelled"] * 3
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_results_that_were_ready_before_the_stop_are_kept_and_the_history_stays_valid() -> None:
    @tool
    async def waits() -> str:
        """Wait to be stopped."""
        one.cancel()
        await HANGS().wait()
        return ""

    round_of = [ask(call("double", {"n": n})) for n in range(3)]
    one = agent(*round_of, ask(call("double", {"n": 9}), call("waits", {})), say("on"), tools=(double, waits))
    assert (await one.send("go")).status == "cancelled"
    assert [m.text for m in one.session.messages if m.role == "tool"][:4] == ["0", "2", "4", "18"]
    assert one.session.messages[-1].code == "tool.cancelled"
    assert (await one.send("again")).text == "on"
    sent = asked(one)[-1].messages
    assert [c.id for m in sent for c in m.calls] == [m.call_id for m in sent if m.role == "tool"]


async def test_leaving_the_iteration_at_any_event_stops_the_turn_and_the_agent_is_free() -> None:
    answers = (ask(call("double", {"n": 1}), text="let me"), say("a b c", pieces=3))
    count = len(await events_of(agent(*answers).stream("go")))
    for leave_at in range(1, count + 1):
        one = agent(*answers, say("x"), say("y"))
        before = asyncio.all_tasks()
        async with aclosing(one.stream("go")) as stream:
            async for event in stream:
                if event.seq == leave_at:
                    break
        assert asyncio.all_tasks() == before, leave_at
        assert (await one.send("again")).status == "completed"


async def test_leaving_without_closing_stops_the_turn_too() -> None:
    one = agent(say("a b c", pieces=3), say("x"), say("y"))
    async for event in one.stream("go"):
        if isinstance(event, TextDelta):
            break
    assert (await one.send("again")).status == "completed"


async def test_leaving_a_turn_whose_tool_swallows_the_stop_waits_until_it_has_ended() -> None:
    ended: list[str] = []

    @tool
    async def deaf() -> str:
        """Swallow the first stop and wait again."""
        for _ in range(2):
            try:
                await HANGS().wait()
            except asyncio.CancelledError:
                ended.append("stop")
        return ""

    one = agent(ask(call("deaf", {})), say("next"), tools=(deaf,))
    async with aclosing(one.stream("go")) as stream:
        async for event in stream:
            if event.type == "tool.started":
                await asyncio.sleep(0)
                break
    assert ended == ["stop", "stop"]
    assert (await one.send("again")).text == "next"


async def test_no_task_is_left_behind_by_any_ending() -> None:
    before = asyncio.all_tasks()

    @tool
    async def waits() -> str:
        """Wait."""
        await HANGS().wait()
        return ""

    both = ask(call("waits", {}), call("waits", {}))
    for one in (
        agent(say("x")),
        agent(both, tools=(waits,), limits=Limits(wall_time_s=0.02)),
        agent(ValueError("broken")),
    ):
        await one.send("go")
        assert asyncio.all_tasks() == before
