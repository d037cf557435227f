"""Asking the provider under test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from ferrule.providers._chat.provider import Endpoint, OpenAIChat
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import FakeClock
from ferrule.types.completion import CallReady, ProviderEvent, ReasoningChunk, Request, TextChunk, UsageReported
from ferrule.types.errors import ProviderError
from ferrule.types.messages import Message, user_message
from ferrule.types.tools import ToolCall
from ferrule.types.usage import Usage
from tests.providers._vendor import Vendor

KEY = "sk-canary-0123456789"


@asynccontextmanager
async def provider_at(url: str, **settings: object) -> AsyncIterator[OpenAIChat]:
    """Open a provider for a block."""
    dialer = HttpDialer({})
    endpoint = Endpoint(**{"model": "m", "base_url": url, "api_key": KEY, **settings})  # type: ignore[arg-type] # a test's settings
    try:
        yield OpenAIChat(name="openai.main", endpoint=endpoint, dialer=dialer, clock=FakeClock())
    finally:
        await dialer.close()


def request(*messages: Message, deltas: bool = True, id: str = "req_1") -> Request:
    """Make a request; without messages it says hi."""
    return Request(id=id, messages=messages or (user_message("hi", id="msg_1"),), deltas=deltas)


async def ask(server: Vendor, asked: Request | None = None, **settings: object) -> list[ProviderEvent]:
    """Ask once and return all events."""
    async with provider_at(f"{server.url}/v1", **settings) as provider:
        return [event async for event in provider.stream(asked or request())]


async def ask_until_error(
    server: Vendor, asked: Request | None = None, **settings: object
) -> tuple[list[ProviderEvent], ProviderError]:
    """Ask once; return the events before the error, and the error."""
    events: list[ProviderEvent] = []
    async with provider_at(f"{server.url}/v1", **settings) as provider:
        try:
            async for event in provider.stream(asked or request()):
                events.append(event)
        except ProviderError as error:
            return events, error
    raise AssertionError(f"no error after {events}")


def text_of(events: Iterable[ProviderEvent]) -> str:
    """Join the visible text."""
    return "".join(e.text for e in events if isinstance(e, TextChunk))


def reasoning_of(events: Iterable[ProviderEvent]) -> str:
    """Join the reasoning."""
    return "".join(e.text for e in events if isinstance(e, ReasoningChunk))


def calls_of(events: Iterable[ProviderEvent]) -> list[ToolCall]:
    """List the calls."""
    return [e.call for e in events if isinstance(e, CallReady)]


def usage_of(events: Iterable[ProviderEvent]) -> list[Usage]:
    """List the usages."""
    return [e.usage for e in events if isinstance(e, UsageReported)]
