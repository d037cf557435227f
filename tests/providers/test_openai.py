"""The provider against a real socket: what is sent, and what an answer becomes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AbstractAsyncContextManager

import pytest

from ferrule.ports.adapter import Parts
from ferrule.ports.dialer import HttpRequest, HttpResponse
from ferrule.providers._chat.provider import Endpoint, OpenAIChat
from ferrule.providers.openai import ADAPTER, Settings
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.types.completion import Finished, ModelOptions, Request, TextChunk
from ferrule.types.errors import ConfigError, ConnectionFailed, EmptyAnswer, StreamBroken
from ferrule.types.messages import Message, user_message
from tests.providers._ask import (
    KEY,
    ask,
    ask_until_error,
    calls_of,
    provider_at,
    request,
    text_of,
    usage_of,
)
from tests.providers._vendor import LAST, STREAM_HEAD, Act, Step, chunk, delta, sse, streamed, vendor, whole

CALL = {"index": 0, "id": "c_1", "type": "function", "function": {"name": "clock", "arguments": ""}}
HELLO = sse(delta(content="Hel"), delta(content="lo"), delta("stop"), "[DONE]")


async def test_a_streamed_answer_with_calls_gives_text_then_calls_then_usage_then_the_end() -> None:
    cut = {"index": 0, "function": {"arguments": '{"zone":"UTC"}'}}
    usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}}
    body = sse(
        delta(content="Let me see."), delta(tool_calls=[CALL]), delta(tool_calls=[cut]), delta("tool_calls"), usage
    )
    async with vendor(streamed(body, sse("[DONE]"))) as server:
        events = await ask(server)
    assert text_of(events) == "Let me see."
    assert [(c.id, c.name, c.arguments) for c in calls_of(events)] == [("c_1", "clock", {"zone": "UTC"})]
    assert [(u.input, u.output) for u in usage_of(events)] == [(11, 2)]
    assert events[-1] == Finished(reason="tool_calls", model="m-real", vendor_id="c1")


async def test_a_plain_body_gives_the_same_events_and_is_asked_for_when_nobody_listens() -> None:
    body = (
        b'{"id":"c1","model":"m-real","choices":[{"index":0,"finish_reason":"tool_calls","message":'
        b'{"content":"Let me see.","tool_calls":[{"id":"c_1",'
        b'"type":"function","function":{"name":"clock","arguments":"{}"}}]}}],'
        b'"usage":{"prompt_tokens":11,"completion_tokens":2}}'
    )
    async with vendor(whole(body)) as server:
        events = await ask(server, request(deltas=False))
    assert "stream" not in server.asked[0].json
    assert text_of(events) == "Let me see."
    assert [c.name for c in calls_of(events)] == ["clock"]
    assert [(u.input, u.output) for u in usage_of(events)] == [(11, 2)]
    assert events[-1] == Finished(reason="tool_calls", model="m-real", vendor_id="c1")


async def test_the_request_carries_the_key_the_model_and_nothing_that_nobody_asked_for() -> None:
    async with vendor(streamed(HELLO)) as server:
        await ask(server)
    asked = server.asked[0]
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.headers["content-type"] == "application/json"
    assert asked.json == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_an_answer_frees_its_connection_for_the_next_request() -> None:
    pieces = [STREAM_HEAD, chunk(HELLO), LAST]
    async with vendor(pieces) as server, provider_at(f"{server.url}/v1") as provider:
        for _ in range(3):
            assert text_of([e async for e in provider.stream(request())]) == "Hello"
    assert (server.connections, len(server.asked)) == (1, 3)


async def test_an_end_mark_ends_the_answer_although_the_server_keeps_the_socket_open() -> None:
    async with vendor([STREAM_HEAD, chunk(HELLO), Act.STALL]) as server:
        async with asyncio.timeout(5):
            assert text_of(await ask(server)) == "Hello"


async def test_bytes_behind_the_end_mark_are_waited_for_and_read_over_so_that_the_connection_lives() -> None:
    seen = asyncio.Event()  # set when the text was given, so the last bytes leave the server behind the end mark
    pieces: list[Step] = [STREAM_HEAD, chunk(HELLO), seen, chunk(b": bye\n\n"), LAST]
    async with vendor(pieces) as server, provider_at(f"{server.url}/v1") as provider:
        for _ in range(2):
            seen.clear()
            async for event in provider.stream(request()):
                if isinstance(event, TextChunk):
                    seen.set()
    assert (server.connections, len(server.asked)) == (1, 2)


async def test_what_a_broken_answer_cost_is_reported_before_the_error() -> None:
    counted = {**delta(content="Hel"), "usage": {"prompt_tokens": 11, "completion_tokens": 1}}
    async with vendor(streamed(sse(counted), end=False)) as server:
        events, error = await ask_until_error(server)
    assert isinstance(error, StreamBroken)
    assert [(u.input, u.output) for u in usage_of(events)] == [(11, 1)]


async def test_closing_the_iterator_early_ends_the_request_at_the_vendor() -> None:
    async with vendor([STREAM_HEAD, chunk(sse(delta(content="Hel"))), Act.STALL]) as server:
        async with provider_at(f"{server.url}/v1") as provider:
            stream = provider.stream(request())
            assert await anext(stream) == TextChunk(text="Hel")
            await stream.aclose()
            async with asyncio.timeout(5):
                await server.gone.wait()


@pytest.mark.parametrize(
    "body",
    [
        sse(delta(content="Step 1: stop the serv")),
        sse(delta(content="a")) + b'data: {"choices":[{"del',
        sse(delta(tool_calls=[{**CALL, "function": {"name": "shell", "arguments": '{"command":"rm'}}])),
    ],
    ids=["between events", "inside a line", "inside arguments"],
)
@pytest.mark.parametrize("framed", [True, False], ids=["ended cleanly", "cut"])
async def test_an_answer_that_ends_too_early_is_broken_and_runs_nothing(body: bytes, framed: bool) -> None:
    async with vendor(streamed(body, end=framed)) as server:
        events, error = await ask_until_error(server)
    assert isinstance(error, StreamBroken)
    assert not calls_of(events)
    assert not any(isinstance(e, Finished) for e in events)


async def test_silence_breaks_an_answer_after_the_idle_limit() -> None:
    async with vendor([STREAM_HEAD, chunk(sse(delta(content="a"))), Act.STALL]) as server:
        async with asyncio.timeout(5):
            events, error = await ask_until_error(server, idle_s=0.1)
    assert isinstance(error, StreamBroken)
    assert "no byte came within the idle limit" in str(error)
    assert text_of(events) == "a"


async def test_a_reset_after_the_reason_to_stop_does_not_lose_the_answer() -> None:
    async with vendor(streamed(sse(delta(content="whole"), delta("stop")), end=False)) as server:
        events = await ask(server)
    assert text_of(events) == "whole"


async def test_no_answer_is_a_failed_connection_that_names_the_place_and_no_secret() -> None:
    async with provider_at(
        "http://user:canary-1@127.0.0.1:1/botcanary-2/?key=canary-3", api_key="canary-4"
    ) as provider:
        with pytest.raises(ConnectionFailed) as caught:
            await anext(provider.stream(request()))
    assert "127.0.0.1:1" in str(caught.value)
    assert "canary" not in repr(caught.value) + str(caught.value.hint)


async def test_an_answer_of_nothing_is_empty_and_its_usage_still_counts() -> None:
    async with vendor(whole(b'{"id":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}')) as server:
        events, error = await ask_until_error(server)
    assert isinstance(error, EmptyAnswer)
    assert [u.input for u in usage_of(events)] == [5]


async def test_options_that_were_asked_for_are_sent_with_one_length_field() -> None:
    options = ModelOptions(max_output_tokens=9, temperature=0.5, response_schema=b'{"type":"object"}')
    asked = Request(id="req_1", messages=(user_message("hi", id="m"),), options=options)
    async with vendor(streamed(HELLO)) as server:
        await ask(server, asked)
        await ask(server, asked, length_field="max_completion_tokens")
    first, second = (a.json for a in server.asked)
    assert (first["max_tokens"], first["temperature"]) == (9, 0.5)
    assert first["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }
    assert "max_completion_tokens" not in first
    assert "max_tokens" not in second
    assert second["max_completion_tokens"] == 9


async def test_the_adapter_builds_a_provider_from_its_table() -> None:
    dialer = HttpDialer({})
    parts = Parts(name="openai.main", dialer=dialer, clock=FakeClock(), ids=SequenceIds(), home="/nowhere")
    async with vendor(streamed(HELLO)) as server:
        table = {"model": "m", "base_url": f"{server.url}/v1", "api_key": KEY, "organization": "org-1"}
        async with ADAPTER.open(Settings.model_validate(table), parts) as provider:
            assert text_of([e async for e in provider.stream(request())]) == "Hello"
    await dialer.close()
    assert server.asked[0].headers["openai-organization"] == "org-1"


class Recorder:
    """A dialer that notes what it is asked to send, and fails."""

    def __init__(self) -> None:
        self.sent: list[HttpRequest] = []

    def open(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        self.sent.append(request)
        raise ConnectionFailed("recorded")

    async def close(self) -> None:
        self.sent.clear()


async def test_the_vendors_own_address_gets_its_own_length_field_and_no_reasoning_and_no_key_that_is_not_there() -> (
    None
):
    dialer = Recorder()
    said = Message(id="a", role="assistant", text="x", reasoning="hm", reasoning_field="reasoning_content")
    asked = Request(id="r", messages=(said,), options=ModelOptions(max_output_tokens=9))
    for endpoint in (Endpoint(model="m"), Endpoint(model="m", replay_reasoning=True, length_field="max_tokens")):
        provider = OpenAIChat(name="openai.main", endpoint=endpoint, dialer=dialer, clock=FakeClock())
        with pytest.raises(ConnectionFailed):
            await anext(provider.stream(asked))
    first, second = dialer.sent
    assert first.url == "https://api.openai.com/v1/chat/completions"
    assert "Authorization" not in first.headers
    assert b'"max_completion_tokens":9' in (first.body or b"")
    assert b"reasoning" not in (first.body or b"")
    assert b'"max_tokens":9' in (second.body or b"")
    assert b'"reasoning_content":"hm"' in (second.body or b"")


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/openai?api-version=1#x", "http://h/openai/chat/completions?api-version=1"),
        (" http://h ", "http://h/chat/completions"),
    ],
)
async def test_the_path_is_added_to_the_base_and_its_query_is_kept(base: str, url: str) -> None:
    dialer = Recorder()
    provider = OpenAIChat(
        name="openai.main", endpoint=Endpoint(model="m", base_url=base), dialer=dialer, clock=FakeClock()
    )
    with pytest.raises(ConnectionFailed):
        await anext(provider.stream(request()))
    assert dialer.sent[0].url == url


def test_settings_are_closed_and_do_not_print_the_key() -> None:
    settings = Settings.model_validate({"model": "m", "api_key": KEY})
    assert KEY not in repr(settings)
    assert KEY not in repr(settings.endpoint())
    with pytest.raises(ValueError, match="tempreature"):
        Settings.model_validate({"model": "m", "tempreature": 1})


@pytest.mark.parametrize("url", ["api.openai.com/v1", "ftp://host/v1", "http://", "http://[", "http://host:99999/"])
async def test_an_address_that_is_none_is_refused_when_the_provider_is_built(url: str) -> None:
    with pytest.raises(ConfigError, match=r"\[providers.openai.main\] base_url"):
        async with provider_at(url):
            raise AssertionError("built")


async def test_a_key_with_a_line_break_inside_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as caught:
        async with provider_at("http://127.0.0.1:1", api_key="canary\r\nX-Evil: 1"):
            raise AssertionError("built")
    assert "canary" not in str(caught.value)


def test_importing_the_provider_loads_neither_the_client_nor_pydantic() -> None:
    code = (
        "import sys, ferrule.providers._chat.provider, ferrule.sandbox.dialer;"
        "print([m for m in ('aiohttp', 'pydantic', 'yarl') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
