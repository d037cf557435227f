"""Answers in the chat-completions dialect, and answers chosen by a model's name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .script import Reply

_NAMED = re.compile(r"mock-(plain|tools|parallel)-(\d+)((?:-t\d+)*)")
_WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
]
_HEAD: dict[str, object] = {"id": "chatcmpl-mock", "created": 1_700_000_000}


def plain_body(reply: Reply, model: str) -> bytes:
    """Return the answer as one JSON body."""
    message: dict[str, object] = {"role": "assistant", "content": reply.text or None}
    if reply.tools:
        message["tool_calls"] = [_call(i, tool) for i, tool in enumerate(reply.tools)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    body = {**_HEAD, "object": "chat.completion", "model": model, "choices": [choice]}
    if reply.usage is not None:
        body["usage"] = _usage(reply.usage)
    return json.dumps(body, ensure_ascii=False).encode()


def stream_body(reply: Reply, model: str) -> bytes:
    """Return the answer as server-sent events."""
    return b"".join(b"data: " + piece + b"\n\n" for piece in _pieces(reply, model))


def _pieces(reply: Reply, model: str) -> Iterator[bytes]:
    head = {**_HEAD, "object": "chat.completion.chunk", "model": model}

    def chunk(delta: Mapping[str, object], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return json.dumps({**head, "choices": [choice]}, ensure_ascii=False).encode()

    yield chunk({"role": "assistant", "content": "" if reply.text else None})
    for word in re.findall(r"\S+\s*|\s+", reply.text):
        yield chunk({"content": word})
    for i, tool in enumerate(reply.tools):
        whole = _call(i, tool)
        yield chunk({"tool_calls": [{**whole, "function": {"name": tool[0], "arguments": ""}}]})
        yield chunk({"tool_calls": [{"index": i, "function": {"arguments": tool[1]}}]})
    yield chunk({}, _reason(reply))
    if reply.usage is not None:
        yield json.dumps({**head, "choices": [], "usage": _usage(reply.usage)}).encode()
    yield b"[DONE]"


def by_model(body: Mapping[str, Any]) -> Reply:
    """Choose the answer by the model's name; the round is counted from the messages, so no state is kept."""
    match = _NAMED.search(str(body.get("model", "")))
    kind, number, delays = match.groups() if match else ("plain", "16", "")
    count = int(number)
    milliseconds = {delay[0]: int(delay[1:]) for delay in delays.split("-") if delay}
    tools = [tool["function"] for tool in body.get("tools") or () if "function" in tool]
    rounds = _rounds(body.get("messages") or ())
    if kind == "plain" or not tools or rounds >= (count if kind == "tools" else 1):
        words = "".join(f"{_WORDS[i % len(_WORDS)]} " for i in range(count)) if kind == "plain" else "done"
        reply = Reply(text=words, usage=(10, max(1, len(words.split()))))
    else:
        wanted = range(1 if kind == "tools" else count)
        picked = [tools[(rounds + i) % len(tools)] for i in wanted]
        made = [(t["name"], _arguments(t, rounds + i), f"call_{rounds}_{i}") for i, t in enumerate(picked)]
        reply = Reply(tools=tuple(made))
    return reply.delay(milliseconds.get("t", 0) / 1000)


def _rounds(messages: Sequence[Mapping[str, Any]]) -> int:
    count = 0
    for message in reversed(messages):
        if message.get("role") == "user":
            break
        count += bool(message.get("tool_calls"))
    return count


def _arguments(tool: Mapping[str, Any], number: int) -> str:
    """Return the smallest arguments that fit the required part of a schema."""
    schema = tool.get("parameters") or {}
    values: dict[str, object] = {}
    for name in schema.get("required", ()):
        kind = (schema.get("properties") or {}).get(name, {}).get("type")
        by_kind: dict[str, object] = {"integer": number, "number": number, "boolean": True, "array": [], "object": {}}
        values[name] = by_kind.get(kind, f"v{number}")
    return json.dumps(values)


def _call(index: int, tool: tuple[str, str, str]) -> dict[str, object]:
    name, arguments, call_id = tool
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.tools else "stop"


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
