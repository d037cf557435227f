"""Files that a person sends along with a message: read and checked before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..types.errors import UsageError
from ..types.parts import FilePart, ImagePart, Part, TextPart
from .named_files import bytes_of

IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""First bytes of the images that vendors take; WebP has its mark further back."""


def content_of(text: str, names: Sequence[str]) -> str | tuple[Part, ...]:
    """Return a message with the files it brings; plain text when there are none.

    Raises:
        UsageError: one of them cannot be sent; nothing was asked.
    """
    return (TextPart(text=text), *(attached(name) for name in names)) if names else text


def attached(name: str) -> Part:
    """Read one file. Its content decides what it is, never its name.

    Raises:
        UsageError: it is missing, unreadable, empty, too long, no ordinary file, or of no kind that can be sent.
    """
    data = bytes_of("--attach", name)
    if not data:
        raise UsageError(f"--attach {name}: the file is empty", hint="name a file that holds something")
    kind = image_type(data)
    if kind is not None:
        return ImagePart(media_type=kind, data=data)
    if data.startswith(b"%PDF-"):
        return FilePart(name=os.path.basename(name), media_type="application/pdf", data=data)
    return TextPart(text=f"File {os.path.basename(name)}:\n{_text_of(name, data)}")


def image_type(data: bytes) -> str | None:
    r"""Tell of which kind an image is, by its first bytes; None when it is none that can be sent.

    >>> image_type(b"GIF89a...")
    'image/gif'
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in IMAGES if data.startswith(start)), None)


def _text_of(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(
            f"--attach {name}: it is neither UTF-8 text, nor a PDF, nor a PNG, JPEG, GIF or WebP image",
            hint="convert it (text: `iconv -f latin1 -t utf-8`)",
        )
    return text
