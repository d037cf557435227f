"""Arguments that a model, a hook or a surface makes to break what handles them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from ferrule.core.agent import Agent
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.turn import TurnResult
from tests.core._agents import options

ASKING = Ask(reason="r", rule="r")


class Keeps:
    """A tool that notes that it ran."""

    name = "keeps"
    needs: frozenset[str] = frozenset()
    input_schema: Mapping[str, object] = {"type": "object"}

    def __init__(self) -> None:
        self.ran: list[object] = []

    async def execute(self, arguments: object, context: object) -> str:
        self.ran.append(arguments)
        return "done"


class Edits:
    """A surface on which somebody answers every question with other arguments."""

    def __init__(self, arguments: dict[str, object]) -> None:
        self._arguments = arguments
        self.asked = 0

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked += 1
        return ApprovalAnswer(answer="edit", by=request.principals[0], arguments=self._arguments)


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {"a": [1]}
    for _ in range(depth - 2):
        value = {"a": value}
    return value


async def sent(one: Agent) -> TurnResult:
    async with asyncio.timeout(10):
        return await one.send("go")


@pytest.mark.parametrize("is_asked", [False, True], ids=["allowed", "asked"])
@pytest.mark.parametrize("depth", [201, 260, 900])
async def test_arguments_nested_too_deeply_are_the_models_fault_and_end_no_turn(depth: int, is_asked: bool) -> None:
    tool = Keeps()
    gate = TableGate({}, default=ASKING) if is_asked else allow_all()
    provider = ScriptedProvider(ask(call("keeps", nested(depth))), say("I see"))
    result = await sent(Agent(provider, gate=gate, tools=[tool], approver=Edits({}), options=options()))
    assert (result.status, tool.ran) == ("completed", [])
    told = provider.requests[1].messages[-1]
    assert told.code == "tool.arguments"
    assert "200 levels" in told.text


async def test_arguments_as_deep_as_the_limit_arrive() -> None:
    tool = Keeps()
    provider = ScriptedProvider(ask(call("keeps", nested(200))), say("x"))
    await sent(Agent(provider, gate=allow_all(), tools=[tool], options=options()))
    assert tool.ran == [nested(200)]


async def test_an_edit_that_is_nested_too_deeply_is_refused() -> None:
    tool = Keeps()
    provider = ScriptedProvider(ask(call("keeps", {})), say("x"))
    gate = TableGate({}, default=ASKING)
    result = await sent(Agent(provider, gate=gate, tools=[tool], approver=Edits(nested(300)), options=options()))
    assert (result.status, tool.ran) == ("completed", [])
    assert provider.requests[1].messages[-1].code == "tool.arguments"


async def test_a_surface_that_only_ever_edits_ends_in_a_refusal() -> None:
    tool, surface = Keeps(), Edits({"n": 1})
    provider = ScriptedProvider(ask(call("keeps", {})), say("x"))
    gate = TableGate({}, default=ASKING)
    result = await sent(Agent(provider, gate=gate, tools=[tool], approver=surface, options=options()))
    assert (result.status, tool.ran) == ("completed", [])
    assert result.denied == ("approval.stale",)
    assert surface.asked == 21
