"""Answers in Ollama's dialect: lines of JSON, calls as objects, counts in the last line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from .script import Reply

VERSION, TAGS, SHOW, CHAT = "/api/version", "/api/tags", "/api/show", "/api/chat"
"""The routes."""

_MADE = "2026-01-01T00:00:00Z"


def plain_body(reply: Reply, model: str) -> bytes:
    """Return the answer as one JSON body."""
    message: dict[str, object] = {"role": "assistant", "content": reply.text}
    if reply.tools:
        message["tool_calls"] = [_call(tool) for tool in reply.tools]
    return _line(model, message, **_end(reply))


def stream_body(reply: Reply, model: str) -> bytes:
    """Return the answer as lines, the last of which says that it is done."""
    return b"\n".join(_lines(reply, model)) + b"\n"


def tags(models: Iterable[str]) -> dict[str, object]:
    """Return the list of models."""
    return {"models": [{"name": model, "model": model, "modified_at": _MADE, "size": 1} for model in models]}


def show() -> dict[str, object]:
    """Return what is known of a model: it calls tools and sees nothing."""
    info = {"general.architecture": "mock", "mock.context_length": 32_768}
    return {"capabilities": ["completion", "tools"], "details": {"family": "mock"}, "model_info": info}


def _lines(reply: Reply, model: str) -> Iterator[bytes]:
    for word in re.findall(r"\S+\s*|\s+", reply.text):
        yield _line(model, {"role": "assistant", "content": word})
    for tool in reply.tools:
        yield _line(model, {"role": "assistant", "content": "", "tool_calls": [_call(tool)]})
    yield _line(model, {"role": "assistant", "content": ""}, **_end(reply))


def _line(model: str, message: dict[str, object], **end: object) -> bytes:
    line = {"model": model, "created_at": _MADE, "message": message, "done": bool(end), **end}
    return json.dumps(line, ensure_ascii=False).encode()


def _end(reply: Reply) -> dict[str, object]:
    counts = () if reply.usage is None else zip(("prompt_eval_count", "eval_count"), reply.usage, strict=True)
    return {"done_reason": "stop", "total_duration": 1, **dict(counts)}


def _call(tool: tuple[str, str, str]) -> dict[str, object]:
    name, arguments, call_id = tool
    try:
        given: object = json.loads(arguments)
    except ValueError:
        given = arguments
    return {"id": call_id, "function": {"name": name, "arguments": given}}
