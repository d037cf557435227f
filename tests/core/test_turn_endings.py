"""How turns end: limits, cancellation, waiting, circles."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ask, call, say
from ferrule.types.completion import (
    Request,
    TextChunk,
)
from ferrule.types.errors import (
    BadRequest,
    FerruleError,
    NestedSend,
)
from ferrule.types.events import TextDelta
from ferrule.types.limits import Limits
from ferrule.types.usage import Usage
from tests.core._agents import agent, double, options


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(rounds=2), "limit.rounds"),
        (Limits(tool_calls=1), "limit.tool_calls"),
        (Limits(tokens=10), "limit.tokens"),
        (Limits(cost_micro_usd=10), "limit.cost"),
    ],
)
async def test_a_limit_ends_the_turn_names_itself_and_the_session_goes_on(limits: Limits, code: str) -> None:
    usage = Usage(input=4, output=2, cost_micro_usd=6)
    rounds = [ask(call("double", {"n": i}), usage=usage) for i in range(2)]
    one = agent(*rounds, say("after"), limits=limits)
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("limit", code)
    assert result.error is not None
    assert result.error.hint
    calls = [c.id for m in one.session.messages for c in m.calls]
    assert calls == [m.call_id for m in one.session.messages if m.role == "tool"]
    assert (await one.send("go on")).text == "after"


async def test_wall_time_ends_a_turn() -> None:
    @tool
    async def forever() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    one = agent(ask(call("forever", {})), tools=(forever,), limits=Limits(wall_time_s=0.05))
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("limit", "limit.wall_time")
    assert one.session.messages[-1].code == "tool.cancelled"


async def test_cancel_stops_the_turn_and_keeps_what_was_done() -> None:
    @tool
    async def waits() -> str:
        """Wait until somebody cancels."""
        one.cancel("enough")
        await asyncio.Event().wait()
        return ""

    calls = ask(call("double", {"n": 1}), call("waits", {}), text="working")
    one = agent(calls, say("next"), tools=(double, waits), limits=Limits(parallel_tools=1))
    result = await one.send("go")
    assert (result.status, result.error and result.error.message) == ("cancelled", "enough")
    assert next(m.text for m in one.session.messages if m.role == "tool") == "2"
    assert one.session.messages[-1].code == "tool.cancelled"
    assert (await one.send("again")).text == "next"
    assert one.cancel() is False


async def test_the_tasks_own_cancellation_is_passed_on_and_what_was_said_is_kept() -> None:
    started = asyncio.Event()

    class Slow:
        name = "slow"

        async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
            yield TextChunk(text="so far")
            started.set()
            await asyncio.Event().wait()

    one = Agent(Slow(), gate=allow_all(), options=options())
    task = asyncio.ensure_future(one.send("go"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(m.text, m.status) for m in one.session.messages] == [("go", "completed"), ("so far", "aborted")]


async def test_leaving_a_stream_stops_the_turn() -> None:
    one = agent(say("a b c", pieces=3), say("next"))
    async with aclosing(one.stream("go")) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert (await one.send("again")).status == "completed"


async def test_turns_wait_for_each_other_and_too_many_are_refused() -> None:
    release = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        await release.wait()
        return "ok"

    answers = [ask(call("waits", {})), *[say(f"answer {i}") for i in range(3)]]
    one = agent(*answers, tools=(waits,), limits=Limits(queue=2))
    running = [asyncio.ensure_future(one.send(f"m{i}")) for i in range(3)]
    await asyncio.sleep(0)
    refused = await one.send("too many")
    assert (refused.status, refused.error and refused.error.code) == ("failed", "turn.busy")
    release.set()
    assert [r.text for r in await asyncio.gather(*running)] == ["answer 0", "answer 1", "answer 2"]
    assert [m.text for m in one.session.messages if m.role == "user"] == ["m0", "m1", "m2"]


async def test_a_send_from_inside_the_agents_own_turn_is_misuse() -> None:
    @tool
    async def nested() -> str:
        """Send from inside."""
        with pytest.raises(NestedSend):
            await one.send("inner")
        return "refused"

    one = agent(ask(call("nested", {})), say("ok"), tools=(nested,))
    assert (await one.send("go")).text == "ok"
    assert one.session.messages[2].text == "refused"


async def test_raise_on_error_raises_the_coded_error() -> None:
    one = agent(BadRequest("no", hint="other words"))
    with pytest.raises(FerruleError, match="no") as caught:
        await one.send("go", raise_on_error=True)
    assert (caught.value.code, caught.value.hint) == ("provider.bad_request", "other words")


async def test_a_model_that_repeats_a_failing_call_is_told_and_then_stopped() -> None:
    one = agent(*[ask(call("fails", {})) for _ in range(5)], say("after"))
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "loop.stuck")
    results = [m.text for m in one.session.messages if m.role == "tool"]
    assert ["3 times" in text for text in results] == [False, False, True, False, False]
    assert (await one.send("other")).text == "after"


async def test_three_unknown_tools_in_a_row_end_the_turn() -> None:
    one = agent(*[ask(call(f"nothing_{i}", {})) for i in range(3)])
    result = await one.send("go")
    assert result.error is not None
    assert result.error.code == "loop.unknown_tools"


async def test_ids_of_calls_are_unique_in_the_session() -> None:
    same = call("double", {"n": 1}, id="call_0")
    one = agent(ask(same, same), ask(same), say("ok"))
    await one.send("go")
    ids = [c.id for m in one.session.messages for c in m.calls]
    assert len(set(ids)) == 3
    assert ids == [m.call_id for m in one.session.messages if m.role == "tool"]
