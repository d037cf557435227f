"""One call: hooks, schema, gate, approval, execution - in this order, and never around the gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import pytest

from ferrule.core.agent import Agent
from ferrule.core.approval import digest_of
from ferrule.core.context import ToolCallContext
from ferrule.core.guard import SecretGuard
from ferrule.core.hooks import FinishedCall, UnknownTool
from ferrule.core.options import AgentOptions
from ferrule.core.results import bounded, guarded_value
from ferrule.core.tool_decorator import tool
from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import Handles
from ferrule.sandbox.commands import NativeCommands
from ferrule.sandbox.files import WorkspaceFiles
from ferrule.testing.clock import InstantClock, SequenceIds
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider
from ferrule.testing.stores import ListMemory
from ferrule.types.access import Access, Allow, ApprovalAnswer, ApprovalRequest, Ask, Deny
from ferrule.types.errors import PolicyDenied, ToolError
from ferrule.types.events import AgentEvent, Head
from ferrule.types.limits import Limits
from ferrule.types.log_context import current
from ferrule.types.tools import ToolCall, ToolResult

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


async def test_the_gate_sees_the_arguments_that_are_used_in_the_end() -> None:
    class Rewrite:
        async def tool_call(self, context: ToolCallContext) -> None:
            context.arguments["text"] = "rewritten"

    note, gate = Note(), TableGate({}, default=ALLOW)
    await called(made(note, gate=gate, hooks=Rewrite()), "note", {"text": "original"})
    assert [access.target for access in gate.asked[0].accesses] == ["rewritten"]
    assert note.noted == ["rewritten"]


async def test_a_denied_call_does_not_run_and_names_its_rule() -> None:
    note, gate = Note(), TableGate({}, default=Deny(reason="not here", rule="path.outside"))
    result, events = await called(made(note, gate=gate), "note", {"text": "x"})
    assert (result.code, note.noted) == ("policy.denied", [])
    assert "path.outside" in result.content
    assert types(events) == ["tool.started", "tool.finished"]
    assert events[0].decision == "deny"  # type: ignore[union-attr]  # a tool.started


async def test_without_an_approver_an_ask_is_a_denial_that_says_so() -> None:
    note = Note()
    result, events = await called(made(note, gate=asking()), "note", {"text": "x"})
    assert (result.code, note.noted) == ("approval.nobody", [])
    assert "no approver is available" in result.content
    assert types(events) == ["tool.started", "approval.asked", "approval.answered", "tool.finished"]


async def test_a_persons_yes_runs_exactly_the_call_that_was_shown() -> None:
    note, person = Note(), Person(YES)
    result, _ = await called(made(note, gate=asking(), approver=person), "note", {"text": "x"})
    assert (result.content, note.noted) == ("noted x", ["x"])
    shown = person.asked[0]
    assert (shown.preview, shown.reason, shown.principals) == ("+x", "because", ("operator",))
    assert shown.digest == digest_of("note", {"text": "x"}, "table")
    assert shown.digest != digest_of("note", {"text": "y"}, "table") != digest_of("note", {"text": "y"}, "other")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (ApprovalAnswer(answer="deny", by="operator", note="too risky"), "approval.denied", "too risky"),
        (ApprovalAnswer(answer="deny", by="operator"), "approval.denied", "said no"),
        (ApprovalAnswer(answer="allow", by="mallory"), "approval.denied", "mallory may not"),
        (ApprovalAnswer(answer="allow"), "approval.denied", "somebody may not"),
    ],
)
async def test_a_persons_no_and_a_strangers_yes_are_denials(answer: ApprovalAnswer, code: str, words: str) -> None:
    note = Note()
    result, _ = await called(made(note, gate=asking(), approver=Person(answer)), "note", {"text": "x"})
    assert (result.code, note.noted) == (code, [])
    assert words in result.content


async def test_a_question_that_nobody_answers_in_time_lapses() -> None:
    async def never(request: ApprovalRequest) -> ApprovalAnswer:
        await asyncio.Event().wait()
        return YES

    one = made(Note(), gate=asking(), approver=Person(never), approval_timeout_s=0.02)
    result, _ = await called(one, "note", {"text": "x"})
    assert result.code == "approval.timed_out"


async def test_an_edit_goes_back_to_schema_and_gate_but_not_to_hooks() -> None:
    class Count:
        calls = 0

        async def tool_call(self, context: ToolCallContext) -> None:
            self.calls += 1

    count, note, gate = Count(), Note(), asking()
    edit = ApprovalAnswer(answer="edit", by="operator", arguments={"text": "better"})
    await called(made(note, gate=gate, approver=Person(edit, YES), hooks=count), "note", {"text": "worse"})
    assert (note.noted, count.calls, len(gate.asked)) == (["better"], 1, 2)
    bad = ApprovalAnswer(answer="edit", by="operator", arguments={"txt": 1})
    result, events = await called(made(note, gate=gate, approver=Person(bad)), "note", {"text": "x"})
    assert result.code == "tool.arguments"
    assert types(events).count("tool.started") == 1
    empty = ApprovalAnswer(answer="edit", by="operator")
    assert (await called(made(note, gate=gate, approver=Person(empty)), "note", {"text": "x"}))[0].is_error


async def test_an_approval_counts_for_nothing_when_the_policy_changed_meanwhile() -> None:
    gate, note = asking(), Note()

    async def change(request: ApprovalRequest) -> ApprovalAnswer:
        gate.revision = "narrower"
        return YES

    result, _ = await called(made(note, gate=gate, approver=Person(change)), "note", {"text": "x"})
    assert (result.code, note.noted) == ("approval.stale", [])


async def test_always_is_remembered_with_the_shown_pattern_only() -> None:
    always = ApprovalAnswer(answer="always", by="operator")
    gate = asking("files.write:x")
    await called(made(Note(), gate=gate, approver=Person(always)), "note", {"text": "x"})
    assert gate.remembered == ["files.write:x"]
    plain = asking()
    await called(made(Note(), gate=plain, approver=Person(always)), "note", {"text": "x"})
    assert plain.remembered == []


async def test_a_preview_that_fails_is_said_and_the_question_is_asked() -> None:
    person = Person(YES)
    await called(made(Note(), gate=asking(), approver=person), "note", {"text": "no preview"})
    assert person.asked[0].preview == "(no preview: cannot be shown)"

    @tool(needs={"custom"})
    def plain() -> str:
        """Have no preview."""
        return ""

    other = Person(YES)
    await called(made(plain, gate=asking(), approver=other), "plain", {})
    assert other.asked[0].preview == ""


async def test_a_hooks_string_is_the_result_and_nothing_runs() -> None:
    class Refuse:
        async def tool_call(self, context: ToolCallContext) -> str:
            return f"not {context.name}"

    note, gate = Note(), TableGate({}, default=ALLOW)
    result, events = await called(made(note, gate=gate, hooks=Refuse()), "note", {"text": "x"})
    assert (result.code, result.content, note.noted, gate.asked) == ("hook.denied", "not note", [], [])
    assert types(events) == ["tool.started", "tool.finished"]


async def test_a_tool_that_does_not_exist_is_answered_with_near_names_or_by_a_hook() -> None:
    result, _ = await called(made(Note()), "notes", {})
    assert (result.code, "note" in result.content) == ("tool.unknown", True)
    assert "none" in (await called(made(), "notes", {}))[0].content

    class Hint:
        async def unknown_tool(self, context: UnknownTool) -> str:
            return f"{context.call.name}? only {', '.join(context.names)}"

    assert (await called(made(Note(), hooks=Hint()), "x", {}))[0].content == "x? only note"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": 3}, "text"),
        ({"text": "x", "extra": 1}, "extra"),
        ({}, "text"),
        ({"text": float("nan")}, "arguments.text"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_the_field(arguments: dict[str, object], field: str) -> None:
    note, gate = Note(), TableGate({}, default=ALLOW)
    result, _ = await called(made(note, gate=gate), "note", arguments)
    assert (result.code, gate.asked, note.noted) == ("tool.arguments", [], [])
    assert field in result.content


class Raising:
    """Raises what it is told."""

    name = "raising"
    needs: frozenset[str] = frozenset()
    input_schema: Mapping[str, object] = {"type": "object"}

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def execute(self, arguments: object, context: object) -> str:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ToolError("cannot", hint="try b", code="x.y"), "x.y", "cannot (try b)"),
        (PolicyDenied("kept", code="path.forbidden"), "path.forbidden", "kept"),
        (ValueError("odd"), "tool.failed", "ValueError: odd"),
        (asyncio.CancelledError(), "tool.cancelled", "gave up"),
    ],
)
async def test_whatever_a_tool_raises_is_an_answer(error: BaseException, code: str, words: str) -> None:
    result, _ = await called(made(Raising(error)), "raising", {})
    assert (result.code, words in result.content) == (code, True)


async def test_an_interrupt_of_the_person_is_not_swallowed() -> None:
    with pytest.raises(SystemExit):
        await called(made(Raising(SystemExit(1))), "raising", {})


async def test_secrets_are_masked_before_and_after_a_hook_replaced_the_result() -> None:
    @tool
    def leaks() -> str:
        """Leak."""
        return f"key {SECRET}"

    class Worse:
        seen = ""

        async def tool_result(self, context: FinishedCall) -> str:
            self.seen = context.result.content
            return f"again {SECRET}"

    worse = Worse()
    result, _ = await called(made(leaks, hooks=worse, guard=SecretGuard([SECRET])), "leaks", {})
    assert (worse.seen, result.content) == ("key [secret]", "again [secret]")


async def test_events_and_questions_show_arguments_with_secrets_masked() -> None:
    person = Person(YES)
    one = made(Note(), gate=asking(), approver=person, guard=SecretGuard([SECRET]))
    _, events = await called(one, "note", {"text": SECRET})
    assert SECRET not in repr(events)
    assert SECRET not in repr(person.asked)
    nested = guarded_value(SecretGuard([SECRET]), {"a": [{"b": SECRET}], "n": 1})
    assert nested == {"a": [{"b": "[secret]"}], "n": 1}


async def test_a_long_result_keeps_head_and_tail_with_exact_counts() -> None:
    @tool
    def long() -> str:
        """Say much."""
        return "a" * 1000 + "z"

    result, _ = await called(made(long, limits=Limits(result_chars=90)), "long", {})
    assert result.truncated
    assert "911 of 1,001 characters" in result.content
    assert result.content.endswith("z")
    assert bounded(ToolResult.text("ok"), 2).truncated is False


async def test_a_tool_of_the_smallest_shape_gets_the_raw_string_and_is_judged_as_able_to_do_anything() -> None:
    class Seed:
        name = "seed"

        async def execute(self, arguments: str, context: object) -> str:
            return arguments.upper()

    gate = TableGate({}, default=ALLOW)
    result, _ = await called(made(Seed(), gate=gate), "seed", {"input": "text"})
    assert result.content == "TEXT"
    assert gate.asked[0].accesses == (Access(action="custom", target="seed"),)


async def test_declared_needs_without_targets_are_judged_one_by_one_and_none_at_all_as_none() -> None:
    @tool(needs={"files.read", "network.connect"})
    def both() -> dict[str, int]:
        """Need both."""
        return {"a": 1}

    @tool
    def nothing() -> None:
        """Need nothing."""

    @tool
    async def ready() -> ToolResult:
        """Give a whole result."""
        return ToolResult.failed("own", "x")

    gate = TableGate({}, default=ALLOW)
    one = made(both, nothing, gate=gate)
    assert (await called(one, "both", {}))[0].content == '{"a":1}'
    assert (await called(one, "nothing", {}))[0].content == ""
    assert (await called(made(ready), "ready", {}))[0].code == "own"
    assert [[a.action for a in r.accesses] for r in gate.asked] == [["files.read", "network.connect"], []]


async def test_a_call_sees_its_ids_and_only_the_handles_it_has() -> None:
    seen: dict[str, object] = {}

    class Looks:
        name = "looks"
        needs: frozenset[str] = frozenset()
        input_schema: Mapping[str, object] = {"type": "object"}

        async def execute(self, arguments: object, context: ToolCallContext) -> str:
            seen.update(agent=context.agent, session=context.session_id, turn=context.turn_id, call=context.call_id)
            seen["log"] = current()
            for handle in ("files", "commands", "memory"):
                with pytest.raises(PolicyDenied):
                    getattr(context, handle)
            await context.output("stderr", f"with {SECRET}")
            return ""

    one = made(Looks(), guard=SecretGuard([SECRET]))
    _, events = await called(one, "looks", {})
    assert (seen["agent"], seen["session"], seen["call"]) == ("default", one.session.id, "call_1")
    assert seen["log"] == {"agent": "default", "session": one.session.id, "tool": "call_1"}
    assert [e.text for e in events if e.type == "tool.output"] == ["with [secret]"]  # type: ignore[union-attr]  # output has text
    memory = ListMemory()
    head = Head(session_id="s", turn_id="t", agent="a")
    call = ToolCall(id="c", name="n", arguments={})
    policy = policy_of(level="supervised", workspace="/")
    files, commands = WorkspaceFiles(policy), NativeCommands(policy)
    handles = Handles(files=files, commands=commands, memory=memory)
    context = ToolCallContext(call, head=head, handles=handles, pump=_silent)
    assert (context.files, context.commands, context.memory) == (files, commands, memory)


async def _silent(stream: str, text: str) -> None:
    """Show nothing."""


async def test_an_agent_without_a_gate_says_so_in_every_log_line(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[dict[str, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(current())

    handler = Handler()
    caplog.set_level(logging.DEBUG, logger="ferrule.core")
    logger = logging.getLogger("ferrule.core")
    logger.addHandler(handler)
    try:
        one = Agent(ScriptedProvider([]), gate=allow_all(), options=AgentOptions(attempts=1))
        await one.send("go")
        await one.call("nothing", {})
    finally:
        logger.removeHandler(handler)
    assert lines
    assert {line.get("gate") for line in lines} == {"no gate"}


async def test_observers_see_steps_and_events_and_cannot_stop_anything() -> None:
    class Watch:
        def __init__(self) -> None:
            self.steps: list[str] = []
            self.events: list[str] = []

        def step(self, name: str, context: object) -> None:
            self.steps.append(name)
            raise RuntimeError("an observer's fault")

        def event(self, event: AgentEvent) -> None:
            self.events.append(event.type)

    watch = Watch()
    result, _ = await called(made(Note(), hooks=watch), "note", {"text": "x"})
    assert result.content == "noted x"
    assert watch.steps == ["tool-call", "tool-result"]
    assert watch.events == ["tool.started", "tool.finished"]
    assert (await made(Note()).call("note", {"text": "quiet"})).content == "noted quiet"
