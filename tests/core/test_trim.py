"""A request that is too long: older turns are left out once, and what is sent stays valid."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.core.agent import Agent
from ferrule.core.conversation import Conversation
from ferrule.core.history import OutgoingHistory, valid_history
from ferrule.core.memory_session import MemorySession
from ferrule.core.trim import first_kept, present_turn, share_of, size_of, size_of_tools, too_long
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.errors import ContextOverflow, Overloaded
from ferrule.types.events import AgentEvent, Notice, RequestStarted, Rollover, TurnFinished
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall, ToolSpec
from tests.core._agents import agent, asked, double, events_of, options

TOO_LONG = ContextOverflow("context_length_exceeded")


def turn(number: int, *, calls: int = 0, chars: int = 40) -> list[Message]:
    """Make the messages of one turn: a question, calls with their results, an answer."""
    made = [ToolCall(id=f"c{number}_{i}", name="double", arguments={"n": i}, raw='{"n":0}') for i in range(calls)]
    between = [Message(id=f"a{number}", role="assistant", calls=tuple(made))] if made else []
    results = [Message(id=f"r{c.id}", role="tool", call_id=c.id, name="double", text="0") for c in made]
    return [
        Message(id=f"u{number}", role="user", text=f"question {number} ".ljust(chars, "?")),
        *between,
        *results,
        Message(id=f"e{number}", role="assistant", text=f"answer {number} ".ljust(chars, "!")),
    ]


def resumed(turns: int, *answers: object, **changes: object) -> Agent:
    """Make an agent in the middle of a long conversation."""
    history = [message for number in range(turns) for message in turn(number, calls=number % 3)]
    provider = ScriptedProvider(*answers)  # type: ignore[arg-type]  # scripted answers
    session = MemorySession("ses_long", history)
    return Agent(provider, gate=allow_all(), tools=[double], session=session, options=options(**changes))


def questions(messages: Sequence[Message]) -> list[str]:
    return [m.text.rstrip("? ") for m in messages if m.role == "user"]


async def test_an_answer_that_is_asked_for_once_more_is_not_torn_from_its_question() -> None:
    schema = {"type": "object", "required": ["n"]}
    narrow = ContextOverflow("maximum context length is 1000 tokens, however you sent 90000")
    one = resumed(10, say("no JSON"), narrow, say('{"n": 1}'))
    result = await one.send("and now?", output=schema)
    assert (result.status, result.output) == ("completed", {"n": 1})
    refused, trimmed = asked(one)[1:]
    assert len(trimmed.messages) < len(refused.messages)
    assert [m.role for m in trimmed.messages[-3:]] == ["user", "assistant", "user"]
    assert [m.text for m in trimmed.messages[-3:-1]] == ["and now?", "no JSON"]


async def test_a_refused_request_is_made_once_more_without_the_oldest_turns() -> None:
    one = resumed(10, TOO_LONG, say("fine"), instructions="Be brief.")
    events = await events_of(one.stream("and now?"))
    first, second = asked(one)
    assert questions(first.messages) == [*[f"question {i}" for i in range(10)], "and now"]
    assert second.messages[0].role == "system"
    assert questions(second.messages)[-2:] == ["question 9", "and now"]
    assert 1 < len(questions(second.messages)) < 8
    assert list(second.messages) == valid_history(second.messages)
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].status == "completed"
    (rollover,) = [e for e in events if isinstance(e, Rollover)]
    left_out = rollover.messages_before - rollover.messages_after
    assert (rollover.kind, rollover.messages_before, rollover.document_id) == ("trim", len(first.messages) - 1, None)
    assert rollover.messages_after == len(second.messages) - 1
    notices = [(e.code, e.text) for e in events if isinstance(e, Notice)]
    assert notices == [("context.trimmed", notices[0][1])]
    assert f"the oldest {left_out} messages" in notices[0][1]
    assert [e.attempt for e in events if isinstance(e, RequestStarted)] == [1, 2]


async def test_what_is_stored_stays_whole_and_later_requests_begin_where_the_trimmed_one_did() -> None:
    one = resumed(10, TOO_LONG, ask(call("double", {"n": 1})), say("fine"), say("later"))
    before = len(one.session.messages)
    await one.send("and now?")
    await one.send("and then?")
    assert len(one.session.messages) == before + 6
    sent = [questions(request.messages) for request in asked(one)[1:]]
    assert sent[1] == sent[0]
    assert sent[2] == [*sent[0], "and then"]


async def test_a_second_refusal_ends_the_turn_and_names_sizes_cause_and_fix() -> None:
    one = resumed(10, TOO_LONG, TOO_LONG, say("next"), instructions="Be brief. " * 40)
    result = await one.send("and now?")
    assert (result.status, len(asked(one))) == ("failed", 2)
    assert result.error is not None
    assert result.error.code == "provider.context_overflow"
    assert "about 100 of instructions" in result.error.message
    assert "of 1 tools" in result.error.message
    assert "context_length_exceeded" in result.error.message
    assert result.error.hint == "shorten the agent's instructions, or use a model of a larger window"
    assert (await one.send("shorter")).text == "next"


@pytest.mark.parametrize(
    ("instructions", "content", "fix"),
    [
        ("Be brief. " * 400, "x", "shorten the agent's instructions"),
        ("", "x" * 4000, "send less at once"),
        ("", "x", "show the agent fewer tools"),
    ],
)
async def test_with_nothing_to_leave_out_the_first_refusal_ends_the_turn_and_blames_the_largest_part(
    instructions: str, content: str, fix: str
) -> None:
    one = agent(TOO_LONG, instructions=instructions)
    result = await one.send(content)
    assert (result.status, len(asked(one))) == ("failed", 1)
    assert fix in result.outcome


async def test_each_message_after_a_refusal_leaves_out_more_until_only_itself_is_left() -> None:
    one = resumed(10, *[TOO_LONG] * 9)
    sent: list[int] = []
    for _ in range(3):
        assert (await one.send("and now?")).status == "failed"
        sent.append(len(questions(asked(one)[-1].messages)))
    assert sent == sorted(sent, reverse=True)
    assert sent[0] > sent[-1]


async def test_a_request_is_trimmed_once_in_each_round() -> None:
    one = resumed(12, TOO_LONG, ask(call("double", {"n": 1})), TOO_LONG, say("fine"))
    events: list[AgentEvent] = await events_of(one.stream("and now?"))
    sizes = [(e.messages_before, e.messages_after) for e in events if isinstance(e, Rollover)]
    assert len(sizes) == 2
    assert sizes[1][0] == sizes[0][1] + 2
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].status == "completed"


async def test_a_passing_failure_after_the_trim_is_retried_as_ever() -> None:
    one = resumed(6, TOO_LONG, Overloaded("busy"), say("fine"))
    assert (await one.send("and now?")).text == "fine"


async def test_sizes_that_the_vendor_named_decide_how_much_is_kept() -> None:
    little = ContextOverflow("maximum context length is 8000 tokens, you sent 8,100")
    much = ContextOverflow("maximum context length is 1000 tokens, you sent 20,000")
    kept = []
    for refusal in (little, TOO_LONG, much):
        one = resumed(20, refusal, say("fine"))
        await one.send("and now?")
        kept.append(len(asked(one)[1].messages))
    assert kept[0] > kept[1] > kept[2]


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("prompt is too long: 213000 tokens > 200000 maximum", 0.845),
        ("requested 9,500 tokens, limit 8_192", 0.776),
        ("maximum is 8192 tokens, you requested 12000 (11000 in the messages, 1000 in the completion)", 0.614),
        ("request (9000 tokens) exceeds the context size (8192 tokens), id 20261201", 0.819),
        ("gpt-4.1-2025-04-14 refused: 9000 tokens, limit 8192", 0.819),
        ("error 400 at 12:30 on 2026-01-02", 0.4),
        ("limit 8000, sent 8000", 0.4),
        ("limit 1000, sent 9000000", 0.05),
        ("model gpt-4.1000 said v1.2000 no", 0.4),
        ("", 0.4),
    ],
)
def test_the_share_is_read_from_the_two_numbers_of_a_vendors_words(words: str, share: float) -> None:
    assert share_of(words) == pytest.approx(share, abs=0.001)


def test_sizes_count_what_is_sent() -> None:
    call_ = ToolCall(id="c", name="ab", arguments={"n": 1})
    said = Message(id="m", role="assistant", text="abc", reasoning="de", calls=(call_,))
    assert size_of([said]) == 3 + 2 + 2 + len(str({"n": 1}))
    assert size_of_tools([ToolSpec(name="n", description="de", schema=b"{}")]) == 5
    assert "1 tools" in too_long(0, [ToolSpec(name="n", description="de", schema=b"{}")], [], present=0)[0]
    long = [*turn(1, chars=4000), *turn(2)]
    text, fix = too_long(0, [], long, present=2)
    assert "2,0" in text
    assert fix.startswith("send the message again")


histories = st.lists(st.tuples(st.integers(0, 3), st.integers(12, 200)), min_size=0, max_size=12).map(
    lambda turns: [m for number, (calls, chars) in enumerate(turns) for m in turn(number, calls=calls, chars=chars)]
)


@given(
    history=histories,
    cut=st.integers(0, 60),
    lead=st.integers(0, 2),
    fixed=st.integers(0, 5000),
    share=st.floats(0.05, 1),
)
def test_what_is_kept_is_a_valid_history_that_holds_the_present_message(
    history: list[Message], cut: int, lead: int, fixed: int, share: float
) -> None:
    history = history[min(cut, max(len(history) - 1, 0)) :]  # a history may begin anywhere
    present = Message(id="now", role="user", text="now")
    running = [present, *turn(99, calls=lead)[1:-1]]
    conversation = Conversation(MemorySession("s", [*history, *running]), None)
    before = conversation.outgoing()
    conversation.trim(fixed, share)
    after = conversation.outgoing()
    assert present in after
    assert after[0].role == "user"
    assert after == valid_history(after)
    assert after == before[len(before) - len(after) :]
    calls = [c.id for m in after for c in m.calls]
    assert calls == [m.call_id for m in after if m.role == "tool"]


@given(history=histories, fixed=st.integers(0, 500), share=st.floats(0.05, 1))
def test_each_trim_leaves_out_at_least_one_turn_until_only_the_present_one_is_left(
    history: list[Message], fixed: int, share: float
) -> None:
    messages = [*history, Message(id="now", role="user", text="now")]
    count = sum(m.role == "user" for m in messages)
    while (kept := first_kept(messages, fixed=fixed, share=share, present=present_turn(messages, ""))) != 0:
        messages, count = messages[kept:], count - 1
        assert messages[0].role == "user"
    assert count >= 1
    assert sum(m.role == "user" for m in messages) == 1


def test_one_turn_at_least_is_left_out_also_when_all_would_fit() -> None:
    messages = [*turn(1), *turn(2), *turn(3)]
    assert first_kept(messages, fixed=0, share=1, present=present_turn(messages, "")) == 2
    assert first_kept(messages[2:], fixed=0, share=1, present=present_turn(messages[2:], "")) == 2
    assert first_kept(messages[4:], fixed=0, share=1, present=present_turn(messages[4:], "")) == 0


async def test_what_was_left_out_stays_left_out_when_the_session_is_read_anew() -> None:
    one = resumed(10, TOO_LONG, say("fine"), say("later"))
    await one.send("and now?")
    beside = Message(id="beside", role="user", text="said elsewhere")
    await one.session.append([beside])
    await one.send("and then?")
    sent = [questions(request.messages) for request in asked(one)[1:]]
    assert sent[1] == [*sent[0], "said elsewhere", "and then"]


async def test_system_messages_of_a_history_are_kept() -> None:
    note = Message(id="s", role="system", text="said once")
    history = OutgoingHistory()
    for message in [note, *turn(1), *turn(2)]:
        history.add(message)
    history.begin_at("u2")
    assert [m.id for m in history.messages()] == ["s", "u2"]
    history.begin_at("unknown")
    assert [m.id for m in history.messages()] == ["s", "u2"]
