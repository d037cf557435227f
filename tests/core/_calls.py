"""A tool with declared effects, a person who answers, and a call by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.testing.clock import InstantClock, SequenceIds
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ScriptedProvider
from ferrule.types.access import Access, Allow, ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.errors import ToolError
from ferrule.types.events import AgentEvent
from ferrule.types.tools import ToolResult

ALLOW = Allow(rule="test")


SECRET = "sk-canary-123456"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteArguments:
    """Arguments of `Note`."""

    text: str


class Note:
    """Note a text; tells its effects."""

    name = "note"
    needs = frozenset({"files.write"})
    arguments = NoteArguments

    def __init__(self) -> None:
        self.noted: list[str] = []

    def accesses(self, arguments: NoteArguments) -> tuple[Access, ...]:
        return (Access(action="files.write", target=arguments.text),)

    async def preview(self, arguments: NoteArguments, context: object) -> str:
        if arguments.text == "no preview":
            raise ToolError("cannot be shown")
        return f"+{arguments.text}"

    async def execute(self, arguments: NoteArguments, context: object) -> str:
        self.noted.append(arguments.text)
        return f"noted {arguments.text}"


class Person:
    """Answers approvals from a list."""

    def __init__(self, *answers: ApprovalAnswer | Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]) -> None:
        self._answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        answer = self._answers.pop(0)
        return answer if isinstance(answer, ApprovalAnswer) else await answer(request)


YES = ApprovalAnswer(answer="allow", by="operator")


def asking(pattern: str = "") -> TableGate:
    return TableGate({}, default=Ask(reason="because", rule="ask.rule", pattern=pattern))


def made(
    *tools: object, gate: object = None, approver: object = None, hooks: object = None, **changes: object
) -> Agent:
    one = Agent(
        ScriptedProvider(),
        gate=gate or TableGate({}, default=ALLOW),  # type: ignore[arg-type]  # fakes of the port
        tools=tools,  # type: ignore[arg-type]  # tools of several shapes
        approver=approver,  # type: ignore[arg-type]  # fakes of the port
        options=AgentOptions(clock=InstantClock(), ids=SequenceIds(), **changes),  # type: ignore[arg-type]  # tests name real fields
    )
    if hooks is not None:
        one.use(hooks)
    return one


async def called(one: Agent, name: str, arguments: Mapping[str, object]) -> tuple[ToolResult, list[AgentEvent]]:
    events: list[AgentEvent] = []
    result = await one.call(name, arguments, on_event=events.append)
    return result, events


def types(events: list[AgentEvent]) -> list[str]:
    return [event.type for event in events]
