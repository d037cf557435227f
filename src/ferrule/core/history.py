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


class OutgoingHistory:
    """The valid list of a history that grows: a round looks at the new messages only."""

    def __init__(self) -> None:
        self._out: list[Message] = []
        self._waiting: dict[str, str] = {}  # call id -> tool name, of calls not yet answered
        self._talking = False  # a user message has been sent

    def add(self, message: Message) -> None:
        """Take the next message of the history."""
        role, waiting = message.role, self._waiting
        if role == "tool":
            name = waiting.pop(message.call_id, None)
            if name is not None:
                self._out.append(message if message.name == name else replace(message, name=name, wire=None))
            return
        if waiting:
            self._out.extend(_unknown(waiting))
            waiting.clear()
        if role == "user" or role == "system":
            self._talking = self._talking or role == "user"
            is_blank = not (message.text.strip() or message.parts)
            self._out.append(replace(message, text=NO_WORDS, wire=None) if is_blank else message)
        elif self._talking and _is_said(message):
            message = _with_names(message)
            self._out.append(message)
            waiting.update((call.id, call.name) for call in message.calls)

    def begin_at(self, message_id: str) -> None:
        """Leave out what was said before this message, which begins a turn; system messages stay."""
        at = next((i for i, message in enumerate(self._out) if message.id == message_id), 0)
        self._out = [*(message for message in self._out[:at] if message.role == "system"), *self._out[at:]]

    def messages(self) -> list[Message]:
        """Return what to send now, oldest first."""
        out = [*self._out, *_unknown(self._waiting)]
        while out and out[-1].role == "assistant":
            out.pop()
        return out


def valid_history(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of a whole history to send, oldest first."""
    history = OutgoingHistory()
    for message in messages:
        history.add(message)
    return history.messages()


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
