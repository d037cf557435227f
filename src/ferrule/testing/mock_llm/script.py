"""Steps of a script: what is answered, and how the bytes leave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer.

    Attributes:
        text: Visible text; streamed word by word.
        tools: Tool calls, as (name, arguments, id).
        usage: Tokens as (input, output); None reports none.
        status: HTTP status.
        headers: More header fields.
        body: Exact bytes instead of an answer made of `text` and `tools`.
        every: Bytes of the body in one write; 0 writes all at once.
        delay_s: Seconds before the first byte.
        pause_s: Seconds between writes.
        stall_after: Body bytes after which nothing more comes while the connection stays open.
        stall_s: Seconds after which a stalled answer goes on; None for never.
        drop_after: Body bytes after which the connection is closed.
    """

    text: str = ""
    tools: tuple[tuple[str, str, str], ...] = ()
    usage: tuple[int, int] | None = (10, 1)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    every: int = 0
    delay_s: float = 0.0
    pause_s: float = 0.0
    stall_after: int | None = None
    stall_s: float | None = None
    drop_after: int | None = None

    def split(self, every: int = 1, *, pause_s: float = 0.0) -> Reply:
        """Write the body in pieces of `every` bytes."""
        return replace(self, every=every, pause_s=pause_s)

    def stall(self, after: int, *, seconds: float | None = None) -> Reply:
        """Fall silent after so many bytes of the body, with the connection open: for some seconds, or for ever."""
        return replace(self, stall_after=after, stall_s=seconds)

    def drop(self, after: int) -> Reply:
        """Close the connection after so many bytes of the body."""
        return replace(self, drop_after=after)

    def delay(self, seconds: float) -> Reply:
        """Wait before the first byte."""
        return replace(self, delay_s=seconds)


def say(text: str, *, usage: tuple[int, int] | None = (10, 1)) -> Reply:
    """Answer with text."""
    return Reply(text=text, usage=usage)


def call(name: str, arguments: Json | str, *, id: str = "") -> Reply:
    """Answer with one tool call; a string is sent as the arguments as it stands."""
    return calls([(name, arguments)], ids=[id] if id else ())


def calls(wanted: Sequence[tuple[str, Json | str]], *, ids: Sequence[str] = ()) -> Reply:
    """Answer with several tool calls."""
    made = []
    for i, (name, arguments) in enumerate(wanted):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        made.append((name, text, ids[i] if i < len(ids) else f"call_{name}_{i}"))
    return Reply(tools=tuple(made))


def raw(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer with exactly these bytes as the body; the content type is an event stream's unless given."""
    return Reply(body=body, status=status, headers={"content-type": "text/event-stream", **(headers or {})})


def error(status: int, body: Json | bytes, *, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer with an HTTP error; a mapping becomes JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(body=content, status=status, headers={"content-type": "application/json", **(headers or {})})
