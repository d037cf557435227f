"""The body of a request: a cached head (model, options, tools), then the bytes of the messages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import orjson

from ...types.completion import ModelOptions, Request
from ...types.tools import ToolSpec
from .._json import dumps
from .encode import encode_messages
from .strict import permits_strict

LengthField = Literal["max_completion_tokens", "max_tokens"]
REASONING = "reasoning"
"""How `RequestWriter.without` calls the reasoning fields of past answers, whatever their names are."""

_HEADS = 64


@dataclass(slots=True)
class RequestWriter:
    """Writes request bodies for one model.

    Attributes:
        model: As the vendor names it.
        length_field: Which field carries the longest answer; exactly one is ever sent.
        without: Parameters that this model refused once; they are left out from then on.
    """

    model: str
    length_field: LengthField = "max_tokens"
    without: set[str] = field(default_factory=set)
    _heads: dict[tuple[int, ModelOptions, bool], tuple[tuple[ToolSpec, ...], bytes]] = field(default_factory=dict)

    def body(self, request: Request) -> bytes:
        """Return the JSON of a request."""
        wires = encode_messages(request.messages, reasoning=REASONING not in self.without)
        return b"%b%b]}" % (self._head(request), b",".join(wires))

    def refused(self, names: Collection[str]) -> None:
        """Leave these parameters out from now on."""
        self.without.update(names)
        self._heads.clear()

    def sent(self, request: Request) -> set[str]:
        """Return the optional parameters that `body` writes for a request and an answer can do without."""
        written = {*self._options(request), *self._streaming(request.deltas), *self._reasoning(request)}
        return written - {"stream", "response_format"}

    def _reasoning(self, request: Request) -> set[str]:
        if REASONING in self.without:
            return set()
        return {m.reasoning_field for m in request.messages if m.reasoning is not None and m.reasoning_field}

    def _head(self, request: Request) -> bytes:
        """Return everything before the messages; the same tuple of tools gives the same bytes."""
        tools = request.tools
        key = (id(tools), request.options, request.deltas)
        kept = self._heads.get(key)
        if kept is not None and kept[0] is tools:
            return kept[1]
        body: dict[str, object] = {"model": self.model, **self._streaming(request.deltas)}
        body |= self._options(request)
        if tools:
            body["tools"] = [tool_entry(tool) for tool in tools]
        head = dumps(body)[:-1] + b',"messages":['
        if len(self._heads) >= _HEADS:
            self._heads.clear()
        self._heads[key] = (tools, head)
        return head

    def _streaming(self, deltas: bool) -> dict[str, object]:
        if not deltas:
            return {}
        if "stream_options" in self.without:
            return {"stream": True}
        return {"stream": True, "stream_options": {"include_usage": True}}

    def _options(self, request: Request) -> dict[str, object]:
        """Return the parameters somebody asked for; an unset one is absent."""
        options = request.options
        asked: dict[str, object] = {
            "temperature": options.temperature,
            "parallel_tool_calls": options.parallel_calls if request.tools else None,  # refused without tools
            "tool_choice": "none" if request.tools and options.allow_calls is False else None,
            self._length_name(): options.max_output_tokens,
            "response_format": _response_format(options.response_schema),
        }
        return {name: value for name, value in asked.items() if value is not None and name not in self.without}

    def _length_name(self) -> str:
        """Return the preferred length field, or the other one when that was refused."""
        if self.length_field not in self.without:
            return self.length_field
        return "max_tokens" if self.length_field == "max_completion_tokens" else "max_completion_tokens"


def tool_entry(tool: ToolSpec) -> dict[str, object]:
    """Describe a tool."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": orjson.Fragment(tool.schema)},
    }


def _response_format(schema: bytes | None) -> dict[str, object] | None:
    if schema is None:
        return None
    named: dict[str, object] = {"name": "answer", "schema": orjson.Fragment(schema)}
    if permits_strict(schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}
