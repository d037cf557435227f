"""Rules of a conversation: what is appended, in which order, and what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from ferrule.core.agent import Agent
from ferrule.core.memory_session import MemorySession
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.completion import Finished, ProviderEvent, ReasoningChunk, Request, TextChunk, UsageReported
from ferrule.types.errors import ConnectionFailed, Overloaded
from ferrule.types.events import Notice, UsageEvent
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall, ToolResult
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, double, events_of, options


def said(one: Agent) -> list[tuple[str, str, str]]:
    return [(m.role, m.text, m.status) for m in one.session.messages]


def resumed(*history: Message) -> Agent:
    session = MemorySession("ses_old", history)
    return Agent(ScriptedProvider(say("new")), gate=allow_all(), session=session, options=options())


async def test_a_plain_answer_is_one_question_and_one_completed_answer() -> None:
    one = agent(say("hi"), instructions="Be brief.")
    result = await one.send("x")
    assert said(one) == [("user", "x", "completed"), ("assistant", "hi", "completed")]
    assert [(m.role, m.text) for m in asked(one)[0].messages] == [("system", "Be brief."), ("user", "x")]
    assert (result.status, result.text, result.rounds) == ("completed", "hi", 1)


async def test_a_session_that_ends_in_a_question_is_gone_on_with() -> None:
    one = resumed(Message(id="u", role="user", text="old"))
    assert (await one.send("x")).text == "new"
    assert [m.text for m in asked(one)[0].messages] == ["old", "x"]


async def test_a_completed_answer_of_earlier_is_left_alone_and_a_new_one_is_added() -> None:
    old = Message(id="a", role="assistant", text="old answer")
    one = resumed(Message(id="u", role="user", text="old"), old)
    await one.send("x")
    assert one.session.messages[1] is old
    assert [m.text for m in one.session.messages] == ["old", "old answer", "x", "new"]


@pytest.mark.parametrize("status", ["pending", "writing", "error", "aborted"])
async def test_an_unfinished_answer_of_earlier_is_neither_sent_nor_used_again(status: str) -> None:
    half = Message(id="a", role="assistant", text="half", status=status)  # type: ignore[arg-type]  # one of the statuses
    one = resumed(Message(id="u", role="user", text="old"), half)
    await one.send("x")
    assert [m.text for m in asked(one)[0].messages] == ["old", "x"]
    assert said(one)[1] == ("assistant", "half", status)
    assert said(one)[-1] == ("assistant", "new", "completed")


async def test_an_answer_cut_at_the_length_is_an_answer_with_a_notice_and_one_request() -> None:
    one = agent([TextChunk(text="as far as"), Finished(reason="length")])
    events = await events_of(one.stream("x"))
    assert [e.code for e in events if isinstance(e, Notice)] == ["answer.length"]
    assert said(one)[-1] == ("assistant", "as far as", "completed")
    assert len(asked(one)) == 1


async def test_calls_decide_whether_the_turn_goes_on_and_not_the_reason_for_stopping() -> None:
    one = agent([*ask(call("double", {"n": 1}))[:-1], Finished(reason="stop")], say("x"))
    assert (await one.send("go")).rounds == 2
    without = agent([TextChunk(text="no call"), Finished(reason="tool_calls")])
    assert (await without.send("go")).rounds == 1


async def test_a_request_that_is_refused_leaves_the_question_and_ends_every_step() -> None:
    seen: list[str] = []

    class Watch:
        def step(self, name: str, context: object) -> None:
            seen.append(name)

    one = agent(Overloaded("busy"), say("after"), attempts=1)
    one.use(Watch())
    result = await one.send("x")
    assert (result.status, said(one)) == ("failed", [("user", "x", "completed")])
    assert seen[2:] == ["inner-loop-start", "inner-loop-end", "inner-loops-end", "after-send"]
    assert (await one.send("y")).text == "after"
    assert [m.text for m in asked(one)[1].messages] == ["x", "y"]


async def test_text_of_a_stream_that_breaks_is_kept_beside_the_error_and_never_sent() -> None:
    class Breaks:
        name = "breaks"
        requests: list[Request] = []

        async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            self.requests.append(request)
            if len(self.requests) == 1:
                yield TextChunk(text="half")
                raise ConnectionFailed("gone")
            yield TextChunk(text="whole")
            yield Finished()

    provider = Breaks()
    one = Agent(provider, gate=allow_all(), options=options(attempts=1))
    result = await one.send("x")
    assert (result.text, result.outcome) == ("half", "gone")
    assert said(one)[-1] == ("assistant", "half", "error")
    await one.send("y")
    assert [m.text for m in provider.requests[1].messages] == ["x", "y"]


async def test_three_rounds_of_calls_are_four_requests_and_four_rounds() -> None:
    seen: list[str] = []

    class Watch:
        def step(self, name: str, context: object) -> None:
            seen.append(name)

    one = agent(*[ask(call("double", {"n": n})) for n in range(3)], say("x"))
    one.use(Watch())
    assert (await one.send("go")).rounds == len(asked(one)) == 4
    assert [seen.count(f"inner-loop{s}") for s in ("-start", "-end", "s-start", "s-end")] == [4, 4, 1, 1]
    assert [m.role for m in one.session.messages] == ["user", *["assistant", "tool"] * 3, "assistant"]


async def test_no_tools_are_no_tools_in_the_request() -> None:
    one = agent(say("x"), tools=())
    await one.send("go")
    assert asked(one)[0].tools == ()


async def test_text_and_reasoning_that_come_interleaved_are_two_texts() -> None:
    events: list[ProviderEvent] = [
        ReasoningChunk(text="a", field="f"),
        TextChunk(text="1"),
        ReasoningChunk(text="b", field="f"),
        TextChunk(text="2"),
        Finished(),
    ]
    one = agent(events)
    await one.send("go")
    last = one.session.messages[-1]
    assert (last.text, last.reasoning) == ("12", "ab")


async def test_usage_of_a_request_is_booked_once_also_when_it_comes_after_the_text() -> None:
    usage = Usage(input=11, output=2)
    one = agent([TextChunk(text="ok"), UsageReported(usage=usage), Finished()])
    events = await events_of(one.stream("go"))
    assert [(e.input, e.output) for e in events if isinstance(e, UsageEvent)] == [(11, 2)]


async def test_nothing_is_pending_after_a_turn_however_it_ended() -> None:
    for answers in ((say("x"),), (Overloaded("busy"),), (ask(call("double", {"n": 1})), Overloaded("busy"))):
        one = agent(*answers, attempts=1)
        await one.send("go")
        assert {m.status for m in one.session.messages} == {"completed"}


async def test_a_call_without_arguments_is_a_call_with_an_empty_object() -> None:
    got: list[object] = []

    class Now:
        name = "now"
        needs: frozenset[str] = frozenset()
        input_schema: Mapping[str, object] = {"type": "object"}

        async def execute(self, arguments: object, context: object) -> str:
            got.append(arguments)
            return "noon"

    one = agent(ask(ToolCall(id="c", name="now", arguments={}, raw="")), say("x"), tools=(Now(),))
    await one.send("go")
    assert got == [{}]


@pytest.mark.parametrize(
    ("given", "shown"), [({"a": 1}, '{"a":1}'), (None, ""), ("same", "same"), (ToolResult.text("made"), "made")]
)
async def test_what_a_function_returns_is_json_nothing_or_the_text_itself(given: object, shown: str) -> None:
    @tool
    def gives() -> object:
        """Give what the test wants."""
        return given

    one = agent(ask(call("gives", {})), say("x"), tools=(gives,))
    await one.send("go")
    assert one.session.messages[2].text == shown


async def test_every_message_has_an_id_of_its_own_that_it_keeps() -> None:
    one = agent(ask(call("double", {"n": 1}), call("double", {"n": 2})), say("x"), say("y"))
    await one.send("go")
    first = [m.id for m in one.session.messages]
    await one.send("again")
    assert [m.id for m in one.session.messages][: len(first)] == first
    ids = [m.id for m in one.session.messages]
    assert len(set(ids)) == len(ids)
    assert all(ids)


def test_a_message_has_a_role_and_an_id_or_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="role"):
        Message(id="m")  # type: ignore[call-arg]  # this is what is refused
    with pytest.raises(TypeError, match="id"):
        Message(role="user")  # type: ignore[call-arg]  # this is what is refused


async def test_a_source_that_breaks_keeps_what_it_offered_and_the_turn_goes_on() -> None:
    class Source:
        asked = 0

        def additional_tools(self) -> tuple[object, ...]:
            self.asked += 1
            if self.asked > 1:
                raise RuntimeError("the server is gone")
            return (double,)

    one = agent(ask(call("double", {"n": 2})), say("x"), tools=(Source(),))
    assert (await one.send("go")).text == "x"
    assert one.session.messages[2].text == "4"


async def test_a_source_that_offers_what_is_no_tool_leaves_the_agent_with_its_other_tools() -> None:
    class Source:
        def additional_tools(self) -> tuple[object, ...]:
            return (object(),)

    one = agent(ask(call("double", {"n": 2})), say("x"), tools=(double, Source()))
    assert (await one.send("go")).text == "x"
    assert (await one.call("double", {"n": 3})).content == "6"
