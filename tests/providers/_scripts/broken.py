"""Answers that are none: errors inside a 200, cut and garbled streams, pages, nothing at all."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamBroken,
)

from .shape import Right, Script, a_call, chunk, fails, lines, usage
from .texts import said

ERRORS: dict[str, tuple[object, type[ProviderError]]] = {
    "overloaded": ({"type": "overloaded_error", "message": "try later", "code": 529}, Overloaded),
    "a server error": ({"type": "server_error", "message": "x"}, Overloaded),
    "a number in quotes": ({"code": "server_error", "message": "x", "param": None}, Overloaded),
    "an invalid request": ({"type": "invalid_request_error", "message": "no such tool"}, BadRequest),
    "a rate limit": ({"code": "rate_limit_exceeded", "message": "slow down"}, RateLimited),
    "a rate limit by number": ({"code": 429, "message": "slow down"}, RateLimited),
    "an overflow": ({"code": "context_length_exceeded", "message": "long"}, ContextOverflow),
    "a refused key": ({"type": "authentication_error", "message": "sk-canary-1 is bad"}, AuthenticationFailed),
    "a gateway": ({"status": 502, "message": "upstream"}, Overloaded),
    "text": ("the server is overloaded", Overloaded),
    "a strange kind": ({"type": "strange", "message": "x"}, StreamBroken),
    "no words": ({"message": ""}, StreamBroken),
    "a list": ([{"message": "x"}], StreamBroken),
    "a truth": (True, StreamBroken),
    "deep": (json.loads('{"error":' * 200 + '"x"' + "}" * 200), StreamBroken),
}


def reports() -> Iterator[Script]:
    """Give errors after some text, at once, and as a plain body."""
    for name, (error, kind) in ERRORS.items():
        body = lines([chunk(content="Par"), {"error": error}, chunk(content="t"), "[DONE]"])
        yield Script(name=f"error: {name} after text", body=body, right=fails(kind, text="Par"))
        yield Script(name=f"error: {name} at once", body=lines([{"error": error}]), right=fails(kind))
        yield Script(name=f"error: {name} as a body", body=json.dumps({"error": error}).encode(), right=fails(kind))
    named = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n'
    yield Script(
        name="error: as a named event", body=lines([chunk(content="Par")]) + named, right=fails(Overloaded, text="Par")
    )
    bare: dict[str, object] = {"type": "error", "message": "x", "code": "overloaded"}
    yield Script(name="error: without a wrapper", body=lines([bare]), right=fails(Overloaded))
    older = {"object": "error", "type": "BadRequestError", "message": "x"}
    yield Script(name="error: in the older shape", body=lines([older]), right=fails(BadRequest))
    inside = {"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "x"}}]}
    yield Script(
        name="error: inside the choice",
        body=lines([chunk(content="Par"), inside]),
        right=fails(RateLimited, text="Par"),
    )
    paid = {**chunk(content="Par"), **usage(3, 1)}
    yield Script(
        name="error: after counted text",
        body=lines([paid, {"error": {"type": "server_error", "message": "x"}}]),
        right=fails(Overloaded, text="Par", usage=(3, 1)),
    )
    call = chunk(tool_calls=[a_call("{}", "f", id="c", index=0)])
    for place, payloads in {"behind a call": [call], "behind the reason": [call, chunk("tool_calls")]}.items():
        body = lines([*payloads, {"error": {"type": "server_error", "message": "x"}}])
        before = (("c", "f", "{}"),) if place == "behind the reason" else ()
        yield Script(name=f"error: {place}", body=body, right=fails(Overloaded), before=before)


PART = lines([chunk(content="Par")])
CALL = lines([chunk(tool_calls=[a_call('{"command":"rm', "shell", id="c", index=0)])])
WHOLE_CALL = lines([chunk(tool_calls=[a_call('{"command":"rm"}', "shell", id="c", index=0)])])

BROKEN: dict[str, tuple[bytes, Right]] = {
    "nothing": (b"", fails(StreamBroken)),
    "blanks": (b" \r\n\r\n ", fails(StreamBroken)),
    "half a byte order mark": (b"\xef\xbb", fails(StreamBroken)),
    "only a byte order mark": (b"\xef\xbb\xbf", fails(StreamBroken)),
    "only comments": (b": ping\n\n" * 9, fails(StreamBroken)),
    "plain words": (b"upstream connect error", fails(StreamBroken)),
    "a page": (b"<!doctype html><html><body>Sign in", fails(BadRequest)),
    "a page behind blanks": (b"\r\n  <html>", fails(BadRequest)),
    "a page behind a mark": (b"\xef\xbb\xbf<html>", fails(BadRequest)),
    "XML": (b'<?xml version="1.0"?><Error/>', fails(BadRequest)),
    "cut between events": (PART, fails(StreamBroken, text="Par")),
    "cut in a line": (PART + b'data: {"choices":[{"del', fails(StreamBroken, text="Par")),
    "cut in a word": (PART + b"dat", fails(StreamBroken, text="Par")),
    "cut in a character": (
        PART + 'data: {"choices":[{"delta":{"content":"北'.encode()[:-1],
        fails(StreamBroken, text="Par"),
    ),
    "cut in arguments": (CALL, fails(StreamBroken)),
    "cut behind a whole call": (WHOLE_CALL, fails(StreamBroken)),
    "cut in the end mark": (PART + b"data: [DON", fails(StreamBroken, text="Par")),
    "bad UTF-8 in a text": (
        PART + b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n',
        fails(StreamBroken, text="Par"),
    ),
    "half a character": (b'data: {"choices":[{"delta":{"content":"\xe5\x8c"}}]}\n\n', fails(StreamBroken)),
    "an overlong form": (b'data: {"choices":[{"delta":{"content":"\xc0\xaf"}}]}\n\n', fails(StreamBroken)),
    "a half in UTF-8": (b'data: {"choices":[{"delta":{"content":"\xed\xa0\xbc"}}]}\n\n', fails(StreamBroken)),
    "bad UTF-8 in arguments": (CALL.replace(b"rm", b"\xff"), fails(StreamBroken)),
    "bad UTF-8 in a comment": (b": \xff\xfe\n\n" + lines([*said("Hi"), "[DONE]"]), Right(text="Hi")),
    "NUL in JSON": (PART + b'data: {"choices":\0[]}\n\n', fails(StreamBroken, text="Par")),
    "NUL in a string": (PART + b'data: {"choices":[{"delta":{"content":"\0"}}]}\n\n', fails(StreamBroken, text="Par")),
    "words as data": (PART + b"data: ping\n\n", fails(StreamBroken, text="Par")),
    "a list as data": (PART + b"data: []\n\n", fails(StreamBroken, text="Par")),
    "null as data": (PART + b"data: null\n\n", fails(StreamBroken, text="Par")),
    "a number as data": (PART + b"data: 7\n\n", fails(StreamBroken, text="Par")),
    "NaN": (PART + b'data: {"x":NaN}\n\n', fails(StreamBroken, text="Par")),
    "too deep": (PART + b"data: " + b'{"x":' * 400 + b"1" + b"}" * 400 + b"\n\n", fails(StreamBroken, text="Par")),
    "too deep with half a pair": (
        b'data: {"h":"\\ud83d","x":' + b"[" * 700 + b"]" * 700 + b"}\n\n",
        fails(StreamBroken),
    ),
    "deep arguments as an object": (
        b'data: {"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":'
        + b'{"a":' * 300
        + b"1"
        + b"}" * 300
        + b"}}]}}]}\n\n",
        fails(StreamBroken),
    ),
    "two payloads in one event": (
        PART + b'data: {"choices":[]}\ndata: {"choices":[]}\n\n',
        fails(StreamBroken, text="Par"),
    ),
    "JSON without data": (PART + b'{"choices":[]}\n\n', fails(StreamBroken, text="Par")),
    "another compression": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", fails(StreamBroken)),
}


def scripts() -> Iterator[Script]:
    """Give them all."""
    yield from reports()
    for name, (body, right) in BROKEN.items():
        yield Script(name=f"broken: {name}", body=body, right=right)
