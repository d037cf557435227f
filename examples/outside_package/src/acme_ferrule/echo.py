"""A provider that answers whole: it repeats what it was told, or calls the tool that the message names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import BaseModel, ConfigDict

from ferrule import Adapter, Completion, Parts, Request, ToolCall


class Settings(BaseModel):
    """``[providers.echo.<alias>]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prefix: str = ""


class Echo:
    """The smallest provider: `complete` alone is enough."""

    def __init__(self, name: str, prefix: str) -> None:
        self.name = name
        self._prefix = prefix

    async def complete(self, request: Request) -> Completion:
        """``call NAME KEY=VALUE ...`` calls a tool; its result, or anything else, is repeated."""
        last = request.messages[-1]
        if last.role == "user" and last.text.startswith("call "):
            _, name, *pairs = last.text.split(" ")
            arguments: dict[str, object] = dict(pair.split("=", 1) for pair in pairs)
            return Completion(calls=(ToolCall(id="", name=name, arguments=arguments),), reason="tool_calls")
        return Completion(text=self._prefix + last.text)


@asynccontextmanager
async def open_echo(settings: Settings, parts: Parts) -> AsyncIterator[Echo]:
    """Open the provider; there is nothing to close."""
    yield Echo(parts.name, settings.prefix)


ADAPTER = Adapter(kind="providers", name="echo", settings=Settings, open=open_echo, summary="Repeats what it is told.")
