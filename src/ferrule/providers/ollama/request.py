"""The body of a request: model, options and tools, then the bytes of the messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import orjson

from ...types.completion import Request
from ...types.tools import ToolSpec
from .._chat.request import tool_entry
from .._json import dumps
from .encode import encode_messages


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWriter:
    """Writes request bodies for one model.

    Attributes:
        model: As the server names it.
        think: As Ollama takes it; None leaves it out.
        keep_alive: As Ollama takes it; None leaves it out.
        options: Sent with every request; what a request asks for itself goes before.
    """

    model: str
    think: bool | str | None = None
    keep_alive: str | int | None = None
    options: Mapping[str, object]

    def question(self) -> bytes:
        """Return the body of a question about the model."""
        return dumps({"model": self.model})

    def body(self, request: Request, *, sees: bool) -> bytes:
        """Return the JSON of a request.

        A wanted form of the answer is left out beside tools: Ollama would let
        the model write nothing else, and so never a call.
        """
        asked = request.options
        tools = request.tools if asked.allow_calls is not False else ()
        own = {"temperature": asked.temperature, "num_predict": asked.max_output_tokens}
        options = {**self.options, **{name: value for name, value in own.items() if value is not None}}
        schema = asked.response_schema
        body: dict[str, object] = {
            "think": self.think,
            "keep_alive": self.keep_alive,
            "options": options or None,
            "tools": orjson.Fragment(_tools_json(tools)) if tools else None,
            "format": orjson.Fragment(schema) if schema is not None and not tools else None,
        }
        fixed = {"model": self.model, "stream": request.deltas, "truncate": False, "shift": False}
        head = dumps(fixed | {name: value for name, value in body.items() if value is not None})[:-1]
        return b'%b,"messages":[%b]}' % (head, b",".join(encode_messages(request.messages, sees=sees)))


@lru_cache(maxsize=64)
def _tools_json(tools: tuple[ToolSpec, ...]) -> bytes:
    return dumps([tool_entry(tool) for tool in tools])
