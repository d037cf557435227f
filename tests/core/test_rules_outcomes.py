"""Rules of outcomes: no turn ends without a sentence for people, in the result and in the stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from ferrule.core.agent import Agent
from ferrule.core.guard import SecretGuard
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import Answer, ScriptedProvider, ask, call, say, think
from ferrule.testing.stores import RamSession, RamSessions
from ferrule.types.completion import Finished, ProviderEvent, ReasoningChunk, Request, TextChunk
from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContextOverflow,
    EmptyAnswer,
    FerruleError,
    Overloaded,
    RateLimited,
    StoreError,
    StreamBroken,
    UsageError,
)
from ferrule.types.events import AgentEvent, ErrorInfo, Notice, TurnFinished, TurnStatus
from ferrule.types.limits import Limits
from ferrule.types.turn import SILENT, TurnResult
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, events_of, options
from tests.core._calls import SECRET

ROUNDS = [ask(call("double", {"n": i}), usage=Usage(input=4, output=2, cost_micro_usd=6)) for i in range(3)]


class Says:
    """A hook that answers one step."""

    def __init__(self, step: str, answer: object) -> None:
        async def hook(context: object) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        setattr(self, step, hook)


def hooked(step: str, answer: object) -> Agent:
    one = agent(say("never"))
    one.use(Says(step, answer))
    return one


def stopping(*, reason: str) -> Agent:
    @tool
    async def waits() -> str:
        """Wait until cancelled."""
        one.cancel(reason)
        await asyncio.Event().wait()
        return ""

    one = agent(ask(call("waits", {})), tools=(waits,))
    return one


def timed() -> Agent:
    @tool
    async def forever() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    return agent(ask(call("forever", {})), tools=(forever,), limits=Limits(wall_time_s=0.02))


def unstored() -> Agent:
    store = RamSessions()
    store.failure = StoreError("")
    session = RamSession(store, SessionKey(agent="a"), "ses_u")
    return Agent(ScriptedProvider(say("x")), gate=allow_all(), session=session, options=options())


def answering(*answers: Answer, **changes: object) -> Callable[[], Agent]:
    return lambda: agent(*answers, **changes)  # type: ignore[arg-type]  # tests name real fields


LAST = "The model said its last word."
OUTCOMES: dict[str, tuple[Callable[[], Agent], TurnStatus, str]] = {
    "an answer": (answering(say(LAST)), "completed", LAST),
    "reasoning only": (answering(think("hm", "")), "completed", SILENT),
    "white space only": (answering(say("\n  \n")), "completed", SILENT),
    "a tool, then reasoning only": (answering(ROUNDS[0], think("hm", "")), "completed", SILENT),
    "narration, then nothing but reasoning": (
        answering(ask(call("double", {"n": 1}), text="let me see"), think("hm", "")),
        "completed",
        SILENT,
    ),
    "rounds": (answering(*ROUNDS, limits=Limits(rounds=2)), "limit", "2 rounds"),
    "tool calls": (answering(*ROUNDS, limits=Limits(tool_calls=1)), "limit", "1 tool call"),
    "tokens": (answering(*ROUNDS, limits=Limits(tokens=10)), "limit", "12 tokens"),
    "money": (answering(*ROUNDS, limits=Limits(cost_micro_usd=10)), "limit", "$0.000012"),
    "time": (timed, "limit", "longer than 0.02 s"),
    "rejected": (lambda: hooked("before_send", "not here"), "rejected", "not here"),
    "rejected without a word": (lambda: hooked("before_send", ""), "rejected", "by a hook"),
    "interrupted": (lambda: hooked("inner_loops_start", "not now"), "interrupted", "not now"),
    "interrupted without a word": (lambda: hooked("inner_loop_start", " "), "interrupted", "by a hook"),
    "a hook broke": (lambda: hooked("inner_loop_start", ValueError()), "failed", "ValueError"),
    "a hook's error without a word": (lambda: hooked("before_send", FerruleError("")), "failed", "internal"),
    "cancelled": (lambda: stopping(reason="enough"), "cancelled", "enough"),
    "cancelled without a word": (lambda: stopping(reason=""), "cancelled", "cancelled"),
    "an empty answer": (answering([Finished()], attempts=1), "failed", "nothing"),
    "no last event": (answering([TextChunk(text="half")], attempts=1), "failed", "without a last event"),
    "a vendor's failure without a word": (answering(BadRequest("")), "failed", "provider.bad_request"),
    "a refused key": (answering(AuthenticationFailed("the key was refused")), "failed", "key"),
    "a vendor that is busy": (answering(Overloaded("busy"), attempts=1), "failed", "busy"),
    "a limit of the vendor's": (answering(RateLimited("slow down", retry_after_s=900)), "failed", "slow down"),
    "no connection": (answering(ConnectionFailed("refused"), attempts=1), "failed", "refused"),
    "a cut answer": (answering(StreamBroken("cut"), attempts=1), "failed", "cut"),
    "nothing twice": (answering(EmptyAnswer(""), attempts=1), "failed", "provider.empty_answer"),
    "too long": (answering(ContextOverflow("9,000 of 8,000")), "failed", "9,000 of 8,000"),
    "a vendor's code broke": (answering(KeyError()), "failed", "KeyError"),
    "a part is used wrongly": (answering(UsageError("no such thing")), "failed", "no such thing"),
    "a store that fails without a word": (unstored, "failed", "store.failed"),
    "two calls where one is allowed": (
        answering(ask(call("double", {"n": 1}), call("double", {"n": 1})), single_tool_rounds=True),
        "failed",
        "2 tools at once",
    ),
    "circles": (answering(*[ask(call("fails", {})) for _ in range(5)]), "failed", "repeated"),
    "unknown tools": (answering(*[ask(call(f"no_{i}", {})) for i in range(3)]), "failed", "do not exist"),
}


@pytest.mark.parametrize("name", OUTCOMES)
async def test_every_outcome_has_a_sentence_for_people_in_the_result_and_in_the_stream(name: str) -> None:
    make, status, words = OUTCOMES[name]
    result = await make().send("go")
    assert result.status == status
    assert words in result.outcome
    assert result.outcome.strip()
    assert (result.error is None) == (status == "completed")
    events = await events_of(make().stream("go"))
    last = events[-1]
    assert isinstance(last, TurnFinished)
    assert (last.status, last.error is None) == (status, status == "completed")
    assert words in told(events)


def told(events: list[AgentEvent]) -> str:
    """Return what a person reads of a stream: the text after the last request, notices, the error."""
    shown: list[str] = []
    for event in events:
        if event.type == "request.started":
            shown = []
        elif event.type == "text.delta" or isinstance(event, Notice):
            shown.append(event.text)  # type: ignore[union-attr]  # both have a text
        elif isinstance(event, TurnFinished) and event.error is not None:
            assert event.error.message.strip()
            shown.append(event.error.message)
    return "".join(shown)


@pytest.mark.parametrize("limit", ["rounds", "tool calls", "tokens", "money", "time"])
async def test_an_end_at_a_limit_says_how_to_go_on_and_which_key_to_raise(limit: str) -> None:
    result = await OUTCOMES[limit][0]().send("go")
    assert "send another message to go on, or raise " in result.outcome


async def test_a_silent_end_is_told_by_a_notice_and_one_with_words_is_not() -> None:
    silent = await events_of(agent([ReasoningChunk(text="hm"), Finished()]).stream("go"))
    assert [(e.code, e.text) for e in silent if isinstance(e, Notice)] == [("answer.silent", SILENT)]
    assert not [e for e in await events_of(agent(say("x")).stream("go")) if isinstance(e, Notice)]


async def test_a_busy_agent_says_so_in_the_stream() -> None:
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        began.set()
        await release.wait()
        return ""

    one = agent(ask(call("waits", {})), say("x"), tools=(waits,), limits=Limits(queue=0))
    running = asyncio.ensure_future(one.send("go"))
    await began.wait()
    (event,) = await events_of(one.stream("more"))
    assert isinstance(event, TurnFinished)
    assert event.error is not None
    assert (event.error.code, bool(event.error.hint)) == ("turn.busy", True)
    release.set()
    await running


async def test_an_error_is_shown_with_the_secrets_in_it_masked() -> None:
    class Leaky:
        name = "leaky"

        async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            if request.messages:
                raise Overloaded(f"wrong key {SECRET}", hint=f"replace {SECRET}")
            yield Finished()

    one = Agent(Leaky(), gate=allow_all(), options=options(guard=SecretGuard([SECRET]), attempts=2))
    events = await events_of(one.stream("go"))
    assert SECRET not in repr(events)
    result = await one.send("go")
    assert result.error == ErrorInfo(code="provider.overloaded", message="wrong key [secret]", hint="replace [secret]")


def test_a_result_made_elsewhere_has_a_sentence_too() -> None:
    def result(**fields: object) -> TurnResult:
        return TurnResult(session_id="s", turn_id="t", **fields)  # type: ignore[arg-type]  # real fields

    assert result(status="failed").outcome == "The turn ended: failed."
    plain = ErrorInfo(code="c", message="no")
    assert result(status="failed", error=plain).outcome == "no"
    assert result(status="limit", error=ErrorInfo(code="c", message="no", hint="go on")).outcome == "no (go on)"


async def test_the_text_so_far_stays_in_the_result_of_a_turn_that_did_not_complete() -> None:
    one = agent(ask(call("double", {"n": 1}), text="let me see"), limits=Limits(rounds=1))
    result = await one.send("go")
    assert (result.text, result.status) == ("let me see", "limit")
    assert len(asked(one)) == 1
