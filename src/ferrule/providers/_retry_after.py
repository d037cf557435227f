"""How long a server asks its caller to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

LONGEST_S = 366 * 86_400.0
"""Anything beyond a year is nonsense and counts as a year: whoever waits compares it with its own cap."""


def retry_after_s(headers: Mapping[str, str], *, now_s: float) -> float | None:
    """Read ``retry-after-ms`` or ``retry-after`` (seconds, or an HTTP date) as seconds from now.

    Args:
        headers: Names in lower case.
        now_s: Seconds since 1970.

    Returns:
        Seconds, never negative; None when the server did not say, or said nothing that can be read.

    >>> retry_after_s({"retry-after": "3"}, now_s=0.0)
    3.0
    >>> retry_after_s({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT"}, now_s=1_792_567_680.0)
    5.0
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = headers.get("retry-after", "").strip()
    numbers = [_number(part) for part in text.split(",")]  # a field that was sent twice is joined by a comma
    seconds = [number for number in numbers if number is not None]
    if seconds and len(seconds) == len(numbers):
        return _bounded(max(seconds))
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a time zone may hold any number of digits
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return _bounded(when.timestamp() - now_s)


def _number(text: str) -> float | None:
    """Read a plain decimal number; ``nan``, ``inf`` and exponents are none."""
    text = text.strip()
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_S)
