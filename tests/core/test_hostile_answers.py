"""Approvers, tools and exceptions that lie about what they are."""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Any, cast

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.tools import ToolResult

ran: list[str] = []


@tool
def act(text: str = "") -> str:
    """Have an effect."""
    ran.append(text)
    return "done"


class Says:
    """Answers every question with the same thing."""

    def __init__(self, **fields: object) -> None:
        self._fields = fields

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        answer: ApprovalAnswer = cast(Any, ApprovalAnswer)(
            by="operator", **self._fields
        )  # no type checker lets it pass
        return answer


def asking(approver: Says, **arguments: object) -> Agent:
    provider = ScriptedProvider(ask(call("act", arguments)), say("x"))
    return Agent(provider, gate=TableGate({}, default=Ask(reason="why", rule="rule")), tools=[act], approver=approver)


@pytest.mark.parametrize(
    "fields",
    [{"answer": "yes!"}, {"answer": True}, {"answer": ""}, {"answer": "edit"}, {"answer": "edit", "arguments": [1]}],
)
async def test_a_word_that_is_no_answer_runs_nothing(fields: dict[str, object]) -> None:
    ran.clear()
    one = asking(Says(**fields))
    result = await one.send("go")
    assert (result.status, ran, result.denied) == ("completed", [], ("approval.nobody",))


async def test_half_a_character_in_arguments_can_be_approved() -> None:
    ran.clear()
    result = await asking(Says(answer="allow"), text="a\ud800").send("go")
    assert (result.status, len(ran)) == ("completed", 1)


class Mute(Exception):
    """Cannot be told."""

    def __str__(self) -> str:
        raise ValueError("no")


class Loud(BaseException):
    """Would pass every ordinary handler."""


class Word(enum.StrEnum):
    """Text that is also something else."""

    HELLO = "hello"


class Liar(str):
    """Text that is never the same."""

    def __str__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize("error", [Mute(), Loud("x"), BaseExceptionGroup("several", [Loud("y")])])
async def test_whatever_a_tool_raises_is_its_answer_and_the_turn_goes_on(error: BaseException) -> None:
    @tool
    def breaks() -> str:
        """Break."""
        raise error

    one = Agent(ScriptedProvider(ask(call("breaks", {})), say("x")), gate=allow_all(), tools=[breaks])
    events = [event async for event in one.stream("go")]
    assert events[-1].type == "turn.finished"
    assert type(error).__name__ in one.session.messages[2].text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Word.HELLO, "hello"),
        (Liar("hello"), "hello"),
        (replace(ToolResult.text("x"), content=cast(str, None)), "gave back a ToolResult"),
        (replace(ToolResult.text("x"), content=Liar("x")), "gave back a ToolResult"),
    ],
)
async def test_what_only_looks_like_text_is_text_or_a_fault(value: object, text: str) -> None:
    @tool
    def gives() -> object:
        """Give something."""
        return value

    one = Agent(ScriptedProvider(ask(call("gives", {})), say("x")), gate=allow_all(), tools=[gives])
    assert (await one.send("go")).status == "completed"
    assert text in one.session.messages[2].text
