"""The one stream of events that every surface renders.

Each event has a `type` and stands on a `Head`; `as_dict` gives the flat form
of the wire: ``v, seq, at_ms, session_id, turn_id, agent, parent_turn_id,
type`` and the event's own fields. Readers ignore fields they do not know; a
field is added, never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

from .hot import hot
from .provenance import Origin
from .usage import Usage

VERSION = 1

TurnStatus = Literal["completed", "rejected", "interrupted", "cancelled", "failed", "limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What all events of one turn share."""

    session_id: str
    turn_id: str
    agent: str
    parent_turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """An error as surfaces show it: stable code, cause, and what to do."""

    code: str
    message: str
    hint: str | None = None


@hot
class TurnStarted:
    """A turn began; `origin` says who caused it."""

    type: ClassVar[str] = "turn.started"
    head: Head
    seq: int
    at_ms: int
    person: str
    principal: str
    origin: Origin


@hot
class RequestStarted:
    """A model request went out; `attempt` counts from 1 within the round."""

    type: ClassVar[str] = "request.started"
    head: Head
    seq: int
    at_ms: int
    request_id: str
    round: int
    attempt: int
    provider: str
    model: str


@hot
class TextDelta:
    """Visible text, guarded, as it comes."""

    type: ClassVar[str] = "text.delta"
    head: Head
    seq: int
    at_ms: int
    request_id: str
    text: str


@hot
class ReasoningDelta:
    """Reasoning, guarded, as it comes."""

    type: ClassVar[str] = "reasoning.delta"
    head: Head
    seq: int
    at_ms: int
    request_id: str
    text: str


@hot
class ToolStarted:
    """A call was judged; with ``decision="deny"`` a `ToolFinished` follows at once."""

    type: ClassVar[str] = "tool.started"
    head: Head
    seq: int
    at_ms: int
    call_id: str
    name: str
    arguments: Mapping[str, object]
    decision: Literal["allow", "ask", "deny"]
    rule: str


@hot
class ToolOutput:
    """A piece of a running tool's output, for people."""

    type: ClassVar[str] = "tool.output"
    head: Head
    seq: int
    at_ms: int
    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str


@hot
class ApprovalAsked:
    """A person is asked; the question lapses at `expires_ms`."""

    type: ClassVar[str] = "approval.asked"
    head: Head
    seq: int
    at_ms: int
    approval_id: str
    call_id: str
    reason: str
    digest: str
    preview: str
    principals: tuple[str, ...]
    expires_ms: int


@hot
class ApprovalAnswered:
    """The question was answered, or nobody could, or it lapsed; `arguments`, guarded, are those of an edit."""

    type: ClassVar[str] = "approval.answered"
    head: Head
    seq: int
    at_ms: int
    approval_id: str
    answer: Literal["allow", "deny", "edit", "always"]
    by: str
    source: Literal["person", "nobody", "timed_out"]
    arguments: Mapping[str, object] | None = None


@hot
class ToolFinished:
    """A call has its result; `bytes` counts the UTF-8 bytes that the model sees."""

    type: ClassVar[str] = "tool.finished"
    head: Head
    seq: int
    at_ms: int
    call_id: str
    is_error: bool
    code: str
    duration_ms: int
    bytes: int
    truncated: bool
    origin: Origin
    trusted: bool
    receipt_id: str | None = None


@hot
class UsageEvent:
    """Tokens of one request; None where the vendor did not say."""

    type: ClassVar[str] = "usage"
    head: Head
    seq: int
    at_ms: int
    request_id: str
    input: int | None
    cached: int
    output: int | None
    reasoning: int
    cost_micro_usd: int | None


@hot
class Notice:
    """Something the person should know that is no error."""

    type: ClassVar[str] = "notice"
    head: Head
    seq: int
    at_ms: int
    code: str
    text: str


@hot
class Rollover:
    """The history was shortened or replaced."""

    type: ClassVar[str] = "rollover"
    head: Head
    seq: int
    at_ms: int
    kind: Literal["rollover", "compaction", "trim"]
    messages_before: int
    messages_after: int
    document_id: str | None


@hot
class ChildStarted:
    """A delegated agent began a turn of its own."""

    type: ClassVar[str] = "child.started"
    head: Head
    seq: int
    at_ms: int
    child_turn_id: str
    alias: str


@hot
class ChildFinished:
    """A delegated agent's turn ended."""

    type: ClassVar[str] = "child.finished"
    head: Head
    seq: int
    at_ms: int
    child_turn_id: str
    alias: str
    status: TurnStatus


@hot
class TurnFinished:
    """The last event of every turn."""

    type: ClassVar[str] = "turn.finished"
    head: Head
    seq: int
    at_ms: int
    status: TurnStatus
    error: ErrorInfo | None
    rounds: int
    usage: Usage
    output: Any = None  # the answer in the form that was asked for


AgentEvent = (
    TurnStarted
    | RequestStarted
    | TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolOutput
    | ApprovalAsked
    | ApprovalAnswered
    | ToolFinished
    | UsageEvent
    | Notice
    | Rollover
    | ChildStarted
    | ChildFinished
    | TurnFinished
)


def as_dict(event: AgentEvent) -> dict[str, object]:
    """Return the flat, JSON-ready form of an event.

    >>> head = Head(session_id="ses_1", turn_id="trn_1", agent="default")
    >>> as_dict(TextDelta(head=head, seq=3, at_ms=0, request_id="req_1", text="hi"))["type"]
    'text.delta'
    """
    head = event.head
    flat: dict[str, object] = {
        "v": VERSION,
        "seq": event.seq,
        "at_ms": event.at_ms,
        "session_id": head.session_id,
        "turn_id": head.turn_id,
        "agent": head.agent,
        "parent_turn_id": head.parent_turn_id,
        "type": event.type,
    }
    for field in fields(event):
        if field.name not in ("head", "seq", "at_ms"):
            flat[field.name] = _plain(getattr(event, field.name))
    return flat


def _plain(value: object) -> object:
    if isinstance(value, ErrorInfo):
        return {"code": value.code, "message": value.message, "hint": value.hint}
    if isinstance(value, Usage):
        return {
            "input": value.input,
            "cached": value.cached,
            "output": value.output,
            "reasoning": value.reasoning,
            "cost_micro_usd": value.cost_micro_usd,
        }
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value
