"""Asking the provider under test, and saying what an Ollama server says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ferrule.providers.ollama.provider import Endpoint, OllamaChat
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import FakeClock
from ferrule.types.completion import ProviderEvent, Request
from ferrule.types.errors import ProviderError
from tests.providers._ask import request
from tests.providers._vendor import Step, Vendor, whole


def line(content: str = "", *, done: bool = False, **fields: object) -> dict[str, object]:
    """Make one line; fields of the message stand beside its content, those of the line come from `end`."""
    return {"model": "m-real", "message": {"role": "assistant", "content": content, **fields}, "done": done}


def end(content: str = "", reason: str = "stop", **fields: object) -> dict[str, object]:
    """Make the last line."""
    return {**line(content, done=True), "done_reason": reason, **fields}


def lines(*documents: object) -> bytes:
    """Write documents as lines; strings stand for themselves."""
    written = [d if isinstance(d, str) else json.dumps(d, ensure_ascii=False) for d in documents]
    return "".join(f"{text}\n" for text in written).encode()


def refused(message: str, *, status: str = "400 Bad Request") -> list[Step]:
    """Refuse as Ollama does."""
    return whole(json.dumps({"error": message}).encode(), status=status)


def answered(document: object) -> list[Step]:
    """Answer with one document."""
    return whole(json.dumps(document).encode())


@asynccontextmanager
async def provider_at(url: str, **settings: object) -> AsyncIterator[OllamaChat]:
    """Open a provider for a block."""
    dialer = HttpDialer({})
    endpoint = Endpoint(**{"model": "m", "base_url": url, **settings})  # type: ignore[arg-type] # a test's settings
    try:
        yield OllamaChat(name="ollama.main", endpoint=endpoint, dialer=dialer, clock=FakeClock())
    finally:
        await dialer.close()


async def ask(server: Vendor, asked: Request | None = None, **settings: object) -> list[ProviderEvent]:
    """Ask once and return all events."""
    async with provider_at(server.url, **settings) as provider:
        return [event async for event in provider.stream(asked or request())]


async def failure(
    server: Vendor, asked: Request | None = None, **settings: object
) -> tuple[list[ProviderEvent], ProviderError]:
    """Ask once; return the events before the error, and the error."""
    events: list[ProviderEvent] = []
    async with provider_at(server.url, **settings) as provider:
        try:
            async for event in provider.stream(asked or request()):
                events.append(event)
        except ProviderError as error:
            return events, error
    raise AssertionError(f"no error after {events}")
