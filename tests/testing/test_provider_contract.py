"""The laws of a provider turn red on providers that break them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from ferrule.ports.provider import Provider
from ferrule.testing.contracts.provider import ProviderContract, Situation, Stand
from ferrule.testing.scripted import Answer, ScriptedProvider, call, say
from ferrule.types.completion import CallReady, Finished, ProviderEvent, Request, TextChunk
from ferrule.types.errors import ProviderError, StreamBroken

HELLO = say("Hello world", pieces=2)
A, B = call("look", {"path": "a"}, id="1"), call("look", {"path": "b"}, id="2")


class Given(ProviderContract):
    """A suite over one provider, whatever the situation."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    @asynccontextmanager
    async def _stand(self) -> AsyncIterator[Stand]:
        yield Stand(self.provider)

    def given(self, situation: Situation) -> AbstractAsyncContextManager[Stand]:
        return self._stand()


class Deaf:
    """Swallows the cancellation of its caller."""

    name = "deaf"

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        yield TextChunk(text="Hello")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            yield Finished()


class Leaky:
    """Lets an exception of a library out."""

    name = "leaky"

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        if request.deltas:
            raise OSError("socket")
        yield Finished()


def scripted(*answers: Answer) -> Given:
    return Given(ScriptedProvider(*answers))


Law = Callable[[Given], Awaitable[None]]

BROKEN: dict[str, tuple[Given, Law]] = {
    "no end": (scripted([TextChunk(text="Hello world")]), Given.test_a_text_comes_whole_and_ends_with_finished),
    "two ends": (scripted([*HELLO, Finished()]), Given.test_a_text_comes_whole_and_ends_with_finished),
    "lost text": (scripted(say("Hello")), Given.test_it_gives_the_same_whether_or_not_anybody_listens),
    "one id twice": (
        scripted(
            [CallReady(call=A), CallReady(call=call("look", {"path": "b"}, id="1")), Finished(reason="tool_calls")]
        ),
        Given.test_calls_come_after_the_text_in_order_with_ids_of_their_own,
    ),
    "text behind calls": (
        scripted([CallReady(call=A), CallReady(call=B), TextChunk(text="x"), Finished(reason="tool_calls")]),
        Given.test_calls_come_after_the_text_in_order_with_ids_of_their_own,
    ),
    "guessed arguments": (
        scripted([CallReady(call=A), Finished(reason="tool_calls")]),
        Given.test_arguments_that_cannot_be_read_are_a_fault_and_never_a_guess,
    ),
    "a cut answer is whole": (scripted(HELLO), Given.test_a_broken_answer_is_an_error_and_gives_no_call),
    "an empty answer": (scripted([Finished()]), Given.test_an_answer_of_nothing_is_an_error),
    "one error for all": (scripted(ProviderError("no")), Given.test_every_refusal_is_its_own_error),
    "another answer the second time": (scripted(HELLO, say("Bye")), Given.test_the_request_is_left_as_it_was),
    "shared state": (scripted(HELLO, say("Bye")), Given.test_two_tasks_may_share_it),
    "swallowed cancellation": (Given(Deaf()), Given.test_cancelling_leaves_the_vendor_and_is_not_swallowed),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_provider_that_breaks_a_law_fails_it(name: str) -> None:
    suite, law = BROKEN[name]
    with pytest.raises(AssertionError):
        await law(suite)


async def test_an_exception_of_a_library_is_not_taken_for_an_error_of_the_vendor() -> None:
    with pytest.raises(OSError, match="socket"):
        await Given.test_every_refusal_is_its_own_error(Given(Leaky()))


async def test_a_provider_that_keeps_a_law_passes_it() -> None:
    await Given.test_a_text_comes_whole_and_ends_with_finished(scripted(HELLO))
    await Given.test_a_broken_answer_is_an_error_and_gives_no_call(scripted(StreamBroken("cut"), StreamBroken("cut")))
    await Given.test_it_fits_the_port_and_has_a_name(scripted())
