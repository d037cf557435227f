"""One call: hooks, gate and approval, in this order, and never around the gate."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.core.approval import digest_of
from ferrule.core.context import ToolCallContext
from ferrule.core.hooks import UnknownTool
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import TableGate
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Deny
from tests.core._calls import ALLOW, YES, Note, Person, asking, called, made, types


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
        (ApprovalAnswer(answer="allow", by="mallory"), "approval.not_entitled", "'mallory' may not answer"),
        (ApprovalAnswer(answer="allow"), "approval.not_entitled", "somebody unnamed may not"),
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
