"""Text of models, tools and files, made safe to show on a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control bytes other than tab and line feed, the signs that turn text around, and halves of characters."""


def printable(text: str) -> str:
    """Return `text` with every control sign shown as a symbol, so that none can command the terminal.

    >>> printable("a\\x1b[31mred")
    'a␛[31mred'
    """
    return _UNSAFE.sub(_symbol, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """Return printable text on one line, at most `limit` characters, with an ellipsis when it was cut."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= limit else flat[: max(0, limit - 1)] + "…"


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
