"""Counts of tokens, reasons to stop, odd choices, and whole bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ferrule.types.completion import StopReason
from ferrule.types.errors import BadRequest, EmptyAnswer, Overloaded, StreamBroken

from .framing import CONTENTS
from .shape import Right, Script, a_call, chunk, fails, lines, usage, whole
from .texts import Case, said

HI = Right(text="Hi")
CALL = a_call("{}", "f", id="c", index=0)
CALLED = Right(calls=(("c", "f", "{}"),), reason="tool_calls")


def counted(sent: int | None, received: int | None) -> Right:
    """Return "Hi" with its counts."""
    return Right(text="Hi", usage=(sent, received))


def counts() -> Iterator[Case]:
    """Give usage wherever it may stand, and of every shape."""
    own: dict[str, object] = {"choices": [], **usage(11, 2)}
    yield "in its own chunk", [*said("Hi"), own], counted(11, 2)
    yield "with the reason", [chunk(content="Hi"), {**chunk("stop"), **usage(11, 2)}], counted(11, 2)
    yield "in every chunk", [{**chunk(content="Hi"), **usage(11, 1)}, {**chunk("stop"), **usage(11, 2)}], counted(11, 2)
    yield "twice", [*said("Hi"), own, own], counted(11, 2)
    yield "null, then counted", [{**chunk(content="Hi"), "usage": None}, chunk("stop"), own], counted(11, 2)
    yield "counted, then null", [*said("Hi"), own, {"choices": [], "usage": None}], counted(11, 2)
    yield "counted, then empty", [*said("Hi"), own, {"choices": [], "usage": {}}], counted(11, 2)
    yield "first of all", [own, *said("Hi")], counted(11, 2)
    yield "without choices", [*said("Hi"), usage(11, 2)], counted(11, 2)
    yield "with null choices", [*said("Hi"), {"choices": None, **usage(11, 2)}], counted(11, 2)
    inside = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", **usage(11, 2)}]}
    yield "inside the choice", [chunk(content="Hi"), inside], counted(11, 2)
    yield "never", said("Hi"), HI
    yield "zero", [*said("Hi"), usage(0, 0)], counted(0, 0)
    yield "one way only", [*said("Hi"), usage(None, 2)], counted(None, 2)
    for name, odd in {
        "negative": -1,
        "a fraction": 1.5,
        "text": "11",
        "a truth": True,
        "far too large": 2**64 - 1,
    }.items():
        yield name, [*said("Hi"), usage(odd, 2)], counted(None, 2)
    yield "a list", [*said("Hi"), {"usage": [1, 2]}], HI
    yield (
        "details of odd shapes",
        [*said("Hi"), {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": 7}}],
        counted(1, 2),
    )
    yield "behind the end mark", [*said("Hi"), "[DONE]", own], HI


WORDS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "tool_calls": "stop",
    "function_call": "stop",
    "tool_use": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos_token": "stop",
    "STOP": "stop",
}


def reasons() -> Iterator[Case]:
    """Give every word for an end, and answers that were cut by a limit."""
    for word, reason in WORDS.items():
        yield f"{word}", [chunk(content="Hi"), chunk(word)], Right(text="Hi", reason=reason)
        ended: StopReason = reason if reason != "stop" else "tool_calls"
        yield f"{word} with a call", [chunk(word, tool_calls=[CALL])], Right(calls=CALLED.calls, reason=ended)
    yield "empty in every chunk", [chunk("", content="H"), chunk("", content="i"), "[DONE]"], HI
    yield "null to the end", [chunk(None, content="Hi"), "[DONE]"], HI
    yield "in the first chunk already", [chunk("stop", content="H"), chunk(content="i")], HI
    yield "in every chunk", [chunk("stop", content="H"), chunk("stop", content="i")], HI
    yield "two words", [chunk("length", content="Hi"), chunk("stop")], HI
    yield "a number", [chunk(content="Hi"), chunk(7)], HI
    yield "a list", [chunk(content="Hi"), chunk(["stop"])], HI
    yield "filtered with nothing said", [chunk("content_filter")], Right(reason="content_filter")
    yield "length with nothing said", [chunk("length")], fails(EmptyAnswer)
    yield "stop with nothing said", [chunk("stop")], fails(EmptyAnswer)
    for word in ("error", "abort", "network_error", "insufficient_system_resource"):
        yield f"{word}", [chunk(content="Hi"), chunk(word)], fails(Overloaded, text="Hi")
    yield (
        "length in the arguments",
        [chunk("length", tool_calls=[a_call('{"p":"li', "f", id="c", index=0)])],
        Right(calls=(("c", "f", "faulty"),), reason="length"),
    )
    yield (
        "length before the arguments",
        [chunk("length", tool_calls=[a_call("", "f", id="c", index=0)])],
        Right(calls=(("c", "f", "faulty"),), reason="length"),
    )
    yield (
        "length behind a whole call",
        [chunk("length", tool_calls=[CALL, a_call('{"p"', "f", id="d", index=1)])],
        Right(calls=(("c", "f", "{}"), ("d", "f", "faulty")), reason="length"),
    )
    yield (
        "a filter in the arguments",
        [chunk("content_filter", tool_calls=[a_call('{"p', "f", id="c", index=0)])],
        Right(calls=(("c", "f", "faulty"),), reason="content_filter"),
    )


def choices() -> Iterator[Case]:
    """Give chunks of odd shapes around an ordinary answer."""
    odd: dict[str, object] = {
        "a preamble": {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        "null choices": {"choices": None},
        "choices as an object": {"choices": {}},
        "a null choice": {"choices": [None]},
        "an empty choice": {"choices": [{}]},
        "a null delta": {"choices": [{"delta": None}]},
        "a delta as text": {"choices": [{"delta": "x"}]},
        "an empty object": {},
        "a ping": {"type": "ping"},
        "no error": {"error": None, "choices": []},
        "an empty error": {"error": {}, "choices": []},
        "names of odd types": {"id": 7, "model": ["m"], "choices": []},
        "logprobs": {
            "choices": [{"delta": {"content": ""}, "logprobs": {"content": [{"token": "x", "top_logprobs": []}]}}]
        },
        "unknown fields": {"x": {"y": [1, {"z": None}]}, "choices": []},
    }
    for name, payload in odd.items():
        yield f"{name} first", [payload, *said("Hi")], HI
        yield f"{name} last", [*said("Hi"), payload], HI
    message = json.loads(whole({"content": "Hi"}))
    yield "a whole message in a stream", [message], HI
    yield "a whole message behind a stream", [*said("Hi"), message], HI
    yield (
        "no names at all",
        ['{"choices":[{"delta":{"content":"Hi"}}]}', '{"choices":[{"delta":{},"finish_reason":"stop"}]}'],
        HI,
    )


def bodies() -> Iterator[Script]:
    """Give whole plain bodies, although a stream was asked for."""
    for name, (payloads, right) in CONTENTS.items():
        yield Script(name=f"body: {name} in events, for a plain request", body=lines(payloads), right=right)
    two = [{**CALL, "index": 0}, a_call({"q": 1}, "g", id="d")]
    called = Right(calls=(("c", "f", "{}"), ("d", "g", '{"q": 1}')), reason="tool_calls", usage=(3, 4))
    hi = whole({"role": "assistant", "content": "Hi", "tool_calls": None, "refusal": None}, **usage(3, 4))
    forms = {
        "text": (hi, counted(3, 4)),
        "pretty": (json.dumps(json.loads(hi), indent=2).encode(), counted(3, 4)),
        "blanks around": (b" \r\n\t" + hi + b"\r\n\r\n", counted(3, 4)),
        "a byte order mark": (b"\xef\xbb\xbf" + hi, counted(3, 4)),
        "calls": (whole({"content": None, "tool_calls": two}, "tool_calls", **usage(3, 4)), called),
        "calls without ids": (
            whole({"tool_calls": [a_call("{}", "f"), a_call("{}", "f")]}),
            Right(calls=(("call_1_0", "f", "{}"), ("call_1_1", "f", "{}")), reason="tool_calls"),
        ),
        "the older call": (
            whole({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
            Right(calls=(("call_1_0", "f", "{}"),), reason="tool_calls"),
        ),
        "both dialects": (
            whole({"tool_calls": [CALL], "function_call": {"name": "f", "arguments": "{}"}}, "tool_calls"),
            CALLED,
        ),
        "parts": (whole({"content": [{"type": "text", "text": "Hi"}]}), HI),
        "no reason": (whole({"content": "Hi"}, None), HI),
        "length": (whole({"content": "Hi"}, "length"), Right(text="Hi", reason="length")),
        "half a pair": (b'{"choices":[{"message":{"content":"ok \\ud83d"}}]}', Right(text="ok \ufffd")),
        "no choices": (
            b'{"id":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}',
            fails(EmptyAnswer, usage=(5, 0)),
        ),
        "null choices": (b'{"choices":null}', fails(EmptyAnswer)),
        "an empty object": (b"{}", fails(EmptyAnswer)),
        "a report without an error": (b'{"detail":"Not Found"}', fails(BadRequest)),
        "cut": (hi[:-30], fails(StreamBroken)),
        "two documents": (hi + hi, fails(StreamBroken)),
        "lines of JSON": (hi + b"\n" + hi, fails(StreamBroken)),
        "a list": (b"[" + hi + b"]", fails(StreamBroken)),
    }
    for name, (body, right) in forms.items():
        yield Script(name=f"body: {name}", body=body, right=right)


def scripts() -> Iterator[Script]:
    """Give them all; events are ended in the ordinary way."""
    for group in (counts, reasons, choices):
        for name, payloads, right in group():
            yield Script(name=f"{group.__name__}: {name}", body=lines([*payloads, "[DONE]"]), right=right)
    yield from bodies()
