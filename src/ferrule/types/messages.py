"""Messages of a session and the states they pass through.

pending ──> writing ──> completed
   │           ├──────> error
   └───────────┴──────> aborted

`completed`, `error` and `aborted` are final: aborted is sticky, whatever a
late answer says.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from .errors import IllegalTransition
from .hot import hot
from .parts import Part, TextPart
from .provenance import Origin
from .tools import ToolCall, ToolResult

Role = Literal["system", "user", "assistant", "tool"]
Status = Literal["pending", "writing", "completed", "error", "aborted"]

NEXT: dict[Status, frozenset[Status]] = {
    "pending": frozenset({"writing", "completed", "error", "aborted"}),
    "writing": frozenset({"completed", "error", "aborted"}),
    "completed": frozenset(),
    "error": frozenset(),
    "aborted": frozenset(),
}
"""The statuses that may follow each status."""


@hot
class Message:
    """One entry of a session's history; a plain value that can be printed.

    Attributes:
        id: Stable for the message's life.
        role: Who speaks, in the model's sense.
        text: The visible text.
        parts: Images and files beside the text (user and tool messages).
        calls: Tool calls of an assistant message.
        reasoning: The model's reasoning; None when there was none, "" when the vendor sent it empty.
        reasoning_field: The vendor's field name that carried it, so that it is sent back under the same name.
        call_id: The call that a tool message answers.
        name: The tool's name, in a tool message.
        is_error: True in a tool message whose call failed.
        code: The result's code, in a tool message.
        status: See the module's diagram.
        origin: Who wrote it.
        trusted: False for text of files, pages, peers and memory.
        at_ms: When it was made, milliseconds since 1970.
        wire: Encoded bytes by wire dialect; a cache, no part of the value.
    """

    id: str
    role: Role
    text: str = ""
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    reasoning_field: str = ""
    call_id: str = ""
    name: str = ""
    is_error: bool = False
    code: str = ""
    status: Status = "completed"
    origin: Origin = "user"
    trusted: bool = True
    at_ms: int = 0
    wire: tuple[str, bytes] | None = field(default=None, compare=False, repr=False)

    def advance(self, status: Status) -> Message:
        """Return this message in another status.

        Raises:
            IllegalTransition: the present status is final, or cannot be followed by `status`.
        """
        if status not in NEXT[self.status]:
            raise IllegalTransition(f"message {self.id!r} cannot go from {self.status} to {status}")
        return replace(self, status=status, wire=None)


Content = str | tuple[Part, ...]
"""What a person sends: text, or parts in order."""


def is_blank(content: Content) -> bool:
    """Tell whether nothing is said: no words, no image, no file.

    >>> is_blank(" \\n"), is_blank(()), is_blank("hi")
    (True, True, False)
    """
    if isinstance(content, str):
        return not content.strip()
    return all(isinstance(part, TextPart) and not part.text.strip() for part in content)


def user_message(content: Content, *, id: str, at_ms: int = 0, origin: Origin = "user") -> Message:
    """Make the message of a person from text or parts."""
    if isinstance(content, str):
        return Message(id=id, role="user", text=content, at_ms=at_ms, origin=origin)
    text = "\n".join(p.text for p in content if isinstance(p, TextPart))
    rest = tuple(p for p in content if not isinstance(p, TextPart))
    return Message(id=id, role="user", text=text, parts=rest, at_ms=at_ms, origin=origin)


def tool_message(call: ToolCall, result: ToolResult, *, id: str, at_ms: int = 0) -> Message:
    """Make the message that answers `call` with `result`."""
    return Message(
        id=id,
        role="tool",
        text=result.content,
        parts=result.parts,
        call_id=call.id,
        name=call.name,
        is_error=result.is_error,
        code=result.code,
        origin=result.origin,
        trusted=result.trusted,
        at_ms=at_ms,
    )
