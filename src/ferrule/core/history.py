"""The list of messages that goes to a provider: always valid, whatever the session holds.

Valid means: system messages first, then a user message; every call is
answered exactly once, right after the message that made it; no answer without
its call; the last message is a user's or a tool's; nothing that was said is
blank; every call has a name that tools may have. The stored history is never
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..types.messages import Message

NO_RESULT = "The outcome of this call is unknown: it was interrupted before a result was recorded."
NO_WORDS = "(empty message)"
"""What stands for a blank message of a person: vendors refuse empty content."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def valid_history(messages: Sequence[Message]) -> list[Message]:
    """Return the messages to send, oldest first."""
    out: list[Message] = []
    waiting: dict[str, str] = {}  # call id -> tool name, of calls not yet answered
    talking = False  # a user message has been sent
    for message in messages:
        role = message.role
        if role == "tool":
            name = waiting.pop(message.call_id, None)
            if name is not None:
                out.append(message if message.name == name else replace(message, name=name, wire=None))
            continue
        if waiting:
            out.extend(_unknown(waiting))
            waiting.clear()
        if role == "user" or role == "system":
            talking = talking or role == "user"
            out.append(message if message.text.strip() or message.parts else replace(message, text=NO_WORDS, wire=None))
        elif talking and _is_said(message):
            message = _with_names(message)
            out.append(message)
            waiting = {call.id: call.name for call in message.calls}
    out.extend(_unknown(waiting))
    while out and out[-1].role == "assistant":
        out.pop()
    return out


def _is_said(message: Message) -> bool:
    """Tell whether an assistant message is worth sending: finished, and not blank; thoughts alone are not said."""
    return message.status == "completed" and bool(message.calls or message.text.strip())


def _with_names(message: Message) -> Message:
    """Return the message with names that vendors take: a model may write anything where a name should stand."""
    if all(_NAME.match(call.name) for call in message.calls):
        return message
    calls = tuple(replace(call, name=sendable_name(call.name)) for call in message.calls)
    return replace(message, calls=calls, wire=None)


def sendable_name(name: str) -> str:
    """Return the nearest name that a tool may have.

    >>> sendable_name("functions.look up")
    'functions_look_up'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def _unknown(waiting: dict[str, str]) -> Iterable[Message]:
    for call_id, name in waiting.items():
        yield Message(
            id=f"{call_id}_unknown",
            role="tool",
            text=NO_RESULT,
            call_id=call_id,
            name=name,
            is_error=True,
            code="tool.unknown_outcome",
            origin="tool",
        )
