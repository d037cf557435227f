"""A history as a list of encoded messages; each one is encoded once and its bytes are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...types.messages import Message
from .._json import dumps
from .._wire import remember

Encode = Callable[[Message], dict[str, object]]
Show = Callable[[Sequence[Message]], dict[str, object]]


def encode_history(messages: Sequence[Message], key: str, *, encode: Encode, show: Show) -> list[bytes]:
    """Encode a history, taking the bytes that are already there.

    A tool message can carry text only, and all answers to one round must stand
    together; images and files of tools therefore follow in a user message
    after the last answer.

    Args:
        messages: The history in order.
        key: Of the kept bytes: the dialect, and which form of it.
        encode: Makes the body of one message.
        show: Makes the body of the user message that carries the parts of tool messages.
    """
    encoded: list[bytes] = []
    waiting: list[Message] = []
    for message in messages:
        if waiting and message.role != "tool":
            encoded.append(dumps(show(waiting)))
            waiting = []
        wire = message.wire
        if wire is not None and wire[0] == key:
            encoded.append(wire[1])
            continue
        encoded.append(_once(message, key, encode))
        if message.role == "tool" and message.parts:
            waiting.append(message)
    if waiting:
        encoded.append(dumps(show(waiting)))
    return encoded


def _once(message: Message, key: str, encode: Encode) -> bytes:
    if message.role == "tool" and message.parts:
        key = f"{key}/parts"  # never equal to the caller's key, so that its parts are looked at each time
    wire = message.wire
    if wire is not None and wire[0] == key:
        return wire[1]
    made = dumps(encode(message))
    remember(message, key, made)
    return made
