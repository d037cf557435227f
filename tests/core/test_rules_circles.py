"""Rules for models that go wrong: failing calls, circles, unknown tools, several calls of which one breaks."""

from __future__ import annotations

import asyncio

from ferrule.core.tool_decorator import tool
from ferrule.testing.scripted import ask, call, say
from ferrule.types.limits import Limits
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, double, fails


@tool
async def boom() -> str:
    """Break."""
    await asyncio.sleep(0)
    raise ValueError("no luck")


async def test_one_of_several_calls_that_breaks_leaves_the_others_alone_and_the_order_as_asked() -> None:
    running = 0
    most = 0

    @tool
    async def reads(name: str) -> str:
        """Read."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return f"text of {name}"

    calls = ask(call("reads", {"name": "a"}), call("boom", {}), call("reads", {"name": "b"}))
    one = agent(calls, say("x"), tools=(reads, boom))
    assert (await one.send("go")).status == "completed"
    answers = [m for m in one.session.messages if m.role == "tool"]
    assert [m.text for m in answers] == ["text of a", "boom failed: ValueError: no luck", "text of b"]
    assert [m.is_error for m in answers] == [False, True, False]
    assert most == 2


async def test_two_failing_calls_in_turns_are_a_circle_too_and_the_session_goes_on_with_everything() -> None:
    @tool
    def other() -> str:
        """Fail too."""
        raise ValueError("no luck either")

    circle = [ask(call("fails", {})), ask(call("other", {}))] * 5
    one = agent(*circle[:9], say("after"), tools=(fails, other))
    result = await one.send("go")
    assert (result.status, result.error and result.error.code, result.rounds) == ("failed", "loop.stuck", 9)
    assert "conversation is kept" in result.outcome
    assert (await one.send("list the files")).text == "after"
    assert len(asked(one)[-1].messages) == 1 + 9 * 2 + 1


async def test_calls_that_succeed_alike_are_no_circle() -> None:
    one = agent(*[ask(call("double", {"n": 1})) for _ in range(8)], say("x"))
    assert (await one.send("go")).status == "completed"


async def test_a_tool_that_leaks_a_cancellation_is_answered_and_the_loop_lives() -> None:
    @tool
    async def leaks() -> str:
        """Leak."""
        raise asyncio.CancelledError

    one = agent(ask(call("leaks", {}), call("double", {"n": 2})), say("x"), say("y"), tools=(leaks, double))
    assert (await one.send("go")).status == "completed"
    assert [m.code for m in one.session.messages if m.role == "tool"] == ["tool.cancelled", ""]
    assert (await one.send("again")).text == "y"


async def test_the_last_results_before_a_limit_are_kept_and_the_limit_is_named() -> None:
    one = agent(*[ask(call("double", {"n": n})) for n in range(3)], say("on"), limits=Limits(rounds=3))
    result = await one.send("go")
    assert "3 rounds were made and the model still wants to call tools" in result.outcome
    assert [m.text for m in one.session.messages if m.role == "tool"] == ["0", "2", "4"]
    assert (await one.send("go on")).text == "on"


async def test_an_unknown_tool_is_told_with_the_closest_of_the_shown_names_only() -> None:
    one = agent(ask(call("dubble", {})), say("x"), tools=(double,))
    await one.send("go")
    text = one.session.messages[2].text
    assert "double" in text
    assert "fails" not in text


async def test_calls_that_a_limit_kept_from_beginning_are_told_apart_from_those_that_were_stopped() -> None:
    one = agent(ask(call("double", {"n": 1}), usage=Usage(input=99, output=1)), limits=Limits(tokens=50))
    assert (await one.send("go")).status == "limit"
    last = one.session.messages[-1]
    assert (last.code, last.is_error) == ("tool.cancelled", True)
    assert last.text == "Not run: the turn was stopped before this call began."
