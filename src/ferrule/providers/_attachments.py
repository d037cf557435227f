"""Images and files that no vendor takes, found before they are sent.

A vendor refuses the whole request for one bad part, and with it every later
turn of the session. So only the message that brings such a part fails; when it
stands further back, or came from a tool, a sentence is sent in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types.errors import BadRequest
from ..types.messages import Message
from ..types.parts import FilePart, ImagePart, Part

MOST_BYTES = 20 * 1024 * 1024
"""Of one image or file, before it is encoded; vendors take 20 MB at most, some less."""

_BEGINNINGS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(data: bytes) -> str | None:
    r"""Tell of which kind an image is, by its first bytes; None when vendors do not take it.

    >>> media_type(b"\x89PNG\r\n\x1a\n...")
    'image/png'
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _BEGINNINGS if data.startswith(start)), None)


def fault_of(part: Part) -> str | None:
    """Say why a part cannot be sent; None when it can."""
    if not isinstance(part, ImagePart | FilePart) or (isinstance(part, ImagePart) and part.url):
        return None
    if not part.data:
        return "is empty"
    if len(part.data) > MOST_BYTES:
        return f"has {len(part.data)} bytes; at most {MOST_BYTES} are sent"
    if isinstance(part, ImagePart) and media_type(part.data) is None:
        return "is no PNG, JPEG, GIF or WebP"
    return None


def placeholder(part: Part) -> str | None:
    """Return what is said in place of a part that cannot be sent; None when it can."""
    fault = fault_of(part)
    return None if fault is None else f"({_named(part)} was left out: it {fault})"


def check_last(messages: Sequence[Message], name: str) -> None:
    """Check what the last user message brings.

    Args:
        messages: The history in order.
        name: The provider, for the error.

    Raises:
        BadRequest: a part cannot be sent; the message names the part.
    """
    last = next((message for message in reversed(messages) if message.role == "user"), None)
    for number, part in enumerate(last.parts if last is not None else (), 1):
        if (fault := fault_of(part)) is not None:
            raise BadRequest(
                f"{name}: part {number} of the message, {_named(part)}, {fault}",
                hint="nothing was sent; send the message without it, or convert or shrink it first",
            )


def _named(part: Part) -> str:
    return f"the file {part.name}" if isinstance(part, FilePart) else "an image"
