"""Files that a person sends along with a message: read and checked before anything is asked."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ..types.errors import UsageError
from ..types.parts import FilePart, ImagePart, Part, TextPart

MOST_BYTES = 20 * 1024 * 1024
"""Of one file; providers send no more than this (docs/providers)."""

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
    data = _bytes_of(name)
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


def _bytes_of(name: str) -> bytes:
    try:  # without O_NONBLOCK a named pipe that nobody writes to would wait for ever
        descriptor = os.open(os.path.expanduser(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UsageError(f"--attach {name}: there is no such file", hint="check its path") from error
    except OSError as error:
        raise UsageError(
            f"--attach {name}: {os.strerror(error.errno or 0)}", hint="check its path and its permissions"
        ) from error
    try:
        _refuse_no_file(name, os.fstat(descriptor).st_mode)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise UsageError(f"--attach {name}: it is longer than {MOST_BYTES // 2**20} MiB", hint="shrink or split it")
    return data


def _refuse_no_file(name: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise UsageError(f"--attach {name}: it is a folder", hint="name the files in it, each with --attach")
    if not stat.S_ISREG(mode):
        raise UsageError(
            f"--attach {name}: it is no ordinary file", hint="copy what it gives into a file, or pipe it in"
        )


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
