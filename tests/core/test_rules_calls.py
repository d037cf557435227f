"""Rules of one call: what runs is what was judged, and is what is recorded and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from ferrule.core.agent import Agent
from ferrule.core.context import ToolCallContext
from ferrule.core.guard import SecretGuard
from ferrule.core.hooks import FinishedCall
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.testing.stores import RamSession, RamSessions
from ferrule.types.access import Allow, ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.errors import PolicyDenied, ToolError
from ferrule.types.events import AgentEvent, ApprovalAnswered, Notice, ToolStarted
from ferrule.types.tools import ToolCall
from tests.core._agents import agent, double, options
from tests.core._calls import ALLOW, SECRET, YES, Note, Person, asking, called, made, types


class Recording(RamSession):
    """A session that remembers the calls that were about to run."""

    def __init__(self, store: RamSessions) -> None:
        super().__init__(store, SessionKey(agent="default"), "ses_r")
        self.about_to_run: list[ToolCall] = []

    async def intend(self, messages: object, calls: object) -> None:
        self.about_to_run.extend(calls)  # type: ignore[arg-type]  # the port's own types
        await super().intend(messages, calls)  # type: ignore[arg-type]  # the port's own types


class Rewrites:
    """A hook that changes what is noted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.final: list[object] = []

    async def tool_call(self, context: ToolCallContext) -> None:
        context.arguments["text"] = self._text

    async def tool_result(self, context: FinishedCall) -> None:
        assert isinstance(context.context, ToolCallContext)
        self.final.append(dict(context.context.arguments))


async def test_an_intent_holds_the_arguments_as_a_hook_left_them() -> None:
    session, note = Recording(RamSessions()), Note()
    provider = ScriptedProvider(ask(call("note", {"text": "worse"})), say("x"))
    one = Agent(provider, gate=TableGate({}, default=ALLOW), tools=[note], session=session, options=options())
    one.use(Rewrites("better"))
    await one.send("go")
    assert [c.arguments for c in session.about_to_run] == [{"text": "better"}]
    assert [c.raw for c in session.about_to_run] == [""]
    assert note.noted == ["better"]


async def test_an_intent_holds_the_arguments_as_a_person_left_them() -> None:
    session, note, hook = Recording(RamSessions()), Note(), Rewrites("hooked")
    edit = ApprovalAnswer(answer="edit", by="operator", arguments={"text": "edited"})
    provider = ScriptedProvider(ask(call("note", {"text": "asked"})), say("x"))
    gate = asking()
    one = Agent(provider, gate=gate, tools=[note], approver=Person(edit, YES), session=session, options=options())
    one.use(hook)
    await one.send("go")
    assert [c.arguments for c in session.about_to_run] == [{"text": "edited"}]
    assert (note.noted, hook.final) == (["edited"], [{"text": "edited"}])
    assert [request.arguments for request in gate.asked] == [{"text": "hooked"}, {"text": "edited"}]


async def test_an_unchanged_call_is_recorded_as_the_model_wrote_it() -> None:
    session = Recording(RamSessions())
    asked = call("note", {"text": "as it is"}, id="c1")
    provider = ScriptedProvider(ask(asked), say("x"))
    one = Agent(provider, gate=TableGate({}, default=ALLOW), tools=[Note()], session=session, options=options())
    await one.send("go")
    assert session.about_to_run == [asked]


async def test_an_edit_is_shown_with_its_arguments_and_its_secrets_masked() -> None:
    edit = ApprovalAnswer(answer="edit", by="operator", arguments={"text": f"to {SECRET}"})
    one = made(Note(), gate=asking(), approver=Person(edit, YES), guard=SecretGuard([SECRET]))
    _, events = await called(one, "note", {"text": "x"})
    answered = [event for event in events if isinstance(event, ApprovalAnswered)]
    assert [event.arguments for event in answered] == [{"text": "to [secret]"}, None]


async def test_nested_arguments_that_a_hook_or_a_tool_changes_stay_in_the_history_as_the_model_wrote_them() -> None:
    class Deep:
        name = "deep"
        needs: frozenset[str] = frozenset()
        input_schema: Mapping[str, object] = {"type": "object"}

        async def execute(self, arguments: dict[str, list[int]], context: object) -> str:
            arguments["list"].append(3)
            return str(arguments["list"])

    class Hook:
        async def tool_call(self, context: ToolCallContext) -> None:
            nested = context.arguments["list"]
            assert isinstance(nested, list)
            nested.append(2)

    one = agent(ask(call("deep", {"list": [1], "more": {"a": 1}})), say("x"), tools=(Deep(),))
    one.use(Hook())
    await one.send("go")
    assert one.session.messages[1].calls[0].arguments == {"list": [1], "more": {"a": 1}}
    assert one.session.messages[2].text == "[1, 2, 3]"


async def test_what_changes_after_the_judgement_does_not_run() -> None:
    held: list[ToolCallContext] = []

    class Holds:
        async def tool_call(self, context: ToolCallContext) -> None:
            held.append(context)

    class Sets:
        name = "sets"
        needs = frozenset({"files.write"})
        input_schema: Mapping[str, object] = {"type": "object"}
        got: Mapping[str, object] = {}

        async def execute(self, arguments: Mapping[str, object], context: object) -> str:
            self.got = dict(arguments)
            return ""

    class Late(Recording):
        async def intend(self, messages: object, calls: object) -> None:
            held[0].arguments["path"] = "/etc/passwd"
            await super().intend(messages, calls)

    sets, session = Sets(), Late(RamSessions())
    provider = ScriptedProvider(ask(call("sets", {"path": "a"})), say("x"))
    one = Agent(provider, gate=TableGate({}, default=ALLOW), tools=[sets], session=session, options=options())
    one.use(Holds())
    await one.send("go")
    assert sets.got == {"path": "a"}
    assert [c.arguments for c in session.about_to_run] == [{"path": "a"}]


@pytest.mark.parametrize("word", ["allow", "always", "edit", "deny"])
@pytest.mark.parametrize("by", ["mallory", ""])
async def test_an_answer_of_one_who_may_not_answer_says_who_may_and_nothing_runs(word: str, by: str) -> None:
    note = Note()
    answer = ApprovalAnswer(answer=word, by=by, arguments={"text": "evil"})  # type: ignore[arg-type]  # one of the words
    one = made(note, gate=asking(), approver=Person(answer), approvers=("anna", "operator"))
    result, events = await called(one, "note", {"text": "x"})
    assert (result.code, note.noted) == ("approval.not_entitled", [])
    assert "operator or anna may" in result.content
    assert "said no" not in result.content
    assert [e.text for e in events if isinstance(e, Notice)] == [result.content.removeprefix("Not done: ").rstrip(".")]
    answered = next(event for event in events if isinstance(event, ApprovalAnswered))
    assert (answered.answer, answered.by, answered.arguments) == ("deny", by, None)


async def test_a_surface_that_answers_yes_with_nobody_there_has_asked_nobody() -> None:
    note = Note()
    odd = ApprovalAnswer(answer="allow", by="operator", source="nobody")
    result, _ = await called(made(note, gate=asking(), approver=Person(odd)), "note", {"text": "x"})
    assert (result.code, note.noted) == ("approval.nobody", [])


async def test_a_surface_that_breaks_or_answers_with_something_else_has_asked_nobody() -> None:
    async def breaks(request: ApprovalRequest) -> ApprovalAnswer:
        raise TimeoutError("the surface's own")

    async def leaks(request: ApprovalRequest) -> ApprovalAnswer:
        raise asyncio.CancelledError

    async def odd(request: ApprovalRequest) -> ApprovalAnswer:
        return "yes"  # type: ignore[return-value]  # a surface that is wrong

    for fault in (breaks, leaks, odd):
        note = Note()
        result, _ = await called(made(note, gate=asking(), approver=Person(fault)), "note", {"text": "x"})
        assert (result.code, note.noted) == ("approval.nobody", []), fault


async def test_an_answer_that_comes_after_the_question_lapsed_counts_for_nothing() -> None:
    async def late(request: ApprovalRequest) -> ApprovalAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return YES
        return YES

    note = Note()
    one = made(note, gate=asking(), approver=Person(late), approval_timeout_s=0.01)
    result, _ = await called(one, "note", {"text": "x"})
    assert (result.code, note.noted) == ("approval.timed_out", [])


async def test_reason_and_pattern_of_a_question_are_masked_and_what_is_hidden_cannot_be_agreed_to_for_ever() -> None:
    always = ApprovalAnswer(answer="always", by="operator")
    gate = TableGate({}, default=Ask(reason=f"writes {SECRET}", rule="r", pattern=f"files.write:{SECRET}"))
    person, note = Person(always), Note()
    one = made(note, gate=gate, approver=person, guard=SecretGuard([SECRET]))
    _, events = await called(one, "note", {"text": "x"})
    assert SECRET not in repr(person.asked) + repr(events)
    assert (person.asked[0].reason, person.asked[0].pattern) == ("writes [secret]", "")
    assert (note.noted, gate.remembered) == (["x"], [])


async def test_a_preview_that_breaks_in_any_way_is_said_and_the_question_is_asked() -> None:
    class Broken(Note):
        async def preview(self, arguments: object, context: object) -> str:
            raise KeyError("gone")

    person = Person(YES)
    await called(made(Broken(), gate=asking(), approver=person), "note", {"text": "x"})
    assert person.asked[0].preview == "(no preview: 'gone')"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ValueError("odd"), "hook.failed"),
        (ToolError("not today"), "tool.failed"),
        (PolicyDenied("never", hint="ask anna"), "policy.denied"),
        (asyncio.CancelledError(), "hook.failed"),
    ],
)
async def test_a_hook_that_raises_fails_its_call_only(fault: BaseException, code: str) -> None:
    class Breaks:
        async def tool_call(self, context: ToolCallContext) -> None:
            if context.arguments["n"] == 1:
                raise fault

    one = agent(ask(call("double", {"n": 1}), call("double", {"n": 2})), say("x"))
    one.use(Breaks())
    result = await one.send("go")
    assert (result.status, result.denied) == ("completed", ("hook",))
    first, second = (m for m in one.session.messages if m.role == "tool")
    assert (first.code, first.text.startswith("Not done: ")) == (code, True)
    assert second.text == "4"


async def test_a_result_is_withheld_when_the_hook_that_was_to_look_at_it_breaks() -> None:
    class Breaks:
        async def tool_result(self, context: FinishedCall) -> None:
            raise ValueError("no filter")

    note = Note()
    result, _ = await called(made(note, hooks=Breaks()), "note", {"text": "x"})
    assert (result.code, result.is_error, note.noted) == ("hook.failed", True, ["x"])
    assert "noted x" not in result.content
    assert "has ended" in result.content


async def test_the_built_in_words_answer_for_a_hook_that_breaks_over_an_unknown_tool() -> None:
    class Breaks:
        async def unknown_tool(self, context: object) -> str:
            raise ValueError("no idea")

    result, _ = await called(made(double, hooks=Breaks()), "dubble", {})
    assert (result.code, "double" in result.content) == ("tool.unknown", True)


async def test_every_call_that_was_told_to_begin_is_told_to_have_ended_also_when_cancelled() -> None:
    @tool
    async def waits() -> str:
        """Wait until somebody cancels."""
        one.cancel("enough")
        await asyncio.Event().wait()
        return ""

    events: list[AgentEvent] = []

    class Watch:
        def event(self, event: AgentEvent) -> None:
            events.append(event)

    one = agent(ask(call("waits", {})), tools=(waits,))
    one.use(Watch())
    await one.send("go")
    assert types(events)[-3:] == ["tool.started", "tool.finished", "turn.finished"]
    assert [e.code for e in events if e.type == "tool.finished"] == ["tool.cancelled"]  # type: ignore[union-attr]  # it has a code


async def test_a_call_that_was_not_told_to_begin_is_not_told_to_have_ended() -> None:
    events: list[AgentEvent] = []

    class Stops:
        def event(self, event: AgentEvent) -> None:
            events.append(event)

        async def tool_call(self, context: ToolCallContext) -> None:
            one.cancel()
            await asyncio.Event().wait()

    one = agent(ask(call("double", {"n": 1})))
    one.use(Stops())
    await one.send("go")
    assert [t for t in types(events) if t.startswith("tool")] == []


async def test_a_denied_call_is_told_and_ended_at_once() -> None:
    class Refuse:
        async def tool_call(self, context: ToolCallContext) -> str:
            return ""

    result, events = await called(made(Note(), hooks=Refuse()), "note", {"text": "x"})
    assert (result.code, result.content, result.is_error) == ("hook.denied", "", True)
    assert types(events) == ["tool.started", "tool.finished"]
    assert [(e.decision, e.rule) for e in events if isinstance(e, ToolStarted)] == [("deny", "hook")]
    assert Allow(rule="test") == ALLOW
