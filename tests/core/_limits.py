"""Random conversations whose requests are refused as too long: what is left out of them, and what stays.

The rules are those of a person who reads along: whole turns are left out,
oldest first and no more than needed; what was just asked and what came of it
stays; what is sent is as valid as before; nothing that was left out comes
back, whatever is added or read anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ferrule.core.conversation import Conversation
from ferrule.core.trim import share_of, size_of
from ferrule.types.messages import Message

from ._histories import Held, conversation, fault_in, refusals

FIXED = (0, 0, 90, 700, 20_000)
"""Characters beside the history: instructions and tools."""

WORDS = (
    "maximum context length is {limit} tokens, however you sent {sent}",
    "prompt is too long: {sent} tokens > {limit} maximum",
    "too long",
)
MOST = 3
"""How often a request is refused."""


def fault_of(seed: int) -> str:
    """Return what is wrong with what goes out of a history, before and after its limits; "" when nothing is."""
    talk, current = conversation(seed)
    return fault_in(talk, current) or _fault_under_limits(talk, current, random.Random(f"limits {seed}"))


def _fault_under_limits(talk: Conversation, current: Message, chance: random.Random) -> str:
    for _ in range(chance.randint(1, MOST)):
        before, fixed, share = talk.outgoing(), chance.choice(FIXED), _share(chance)
        told = talk.trim(fixed, share)
        after = talk.outgoing()
        if told is None:
            return "" if after == before and _turns(before) < 2 else "limit: nothing was left out"
        fault = fault_between(before, after, current, room=share * (fixed + size_of(_said(before))) - fixed)
        if told != (len(_said(before)), len(_said(after))):
            fault = fault or f"limit: {told} is said to be left"
        fault = fault or next((f"limit, {name}: {why}" for name, why in refusals(after).items() if why), "")
        if fault:
            return fault
    return _fault_later(talk, chance)


def _fault_later(talk: Conversation, chance: random.Random) -> str:
    """Read the session anew, or say more: what goes out begins where it began."""
    before = talk.outgoing()
    if chance.random() < 0.5:
        talk.session = Held(talk.messages, ())
        talk.recover(0)
        if talk.outgoing() != before:
            return "limit: reading anew changed what goes out"
    said = Message(id="later", role="user", text="and then?")
    talk.add(said)
    return "" if talk.outgoing() == [*before, said] else "limit: a later message changed what goes before it"


def fault_between(before: Sequence[Message], after: Sequence[Message], current: Message, *, room: float) -> str:
    """Return what is wrong with what a limit left of a request.

    Args:
        before: What was refused.
        after: What is sent instead.
        current: What the person said last.
        room: Characters that the history may have.
    """
    old, new = _said(before), _said(after)
    if before[: len(before) - len(old)] != after[: len(after) - len(new)]:
        return "limit: the instructions changed"
    if not new or len(new) >= len(old) or old[-len(new) :] != new:
        return "limit: what is left is no end of what was there"
    if new[0].role != "user":
        return "limit: a turn was torn apart"
    present = next((i for i, message in enumerate(new) if message.id == current.id), None)
    if present is None:
        return "limit: the current message is lost"
    if present > 0 and size_of(new) > room:
        return "limit: older turns stayed although the request is too long"
    turns = [i for i, message in enumerate(old) if message.role == "user"]
    place = turns.index(len(old) - len(new))
    if place > 1 and size_of(old[turns[place - 1] :]) <= room:
        return "limit: a turn was left out for which there was room"
    return ""


def _share(chance: random.Random) -> float:
    limit = chance.choice((4_096, 8_000, 128_000))
    sent = int(limit * chance.choice((1.01, 1.3, 2, 9, 100)))
    return share_of(chance.choice(WORDS).format(limit=limit, sent=sent))


def _said(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


def _turns(messages: Sequence[Message]) -> int:
    return sum(message.role == "user" for message in messages)
