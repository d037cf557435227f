"""Rules of stopping: a cancel or the end of the time holds in every phase, whoever swallows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import SessionKey
from ferrule.testing.gates import allow_all
from ferrule.testing.scripted import ScriptedProvider, ask, call, say
from ferrule.testing.stores import RamSession, RamSessions
from ferrule.types.completion import CallReady, Finished, ProviderEvent, Request, TextChunk
from ferrule.types.errors import ConnectionFailed, StoreError
from ferrule.types.events import AgentEvent, Notice, TurnFinished
from ferrule.types.messages import Message
from tests.core._agents import agent, asked, double, events_of, options

HANGS = asyncio.Event  # an event that nobody sets


class Phases:
    """Cancels in one hook, and either waits to be stopped or goes on as if nothing had happened."""

    def __init__(self, step: str, *, swallow: bool) -> None:
        self.agent: Agent | None = None
        self._swallow = swallow
        self.seen: list[str] = []
        for name in ("before_send", "inner_loops_start", "inner_loop_start", "tool_call"):
            setattr(self, name, self._hook(name, stops=name == step))
        for name in ("inner_loop_end", "inner_loops_end", "after_send"):
            setattr(self, name, self._hook(name, stops=False))

    def _hook(self, name: str, *, stops: bool):  # type: ignore[no-untyped-def]  # a hook
        async def hook(context: object) -> None:
            self.seen.append(name)
            if not stops:
                return
            assert self.agent is not None
            assert self.agent.cancel("enough")
            try:
                await HANGS().wait()
            except asyncio.CancelledError:
                if not self._swallow:
                    raise

        return hook


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize(
    ("step", "roles", "requests", "ended"),
    [
        ("before_send", [], 0, ["after_send"]),
        ("inner_loops_start", ["user"], 0, ["inner_loops_end", "after_send"]),
        ("inner_loop_start", ["user"], 0, ["inner_loop_end", "inner_loops_end", "after_send"]),
        ("tool_call", ["user", "assistant", "tool"], 1, ["inner_loop_end", "inner_loops_end", "after_send"]),
    ],
)
async def test_a_cancel_in_a_hook_holds_and_the_end_hooks_run_once(
    step: str, roles: list[str], requests: int, ended: list[str], swallow: bool
) -> None:
    ran: list[int] = []

    @tool
    def runs() -> str:
        """Run."""
        ran.append(1)
        return ""

    one, hooks = agent(ask(call("runs", {})), say("next"), tools=(runs,)), Phases(step, swallow=swallow)
    hooks.agent = one
    one.use(hooks)
    result = await one.send("go")
    assert (result.status, result.error and result.error.message, ran) == ("cancelled", "enough", [])
    assert [m.role for m in one.session.messages] == roles
    assert len(asked(one)) == requests
    assert [name for name in hooks.seen if name in ("inner_loop_end", "inner_loops_end", "after_send")] == ended


class Connecting:
    """A provider that is cancelled while it connects, and does something of its own with that."""

    name = "connecting"

    def __init__(self, how: str) -> None:
        self._how = how
        self.agent: Agent | None = None
        self.asked = 0

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        self.asked += 1
        if self.asked > 1:
            for event in say("next"):
                yield event
            return
        assert self.agent is not None
        self.agent.cancel("enough")
        try:
            await HANGS().wait()
        except asyncio.CancelledError:
            if self._how == "passes it on":
                raise
            if self._how == "calls it a failure":
                raise ConnectionFailed("could not connect") from None
            if self._how == "breaks":
                raise ValueError("cannot go on") from None
        yield TextChunk(text="late")
        yield CallReady(call=call("double", {"n": 1}))
        yield Finished()


@pytest.mark.parametrize("how", ["passes it on", "calls it a failure", "breaks", "answers all the same"])
async def test_a_cancel_while_connecting_is_a_cancel_whatever_the_vendors_code_makes_of_it(how: str) -> None:
    provider = Connecting(how)
    one = provider.agent = Agent(provider, gate=allow_all(), tools=[double], options=options())
    result = await one.send("go")
    assert (result.status, result.error and result.error.code) == ("cancelled", "turn.cancelled")
    assert provider.asked == 1
    late = [("late", "aborted")] if how == "answers all the same" else []
    assert [(m.text, m.status) for m in one.session.messages] == [("go", "completed"), *late]
    assert (await one.send("again")).text == "next"


async def test_text_of_a_hanging_answer_is_kept_as_aborted_and_earlier_rounds_stay_completed() -> None:
    class Hangs:
        name = "hangs"
        asked = 0

        async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
            self.asked += 1
            if self.asked == 1:
                for event in ask(call("double", {"n": 2})):
                    yield event
                return
            yield TextChunk(text="so far")
            one.cancel()
            await HANGS().wait()

    one = Agent(Hangs(), gate=allow_all(), tools=[double], options=options())
    result = await one.send("go")
    assert (result.status, result.text) == ("cancelled", "so far")
    kept = [(m.role, m.status) for m in one.session.messages]
    assert kept == [("user", "completed"), ("assistant", "completed"), ("tool", "completed"), ("assistant", "aborted")]


async def test_nothing_to_cancel_is_no_error() -> None:
    one = agent(say("x"))
    assert one.cancel() is False
    assert (await one.send("go")).status == "completed"
    assert one.cancel() is False


class Slow(RamSession):
    """A session whose writes take until they are let go, and may fail then."""

    def __init__(self, store: RamSessions) -> None:
        super().__init__(store, SessionKey(agent="default"), "ses_slow")
        self.writing, self.may_end = asyncio.Event(), asyncio.Event()
        self.failure: StoreError | None = None

    async def append(self, messages: Sequence[Message]) -> None:
        self.writing.set()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        await super().append(messages)


async def test_a_cancel_while_the_answer_is_written_loses_nothing() -> None:
    store = RamSessions()
    session = Slow(store)
    one = Agent(ScriptedProvider(say("whole"), say("next")), gate=allow_all(), session=session, options=options())
    turn = asyncio.ensure_future(one.send("go"))
    await session.writing.wait()
    assert one.cancel("enough")
    await asyncio.sleep(0)
    session.may_end.set()
    result = await turn
    assert (result.status, result.text) == ("cancelled", "whole")
    assert [(m.text, m.status) for m in store.kept["ses_slow"]] == [("go", "completed"), ("whole", "completed")]
    assert (await one.send("again")).text == "next"


async def test_a_write_that_fails_while_the_turn_is_cancelled_is_told_beside_the_cancel() -> None:
    session = Slow(RamSessions())
    session.failure = StoreError("disk full")
    one = Agent(ScriptedProvider(say("whole")), gate=allow_all(), session=session, options=options())
    events: list[AgentEvent] = []

    class Watch:
        def event(self, event: AgentEvent) -> None:
            events.append(event)

    one.use(Watch())
    turn = asyncio.ensure_future(one.send("go"))
    await session.writing.wait()
    one.cancel("enough")
    await asyncio.sleep(0)
    session.may_end.set()
    assert (await turn).status == "cancelled"
    assert list(session.messages) == []
    assert [e.text for e in events if isinstance(e, Notice)] == ["the turn could not be stored: disk full"]


async def test_a_turn_that_is_cancelled_and_then_cannot_be_stored_says_both() -> None:
    store = RamSessions()
    session = await store.open(SessionKey(agent="a"))

    @tool
    async def waits() -> str:
        """Cancel, and break the store."""
        one.cancel("enough")
        store.failure = StoreError("disk full")
        await HANGS().wait()
        return ""

    provider = ScriptedProvider(ask(call("waits", {})))
    one = Agent(provider, gate=allow_all(), session=session, tools=[waits], options=options())
    events = await events_of(one.stream("go"))
    last = events[-1]
    assert isinstance(last, TurnFinished)
    assert (last.status, last.error and last.error.code) == ("cancelled", "turn.cancelled")
    assert [e.code for e in events if isinstance(e, Notice)] == ["store.failed"]


async def test_a_cancel_while_the_hooks_of_a_rounds_end_run_lets_all_of_them_run() -> None:
    seen: list[str] = []

    class First:
        async def inner_loop_end(self, context: object) -> None:
            assert one.cancel("enough")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append("first")

    class Second:
        async def inner_loop_end(self, context: object) -> None:
            seen.append("second")

    one = agent(say("whole"))
    one.use(First())
    one.use(Second())
    result = await one.send("go")
    assert (result.status, result.text, seen) == ("cancelled", "whole", ["first", "second"])


async def test_a_cancel_that_was_not_delivered_when_the_turn_ends_does_not_hit_the_caller() -> None:
    class Stops:
        def before_send(self, context: object) -> None:
            one.cancel("enough")

    one = agent(say("never"))
    one.use(Stops())
    assert (await one.send("go")).status == "cancelled"
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_a_task_that_went_on_after_being_cancelled_may_send() -> None:
    one, waiting = agent(say("x")), asyncio.Event()

    async def goes_on() -> str:
        try:
            waiting.set()
            await HANGS().wait()
        except asyncio.CancelledError:
            return (await one.send("last words")).text
        return ""

    task = asyncio.ensure_future(goes_on())
    await waiting.wait()
    task.cancel()
    assert await task == "x"
