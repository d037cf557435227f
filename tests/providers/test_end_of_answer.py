"""An answer that has ended does not wait for a server that forgets to say so."""

from __future__ import annotations

import time

from ferrule.ports.dialer import HttpRequest
from ferrule.providers._chat.answer import Answer
from ferrule.providers._chat.exchange import read_events
from ferrule.providers._chat.failures import Failures
from ferrule.sandbox.dialer import HttpDialer
from ferrule.types.completion import Finished, ProviderEvent
from tests.providers._ask import text_of, usage_of
from tests.providers._vendor import STREAM_HEAD, Act, Step, chunk, delta, sse, vendor

FAILURES = Failures("openai.main", "m")
ENDED = chunk(sse(delta("stop", content="Hello")))
USAGE = chunk(sse({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}))


async def read(*steps: Step, grace_s: float) -> tuple[list[ProviderEvent], float]:
    dialer = HttpDialer({})
    async with vendor([STREAM_HEAD, *steps]) as server:
        start = time.monotonic()
        async with dialer.open(HttpRequest(method="GET", url=server.url, idle_s=8)) as response:
            answer = Answer(FAILURES, made_ids="call_1")
            events = [event async for event in read_events(response, answer, FAILURES, grace_s=grace_s)]
        await dialer.close()
    return events, time.monotonic() - start


async def test_a_socket_that_stays_open_after_the_end_is_left_after_a_short_grace() -> None:
    events, took_s = await read(ENDED, USAGE, Act.STALL, grace_s=0.1)
    assert text_of(events) == "Hello"
    assert [u.input for u in usage_of(events)] == [3]
    assert isinstance(events[-1], Finished)
    assert took_s < 4


async def test_signs_of_life_do_not_prolong_the_grace() -> None:
    events, took_s = await read(ENDED, *[chunk(b": still here\n\n")] * 3, Act.STALL, grace_s=0.1)
    assert isinstance(events[-1], Finished)
    assert took_s < 4
