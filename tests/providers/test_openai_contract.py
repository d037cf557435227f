"""Provider ``openai`` keeps the laws of its port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from ferrule.testing.contracts.provider import ProviderContract, Situation, Stand
from tests.providers._ask import provider_at
from tests.providers._vendor import STREAM_HEAD, Act, Step, chunk, delta, sse, streamed, vendor, whole

pytestmark = pytest.mark.contract

USAGE = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}}


def look(index: int, arguments: str) -> dict[str, object]:
    return {"index": index, "id": f"c{index}", "function": {"name": "look", "arguments": arguments}}


SAYS: dict[str, list[Step]] = {
    "text": streamed(sse(delta(content="Hello")), sse(delta(content=" world"), delta("stop"), USAGE, "[DONE]")),
    "calls": streamed(
        sse(
            delta(content="Let me see."),
            delta(tool_calls=[look(0, '{"path":"a"}'), look(1, '{"path":"b"}')]),
            delta("tool_calls"),
            "[DONE]",
        )
    ),
    "faulty_call": streamed(sse(delta(tool_calls=[look(0, "[1]")]), delta("tool_calls"))),
    "endless": [STREAM_HEAD, chunk(sse(delta(content="Hello"))), Act.STALL],
    "cut": streamed(sse(delta(content="Hello")), end=False),
    "cut_in_call": streamed(sse(delta(tool_calls=[look(0, '{"pa')])), end=False),
    "empty": streamed(sse(delta("stop"), "[DONE]")),
    "key_refused": whole(b"{}", status="401 Unauthorized"),
    "limited": whole(b"{}", status="429 Too Many Requests"),
    "busy": whole(b"{}", status="503 Service Unavailable"),
    "unreachable": [],
}


@asynccontextmanager
async def stand(situation: Situation) -> AsyncIterator[Stand]:
    async with vendor(SAYS[situation]) as server:
        url = "http://127.0.0.1:1" if situation == "unreachable" else server.url
        async with provider_at(url) as provider:
            yield Stand(provider, server.gone)


class TestOpenAI(ProviderContract):
    def given(self, situation: Situation) -> AbstractAsyncContextManager[Stand]:
        return stand(situation)
