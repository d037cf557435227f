"""One call a round, for agents whose operator wants it: a response with more is refused before anything runs."""

from __future__ import annotations

import pytest

from ferrule.core.tool_decorator import tool
from ferrule.testing.scripted import ask, call, say
from ferrule.types.completion import ModelOptions
from ferrule.types.events import TextDelta, TurnFinished
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, events_of

USAGE = Usage(input=5, output=2, cost_micro_usd=7)
TWO = ask(call("double", {"n": 1}), call("double", {"n": 2}), text="both at once", usage=USAGE)


async def test_more_than_one_call_fails_the_turn_before_anything_runs() -> None:
    ran: list[int] = []
    steps: list[str] = []

    @tool
    def runs() -> str:
        """Run."""
        ran.append(1)
        return ""

    class Watch:
        def step(self, name: str, context: object) -> None:
            steps.append(name)

    one = agent(ask(call("runs", {}), call("runs", {})), tools=(runs,), single_tool_rounds=True)
    one.use(Watch())
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "rounds.multiple_calls")
    assert result.error is not None
    assert "2 tools" in result.error.message
    assert "single_tool_rounds" in (result.error.hint or "")
    assert ran == []
    assert "tool-call" not in steps
    assert steps[-3:] == ["inner-loop-end", "inner-loops-end", "after-send"]


async def test_the_refused_response_stays_out_of_the_history_its_usage_is_booked_and_nothing_is_repeated() -> None:
    one = agent(TWO, say("next"), single_tool_rounds=True)
    result = await one.send("go")
    assert [m.text for m in one.session.messages] == ["go"]
    assert (result.usage, result.rounds, len(asked(one))) == (USAGE, 1, 1)
    assert result.text == "both at once"
    assert (await one.send("again")).text == "next"
    assert [(m.role, m.text) for m in asked(one)[1].messages] == [("user", "go"), ("user", "again")]


async def test_text_that_was_shown_stays_shown_and_the_stream_ends_with_the_reason() -> None:
    events = await events_of(agent(TWO, single_tool_rounds=True).stream("go"))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["both at once"]
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].error is not None
    assert [e.type for e in events if e.type.startswith("tool")] == []


async def test_the_same_call_twice_counts_as_two() -> None:
    same = call("double", {"n": 1}, id="c1")
    assert (await agent(ask(same, same), single_tool_rounds=True).send("go")).status == "failed"


async def test_one_call_a_round_runs_as_ever_and_a_later_violation_keeps_earlier_rounds() -> None:
    one = agent(ask(call("double", {"n": 1}), text="first"), TWO, single_tool_rounds=True)
    result = await one.send("go")
    assert (result.status, result.rounds) == ("failed", 2)
    assert [(m.role, m.text) for m in one.session.messages] == [("user", "go"), ("assistant", "first"), ("tool", "2")]


async def test_switched_off_which_is_the_default_several_calls_run() -> None:
    one = agent(TWO, say("x"))
    assert (await one.send("go")).status == "completed"
    assert asked(one)[0].options.parallel_calls is None


@pytest.mark.parametrize(("given", "sent"), [(None, False), (True, True), (False, False)])
async def test_the_model_is_asked_for_one_call_at_a_time_unless_the_options_say_otherwise(
    given: bool | None, sent: bool
) -> None:
    one = agent(say("x"), single_tool_rounds=True, model=ModelOptions(parallel_calls=given, temperature=0.5))
    await one.send("go")
    assert asked(one)[0].options == ModelOptions(parallel_calls=sent, temperature=0.5)
