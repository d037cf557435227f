"""Tool calls and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .hot import hot
from .parts import Part
from .provenance import Origin, is_trusted


@hot
class ToolCall:
    """What the model asked for.

    Attributes:
        id: Unique in its session; made by us when the vendor sent none or repeated one.
        name: The tool's name as the model wrote it.
        arguments: The decoded JSON object; empty when `fault` is set.
        raw: The argument text as received; kept for people, never sent back.
        fault: Why the arguments could not be read (broken or cut JSON, not an object); None when they could.
        extra: Unknown fields of the vendor (for example a thought signature), sent back only to `dialect`.
        dialect: The wire dialect that made the call, for example ``openai-chat``.
    """

    id: str
    name: str
    arguments: dict[str, object]
    raw: str = ""
    fault: str | None = None
    extra: Mapping[str, object] | None = None
    dialect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back; the model sees `content`, people also see the rest.

    Attributes:
        content: Text for the model. Empty content is sent as ``(no output)``.
        parts: Images and files that go with the text.
        is_error: True when the call failed, was denied or never ran.
        code: Stable code of the failure, for example ``file.missing``; "" when it succeeded.
        origin: Where the content came from.
        trusted: False for text of files, pages, peers and memory.
        truncated: True when `content` is a part of a larger whole.
        details: Plain JSON values for surfaces (exit code, paths, a diff); never sent to the model.
    """

    content: str = ""
    parts: tuple[Part, ...] = ()
    is_error: bool = False
    code: str = ""
    origin: Origin = "tool"
    trusted: bool = True
    truncated: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def text(cls, content: str, *, origin: Origin = "tool", truncated: bool = False) -> ToolResult:
        """Make a successful result; it is trusted as far as its origin is."""
        return cls(content=content, origin=origin, trusted=is_trusted(origin), truncated=truncated)

    @classmethod
    def failed(cls, code: str, content: str) -> ToolResult:
        """Make a failed result whose `content` tells the model what to do differently."""
        return cls(content=content, is_error=True, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """How one tool is shown to a model.

    Attributes:
        name: At most 64 characters of ``A-Za-z0-9_-``.
        description: What it does, for the model.
        schema: JSON Schema of the arguments as compact JSON bytes, made once.
    """

    name: str
    description: str
    schema: bytes
