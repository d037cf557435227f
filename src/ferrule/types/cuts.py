"""Where a history may be cut: between turns, and never between a call and its result."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import StoreError
from .messages import Message
from .tools import ToolCall

TITLE_CHARS = 80


def title_of(messages: Sequence[Message]) -> str:
    """Return the first line of the first message of a person that has one, at most 80 characters.

    >>> title_of([Message(id="m", role="user", text="\\n  What is   this?\\nSecond line")])
    'What is this?'
    """
    lines = (line for message in messages if message.role == "user" for line in message.text.splitlines())
    return next((" ".join(line.split())[:TITLE_CHARS].rstrip() for line in lines if line.strip()), "")


def cut_after(messages: Sequence[Message], at: str) -> int:
    """Return how many messages a copy takes along that ends with the message `at`.

    A message with calls and the results that follow it are one group: whoever
    names a part of it gets the whole. "" is the end. A part of an id is enough
    when no other message begins with it.

    Raises:
        StoreError: no message, or more than one, has this id.
    """
    if not at:
        return len(messages)
    exact = [place for place, message in enumerate(messages) if message.id == at]
    found = exact or [place for place, message in enumerate(messages) if message.id.startswith(at)]
    if len(found) != 1:
        what = "more than one message has" if found else "no message has"
        hint = "write more of it" if found else "`ferrule sessions show ID` prints the ids of messages"
        raise StoreError(f"{what} the id {at!r}", hint=hint, code="session.message")
    end = found[0] + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    return end


def start_of_last(messages: Sequence[Message], turns: int) -> int:
    """Return the place at which the last `turns` turns begin. A turn begins with a message of a person.

    Raises:
        StoreError: there are fewer turns, or `turns` is less than one.
    """
    starts = [place for place, message in enumerate(messages) if message.role == "user"]
    if turns < 1 or turns > len(starts):
        have = f"{len(starts)} turn{'' if len(starts) == 1 else 's'}"
        raise StoreError(
            f"{turns} turns cannot be taken back: the session has {have}",
            hint="give a number from 1 up to that" if starts else "there is nothing to undo",
            code="session.turns",
        )
    return starts[-turns]


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls without a result, oldest first: whether they took effect is unknown."""
    answered = {message.call_id for message in messages if message.role == "tool"}
    return [call for message in messages for call in message.calls if call.id not in answered]
