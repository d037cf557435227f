"""What to leave out when a model says that a request is too long: whole turns, oldest first.

A turn is a person's message and everything up to the next one, so a call and
its result are never torn apart. The present turn is always kept whole, even
if it alone is too long: a model that cannot see what was just asked, or what
its own calls gave, does the wrong thing with confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..types.messages import Message
from ..types.tools import ToolSpec

CHARS_PER_TOKEN = 4
"""A rule of thumb, good enough to say which part is large; vendors count differently."""

SHARE = 0.4
"""How much of a refused request is sent again when the vendor did not say how long it may be."""

MARGIN = 0.9
"""Under the length that the vendor named: its count and ours differ."""

_NUMBER = re.compile(r"(?<![\w.-])(?:\d{1,3}(?:[,_]\d{3})+|\d{4,9})(?![\w-])")


def size_of(messages: Iterable[Message]) -> int:
    """Return the characters of messages, with their calls."""
    return sum(
        len(m.text) + len(m.reasoning or "") + sum(len(c.name) + len(c.raw or str(c.arguments)) for c in m.calls)
        for m in messages
    )


def size_of_tools(specs: Iterable[ToolSpec]) -> int:
    """Return the characters that tools take up in a request."""
    return sum(len(s.name) + len(s.description) + len(s.schema) for s in specs)


def share_of(words: str) -> float:
    """Read from a vendor's words how much of the request may remain: the limit by the length, if it named both.

    Vendors name these two first, in either order; parts, ids and dates follow.

    >>> share_of("maximum context length is 8,000 tokens, however you sent 16000")
    0.45
    >>> share_of("too long")
    0.4
    """
    numbers = [int(re.sub(r"[,_]", "", text)) for text in _NUMBER.findall(words)[:2]]
    if len(numbers) < 2 or min(numbers) == max(numbers):
        return SHARE
    return max(0.05, round(MARGIN * min(numbers) / max(numbers), 3))


def present_turn(messages: Sequence[Message], began_with: str) -> int:
    """Return the index of the message that the present turn began with.

    The last message of a person is not always that one: an answer in another
    form than wanted is asked for once more by a message inside the turn.

    Args:
        messages: The history as it is sent.
        began_with: The id of the message; "" before the first turn.
    """
    last = max((i for i, message in enumerate(messages) if message.role == "user"), default=0)
    return next((i for i, message in enumerate(messages) if message.id == began_with), last)


def first_kept(messages: Sequence[Message], *, fixed: int, share: float, present: int) -> int:
    """Return the index of the first message to send.

    Args:
        messages: The history as it is sent now, the present turn last.
        fixed: Characters sent beside the history: instructions and tools.
        share: How much of the present request may remain.
        present: The index of the message that the present turn began with.

    Returns:
        The index of a person's message: of the oldest but the first with which
        the request is short enough, else the present one. 0 when there is
        nothing older than the present turn.
    """
    turns = [i for i, message in enumerate(messages) if message.role == "user" and i <= present]
    if len(turns) < 2:
        return 0
    room = share * (fixed + size_of(messages)) - fixed
    kept = size = 0
    ends = [*turns[1:], len(messages)]
    for kept in range(len(turns) - 1, 0, -1):
        size += size_of(messages[turns[kept] : ends[kept]])
        if size + size_of(messages[turns[kept - 1] : ends[kept - 1]]) > room:
            break
    return turns[kept]


def too_long(
    instructions: int, tools: Sequence[ToolSpec], history: Sequence[Message], *, present: int
) -> tuple[str, str]:
    """Say which part of a request is how long, and what to do about the longest.

    Args:
        instructions: Characters of the system message.
        tools: The tools that are shown.
        history: The messages that are sent, the present turn last.
        present: The index of the message that the present turn began with.

    Returns:
        A sentence with tokens as estimates, and the fix.
    """
    parts = {
        "instructions": instructions,
        f"{len(tools)} tools": size_of_tools(tools),
        "earlier turns": size_of(history[:present]),
        "this message and what its tools gave": size_of(history[present:]),
    }
    sizes = ", ".join(f"{size // CHARS_PER_TOKEN:,} of {part}" for part, size in parts.items())
    largest = max(parts.values())
    fix = next(fix for size, fix in zip(parts.values(), _FIXES, strict=True) if size == largest)
    return (
        f"the request is too long for the model; in tokens, about {sizes}",
        f"{fix}, or use a model of a larger window",
    )


_FIXES = (
    "shorten the agent's instructions",
    "show the agent fewer tools",
    "send the message again, and more of the earlier turns are left out",
    "send less at once, or ask for smaller pieces",
)
