"""The laws of `Provider`, for ours and for those of outside authors.

    class TestMine(ProviderContract):
        def given(self, situation):
            return my_provider_whose_vendor_behaves_like(situation)

Each method is one law; run them with pytest and pytest-asyncio in its auto mode.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from ...ports.provider import Provider
from ...types.completion import CallReady, Finished, ProviderEvent, ReasoningChunk, Request, TextChunk, UsageReported
from ...types.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    EmptyAnswer,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from ...types.messages import user_message
from ...types.tools import ToolSpec

Situation = Literal[
    "text",
    "calls",
    "faulty_call",
    "endless",
    "cut",
    "cut_in_call",
    "empty",
    "key_refused",
    "limited",
    "busy",
    "unreachable",
]
"""How the vendor behaves.

text: it says ``Hello world`` in two pieces or more, and reports 11 tokens sent and 2 received.
calls: after some text it asks for the tools ``look`` with ``{"path": "a"}`` and ``look`` with ``{"path": "b"}``.
faulty_call: it asks for ``look`` with arguments that are no JSON object.
endless: it says a first piece, then nothing, and keeps the connection.
cut: it says a first piece, then the connection ends.
cut_in_call: the connection ends inside a call's arguments.
empty: it answers properly and says nothing.
key_refused, limited, busy: it refuses the request for this reason.
unreachable: nothing answers at its address.
"""

SECONDS = 20.0
"""How long a law may take; a provider that hangs breaks it."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A provider, and a way to see that its vendor was left.

    Attributes:
        provider: Under test.
        released: Set once the vendor has noticed the end of a request; None when that cannot be seen.
    """

    provider: Provider
    released: asyncio.Event | None = None


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class ProviderContract(ABC):
    """Subclass it in a test module; pytest collects the laws."""

    @abstractmethod
    def given(self, situation: Situation) -> AbstractAsyncContextManager[Stand]:
        """Open a provider whose vendor behaves like `situation`."""

    async def test_it_fits_the_port_and_has_a_name(self) -> None:
        """`Provider` holds, and the name does not change."""
        async with self.given("text") as stand:
            assert isinstance(stand.provider, Provider)
            assert stand.provider.name
            assert stand.provider.name == stand.provider.name.strip()

    async def test_a_text_comes_whole_and_ends_with_finished(self) -> None:
        """`Finished` is the last event and comes once; so does usage, if it comes."""
        async with self.given("text") as stand:
            events = await _all(stand.provider)
        assert _text(events) == "Hello world"
        _ends_once(events)
        usages = [e.usage for e in events if isinstance(e, UsageReported)]
        assert [(u.input, u.output) for u in usages] in ([(11, 2)], [])

    async def test_it_gives_the_same_whether_or_not_anybody_listens(self) -> None:
        """`deltas` may change the wire, never the answer."""
        async with self.given("text") as stand:
            events = await _all(stand.provider, deltas=False)
        assert _text(events) == "Hello world"
        _ends_once(events)

    async def test_calls_come_after_the_text_in_order_with_ids_of_their_own(self) -> None:
        """A call is whole when it comes: a name, decoded arguments, an id that no other call of the answer has."""
        async with self.given("calls") as stand:
            events = await _all(stand.provider)
        calls = [e.call for e in events if isinstance(e, CallReady)]
        assert [(c.name, c.arguments, c.fault) for c in calls] == [
            ("look", {"path": "a"}, None),
            ("look", {"path": "b"}, None),
        ]
        assert len({c.id for c in calls if c.id}) == len(calls)
        first_call = next(i for i, e in enumerate(events) if isinstance(e, CallReady))
        assert not any(isinstance(e, TextChunk | ReasoningChunk) for e in events[first_call:])
        assert _ends_once(events).reason == "tool_calls"

    async def test_arguments_that_cannot_be_read_are_a_fault_and_never_a_guess(self) -> None:
        """The call comes, so that the model can be told; its arguments are empty."""
        async with self.given("faulty_call") as stand:
            events = await _all(stand.provider)
        (call,) = [e.call for e in events if isinstance(e, CallReady)]
        assert call.fault
        assert call.arguments == {}

    async def test_a_broken_answer_is_an_error_and_gives_no_call(self) -> None:
        """What merely ends is no answer: nothing of it may run or count as finished."""
        for situation in ("cut", "cut_in_call"):
            async with self.given(situation) as stand:
                events, error = await _failure(stand.provider)
            assert isinstance(error, StreamBroken), f"{situation}: {error!r}"
            assert not any(isinstance(e, CallReady | Finished) for e in events)

    async def test_an_answer_of_nothing_is_an_error(self) -> None:
        """An empty message never reaches a person."""
        async with self.given("empty") as stand:
            _, error = await _failure(stand.provider)
        assert isinstance(error, EmptyAnswer)

    async def test_every_refusal_is_its_own_error(self) -> None:
        """No exception of a vendor's library crosses the port, and each error says what happened."""
        wanted: dict[Situation, type[ProviderError]] = {
            "key_refused": AuthenticationFailed,
            "limited": RateLimited,
            "busy": Overloaded,
            "unreachable": ConnectionFailed,
        }
        for situation, kind in wanted.items():
            async with self.given(situation) as stand:
                events, error = await _failure(stand.provider)
            assert isinstance(error, kind), f"{situation}: {error!r}"
            assert str(error)
            assert not events
            if isinstance(error, RateLimited):
                assert error.retry_after_s is None or error.retry_after_s >= 0

    async def test_closing_early_leaves_the_vendor(self) -> None:
        """Nobody pays for words that nobody will read."""
        async with self.given("endless") as stand, asyncio.timeout(SECONDS):
            events = stand.provider.stream(_request())
            assert isinstance(await anext(events), TextChunk | ReasoningChunk)
            await cast(_Closable, events).aclose()
            if stand.released is not None:
                await stand.released.wait()

    async def test_cancelling_leaves_the_vendor_and_is_not_swallowed(self) -> None:
        """A cancelled task ends as cancelled."""
        async with self.given("endless") as stand, asyncio.timeout(SECONDS):
            begun = asyncio.Event()
            task = asyncio.create_task(_listen(stand.provider, begun))
            await begun.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            if stand.released is not None:
                await stand.released.wait()

    async def test_two_tasks_may_share_it(self) -> None:
        """It keeps nothing between calls that another call could see."""
        async with self.given("text") as stand:
            both = await asyncio.gather(_all(stand.provider), _all(stand.provider))
        assert [_text(events) for events in both] == ["Hello world"] * 2

    async def test_the_request_is_left_as_it_was(self) -> None:
        """The same request may be asked again, of this provider or of another one."""
        asked = _request()
        before = deepcopy(asked)
        async with self.given("text") as stand:
            for _ in range(2):
                assert _text([event async for event in stand.provider.stream(asked)]) == "Hello world"
        assert asked == before


LOOK = ToolSpec(
    name="look",
    description="Look at a path.",
    schema=b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}',
)


def _request(*, deltas: bool = True) -> Request:
    return Request(id="req_1", messages=(user_message("hi", id="msg_1"),), tools=(LOOK,), deltas=deltas)


async def _all(provider: Provider, *, deltas: bool = True) -> list[ProviderEvent]:
    async with asyncio.timeout(SECONDS):
        return [event async for event in provider.stream(_request(deltas=deltas))]


async def _failure(provider: Provider) -> tuple[list[ProviderEvent], ProviderError]:
    """Ask until the error comes; any other exception breaks the law by itself."""
    events: list[ProviderEvent] = []
    async with asyncio.timeout(SECONDS):
        try:
            async for event in provider.stream(_request()):
                events.append(event)
        except ProviderError as error:
            return events, error
    raise AssertionError(f"no error after {events}")


async def _listen(provider: Provider, begun: asyncio.Event) -> None:
    stream: AsyncIterator[ProviderEvent] = provider.stream(_request())
    async for _ in stream:
        begun.set()


def _text(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def _ends_once(events: list[ProviderEvent]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished), f"the last event is {last!r}"
    assert sum(isinstance(event, Finished) for event in events) == 1
    return last
