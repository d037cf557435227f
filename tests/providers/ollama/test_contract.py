"""Provider ``ollama`` keeps the laws of its port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from ferrule.testing.contracts.provider import ProviderContract, Situation, Stand
from tests.providers._vendor import STREAM_HEAD, Act, Step, chunk, streamed, vendor, whole
from tests.providers.ollama._ask import end, line, lines, provider_at

pytestmark = pytest.mark.contract


def look(arguments: object) -> dict[str, object]:
    return {"function": {"name": "look", "arguments": arguments}}


SAYS: dict[str, list[Step]] = {
    "text": streamed(lines(line("Hello")), lines(line(" world"), end(prompt_eval_count=11, eval_count=2))),
    "calls": streamed(
        lines(
            line("Let me see."), line(tool_calls=[look({"path": "a"})]), line(tool_calls=[look({"path": "b"})]), end()
        )
    ),
    "faulty_call": streamed(lines(line(tool_calls=[look([1])]), end())),
    "endless": [STREAM_HEAD, chunk(lines(line("Hello"))), Act.STALL],
    "cut": streamed(lines(line("Hello")), end=False),
    "cut_in_call": streamed(lines(line(tool_calls=[look({"path": "a"})]))[:-20], end=False),
    "empty": streamed(lines(end())),
    "key_refused": whole(b"{}", status="401 Unauthorized"),
    "limited": whole(b"{}", status="429 Too Many Requests"),
    "busy": whole(b'{"error":"server busy, please try again"}', status="503 Service Unavailable"),
    "unreachable": [],
}


@asynccontextmanager
async def stand(situation: Situation) -> AsyncIterator[Stand]:
    async with vendor(SAYS[situation]) as server:
        url = "http://127.0.0.1:1" if situation == "unreachable" else server.url
        async with provider_at(url) as provider:
            yield Stand(provider, server.gone)


class TestOllama(ProviderContract):
    def given(self, situation: Situation) -> AbstractAsyncContextManager[Stand]:
        return stand(situation)
