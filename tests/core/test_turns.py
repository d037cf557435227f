"""Turns: every outcome is a result, and the history they leave is valid."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from ferrule.core.agent import Agent
from ferrule.core.conversation import EARLY_WRITE_S
from ferrule.core.options import AgentOptions
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.ports.tool import ToolContext
from ferrule.testing.clock import InstantClock, SequenceIds
from ferrule.testing.gates import TableGate, allow_all
from ferrule.testing.scripted import Answer, ScriptedProvider, ask, call, say, think
from ferrule.testing.stores import RamSessions
from ferrule.types.access import ApprovalAnswer, ApprovalRequest, Ask, Deny
from ferrule.types.completion import (
    CallReady,
    Completion,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    Request,
    TextChunk,
    UsageReported,
)
from ferrule.types.errors import (
    BadRequest,
    FerruleError,
    HookTypeError,
    NestedSend,
    Overloaded,
    RateLimited,
    StoreError,
    UsageError,
)
from ferrule.types.events import AgentEvent, ErrorInfo, RequestStarted, TextDelta, TurnFinished
from ferrule.types.limits import Limits
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall, ToolResult
from ferrule.types.usage import Usage


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@tool
def fails() -> str:
    """Always fail."""
    raise ValueError("no luck")


def options(**changes: object) -> AgentOptions:
    return AgentOptions(clock=InstantClock(), ids=SequenceIds(), **changes)  # type: ignore[arg-type]  # tests name real fields


def agent(*answers: Answer, tools: Sequence[object] = (double, fails), **changes: object) -> Agent:
    return Agent(ScriptedProvider(*answers), gate=allow_all(), tools=tools, options=options(**changes))  # type: ignore[arg-type]  # tools of several shapes


def asked(of: Agent) -> list[Request]:
    provider = of._parts.provider
    assert isinstance(provider, ScriptedProvider)
    return provider.requests


async def events_of(stream: object) -> list[AgentEvent]:
    return [event async for event in stream]  # type: ignore[attr-defined]  # an async iterator of events


async def test_a_tools_result_reaches_the_model_before_the_answer() -> None:
    one = agent(ask(call("double", {"n": 4})), say("eight"))
    result = await one.send("twice four?")
    assert (result.status, result.text, result.rounds) == ("completed", "eight", 2)
    assert [m.role for m in asked(one)[1].messages] == ["user", "assistant", "tool"]
    assert asked(one)[1].messages[-1].text == "8"


async def test_results_follow_in_call_order_whatever_ends_first() -> None:
    first_may_end = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait for the quick one."""
        await first_may_end.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Let the slow one go."""
        first_may_end.set()
        return "quick"

    one = agent(ask(call("slow", {}), call("fails", {}), call("quick", {})), say("done"), tools=(slow, fails, quick))
    await one.send("go")
    answers = [m for m in one.session.messages if m.role == "tool"]
    assert [m.text.partition(":")[0] for m in answers] == ["slow", "fails failed", "quick"]
    assert [m.is_error for m in answers] == [False, True, False]


async def test_instructions_are_the_first_message_and_not_part_of_the_session() -> None:
    one = agent(say("hi"), instructions="Be brief.")
    await one.send("hello")
    assert [m.role for m in asked(one)[0].messages] == ["system", "user"]
    assert [m.role for m in one.session.messages] == ["user", "assistant"]


async def test_deltas_are_asked_for_only_when_somebody_listens() -> None:
    one = agent(say("a"), say("b"))
    await one.send("x")
    await events_of(one.stream("y"))
    assert [request.deltas for request in asked(one)] == [False, True]


async def test_a_stream_tells_every_step_and_ends_with_the_status() -> None:
    one = agent(ask(call("double", {"n": 1}), text="let me see"), say("two", pieces=3))
    events = await events_of(one.stream("go"))
    assert [event.type for event in events] == [
        "turn.started",
        "request.started",
        "text.delta",
        "tool.started",
        "tool.finished",
        "request.started",
        "text.delta",
        "text.delta",
        "text.delta",
        "turn.finished",
    ]
    assert [event.seq for event in events] == list(range(1, 11))
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].status == "completed"


async def test_usage_is_added_up_and_told() -> None:
    usage = Usage(input=5, output=2, cost_micro_usd=7)
    one = agent(ask(call("double", {"n": 1}), usage=usage), say("x", usage=usage))
    result = await one.send("go")
    assert (result.usage.total, result.usage.cost_micro_usd) == (14, 14)


async def test_reasoning_is_kept_apart_and_goes_back_under_its_own_name() -> None:
    one = agent(think("hm", "yes"), say("again"))
    events = await events_of(one.stream("a"))
    assert "reasoning.delta" in [event.type for event in events]
    await one.send("b")
    replayed = asked(one)[1].messages[1]
    assert (replayed.text, replayed.reasoning, replayed.reasoning_field) == ("yes", "hm", "reasoning_content")


async def test_a_failure_that_may_pass_is_tried_again_and_told() -> None:
    one = agent(Overloaded("busy"), RateLimited("slow down", retry_after_s=7), say("at last"))
    events = await events_of(one.stream("go"))
    assert [e.attempt for e in events if isinstance(e, RequestStarted)] == [1, 2, 3]
    clock = one._options.clock
    assert isinstance(clock, InstantClock)
    assert clock.slept == [0.5, 7]


@pytest.mark.parametrize(
    ("failures", "code", "requests"),
    [
        ([Overloaded("a"), Overloaded("b"), Overloaded("c")], "provider.overloaded", 3),
        ([BadRequest("never", hint="change it")], "provider.bad_request", 1),
        ([RateLimited("tomorrow", retry_after_s=86_400)], "provider.rate_limited", 1),
    ],
)
async def test_a_failure_that_stays_is_an_outcome_and_the_next_turn_works(
    failures: list[Exception], code: str, requests: int
) -> None:
    one = agent(*failures, say("fine"))
    result = await one.send("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == code
    assert len(asked(one)) == requests
    assert (await one.send("again")).text == "fine"


class Breaking:
    """Shows some text, then fails, once."""

    name = "breaking"
    model = "b1"

    def __init__(self, *, ends: bool = True) -> None:
        self.asked = 0
        self._ends = ends

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
        self.asked += 1
        yield TextChunk(text="half an ans")
        if self.asked == 1:
            raise Overloaded("cut")
        if self._ends:
            yield Finished()


async def test_text_of_a_failed_attempt_is_no_part_of_the_answer() -> None:
    one = Agent(Breaking(), gate=allow_all(), options=options())
    result = await one.send("go")
    assert result.text == "half an ans"
    assert [m.text for m in one.session.messages] == ["go", "half an ans"]


async def test_a_stream_without_its_last_event_is_a_failure_and_leaves_an_unfinished_message() -> None:
    one = Agent(Breaking(ends=False), gate=allow_all(), options=options(attempts=2))
    result = await one.send("go")
    assert result.error is not None
    assert result.error.code == "provider.stream_broken"
    assert (result.text, one.session.messages[-1].status) == ("half an ans", "error")


async def test_an_answer_of_nothing_is_asked_again() -> None:
    one = agent([Finished()], say("something"))
    assert (await one.send("go")).text == "something"
    silent = agent([ReasoningChunk(text="", field="reasoning"), Finished()])
    assert (await silent.send("go")).status == "completed"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_cut_answer_is_told(reason: str) -> None:
    one = agent([TextChunk(text="so"), Finished(reason=reason)])  # type: ignore[arg-type]  # the two reasons of a cut
    events = await events_of(one.stream("go"))
    assert f"answer.{reason}" in [event.code for event in events if event.type == "notice"]  # type: ignore[union-attr]  # notices have a code


async def test_a_provider_that_only_completes_is_enough() -> None:
    class Whole:
        name = "whole"

        async def complete(self, request: Request) -> Completion:
            if request.messages[-1].role == "tool":
                return Completion(text="done", reasoning="r", usage=Usage(input=1))
            return Completion(calls=(ToolCall(id="", name="double", arguments={"n": 2}),))

    one = Agent(Whole(), gate=allow_all(), tools=[double], options=options())
    assert (await one.send("go")).text == "done"
    with pytest.raises(UsageError, match="no provider"):
        Agent(object(), gate=allow_all())  # type: ignore[arg-type]  # what is no provider


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(rounds=2), "limit.rounds"),
        (Limits(tool_calls=1), "limit.tool_calls"),
        (Limits(tokens=10), "limit.tokens"),
        (Limits(cost_micro_usd=10), "limit.cost"),
    ],
)
async def test_a_limit_ends_the_turn_names_itself_and_the_session_goes_on(limits: Limits, code: str) -> None:
    usage = Usage(input=4, output=2, cost_micro_usd=6)
    rounds = [ask(call("double", {"n": i}), usage=usage) for i in range(2)]
    one = agent(*rounds, say("after"), limits=limits)
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("limit", code)
    assert result.error is not None
    assert result.error.hint
    calls = [c.id for m in one.session.messages for c in m.calls]
    assert calls == [m.call_id for m in one.session.messages if m.role == "tool"]
    assert (await one.send("go on")).text == "after"


async def test_wall_time_ends_a_turn() -> None:
    @tool
    async def forever() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    one = agent(ask(call("forever", {})), tools=(forever,), limits=Limits(wall_time_s=0.05))
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("limit", "limit.wall_time")
    assert one.session.messages[-1].code == "tool.cancelled"


async def test_cancel_stops_the_turn_and_keeps_what_was_done() -> None:
    @tool
    async def waits() -> str:
        """Wait until somebody cancels."""
        one.cancel("enough")
        await asyncio.Event().wait()
        return ""

    calls = ask(call("double", {"n": 1}), call("waits", {}), text="working")
    one = agent(calls, say("next"), tools=(double, waits), limits=Limits(parallel_tools=1))
    result = await one.send("go")
    assert (result.status, result.error and result.error.message) == ("cancelled", "enough")
    assert next(m.text for m in one.session.messages if m.role == "tool") == "2"
    assert one.session.messages[-1].code == "tool.cancelled"
    assert (await one.send("again")).text == "next"
    assert one.cancel() is False


async def test_the_tasks_own_cancellation_is_passed_on_and_what_was_said_is_kept() -> None:
    started = asyncio.Event()

    class Slow:
        name = "slow"

        async def stream(self, request: Request):  # type: ignore[no-untyped-def]  # a generator of provider events
            yield TextChunk(text="so far")
            started.set()
            await asyncio.Event().wait()

    one = Agent(Slow(), gate=allow_all(), options=options())
    task = asyncio.ensure_future(one.send("go"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(m.text, m.status) for m in one.session.messages] == [("go", "completed"), ("so far", "aborted")]


async def test_leaving_a_stream_stops_the_turn() -> None:
    one = agent(say("a b c", pieces=3), say("next"))
    async with aclosing(one.stream("go")) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert (await one.send("again")).status == "completed"


async def test_turns_wait_for_each_other_and_too_many_are_refused() -> None:
    release = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        await release.wait()
        return "ok"

    answers = [ask(call("waits", {})), *[say(f"answer {i}") for i in range(3)]]
    one = agent(*answers, tools=(waits,), limits=Limits(queue=2))
    running = [asyncio.ensure_future(one.send(f"m{i}")) for i in range(3)]
    await asyncio.sleep(0)
    refused = await one.send("too many")
    assert (refused.status, refused.error and refused.error.code) == ("failed", "turn.busy")
    release.set()
    assert [r.text for r in await asyncio.gather(*running)] == ["answer 0", "answer 1", "answer 2"]
    assert [m.text for m in one.session.messages if m.role == "user"] == ["m0", "m1", "m2"]


async def test_a_send_from_inside_the_agents_own_turn_is_misuse() -> None:
    @tool
    async def nested() -> str:
        """Send from inside."""
        with pytest.raises(NestedSend):
            await one.send("inner")
        return "refused"

    one = agent(ask(call("nested", {})), say("ok"), tools=(nested,))
    assert (await one.send("go")).text == "ok"
    assert one.session.messages[2].text == "refused"


async def test_raise_on_error_raises_the_coded_error() -> None:
    one = agent(BadRequest("no", hint="other words"))
    with pytest.raises(FerruleError, match="no") as caught:
        await one.send("go", raise_on_error=True)
    assert (caught.value.code, caught.value.hint) == ("provider.bad_request", "other words")


async def test_a_model_that_repeats_a_failing_call_is_told_and_then_stopped() -> None:
    one = agent(*[ask(call("fails", {})) for _ in range(5)], say("after"))
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("failed", "loop.stuck")
    results = [m.text for m in one.session.messages if m.role == "tool"]
    assert ["3 times" in text for text in results] == [False, False, True, False, False]
    assert (await one.send("other")).text == "after"


async def test_three_unknown_tools_in_a_row_end_the_turn() -> None:
    one = agent(*[ask(call(f"nothing_{i}", {})) for i in range(3)])
    result = await one.send("go")
    assert result.error is not None
    assert result.error.code == "loop.unknown_tools"


async def test_ids_of_calls_are_unique_in_the_session() -> None:
    same = call("double", {"n": 1}, id="call_0")
    one = agent(ask(same, same), ask(same), say("ok"))
    await one.send("go")
    ids = [c.id for m in one.session.messages for c in m.calls]
    assert len(set(ids)) == 3
    assert ids == [m.call_id for m in one.session.messages if m.role == "tool"]


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
