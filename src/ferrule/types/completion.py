"""What goes to a provider and what comes back, free of any vendor's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .hot import hot
from .messages import Message
from .tools import ToolCall, ToolSpec
from .usage import Usage

StopReason = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Parameters of a request. None means absent on the wire: nothing is sent that nobody asked for.

    Attributes:
        max_output_tokens: Upper limit of the answer.
        temperature: The vendor's scale.
        parallel_calls: Whether the model may ask for several tools at once.
        response_schema: JSON Schema that the text must follow, as compact JSON bytes.
        allow_calls: False when the model must answer now; tools stay listed, since vendors want to know those
            that the history mentions.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    parallel_calls: bool | None = None
    response_schema: bytes | None = None
    allow_calls: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    Attributes:
        id: The request's id, for logs.
        messages: A valid history: every call answered, no orphan answers, first a system or user message.
        tools: What the model may call, in a stable order.
        options: Parameters.
        deltas: False when nobody listens to the text as it comes; the adapter may then ask for a plain body.
    """

    id: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    options: ModelOptions = field(default_factory=ModelOptions)
    deltas: bool = True


@hot
class TextChunk:
    """A piece of visible text."""

    text: str


@hot
class ReasoningChunk:
    """A piece of reasoning; `field` is the vendor's name for it, to be sent back under that name."""

    text: str
    field: str = ""


@hot
class CallReady:
    """A whole tool call; only sent when the answer ended properly."""

    call: ToolCall


@hot
class UsageReported:
    """Tokens of this request; sent at most once. Not sent when the vendor did not say."""

    usage: Usage


@hot
class Finished:
    """The last event of every stream that ended properly.

    Attributes:
        reason: Why the model stopped.
        model: The model that really answered, as the vendor names it.
        vendor_id: The vendor's id of the answer, for support; "" when none.
    """

    reason: StopReason = "stop"
    model: str = ""
    vendor_id: str = ""


ProviderEvent = TextChunk | ReasoningChunk | CallReady | UsageReported | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer, folded from a stream's events."""

    text: str = ""
    reasoning: str | None = None
    reasoning_field: str = ""
    calls: tuple[ToolCall, ...] = ()
    reason: StopReason = "stop"
    usage: Usage | None = None
    model: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
