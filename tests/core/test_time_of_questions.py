"""A call's time is the tool's: what a person took to answer is no part of it; the question names the rule that asked."""

from __future__ import annotations

import pytest

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.core.tool_decorator import tool
from ferrule.testing.clock import FakeClock
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.events import ApprovalAnswered, ToolFinished
from tests.core._agents import events_of


class SlowPerson:
    """Takes a minute for every answer."""

    def __init__(self, clock: FakeClock, *answers: ApprovalAnswer) -> None:
        self._clock = clock
        self._answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        self._clock.advance(60.0)
        return self._answers.pop(0)


YES = ApprovalAnswer(answer="allow", by="operator")
EDIT = ApprovalAnswer(answer="edit", by="operator", arguments={"word": "other"})
NO = ApprovalAnswer(answer="deny", by="operator")


@pytest.mark.parametrize(("answers", "expected_ms"), [((YES,), 2000), ((EDIT, YES), 2000), ((NO,), 0)])
async def test_the_time_of_a_call_leaves_out_what_people_took_to_answer(
    answers: tuple[ApprovalAnswer, ...], expected_ms: int
) -> None:
    clock = FakeClock()

    @tool
    async def work(word: str) -> str:
        """Work for two seconds."""
        clock.advance(2.0)
        return word

    person = SlowPerson(clock, *answers)
    one = Agent(
        ScriptedProvider(ask(call("work", {"word": "a"})), say("done")),
        gate=TableGate({}, default=Ask(reason="it works", rule="the.rule")),
        tools=(work,),
        approver=person,
        options=AgentOptions(clock=clock, approval_timeout_s=3600.0),
    )
    events = await events_of(one.stream("go"))
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert len([event for event in events if isinstance(event, ApprovalAnswered)]) == len(answers)
    assert finished.duration_ms == expected_ms
    assert {request.rule for request in person.asked} == {"the.rule"}
