"""A script: the bytes of one answer as some server sends them, and what they rightly mean."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ferrule.providers._chat.answer import Answer
from ferrule.providers._chat.failures import Failures
from ferrule.types.completion import (
    CallReady,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    StopReason,
    TextChunk,
    UsageReported,
)
from ferrule.types.errors import ProviderError

FAILURES = Failures("openai.main", "m", ("sk-canary-1",))
MADE = "call_1"
"""How ids begin that the decoder makes."""

FAULTY = "faulty"
"""Stands in place of arguments that cannot be read."""

Call = tuple[str, str, str]
"""Id, name, and the arguments as compact JSON or `FAULTY`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What an answer means. With `error`, the rest is what was given before it."""

    text: str = ""
    reasoning: str = ""
    field: str = ""
    calls: tuple[Call, ...] = ()
    usage: tuple[int | None, int | None] | None = None
    reason: StopReason | None = "stop"
    error: type[ProviderError] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One answer.

    Attributes:
        name: What is odd about it.
        before: Calls of an answer that had ended when its error came: cut off before the error, it gives them.
    """

    name: str
    body: bytes
    right: Right
    before: tuple[Call, ...] = ()

    @property
    def whole_calls(self) -> tuple[tuple[Call, ...], ...]:
        """The calls that a part of this answer may give: none, or all that it had."""
        return ((), self.right.calls, self.before)


def fails(error: type[ProviderError], **before: object) -> Right:
    """Return what is right when an answer ends in an error."""
    return replace(Right(reason=None, error=error), **before)  # type: ignore[arg-type]  # fields of Right


def meaning(events: Iterable[ProviderEvent]) -> Right:
    """Fold events into what they mean."""
    found = Right(reason=None)
    for event in events:
        match event:
            case TextChunk(text=text):
                found = replace(found, text=found.text + text)
            case ReasoningChunk(text=text, field=field):
                found = replace(found, reasoning=found.reasoning + text, field=field or found.field)
            case CallReady(call=call):
                arguments = FAULTY if call.fault else json.dumps(call.arguments, ensure_ascii=False)
                found = replace(found, calls=(*found.calls, (call.id, call.name, arguments)))
            case UsageReported(usage=usage):
                found = replace(found, usage=(usage.input, usage.output))
            case Finished(reason=reason):
                found = replace(found, reason=reason)
    return found


def decoded(pieces: Iterable[bytes], answer: Answer | None = None) -> tuple[list[ProviderEvent], ProviderError | None]:
    """Decode pieces as the provider does; return the events, and the error that ended them."""
    answer, events = answer or Answer(FAILURES, made_ids=MADE), list[ProviderEvent]()
    try:
        for piece in pieces:
            events.extend(answer.feed(piece))
            if answer.done:
                break
        events.extend(answer.end())
    except ProviderError as error:
        events.extend(answer.usage())
        return events, error
    return events, None


def outcome(pieces: Iterable[bytes]) -> Right:
    """Decode pieces and return what they mean."""
    events, error = decoded(pieces)
    return replace(meaning(events), error=type(error) if error is not None else None)


def text(value: object) -> str:
    """Write one payload as JSON, characters as they are."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def lines(payloads: Sequence[object]) -> bytes:
    """Write payloads in the plainest form of server-sent events."""
    return "".join(f"data: {text(payload)}\n\n" for payload in payloads).encode()


def chunk(finish: object = None, **delta: object) -> dict[str, object]:
    """Make one chunk."""
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def whole(message: object, finish: object = "stop", **more: object) -> bytes:
    """Make a plain body."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps({"id": "c1", "choices": [choice], **more}, ensure_ascii=False).encode()


def a_call(arguments: object = None, name: str = "", **fields: object) -> dict[str, object]:
    """Make one piece of a call; what is empty is left out."""
    function = ({"name": name} if name else {}) | ({"arguments": arguments} if arguments is not None else {})
    return {**fields, "function": function}


def usage(sent: object, received: object) -> dict[str, object]:
    """Make the counts of tokens."""
    return {"usage": {"prompt_tokens": sent, "completion_tokens": received}}
