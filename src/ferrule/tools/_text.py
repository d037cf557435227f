"""Bytes of files as text, and back."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)

KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-elf"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Text of a file, and how its bytes say it.

    Attributes:
        bom: The byte order mark it began with.
        encoding: How to encode it again.
        bad_bytes: How many bytes were no text; such a file cannot be written back.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    bad_bytes: int = 0

    def encode(self, text: str) -> bytes:
        """Return other text as bytes of the same kind."""
        return self.bom + text.encode(self.encoding)


def decode(data: bytes) -> Decoded | None:
    """Return the text, or None when the bytes are no text: they hold NUL, or mostly what no encoding explains."""
    for bom, encoding in BOMS:
        if data.startswith(bom):
            text = data[len(bom) :].decode(encoding, "replace")
            return Decoded(text=text, encoding=encoding, bom=bom, bad_bytes=text.count("\ufffd"))
    if b"\0" in data[:65_536] or media_type(data) != "application/octet-stream":
        return None
    try:
        return Decoded(text=data.decode())
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return Decoded(text=text, bad_bytes=bad) if bad <= 8 + len(data) // 100 else None


def media_type(data: bytes) -> str:
    """Return what the first bytes say a file is."""
    return next((kind for magic, kind in KINDS if data.startswith(magic)), "application/octet-stream")


def unified_diff(path: str, old: str, new: str) -> str:
    """Return what changes, as a unified diff of at most 200 lines."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    shown = list(lines)
    if len(shown) > 200:
        shown = [*shown[:200], f"[... {len(shown) - 200} more lines of the diff ...]"]
    return "\n".join(shown)
