"""The scripted provider keeps its port's laws, takes its time, fails where it is told, says what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.core.tool_decorator import tool
from ferrule.testing.clock import FakeClock, InstantClock
from ferrule.testing.contracts.provider import ProviderContract, Situation, Stand
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import Answer, Pause, ScriptedProvider, ask, call, say
from ferrule.types.completion import ProviderEvent, Request, TextChunk
from ferrule.types.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    EmptyAnswer,
    Overloaded,
    RateLimited,
    StreamBroken,
)
from ferrule.types.messages import user_message
from ferrule.types.tools import ToolCall
from ferrule.types.usage import Usage

FAULTY = ToolCall(id="1", name="look", arguments={}, raw="[1]", fault="not an object")
SAYS: dict[Situation, Answer] = {
    "text": say("Hello world", pieces=2, usage=Usage(input=11, output=2)),
    "calls": ask(call("look", {"path": "a"}, id="1"), call("look", {"path": "b"}, id="2"), text="Let me see."),
    "faulty_call": ask(FAULTY),
    "endless": [TextChunk(text="Hello"), Pause(3_600)],
    "cut": [TextChunk(text="Hello"), StreamBroken("cut")],
    "cut_in_call": StreamBroken("cut"),
    "empty": EmptyAnswer("nothing"),
    "key_refused": AuthenticationFailed("no"),
    "limited": RateLimited("scripted", retry_after_s=1),
    "busy": Overloaded("busy"),
    "unreachable": ConnectionFailed("nobody"),
}


@asynccontextmanager
async def stand(situation: Situation) -> AsyncIterator[Stand]:
    yield Stand(ScriptedProvider(*[SAYS[situation]] * 2, clock=FakeClock()))


class TestScripted(ProviderContract):
    def given(self, situation: Situation) -> AbstractAsyncContextManager[Stand]:
        return stand(situation)


@tool
def look(path: str) -> str:
    """Look at a path."""
    return f"saw {path}"


async def all_of(provider: ScriptedProvider, text: str = "hi") -> list[ProviderEvent]:
    request = Request(id="req_1", messages=(user_message(text, id="msg_1"),))
    return [event async for event in provider.stream(request)]


async def test_a_pause_passes_on_the_clock_of_the_test() -> None:
    clock = FakeClock()
    provider = ScriptedProvider([TextChunk(text="a"), Pause(60), *say("b")], clock=clock)
    task = asyncio.create_task(all_of(provider))
    for _ in range(5):
        await asyncio.sleep(0)
    assert (task.done(), clock.sleepers) == (False, 1)
    clock.advance(60)
    assert len(await task) == 3
    with pytest.raises(AssertionError, match="needs ScriptedProvider"):
        await all_of(ScriptedProvider([Pause(1)]))


async def test_an_error_comes_at_the_point_where_it_stands() -> None:
    provider = ScriptedProvider([TextChunk(text="half"), StreamBroken("cut")], say("whole"))
    agent = Agent(provider, gate=allow_all(), options=AgentOptions(clock=InstantClock()))
    assert (await agent.send("hi")).text == "whole"


async def test_an_answer_may_be_made_from_the_request() -> None:
    provider = ScriptedProvider(lambda request: say(request.messages[-1].text.upper()))
    events = await all_of(provider, "loud")
    assert events[0] == TextChunk(text="LOUD")


async def test_what_was_asked_is_compared_turn_by_turn() -> None:
    provider = ScriptedProvider(ask(call("look", {"path": "a"})), say("done"), say("again"))
    agent = Agent(provider, gate=allow_all(), tools=[look])
    await agent.send("hi")
    with pytest.raises(AssertionError, match="1 answers were not asked for"):
        provider.check_asked(["user: hi"], ['assistant: -> look {"path": "a"}', "tool look: saw a"])
    await agent.send("more")
    assert provider.left == 0
    provider.check_asked(
        ["user: hi"], ['assistant: -> look {"path": "a"}', "tool look: saw a"], ["assistant: done", "user: more"]
    )
    with pytest.raises(AssertionError, match=r"(?m)^-request 1: user: ho$\n^\+request 1: user: hi$"):
        provider.check_asked(["user: ho"])
