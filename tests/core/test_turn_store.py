"""Turns and the store: hooks, intents before effects, failures that lose nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from ferrule.core.agent import Agent
from ferrule.core.context import ToolCallContext
from ferrule.core.conversation import EARLY_WRITE_S
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.ports.tool import ToolContext
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say, think
from ferrule.testing.stores import RamSession, RamSessions
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask, Deny
from ferrule.types.completion import (
    CallReady,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    Request,
    UsageReported,
)
from ferrule.types.errors import (
    BadRequest,
    HookTypeError,
    StoreError,
)
from ferrule.types.events import AgentEvent, ErrorInfo
from ferrule.types.limits import Limits
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall, ToolResult
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, double, events_of, options


class Steps:
    """Answers each step as told, and remembers the order."""

    def __init__(self, **answers: object) -> None:
        self.seen: list[str] = []
        for step in (
            "before_send",
            "inner_loops_start",
            "inner_loop_start",
            "inner_loop_end",
            "inner_loops_end",
            "after_send",
        ):
            setattr(self, step, self._hook(step, answers.get(step)))

    def _hook(self, step: str, answer: object):  # type: ignore[no-untyped-def]  # a hook
        def hook(context: object) -> object:
            self.seen.append(step)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return hook


async def test_the_steps_of_a_turn_come_in_order() -> None:
    one, steps = agent(ask(call("double", {"n": 1})), say("x")), Steps(inner_loop_end="ignored", after_send=KeyError())
    one.use(steps)
    assert (await one.send("go")).status == "completed"
    inner = ["inner_loop_start", "inner_loop_end"]
    assert steps.seen == ["before_send", "inner_loops_start", *inner, *inner, "inner_loops_end", "after_send"]


@pytest.mark.parametrize(
    ("step", "status", "kept"),
    [
        ("before_send", "rejected", []),
        ("inner_loops_start", "interrupted", ["go"]),
        ("inner_loop_start", "interrupted", ["go"]),
    ],
)
@pytest.mark.parametrize("reason", ["not now", ""])
async def test_a_string_ends_the_turn_before_anything_is_asked(
    step: str, status: str, kept: list[str], reason: str
) -> None:
    one = agent(say("never"))
    one.use(Steps(**{step: reason}))
    result = await one.send("go")
    assert (result.status, [m.text for m in one.session.messages]) == (status, kept)
    assert result.error is not None
    assert result.error.message
    assert asked(one) == []


async def test_a_hook_that_returns_anything_else_is_misuse_that_raises() -> None:
    one = agent(say("never"))
    one.use(Steps(inner_loops_start=True))
    with pytest.raises(HookTypeError, match="bool"):
        await one.send("go")
    parallel = agent(ask(call("double", {"n": 1}), call("double", {"n": 2})))

    class Wrong:
        async def tool_call(self, context: object) -> int:
            return 3

    parallel.use(Wrong())
    with pytest.raises(HookTypeError):
        await parallel.send("go")


async def test_a_failing_store_fails_the_turn_and_what_is_in_memory_is_what_is_kept() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))
    one = Agent(ScriptedProvider(say("lost"), say("kept")), gate=allow_all(), session=session, options=options())
    store.failure = StoreError("disk full", hint="free space")
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "store.failed")
    store.failure = None
    assert (await one.send("again")).text == "kept"
    assert [m.text for m in await store.read(session.id)] == ["again", "kept"]


async def test_a_call_with_effects_is_on_disk_before_it_runs_and_does_not_run_when_it_cannot_be() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))
    ran: list[list[str]] = []

    @tool(needs={"files.write"})
    def touches() -> str:
        """Change something."""
        ran.append([m.role for m in session.messages])
        store.failure = StoreError("disk full")
        return "done"

    answers = (ask(call("touches", {}, id="c1")), ask(call("touches", {}, id="c2")), say("x"))
    one = Agent(ScriptedProvider(*answers), gate=allow_all(), session=session, tools=[touches], options=options())
    result = await one.send("go")
    assert ran == [["user", "assistant"]]
    assert session.intents == ["c1"]
    assert result.status == "failed"


async def test_interrupted_calls_are_answered_as_unknown_and_told() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))
    crashed = ToolCall(id="c1", name="double", arguments={})
    await session.intend(
        [Message(id="u", role="user", text="x"), Message(id="a", role="assistant", calls=(crashed,))], [crashed]
    )
    one = Agent(ScriptedProvider(say("ok")), gate=allow_all(), session=session, options=options())
    events = await events_of(one.stream("go on"))
    assert "tool.unknown_outcome" in [e.code for e in events if e.type == "notice"]  # type: ignore[union-attr]  # notices have a code
    assert [m.code for m in session.messages if m.role == "tool"] == ["tool.unknown_outcome"]


async def test_a_message_is_written_on_its_own_when_the_model_is_slow() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))
    seen: list[int] = []

    class Slow:
        name = "slow"

        async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
            await asyncio.sleep(4 * EARLY_WRITE_S)
            seen.append(len(session.messages))
            for event in say("late"):
                yield event

    one = Agent(Slow(), gate=allow_all(), session=session, options=options())
    await one.send("go")
    assert seen == [1]
    assert [m.text for m in session.messages] == ["go", "late"]


async def test_a_tool_shows_its_output_while_it_runs() -> None:
    class Chatty:
        name = "chatty"
        needs: frozenset[str] = frozenset()
        input_schema = b'{"type":"object"}'

        async def execute(self, arguments: object, context: ToolContext) -> ToolResult:
            await context.output("stdout", "working")
            return ToolResult.text("done")

    one = agent(ask(call("chatty", {})), say("x"), tools=(Chatty(),))
    events = await events_of(one.stream("go"))
    assert [e.text for e in events if e.type == "tool.output"] == ["working"]  # type: ignore[union-attr]  # output has text


async def test_the_same_parts_serve_another_session() -> None:
    one = agent(say("a"), say("b"))
    await one.send("x")
    two = one.in_session(None)
    await two.send("y")
    assert [m.text for m in two.session.messages] == ["y", "b"]
    assert two.gate is one.gate
    assert two.session.id != one.session.id


async def test_usage_may_come_without_an_answer_to_count() -> None:
    events: list[ProviderEvent] = [UsageReported(usage=Usage()), CallReady(call=call("double", {"n": 1})), Finished()]
    one = agent(events, say("x"), limits=Limits(tokens=None, cost_micro_usd=None, rounds=None, tool_calls=None))
    assert (await one.send("go")).usage.input is None


async def test_time_in_which_a_person_is_asked_does_not_count() -> None:
    class Slow:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            await asyncio.sleep(0.15)
            return ApprovalAnswer(answer="allow", by="operator")

    gate = TableGate({}, default=Ask(reason="r", rule="r"))
    both = ask(call("double", {"n": 1}), call("double", {"n": 2}))
    for limit, status in ((Limits(wall_time_s=0.1), "completed"), (Limits(wall_time_s=None), "completed")):
        one = Agent(
            ScriptedProvider(both, say("x")), gate=gate, tools=[double], approver=Slow(), options=options(limits=limit)
        )
        assert (await one.send("go")).status == status


async def test_arguments_that_could_not_be_read_are_told_and_nothing_runs() -> None:
    cut = ToolCall(id="c", name="double", arguments={}, raw='{"n": 1', fault="the output was cut")
    one = agent(ask(cut), say("x"))
    await one.send("go")
    assert one.session.messages[2].code == "tool.arguments"
    assert "the output was cut" in one.session.messages[2].text


async def test_a_denial_is_named_in_the_outcome() -> None:
    gate = TableGate({}, default=Deny(reason="no", rule="path.outside"))
    one = Agent(ScriptedProvider(ask(call("double", {"n": 1})), say("x")), gate=gate, tools=[double], options=options())
    assert (await one.send("go")).denied == ("path.outside",)


async def test_observers_see_events_also_when_nobody_streams() -> None:
    seen: list[str] = []

    class Watch:
        def event(self, event: AgentEvent) -> None:
            seen.append(event.type)

        def step(self, name: str, context: object) -> None:
            seen.append(name)

    more = ReasoningChunk(text=" and more", field="reasoning_content")
    one = agent([more, *think("hm", "yes")])
    one.use(Watch())
    await one.send("go")
    assert seen[:2] == ["before-send", "turn.started"]
    assert {"text.delta", "inner-loop-end"} <= set(seen)


async def test_a_failed_turn_whose_store_fails_too_keeps_its_first_cause() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))

    @tool
    def breaks() -> str:
        """Break the store, and fail."""
        store.failure = StoreError("disk full")
        return ""

    answers = (ask(call("breaks", {})), BadRequest("never"))
    one = Agent(ScriptedProvider(*answers), gate=allow_all(), session=session, tools=[breaks], options=options())
    result = await one.send("go")
    assert result.error is not None
    assert result.error.code == "store.failed"
    again = Agent(ScriptedProvider(BadRequest("first")), gate=allow_all(), session=session, options=options())
    assert (await again.send("x")).error == ErrorInfo(code="provider.bad_request", message="first")


async def test_a_call_that_cannot_be_recorded_does_not_run() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))
    ran: list[int] = []

    @tool(needs={"files.write"})
    def touches() -> str:
        """Change something."""
        ran.append(1)
        return ""

    class Full:
        async def tool_call(self, context: object) -> None:
            store.failure = StoreError("disk full")

    answers = ScriptedProvider(ask(call("touches", {})))
    one = Agent(answers, gate=allow_all(), session=session, tools=[touches], options=options())
    one.use(Full())
    result = await one.send("go")
    assert (result.error and result.error.code, ran) == ("store.failed", [])


class EarlyFails(RamSession):
    """A session whose first write, the early one of the person's message, waits and then fails."""

    def __init__(self, store: RamSessions) -> None:
        super().__init__(store, SessionKey(agent="default"), "ses_e")
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self.fails = True

    async def append(self, messages: Sequence[Message]) -> None:
        if not self.began.is_set():
            self.began.set()
            await self.may_end.wait()
            if self.fails:
                raise StoreError("disk full")
        await super().append(messages)


async def after_the_early_write(session: EarlyFails, *, may_end: bool) -> AsyncIterator[ProviderEvent]:
    """Ask for a tool once the early write is under way."""
    await session.began.wait()
    if may_end:
        session.may_end.set()
    for event in ask(call("touches", {})):
        yield event


@tool(needs={"files.write"})
def touches() -> str:
    """Change something."""
    raise AssertionError("never runs")


async def test_a_message_whose_early_write_failed_is_written_with_what_follows_it() -> None:
    store = RamSessions()
    session = EarlyFails(store)

    class Provider:
        name = "after"

        def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            return after_the_early_write(session, may_end=True)

    one = Agent(Provider(), gate=allow_all(), session=session, tools=[touches], options=options())
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "store.failed")
    assert [(m.role, m.code) for m in store.kept["ses_e"]] == [
        ("user", ""),
        ("assistant", ""),
        ("tool", "store.failed"),
    ]


async def test_a_cancel_while_the_early_write_is_awaited_loses_nothing_and_runs_nothing() -> None:
    store = RamSessions()
    session = EarlyFails(store)
    session.fails = False

    class Provider:
        name = "after"

        def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            return after_the_early_write(session, may_end=False)

    one = Agent(Provider(), gate=allow_all(), session=session, tools=[touches], options=options())
    turn = asyncio.ensure_future(one.send("go"))
    await session.began.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert one.cancel("enough")
    await asyncio.sleep(0)
    session.may_end.set()
    assert (await turn).status == "cancelled"
    assert [(m.role, m.code) for m in store.kept["ses_e"]] == [
        ("user", ""),
        ("assistant", ""),
        ("tool", "tool.cancelled"),
    ]


async def test_a_call_that_a_hook_changed_is_in_doubt_with_its_final_arguments() -> None:
    session = await RamSessions().open(SessionKey(agent="a"))
    seen: list[object] = []

    @tool(needs={"files.write"})
    def touches(path: str) -> str:
        """Change something."""
        seen.extend(dict(call.arguments) for call in session.interrupted)
        return path

    class Elsewhere:
        def tool_call(self, context: ToolCallContext) -> None:
            context.arguments["path"] = "b.txt"

    answers = (ask(call("touches", {"path": "a.txt"}, id="c1")), say("x"))
    one = Agent(ScriptedProvider(*answers), gate=allow_all(), session=session, tools=[touches], options=options())
    one.use(Elsewhere())
    await one.send("go")
    assert seen == [{"path": "b.txt"}]
