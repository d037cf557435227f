"""Small parts of the core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ferrule.core.conversation import Conversation, undisturbed
from ferrule.core.hooks import HookTable
from ferrule.core.memory_session import MemorySession
from ferrule.core.provider_shapes import WholeAnswers, fold
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.testing.scripted import ask, call, say, think
from ferrule.types.completion import ProviderEvent
from ferrule.types.errors import HookTypeError, StoreError, StreamBroken
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from ferrule.types.usage import Usage


async def test_a_whole_answer_is_the_same_as_its_events() -> None:
    usage = Usage(input=1)
    for events in (say("ab", pieces=2, usage=usage), ask(call("t", {"a": 1}), text="x"), think("hm", "yes")):

        async def stream(events: list[ProviderEvent] = events) -> AsyncIterator[ProviderEvent]:
            for event in events:
                yield event

        completion = await fold(stream())

        class Whole:
            name = "w"

            async def complete(self, request: object, completion: Any = completion) -> Any:
                return completion

        assert await fold(WholeAnswers(Whole()).stream(None)) == completion  # type: ignore[arg-type]  # nothing is asked

    async def cut() -> AsyncIterator[ProviderEvent]:
        for event in say("x")[:-1]:
            yield event

    with pytest.raises(StreamBroken):
        await fold(cut())


async def test_ids_sort_by_time_and_never_repeat_and_the_clock_goes_on() -> None:
    ids, clock = RandomIds(), SystemClock()
    made = [ids.new("msg") for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == 2000
    before = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= before
    assert clock.now_ms() > 1_600_000_000_000


async def test_a_session_in_memory_keeps_what_it_is_told() -> None:
    session = MemorySession("s", [Message(id="0", role="user")])
    await session.intend([Message(id="1", role="user")], [])
    await session.close()
    assert [m.id for m in session.messages] == ["0", "1"]
    assert session.interrupted == ()


def test_an_object_without_hooks_is_surely_a_mistake() -> None:
    with pytest.raises(HookTypeError, match="no hook method"):
        HookTable().add(object())


async def test_what_must_not_stop_half_way_ends_before_a_cancellation_is_passed_on() -> None:
    done: list[str] = []
    entered = asyncio.Event()

    async def work() -> None:
        entered.set()
        await asyncio.sleep(0.02)
        done.append("whole")

    task = asyncio.ensure_future(undisturbed(work()))
    await entered.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["whole"]

    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await undisturbed(cancels_itself())

    async def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await undisturbed(fails())


async def test_a_failed_intent_leaves_what_waits_waiting() -> None:
    class Failing(MemorySession):
        async def intend(self, messages: object, calls: object) -> None:
            raise StoreError("disk")

    conversation = Conversation(Failing("s"), None)
    conversation.add(Message(id="1", role="user", text="x"))
    with pytest.raises(StoreError):
        await conversation.intend(ToolCall(id="c", name="n", arguments={}))
    await conversation.commit()
    assert [m.id for m in conversation.session.messages] == ["1"]
