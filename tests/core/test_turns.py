"""Turns: every outcome is a result, and the history they leave is valid."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.testing.clock import InstantClock
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ask, call, say, think
from ferrule.types.completion import (
    Completion,
    Finished,
    ReasoningChunk,
    Request,
    TextChunk,
)
from ferrule.types.errors import (
    BadRequest,
    Overloaded,
    RateLimited,
    UsageError,
)
from ferrule.types.events import RequestStarted, TurnFinished
from ferrule.types.messages import Content
from ferrule.types.parts import TextPart
from ferrule.types.tools import ToolCall
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, double, events_of, fails, options


async def test_a_tools_result_reaches_the_model_before_the_answer() -> None:
    one = agent(ask(call("double", {"n": 4})), say("eight"))
    result = await one.send("twice four?")
    assert (result.status, result.text, result.rounds) == ("completed", "eight", 2)
    assert [m.role for m in asked(one)[1].messages] == ["user", "assistant", "tool"]
    assert asked(one)[1].messages[-1].text == "8"


async def test_results_follow_in_call_order_whatever_ends_first() -> None:
    first_may_end = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait for the quick one."""
        await first_may_end.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Let the slow one go."""
        first_may_end.set()
        return "quick"

    one = agent(ask(call("slow", {}), call("fails", {}), call("quick", {})), say("done"), tools=(slow, fails, quick))
    await one.send("go")
    answers = [m for m in one.session.messages if m.role == "tool"]
    assert [m.text.partition(":")[0] for m in answers] == ["slow", "fails failed", "quick"]
    assert [m.is_error for m in answers] == [False, True, False]


@pytest.mark.parametrize("content", ["", " \n\t", (), (TextPart(text=""), TextPart(text="  "))])
async def test_a_message_of_nothing_is_refused_and_leaves_nothing_behind(content: Content) -> None:
    one = agent(say("hello"))
    with pytest.raises(UsageError, match="no message"):
        await one.send(content)
    with pytest.raises(UsageError, match="no message"):
        await events_of(one.stream(content))
    assert (list(one.session.messages), asked(one)) == ([], [])


async def test_instructions_are_the_first_message_and_not_part_of_the_session() -> None:
    one = agent(say("hi"), instructions="Be brief.")
    await one.send("hello")
    assert [m.role for m in asked(one)[0].messages] == ["system", "user"]
    assert [m.role for m in one.session.messages] == ["user", "assistant"]


async def test_deltas_are_asked_for_only_when_somebody_listens() -> None:
    one = agent(say("a"), say("b"))
    await one.send("x")
    await events_of(one.stream("y"))
    assert [request.deltas for request in asked(one)] == [False, True]


async def test_a_stream_tells_every_step_and_ends_with_the_status() -> None:
    one = agent(ask(call("double", {"n": 1}), text="let me see"), say("two", pieces=3))
    events = await events_of(one.stream("go"))
    assert [event.type for event in events] == [
        "turn.started",
        "request.started",
        "text.delta",
        "tool.started",
        "tool.finished",
        "request.started",
        "text.delta",
        "text.delta",
        "text.delta",
        "turn.finished",
    ]
    assert [event.seq for event in events] == list(range(1, 11))
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].status == "completed"


async def test_usage_is_added_up_and_told() -> None:
    usage = Usage(input=5, output=2, cost_micro_usd=7)
    one = agent(ask(call("double", {"n": 1}), usage=usage), say("x", usage=usage))
    result = await one.send("go")
    assert (result.usage.total, result.usage.cost_micro_usd) == (14, 14)


async def test_reasoning_is_kept_apart_and_goes_back_under_its_own_name() -> None:
    one = agent(think("hm", "yes"), say("again"))
    events = await events_of(one.stream("a"))
    assert "reasoning.delta" in [event.type for event in events]
    await one.send("b")
    replayed = asked(one)[1].messages[1]
    assert (replayed.text, replayed.reasoning, replayed.reasoning_field) == ("yes", "hm", "reasoning_content")


async def test_a_failure_that_may_pass_is_tried_again_and_told() -> None:
    one = agent(Overloaded("busy"), RateLimited("slow down", retry_after_s=7), say("at last"))
    events = await events_of(one.stream("go"))
    assert [e.attempt for e in events if isinstance(e, RequestStarted)] == [1, 2, 3]
    clock = one._options.clock
    assert isinstance(clock, InstantClock)
    assert clock.slept == [0.5, 7]


@pytest.mark.parametrize(
    ("failures", "code", "requests"),
    [
        ([Overloaded("a"), Overloaded("b"), Overloaded("c")], "provider.overloaded", 3),
        ([BadRequest("never", hint="change it")], "provider.bad_request", 1),
        ([RateLimited("tomorrow", retry_after_s=86_400)], "provider.rate_limited", 1),
    ],
)
async def test_a_failure_that_stays_is_an_outcome_and_the_next_turn_works(
    failures: list[Exception], code: str, requests: int
) -> None:
    one = agent(*failures, say("fine"))
    result = await one.send("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == code
    assert len(asked(one)) == requests
    assert (await one.send("again")).text == "fine"


class Breaking:
    """Shows some text, then fails, once."""

    name = "breaking"
    model = "b1"

    def __init__(self, *, ends: bool = True) -> None:
        self.asked = 0
        self._ends = ends

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
        self.asked += 1
        yield TextChunk(text="half an ans")
        if self.asked == 1:
            raise Overloaded("cut")
        if self._ends:
            yield Finished()


async def test_text_of_a_failed_attempt_is_no_part_of_the_answer() -> None:
    one = Agent(Breaking(), gate=allow_all(), options=options())
    result = await one.send("go")
    assert result.text == "half an ans"
    assert [m.text for m in one.session.messages] == ["go", "half an ans"]


async def test_a_stream_without_its_last_event_is_a_failure_and_leaves_an_unfinished_message() -> None:
    one = Agent(Breaking(ends=False), gate=allow_all(), options=options(attempts=2))
    result = await one.send("go")
    assert result.error is not None
    assert result.error.code == "provider.stream_broken"
    assert (result.text, one.session.messages[-1].status) == ("half an ans", "error")


async def test_an_answer_of_nothing_is_asked_again() -> None:
    one = agent([Finished()], say("something"))
    assert (await one.send("go")).text == "something"
    silent = agent([ReasoningChunk(text="", field="reasoning"), Finished()])
    assert (await silent.send("go")).status == "completed"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_cut_answer_is_told(reason: str) -> None:
    one = agent([TextChunk(text="so"), Finished(reason=reason)])  # type: ignore[arg-type]  # the two reasons of a cut
    events = await events_of(one.stream("go"))
    assert f"answer.{reason}" in [event.code for event in events if event.type == "notice"]  # type: ignore[union-attr]  # notices have a code


async def test_a_provider_that_only_completes_is_enough() -> None:
    class Whole:
        name = "whole"

        async def complete(self, request: Request) -> Completion:
            if request.messages[-1].role == "tool":
                return Completion(text="done", reasoning="r", usage=Usage(input=1))
            return Completion(calls=(ToolCall(id="", name="double", arguments={"n": 2}),))

    one = Agent(Whole(), gate=allow_all(), tools=[double], options=options())
    assert (await one.send("go")).text == "done"
    with pytest.raises(UsageError, match="no provider"):
        Agent(object(), gate=allow_all())  # type: ignore[arg-type]  # what is no provider
