"""The list of messages that goes to a provider: always valid, whatever the session holds.

Valid means: system messages first, then a user message; every call is
answered exactly once, right after the message that made it; no answer without
its call; the last message is a user's or a tool's. The stored history is
never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..types.messages import Message

NO_RESULT = "The outcome of this call is unknown: it was interrupted before a result was recorded."


def valid_history(messages: Sequence[Message]) -> list[Message]:
    """Return the messages to send, oldest first."""
    out: list[Message] = []
    waiting: dict[str, str] = {}  # call id -> tool name, of calls not yet answered
    talking = False  # a user message has been sent
    for message in messages:
        role = message.role
        if role == "tool":
            if message.call_id in waiting:
                del waiting[message.call_id]
                out.append(message)
            continue
        if waiting:
            out.extend(_unknown(waiting))
            waiting.clear()
        if role == "user" or role == "system":
            talking = talking or role == "user"
            out.append(message)
        elif talking and _is_said(message):
            out.append(message)
            waiting = {call.id: call.name for call in message.calls}
    out.extend(_unknown(waiting))
    while out and out[-1].role == "assistant":
        out.pop()
    return out


def _is_said(message: Message) -> bool:
    """Tell whether an assistant message is worth sending: finished, and not empty."""
    return message.status == "completed" and bool(message.text or message.calls or message.reasoning)


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
