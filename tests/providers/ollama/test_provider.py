"""The provider against a real socket: what is sent, and what an answer becomes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from ferrule.ports.adapter import Parts
from ferrule.providers.ollama import ADAPTER, Settings
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.testing.mock_llm import MockLLM, calls, say
from ferrule.types.completion import Finished, ModelOptions, TextChunk
from ferrule.types.errors import BadRequest, ConfigError, StreamBroken
from ferrule.types.tools import ToolSpec
from tests.providers._ask import calls_of, reasoning_of, request, text_of, usage_of
from tests.providers._vendor import LAST, STREAM_HEAD, Act, Step, chunk, streamed, vendor, whole
from tests.providers.ollama._ask import answered, ask, end, failure, line, lines, provider_at

HELLO = streamed(lines(line("Hel"), line("lo"), end()))
LOOK = ToolSpec(name="look", description="Look.", schema=b'{"type":"object"}')
SCHEMA = b'{"type":"object","properties":{"n":{"type":"integer"}}}'


async def test_calls_stand_before_the_last_line_and_usage_in_it() -> None:
    call = {"function": {"name": "list_dir", "arguments": {"path": "."}}}
    said = lines({"message": {"content": "", "tool_calls": [call]}, "done": False})
    last = lines({"message": {"content": ""}, "done": True, "prompt_eval_count": 9, "eval_count": 4})
    async with vendor(streamed(said, last)) as server:
        events = await ask(server)
    (made,) = calls_of(events)
    assert (made.id, made.name, made.arguments, made.fault) == ("call_1_0", "list_dir", {"path": "."}, None)
    assert [(u.input, u.output) for u in usage_of(events)] == [(9, 4)]
    assert events[-1] == Finished(reason="tool_calls")


async def test_arguments_may_be_text_and_two_equal_calls_are_two() -> None:
    call = {"function": {"index": 0, "name": "look", "arguments": '{"path": "a"}'}}
    for said in (
        lines(line(tool_calls=[call]), line(tool_calls=[call]), end()),
        lines(line(tool_calls=[call, call]), end()),
    ):
        async with vendor(streamed(said)) as server:
            found = calls_of(await ask(server))
        assert [c.arguments for c in found] == [{"path": "a"}] * 2
        assert len({c.id for c in found}) == 2
        assert [c.dialect for c in found] == ["ollama-chat"] * 2


async def test_thinking_is_reasoning_and_so_are_tags() -> None:
    said = lines(line(thinking="hm"), line(thinking="m"), line("<think>more</think>"), line("Hello"), end())
    async with vendor(streamed(said)) as server:
        events = await ask(server)
    assert (text_of(events), reasoning_of(events)) == ("Hello", "hmmmore")


async def test_a_plain_body_gives_the_same_events_and_is_asked_for_when_nobody_listens() -> None:
    body = end("Hello", prompt_eval_count=11, eval_count=2)
    async with vendor(answered(body)) as server:
        events = await ask(server, request(deltas=False))
    assert server.asked[0].json["stream"] is False
    assert text_of(events) == "Hello"
    assert [(u.input, u.output) for u in usage_of(events)] == [(11, 2)]
    assert events[-1] == Finished(reason="stop", model="m-real")


async def test_the_request_forbids_a_silent_cut_and_carries_nothing_else_that_nobody_asked_for() -> None:
    async with vendor(HELLO) as server:
        await ask(server)
    asked = server.asked[0]
    assert asked.line == "POST /api/chat HTTP/1.1"
    assert "authorization" not in asked.headers
    assert asked.json == {
        "model": "m",
        "stream": True,
        "truncate": False,
        "shift": False,
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_options_of_the_request_go_before_those_of_the_settings() -> None:
    asked = replace(request(), options=ModelOptions(temperature=0.5, max_output_tokens=9))
    async with vendor(HELLO) as server:
        await ask(server, asked, options={"temperature": 1, "num_ctx": 8192}, keep_alive=-1, think="low")
        await ask(server, options={"temperature": 1})
    first, second = (a.json for a in server.asked)
    assert first["options"] == {"temperature": 0.5, "num_ctx": 8192, "num_predict": 9}
    assert (first["keep_alive"], first["think"]) == (-1, "low")
    assert second["options"] == {"temperature": 1}


async def test_a_wanted_form_is_sent_without_tools_only_since_it_would_forbid_every_call() -> None:
    wanted = ModelOptions(response_schema=SCHEMA)
    async with vendor(HELLO) as server:
        await ask(server, replace(request(), options=wanted))
        await ask(server, replace(request(), options=wanted, tools=(LOOK,)))
    first, second = (a.json for a in server.asked)
    assert first["format"] == json.loads(SCHEMA)
    assert "format" not in second
    assert second["tools"] == [
        {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
    ]


async def test_a_key_is_sent_as_a_bearer_token() -> None:
    async with vendor(HELLO) as server:
        await ask(server, api_key="sk-canary")
    assert server.asked[0].headers["authorization"] == "Bearer sk-canary"


async def test_an_answer_frees_its_connection_for_the_next_request() -> None:
    async with vendor([STREAM_HEAD, chunk(lines(line("Hello"), end())), LAST]) as server:
        async with provider_at(server.url) as provider:
            for _ in range(3):
                assert text_of([e async for e in provider.stream(request())]) == "Hello"
    assert (server.connections, len(server.asked)) == (1, 3)


async def test_the_last_line_ends_the_answer_although_the_server_keeps_the_socket_open_or_says_more() -> None:
    async with vendor([STREAM_HEAD, chunk(lines(line("Hello"), end(), line("more"))), Act.STALL]) as server:
        async with asyncio.timeout(5):
            assert text_of(await ask(server)) == "Hello"


async def test_closing_the_iterator_early_ends_the_request_at_the_server() -> None:
    async with vendor([STREAM_HEAD, chunk(lines(line("Hel"))), Act.STALL]) as server:
        async with provider_at(server.url) as provider:
            stream = provider.stream(request())
            assert await anext(stream) == TextChunk(text="Hel")
            await stream.aclose()
            async with asyncio.timeout(5):
                await server.gone.wait()


async def test_silence_breaks_an_answer_after_the_idle_limit() -> None:
    async with vendor([STREAM_HEAD, chunk(lines(line("a"))), Act.STALL]) as server:
        async with asyncio.timeout(5):
            _, error = await failure(server, idle_s=0.1)
    assert isinstance(error, StreamBroken)


async def test_a_limit_and_an_unknown_end_are_said_as_such() -> None:
    for reason, wanted in (("length", "length"), ("load", "stop"), ("", "stop")):
        async with vendor(streamed(lines(line("Hel"), end("lo", reason)))) as server:
            events = await ask(server)
        assert (text_of(events), events[-1]) == ("Hello", Finished(reason=wanted, model="m-real"))  # type: ignore[arg-type] # a reason


async def test_arguments_cut_by_the_limit_are_a_fault() -> None:
    call = {"function": {"name": "look", "arguments": '{"pa'}}
    async with vendor(streamed(lines(line(tool_calls=[call]), end(reason="length")))) as server:
        (found,) = calls_of(await ask(server))
    assert found.fault
    assert "length limit" in found.fault


@pytest.mark.parametrize("size", [1, 7])
async def test_a_character_split_over_network_writes_stays_whole(size: int) -> None:
    body = lines(line("北京🌧"), end())
    async with vendor(streamed(*[body[i : i + size] for i in range(0, len(body), size)])) as server:
        assert text_of(await ask(server)) == "北京🌧"


async def test_a_last_line_without_its_line_end_counts() -> None:
    async with vendor(streamed(lines(line("Hello")), lines(end()).rstrip())) as server:
        assert text_of(await ask(server)) == "Hello"


BROKEN: dict[str, bytes] = {
    "no json": b"what?\n",
    "no object": b"[1]\n",
    "no end": lines(line("Hello")),
    "no utf-8": lines(line("a")) + b'{"message":{"content":"\xff"}}\n' + lines(end()),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_what_is_no_line_of_an_answer_breaks_it(body: bytes) -> None:
    async with vendor(streamed(body)) as server:
        _, error = await failure(server)
    assert isinstance(error, StreamBroken)


OTHERS: dict[str, list[Step]] = {
    "a web page": whole(b"<html>Sign in"),
    "events": streamed(b'data: {"choices":[]}\n\n'),
    "a completion": whole(b'{"choices":[{"message":{"content":"hi"}}]}'),
}


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
async def test_a_server_that_speaks_another_language_is_named_with_the_way_out(answer: list[Step]) -> None:
    async with vendor(answer) as server:
        _, error = await failure(server)
    assert isinstance(error, BadRequest)
    assert "[providers.openai.<alias>]" in str(error.hint)


@pytest.mark.parametrize(
    ("given", "line"),
    [("", "/api/chat"), ("/", "/api/chat"), ("/api/", "/api/chat"), ("/deep?k=v", "/deep/api/chat?k=v")],
)
async def test_the_address_may_be_written_in_any_usual_way(given: str, line: str) -> None:
    async with vendor(HELLO) as server, provider_at(server.url + given) as provider:
        assert text_of([e async for e in provider.stream(request())]) == "Hello"
    assert server.asked[0].line == f"POST {line} HTTP/1.1"


@pytest.mark.parametrize("url", ["localhost:11434", "http://127.0.0.1:11434/v1", "ftp://x", "http://x:notaport"])
async def test_an_address_that_cannot_be_meant_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with provider_at(url):
            raise AssertionError("opened")
    assert "base_url" in str(caught.value)
    assert caught.value.hint


async def test_the_adapter_opens_what_its_settings_say(tmp_path: object) -> None:
    async with MockLLM([say("Hello there", usage=(11, 2)), calls([("look", {"a": 1}), ("look", "{bad")])]) as server:
        dialer = HttpDialer({})
        parts = Parts(name="ollama.main", dialer=dialer, clock=FakeClock(), ids=SequenceIds(), home=str(tmp_path))
        async with ADAPTER.open(Settings(model="m", base_url=server.ollama_url), parts) as provider:
            for deltas in (True, False):
                events = [e async for e in provider.stream(request(deltas=deltas))]
                if deltas:
                    assert text_of(events) == "Hello there"
                    assert [(u.input, u.output) for u in usage_of(events)] == [(11, 2)]
            good, bad = calls_of(events)
            assert (good.arguments, good.fault) == ({"a": 1}, None)
            assert bad.fault
            assert (provider.name, provider.model) == ("ollama.main", "m")
            assert await provider.models() == ("mock-plain-16",)
            facts = await provider.facts()
            assert (sorted(facts.capabilities), facts.context) == (["completion", "tools"], 32_768)
        await dialer.close()
