"""Refusals over a real socket: which are repeated, which are errors, and what the second round sends."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ferrule.types.completion import ModelOptions
from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from ferrule.types.messages import Message, tool_message, user_message
from ferrule.types.tools import ToolCall, ToolResult
from tests.providers._ask import KEY, ask, ask_until_error, calls_of, provider_at, reasoning_of, request, text_of
from tests.providers._vendor import Act, Step, delta, sse, streamed, vendor, whole

HELLO = streamed(sse(delta("stop", content="Hello"), "[DONE]"))
HOT = replace(request(), options=ModelOptions(temperature=0.5, max_output_tokens=9))


def no(message: str, *, status: str = "400 Bad Request", headers: str = "", **fields: object) -> list[Step]:
    return whole(json.dumps({"error": {"message": message, **fields}}).encode(), status=status, headers=headers)


async def test_a_parameter_that_a_model_refuses_is_left_out_of_one_repetition_and_of_all_later_requests() -> None:
    refusal = no("Unsupported parameter: 'temperature' is not supported with this model.", param="temperature")
    async with vendor(refusal, HELLO) as server, provider_at(f"{server.url}/v1") as provider:
        for _ in range(2):
            assert text_of([e async for e in provider.stream(HOT)]) == "Hello"
    assert ["temperature" in a.json for a in server.asked] == [True, False, False]


async def test_a_refused_length_field_gives_way_to_the_other_one() -> None:
    async with vendor(no("Use 'max_completion_tokens' instead of max_tokens.", param="max_tokens"), HELLO) as server:
        await ask(server, HOT)
    first, second = (a.json for a in server.asked)
    assert (first["max_tokens"], second["max_completion_tokens"]) == (9, 9)
    assert "max_tokens" not in second


async def test_a_server_that_refuses_reasoning_gets_none_from_then_on() -> None:
    past = Message(id="a", role="assistant", text="x", reasoning="hm", reasoning_field="reasoning_content")
    asked = request(user_message("hi", id="u"), past, user_message("go on", id="v"))
    async with vendor(no("Unknown parameter: messages[1].reasoning_content"), HELLO) as server:
        assert text_of(await ask(server, asked)) == "Hello"
    assert [b"hm" in a.body for a in server.asked] == [True, False]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (no("'temperature' must be <= 2", param="temperature"), BadRequest),
        (no("bad tools"), BadRequest),
        (no("too long", code="context_length_exceeded"), ContextOverflow),
        (no("no", status="401 Unauthorized"), AuthenticationFailed),
        (no("no such model", status="404 Not Found"), BadRequest),
        (no("slow", status="429 Too Many Requests", headers="Retry-After: 7\r\n"), RateLimited),
        (no("busy", status="503 Service Unavailable"), Overloaded),
        (whole(b"<html>Sign in", headers="Content-Type: text/html\r\n"), BadRequest),
        (whole(b"", status="307 Temporary Redirect", headers="Location: http://elsewhere.test/\r\n"), BadRequest),
        ([b"HTTP/1.1 500 Oops\r\nContent-Length: 99\r\n\r\n{", Act.DROP], Overloaded),
    ],
)
async def test_any_other_refusal_is_asked_once_and_becomes_its_error(
    refusal: list[Step], kind: type[ProviderError]
) -> None:
    async with vendor(refusal) as server:
        events, error = await ask_until_error(server, HOT)
    assert type(error) is kind
    assert (events, len(server.asked)) == ([], 1)


async def test_a_parameter_refused_again_is_an_error_and_not_a_circle() -> None:
    async with vendor(no("temperature is not supported"), no("max_tokens is not supported")) as server:
        _, error = await ask_until_error(server, HOT)
    assert isinstance(error, BadRequest)
    assert len(server.asked) == 2


async def test_a_vendor_that_echoes_the_key_does_not_make_us_show_it() -> None:
    async with vendor(no(f"Incorrect API key provided: {KEY}", status="401 Unauthorized")) as server:
        _, error = await ask_until_error(server)
    assert KEY not in f"{error!r} {error.hint}"
    assert error.hint == "check the api_key of [providers.openai.main]"


async def test_a_date_to_wait_for_is_read_with_the_clock_that_was_given() -> None:
    wait = "Retry-After: Tue, 14 Nov 2023 22:13:25 GMT\r\n"  # the test clock stands at 22:13:20
    async with vendor(no("slow", status="429 Too Many Requests", headers=wait)) as server:
        _, error = await ask_until_error(server)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 5.0


async def test_an_error_inside_a_stream_fails_the_attempt_with_the_vendors_words() -> None:
    error_chunk = {"error": {"type": "overloaded_error", "message": "try later", "code": 529}}
    async with vendor(streamed(sse(delta(content="Par"), error_chunk))) as server:
        events, error = await ask_until_error(server)
    assert text_of(events) == "Par"
    assert isinstance(error, Overloaded)
    assert "overloaded_error: try later" in str(error)


async def test_invalid_utf8_breaks_the_answer_instead_of_changing_it() -> None:
    async with vendor(
        streamed(sse(delta(content="a")), b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n')
    ) as server:
        _, error = await ask_until_error(server)
    assert isinstance(error, StreamBroken)


@pytest.mark.parametrize("size", [1, 7])
async def test_a_character_split_over_network_writes_stays_whole(size: int) -> None:
    body = sse(delta("stop", content="北京🌧"), "[DONE]")
    async with vendor(streamed(*[body[i : i + size] for i in range(0, len(body), size)])) as server:
        assert text_of(await ask(server)) == "北京🌧"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_what_a_thinking_model_said_goes_back_as_it_came(field: str) -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    piece = {"id": "g1", "function": {"name": "look", "arguments": '{"p":"."}'}, "extra_content": extra}
    async with vendor(streamed(sse(delta(**{field: ""}, tool_calls=[piece]), delta("tool_calls"), "[DONE]"))) as server:
        events = await ask(server)
        (call,) = calls_of(events)
        said = Message(
            id="a", role="assistant", calls=(call,), reasoning=reasoning_of(events), reasoning_field=field
        )  # what the loop makes of the events
        answer = tool_message(call, ToolResult(), id="t")
        await ask(server, request(user_message("hi", id="u"), said, answer))
    assert server.asked[1].json["messages"] == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            field: "",
            "tool_calls": [
                {
                    "id": "g1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"p":"."}'},
                    "extra_content": extra,
                }
            ],
        },
        {"role": "tool", "tool_call_id": "g1", "content": "(no output)"},
    ]


async def test_a_call_whose_arguments_could_not_be_read_goes_back_with_an_empty_object() -> None:
    call = ToolCall(id="c1", name="f", arguments={}, raw="{'a': 1}", fault="not valid JSON", dialect="openai-chat")
    said = Message(id="a", role="assistant", calls=(call,))
    asked = request(user_message("hi", id="u"), said, tool_message(call, ToolResult.failed("x", "broken"), id="t"))
    async with vendor(HELLO) as server:
        await ask(server, asked)
    assert b"'a'" not in server.asked[0].body
    assert b'"arguments":"{}"' in server.asked[0].body
