"""What calls give back: errors as answers, secrets masked, results bounded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import pytest

from ferrule.core.agent import Agent
from ferrule.core.context import ToolCallContext
from ferrule.core.guard import SecretGuard
from ferrule.core.hooks import FinishedCall
from ferrule.core.options import AgentOptions
from ferrule.core.results import bounded, guarded_value
from ferrule.core.tool_decorator import tool
from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import Handles
from ferrule.sandbox.commands import NativeCommands
from ferrule.sandbox.files import WorkspaceFiles
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider
from ferrule.testing.stores import ListMemory
from ferrule.types.access import Access
from ferrule.types.errors import PolicyDenied, ToolError
from ferrule.types.events import AgentEvent, Head
from ferrule.types.limits import Limits
from ferrule.types.log_context import current
from ferrule.types.tools import ToolCall, ToolResult
from tests.core._calls import ALLOW, SECRET, YES, Note, Person, asking, called, made


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
