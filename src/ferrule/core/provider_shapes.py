"""Providers of the smallest shape, wrapped into the same events; and events folded into a whole answer."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import cast
from weakref import WeakSet

from ..ports.provider import CompletionProvider, Provider
from ..types.completion import (
    CallReady,
    Completion,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    Request,
    TextChunk,
    UsageReported,
)
from ..types.errors import StreamBroken, UsageError


class WholeAnswers:
    """A provider that only has `complete`, as a stream."""

    def __init__(self, provider: CompletionProvider) -> None:
        self._provider = provider
        self.name = provider.name

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Ask once and hand out the answer as events."""
        completion = await self._provider.complete(request)
        if completion.reasoning is not None:
            yield ReasoningChunk(text=completion.reasoning, field=completion.reasoning_field)
        if completion.text:
            yield TextChunk(text=completion.text)
        for call in completion.calls:
            yield CallReady(call=call)
        if completion.usage is not None:
            yield UsageReported(usage=completion.usage)
        yield Finished(reason=completion.reason, model=completion.model)


_known: WeakSet[type] = WeakSet()
"""Classes of which an object was a provider."""


def as_provider(part: object) -> Provider:
    """Return `part` as a provider.

    Raises:
        UsageError: it has neither `stream` nor `complete`.
    """
    if type(part) in _known or isinstance(part, Provider):  # the check of a protocol walks all its members
        _known.add(type(part))
        return cast(Provider, part)
    if isinstance(part, CompletionProvider):
        return WholeAnswers(part)
    raise UsageError(f"{part!r} is no provider", hint="a provider has `name` and `stream`, or `name` and `complete`")


async def fold(events: AsyncIterable[ProviderEvent]) -> Completion:
    """Make the whole answer of a stream.

    Raises:
        StreamBroken: the stream ended without `Finished`.
    """
    text: list[str] = []
    reasoning: list[str] | None = None
    field, usage, calls = "", None, []
    async for event in events:
        if isinstance(event, TextChunk):
            text.append(event.text)
        elif isinstance(event, ReasoningChunk):
            reasoning = [*(reasoning or []), event.text]
            field = event.field
        elif isinstance(event, CallReady):
            calls.append(event.call)
        elif isinstance(event, UsageReported):
            usage = event.usage
        else:
            return Completion(
                text="".join(text),
                reasoning=None if reasoning is None else "".join(reasoning),
                reasoning_field=field,
                calls=tuple(calls),
                reason=event.reason,
                usage=usage,
                model=event.model,
            )
    raise StreamBroken("the stream ended without its last event")
