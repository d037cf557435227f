"""Rules of hooks and observers: order, short circuits, what a string, a fault or anything else means."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest

from ferrule.core.agent import Agent
from ferrule.core.context import ToolCallContext
from ferrule.core.hooks import STEPS, SendContext, UnknownTool
from ferrule.core.tool_decorator import tool
from ferrule.ports.tool import ToolContext
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ask, call, say
from ferrule.types.completion import ProviderEvent, Request, TextChunk
from ferrule.types.errors import ConnectionFailed, ContextOverflow, HookTypeError, LimitReached
from ferrule.types.events import AgentEvent
from tests.core._agents import agent, asked, options
from tests.core._calls import Note, called, made

TURN_STEPS = ("before_send", "inner_loops_start", "inner_loop_start")
END_STEPS = ("inner_loop_end", "inner_loops_end", "after_send")


class Recorder:
    """Hooks of every step that answer as told, under a name, into a shared list; and an observer of steps."""

    def __init__(self, name: str, into: list[str], **answers: object) -> None:
        self._name, self._into = name, into
        for step in STEPS:
            setattr(self, step, self._hook(step, answers.get(step)))

    def _hook(self, step: str, answer: object) -> Callable[[object], object]:
        async def hook(context: object) -> object:
            self._into.append(f"{self._name}.{step}")
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return hook


class Observer:
    """Remembers the names of steps."""

    def __init__(self, into: list[str]) -> None:
        self._into = into

    def step(self, name: str, context: object) -> None:
        self._into.append(name)


def with_two(one: Agent, **answers: object) -> list[str]:
    """Let two recorders and an observer watch; the first answers as told."""
    seen: list[str] = []
    one.use(Recorder("a", seen, **answers))
    one.use(Observer(seen))
    one.use(Recorder("b", seen))
    return seen


async def test_a_plain_turn_goes_through_its_steps_in_this_order() -> None:
    one = agent(say("hi"))
    seen: list[str] = []
    one.use(Observer(seen))
    await one.send("x")
    assert seen == [
        "before-send",
        "inner-loops-start",
        "inner-loop-start",
        "inner-loop-end",
        "inner-loops-end",
        "after-send",
    ]


async def test_a_call_goes_through_its_steps_between_the_start_and_the_end_of_its_round() -> None:
    one = agent(ask(call("double", {"n": 1}), call("nothing", {})), say("hi"))
    seen: list[str] = []
    one.use(Observer(seen))
    await one.send("x")
    inner = seen[3:-4]
    assert seen[:3] == ["before-send", "inner-loops-start", "inner-loop-start"]
    assert sorted(inner[:-1]) == sorted(["tool-call", "tool-result", "tool-call", "unknown-tool", "tool-result"])
    assert inner[-1] == "inner-loop-end"


async def test_every_hook_is_asked_in_the_order_of_use_and_the_event_comes_first() -> None:
    one = agent(say("hi"))
    seen = with_two(one)
    await one.send("x")
    assert seen[:6] == [
        "before-send",
        "a.before_send",
        "b.before_send",
        "inner-loops-start",
        "a.inner_loops_start",
        "b.inner_loops_start",
    ]


@pytest.mark.parametrize("answer", ["no", ""])
@pytest.mark.parametrize("step", [*TURN_STEPS, "tool_call", "unknown_tool", "tool_result"])
async def test_the_first_string_also_an_empty_one_keeps_later_hooks_from_being_asked(step: str, answer: str) -> None:
    one = agent(ask(call("nothing" if step == "unknown_tool" else "double", {"n": 1})), say("hi"))
    seen = with_two(one, **{step: answer})
    await one.send("x")
    assert f"a.{step}" in seen
    assert f"b.{step}" not in seen
    assert step.replace("_", "-") in seen


@pytest.mark.parametrize("step", END_STEPS)
@pytest.mark.parametrize("answer", ["text", "", 3, ValueError("odd"), asyncio.CancelledError()])
async def test_the_last_steps_always_ask_everybody_and_change_nothing(
    step: str, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    one = agent(say("hi"), say("again"))
    seen = with_two(one, **{step: answer})
    result = await one.send("x")
    assert (result.status, result.text) == ("completed", "hi")
    assert f"b.{step}" in seen
    assert step in caplog.text
    assert [m.status for m in one.session.messages] == ["completed", "completed"]
    assert (await one.send("y")).text == "again"


@pytest.mark.parametrize("answer", [0, True, b"", ["no"], {}])
@pytest.mark.parametrize("step", [*TURN_STEPS, "tool_call", "unknown_tool", "tool_result"])
async def test_neither_none_nor_a_string_is_misuse_that_names_the_hook_and_is_told(step: str, answer: object) -> None:
    one = agent(ask(call("nothing" if step == "unknown_tool" else "double", {"n": 1})), say("hi"), say("after"))
    finished: list[object] = []

    class Watch:
        def event(self, event: AgentEvent) -> None:
            finished.append(event.type)

    one.use(Watch())
    with_two(one, **{step: answer})
    with pytest.raises(HookTypeError, match=rf"hook returned {type(answer).__name__}"):
        await one.send("x")
    assert finished[-1] == "turn.finished"


@pytest.mark.parametrize("step", TURN_STEPS)
async def test_a_hook_that_raises_before_a_request_fails_the_turn_and_names_itself(step: str) -> None:
    one = agent(say("never"))
    seen = with_two(one, **{step: ValueError("odd")})
    result = await one.send("x")
    assert (result.status, result.error and result.error.code) == ("failed", "hook.failed")
    assert "ValueError: odd" in result.outcome
    assert asked(one) == []
    assert [m.text for m in one.session.messages] == ([] if step == "before_send" else ["x"])
    assert seen[-1] == "b.after_send"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ContextOverflow("120,000 of 100,000 tokens"), "failed", "provider.context_overflow"),
        (LimitReached("no more today", code="limit.day"), "limit", "limit.day"),
    ],
)
async def test_a_coded_error_of_a_hook_ends_the_turn_with_its_own_code(
    error: Exception, status: str, code: str
) -> None:
    one = agent(say("never"))
    with_two(one, inner_loop_start=error)
    result = await one.send("x")
    assert (result.status, result.error and result.error.code, result.outcome) == (status, code, str(error))


async def test_a_round_that_began_is_ended_once_however_it_ends() -> None:
    class Cut:
        name = "cut"

        async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            yield TextChunk(text="half")
            raise ConnectionFailed("gone")

    failed = Agent(Cut(), gate=allow_all(), options=options(attempts=1))
    interrupted = agent(ask(call("double", {"n": 1})), say("never"))
    interrupted.use(SecondRound())
    for one, rounds in ((failed, 1), (interrupted, 2)):
        seen: list[str] = []
        one.use(Observer(seen))
        await one.send("x")
        assert seen.count("inner-loop-start") == seen.count("inner-loop-end") == rounds
        assert seen[-2:] == ["inner-loops-end", "after-send"]


class SecondRound:
    """Interrupts at the second round."""

    async def inner_loop_start(self, context: SendContext) -> str | None:
        return "enough" if context.rounds == 1 else None


async def test_an_interrupt_in_a_later_round_keeps_what_was_done_and_the_next_send_works() -> None:
    one = agent(ask(call("double", {"n": 2})), say("after"))
    one.use(SecondRound())
    result = await one.send("x")
    assert (result.status, result.outcome, result.rounds) == ("interrupted", "enough", 1)
    assert [m.text for m in one.session.messages] == ["x", "", "4"]
    assert (await one.send("y")).status == "completed"


async def test_a_rejected_message_leaves_no_trace_and_was_told_to_observers() -> None:
    one = agent(say("never"))
    seen: list[str] = []
    one.use(Observer(seen))
    one.use(Recorder("a", [], before_send="not here"))
    result = await one.send("x")
    assert (result.status, result.outcome) == ("rejected", "not here")
    assert (list(one.session.messages), asked(one)) == ([], [])
    assert seen == ["before-send", "after-send"]


async def test_one_object_spans_hooks_and_the_running_tool() -> None:
    seen: list[object] = []

    class Same:
        name = "same"
        needs: frozenset[str] = frozenset()
        input_schema = b'{"type":"object"}'

        async def execute(self, arguments: object, context: ToolContext) -> str:
            seen.append(context)
            return ""

    class Hook:
        async def tool_call(self, context: ToolCallContext) -> None:
            seen.append(context)

    one = agent(ask(call("same", {})), say("x"), tools=(Same(),))
    one.use(Hook())
    await one.send("go")
    assert seen[0] is seen[1]


async def test_the_turns_object_is_the_same_throughout_knows_its_place_and_shows_the_conversation_as_it_is() -> None:
    contexts: list[SendContext] = []
    lengths: list[int] = []

    class Look:
        async def before_send(self, context: SendContext) -> None:
            context.state["n"] = 1
            self._note(context)

        async def inner_loop_start(self, context: SendContext) -> None:
            self._note(context)

        async def after_send(self, context: SendContext) -> None:
            self._note(context)

        def _note(self, context: SendContext) -> None:
            contexts.append(context)
            lengths.append(len(context.messages))

    one = agent(ask(call("double", {"n": 1})), say("x"))
    one.use(Look())
    result = await one.send("go")
    assert len({id(context) for context in contexts}) == 1
    (context,) = {id(context): context for context in contexts}.values()
    assert lengths == [0, 1, 3, 4]
    assert (context.agent, context.session_id, context.turn_id) == ("default", one.session.id, result.turn_id)
    assert (context.content, context.rounds, context.state) == ("go", 2, {"n": 1})
    assert not hasattr(context.messages, "append")


async def test_hooks_added_while_a_turn_runs_join_at_the_next_turn() -> None:
    seen: list[str] = []

    class Adds:
        async def before_send(self, context: object) -> None:
            one.use(Recorder("late", seen))
            one.use(Observer(seen))

    one = agent(ask(call("double", {"n": 1})), say("x"), say("y"))
    one.use(Adds())
    await one.send("first")
    assert seen == []
    await one.send("second")
    assert seen[:2] == ["before-send", "late.before_send"]


async def test_the_same_object_used_twice_is_asked_twice() -> None:
    seen: list[str] = []
    one, hook = agent(say("x")), Recorder("a", seen)
    one.use(hook)
    one.use(hook)
    await one.send("go")
    assert seen.count("a.before_send") == 2


async def test_one_of_two_calls_is_denied_and_the_other_runs() -> None:
    class First:
        async def tool_call(self, context: ToolCallContext) -> str | None:
            return "not one" if context.arguments["n"] == 1 else None

    one = agent(ask(call("double", {"n": 1}), call("double", {"n": 2})), say("x"))
    one.use(First())
    await one.send("go")
    assert [m.text for m in one.session.messages if m.role == "tool"] == ["not one", "4"]
    assert len(asked(one)) == 2


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_hook_answers_for_an_unknown_tool_and_sees_a_copy_of_the_names(is_async: bool) -> None:
    def answer(context: UnknownTool) -> str:
        assert isinstance(context.names, tuple)
        return f"{context.agent} has {', '.join(context.names)}, not {context.call.name}"

    class Plain:
        def unknown_tool(self, context: UnknownTool) -> str:
            return answer(context)

    class Waiting:
        async def unknown_tool(self, context: UnknownTool) -> str:
            return answer(context)

    result, _ = await called(made(Note(), hooks=Waiting() if is_async else Plain()), "x", {})
    assert result.content == "default has note, not x"


async def test_a_hook_sees_unknown_tools_and_unreadable_arguments_before_they_are_refused() -> None:
    names: list[str] = []

    class Look:
        async def tool_call(self, context: ToolCallContext) -> None:
            names.append(context.name)

    one = agent(ask(call("nothing", {}), call("double", {"m": 1})), say("x"))
    one.use(Look())
    await one.send("go")
    assert names == ["nothing", "double"]


async def test_an_observer_that_breaks_stops_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Breaks:
        def step(self, name: str, context: object) -> None:
            raise RuntimeError("step fault")

        def event(self, event: AgentEvent) -> None:
            raise RuntimeError("event fault")

    caplog.set_level(logging.ERROR)
    one = agent(say("x"))
    one.use(Breaks())
    assert (await one.send("go")).text == "x"
    assert "step fault" in caplog.text
    assert "event fault" in caplog.text


@pytest.mark.parametrize("name", ["step", "event"])
def test_an_observer_that_would_have_to_be_awaited_is_refused(name: str) -> None:
    async def waits(*arguments: object) -> None:
        raise AssertionError("never awaited")

    part = type("Part", (), {name: staticmethod(waits)})()
    with pytest.raises(HookTypeError, match="is a coroutine"):
        agent().use(part)


@tool
def touch() -> str:
    """Do something."""
    return "done"


async def test_a_hooks_result_replaces_what_the_model_and_the_history_see() -> None:
    one = agent(ask(call("touch", {})), say("x"), tools=(touch,))
    one.use(Recorder("a", [], tool_result="replaced"))
    await one.send("go")
    assert one.session.messages[2].text == "replaced"
    assert asked(one)[1].messages[2].text == "replaced"
