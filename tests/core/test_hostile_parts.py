"""Parts that misbehave: whatever a tool, hook, approver or provider does, a turn ends with an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from ferrule.core.agent import Agent
from ferrule.core.guard import SecretGuard
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.completion import Request
from ferrule.types.events import TurnFinished
from ferrule.types.limits import Limits
from tests.core._agents import agent, double, events_of, options

SECRET = "hunter2-secret"
ASKING = Ask(reason="r", rule="r")


class Odd:
    """A tool that gives back, or raises, what it is told."""

    name = "odd"
    needs: frozenset[str] = frozenset()
    input_schema: Mapping[str, object] = {"type": "object"}

    def __init__(self, value: object) -> None:
        self._value = value

    async def execute(self, arguments: object, context: object) -> object:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


@pytest.mark.parametrize("by_hand", [False, True], ids=["turn", "by hand"])
async def test_a_secret_over_two_pieces_of_running_output_is_masked(by_hand: bool) -> None:
    class Leaks(Odd):
        async def execute(self, arguments: object, context: object) -> str:
            await context.output("stdout", "key hunter2-")  # type: ignore[attr-defined]  # a tool's context
            await context.output("stderr", "plain")  # type: ignore[attr-defined]  # a tool's context
            await context.output("stdout", "secret, then hunt")  # type: ignore[attr-defined]  # a tool's context
            return ""

    one = agent(ask(call("odd", {})), say("x"), tools=(Leaks(""),), guard=SecretGuard([SECRET]))
    events: list[object] = []
    if by_hand:
        await one.call("odd", {}, on_event=events.append)
    else:
        events += await events_of(one.stream("go"))
    shown = [e for e in events if e.type == "tool.output"]  # type: ignore[attr-defined]  # events have a type
    assert "".join(e.text for e in shown if e.stream == "stdout") == "key [secret], then hunt"  # type: ignore[attr-defined]
    kinds = [e.type for e in events]  # type: ignore[attr-defined]  # events have a type
    assert max(i for i, k in enumerate(kinds) if k == "tool.output") < kinds.index("tool.finished")


@pytest.mark.parametrize("source", ["nobody", "timed_out"])
async def test_a_yes_that_is_no_persons_is_a_no(source: str) -> None:
    class Forger:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(answer="allow", by="stranger", source=source)  # type: ignore[arg-type]  # the two others

    gate = TableGate({}, default=ASKING)
    one = Agent(ScriptedProvider(), gate=gate, tools=[double], approver=Forger(), options=options())
    assert (await one.call("double", {"n": 1})).is_error


async def test_an_approver_that_fails_is_a_denial() -> None:
    class Broken:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            raise RuntimeError("the surface broke")

    gate = TableGate({}, default=ASKING)
    answers = ScriptedProvider(ask(call("double", {"n": 1})), say("x"))
    one = Agent(answers, gate=gate, tools=[double], approver=Broken(), options=options())
    assert (await one.send("go")).status == "completed"
    assert one.session.messages[2].code == "approval.nobody"


@pytest.mark.parametrize("value", [None, {"a": 1}, 7])
async def test_a_tool_that_gives_no_result_is_told(value: object) -> None:
    one = agent(ask(call("odd", {})), say("x"), tools=(Odd(value),))
    assert (await one.send("go")).status == "completed"
    assert one.session.messages[2].code == "tool.result"


@pytest.mark.parametrize("value", ["half \ud83d", ValueError("name \udcff")])
async def test_half_a_character_in_a_result_does_not_end_the_turn(value: object) -> None:
    one = agent(ask(call("odd", {})), say("x"), tools=(Odd(value),))
    assert (await one.send("go")).status == "completed"
    assert "\ufffd" in one.session.messages[2].text


async def test_effects_that_cannot_be_told_deny_the_call() -> None:
    class Untold(Odd):
        def accesses(self, arguments: object) -> object:
            raise KeyError("x")

    one = agent(ask(call("odd", {})), say("x"), tools=(Untold("ran"),))
    assert (await one.send("go")).status == "completed"
    assert one.session.messages[2].code == "tool.failed"


async def test_a_tool_with_a_broken_schema_is_answered_and_the_turn_goes_on() -> None:
    broken = Odd("x")
    broken.input_schema = {"type": "nothing"}
    one = agent(ask(call("odd", {})), say("x"), tools=(broken,))
    assert (await one.send("go")).status == "completed"
    assert one.session.messages[2].code == "tool.schema"


async def test_a_number_that_no_wire_can_carry_is_refused() -> None:
    one = agent(ask(call("double", {"n": 2**70})), say("x"))
    assert (await one.send("go")).status == "completed"
    assert "64 bits" in one.session.messages[2].text


async def test_a_provider_or_hook_of_others_that_breaks_is_a_failed_turn() -> None:
    class Breaks:
        name = "breaks"

        async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
            if not request.tools:
                raise KeyError("vendor")
            yield

    one = Agent(Breaks(), gate=allow_all(), options=options())
    events = await events_of(one.stream("go"))
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].error is not None
    assert events[-1].error.code == "turn.internal"
    assert [m.text for m in one.session.messages] == ["go"]


async def test_cancelling_twice_is_cancelling_once() -> None:
    @tool
    async def waits() -> str:
        """Wait."""
        assert one.cancel("first")
        assert one.cancel("second") is False
        await asyncio.Event().wait()
        return ""

    one = agent(ask(call("waits", {})), tools=(waits,))
    result = await one.send("go")
    assert (result.status, result.error and result.error.message) == ("cancelled", "first")


async def test_a_turn_that_is_settling_cannot_be_cancelled() -> None:
    answers: list[bool] = []

    class Late:
        async def after_send(self, context: object) -> None:
            answers.append(one.cancel())
            await asyncio.sleep(0)

    one = agent(say("x"))
    one.use(Late())
    assert (await one.send("go")).status == "completed"
    assert answers == [False]


async def test_a_tool_that_swallows_its_cancellation_does_not_undo_it() -> None:
    @tool
    async def stubborn() -> str:
        """Go on regardless."""
        one.cancel("stop")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "went on"
        return ""

    one = agent(ask(call("stubborn", {})), say("never"), tools=(stubborn,))
    result = await one.send("go")
    assert (result.status, result.error and result.error.message) == ("cancelled", "stop")
    assert one.session.messages[-1].text == "went on"


async def test_the_clock_waits_for_the_last_of_several_open_questions() -> None:
    class OneByOne:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            await asyncio.sleep(0.01 if request.arguments["n"] == 1 else 0.3)
            return ApprovalAnswer(answer="allow", by="operator")

    both = ask(call("double", {"n": 1}), call("double", {"n": 2}))
    one = Agent(
        ScriptedProvider(both, say("x")),
        gate=TableGate({}, default=ASKING),
        tools=[double],
        approver=OneByOne(),
        options=options(limits=Limits(wall_time_s=0.15)),
    )
    assert (await one.send("go")).status == "completed"
