"""Identifiers: opaque strings with a prefix that says what they name."""

from __future__ import annotations

from typing import Literal

IdKind = Literal["ses", "trn", "req", "msg", "call", "apr", "rcp"]
"""session, turn, request, message, call, approval, receipt."""


def is_alias(text: str) -> bool:
    """Tell whether `text` may name an agent, a profile or an adapter's instance.

    1 to 63 characters of ``a-z0-9_`` without a double underscore, which
    environment variables use as their separator.

    >>> is_alias("research_2"), is_alias("a__b"), is_alias("")
    (True, False, False)
    """
    return 0 < len(text) <= 63 and "__" not in text and all(c in "abcdefghijklmnopqrstuvwxyz0123456789_" for c in text)
