"""Keeps configured secrets out of what is shown, stored or sent on: exact match, in all their encodings.

A stream holds back only a suffix that really begins a secret, so ordinary
text is never delayed.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable

MASK = "[secret]"
SHORTEST = 6
"""Shorter values would mask ordinary words; the config refuses them as secrets."""


def encodings(secret: str) -> frozenset[str]:
    """Return the forms in which a secret may appear: plain, URL, JSON, hexadecimal, base64 at any offset.

    Of base64 only the letters are taken that do not depend on neighbours.
    """
    raw = secret.encode()
    forms = {
        secret,
        urllib.parse.quote(secret, safe=""),
        urllib.parse.quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        raw.hex(),
        raw.hex().upper(),
    }
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        first = -(-offset * 8 // 6)
        last = (offset + len(raw)) * 8 // 6
        stable = text[first:last]
        forms |= {stable, stable.replace("+", "-").replace("/", "_")}
    return frozenset(form for form in forms if len(form) >= SHORTEST)


class SecretGuard:
    """Masks a fixed set of secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in encodings(secret)}
        self._patterns = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._by_start: dict[str, tuple[str, ...]] = {}
        for pattern in self._patterns:
            start = pattern[:3]
            self._by_start[start] = (*self._by_start.get(start, ()), pattern)
        self._starts = _starts(self._patterns)
        self._ones = frozenset(pattern[0] for pattern in self._patterns)
        self._twos = frozenset(pattern[:2] for pattern in self._patterns)

    def clean(self, text: str) -> str:
        """Return `text` with every secret masked."""
        for pattern in self._patterns:
            if pattern in text:
                text = text.replace(pattern, MASK)
        return text

    def stream(self) -> SecretStream:
        """Begin guarding a stream."""
        return SecretStream(self)

    def is_suspect(self, text: str) -> bool:
        """Tell quickly whether a text may hold or begin a secret."""
        if self._starts is None:
            return False
        return text[-1:] in self._ones or text[-2:] in self._twos or self._starts.search(text) is not None

    def scan(self, text: str) -> tuple[str, str]:
        """Return what may be shown, with secrets masked, and the end that may be the beginning of one."""
        shown: list[str] = []
        at = 0
        while self._starts is not None and (match := self._starts.search(text, at)) is not None:
            begin = match.start()
            shown.append(text[at:begin])
            candidates = self._by_start.get(text[begin : begin + 3]) or self._patterns
            tail = text[begin:]
            if any(len(pattern) > len(tail) and pattern.startswith(tail) for pattern in candidates):
                return "".join(shown), tail
            whole = next((pattern for pattern in candidates if text.startswith(pattern, begin)), None)
            shown.append(text[begin] if whole is None else MASK)
            at = begin + (1 if whole is None else len(whole))
        shown.append(text[at:])
        return "".join(shown), ""


def _starts(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    """Find where a pattern may begin: its first three characters, or fewer of them at the very end."""
    if not patterns:
        return None
    threes = sorted({re.escape(pattern[:3]) for pattern in patterns})
    ends = sorted({re.escape(pattern[:length]) + r"\Z" for pattern in patterns for length in (1, 2)})
    return re.compile("|".join([*threes, *ends]))


class SecretStream:
    """Guards one stream; what was fed comes out again, with secrets masked, in the same order."""

    __slots__ = ("_guard", "_held")

    def __init__(self, guard: SecretGuard) -> None:
        self._guard = guard
        self._held = ""

    def feed(self, text: str) -> str:
        """Take a piece and return what may be shown now."""
        guard = self._guard
        if not self._held and not guard.is_suspect(text):
            return text
        shown, self._held = guard.scan(self._held + text)
        return shown

    def flush(self) -> str:
        """Return what was held back; the stream has ended."""
        rest, self._held = self._guard.clean(self._held), ""
        return rest


class OpenStream:
    """A stream without secrets: everything passes."""

    __slots__ = ()

    def feed(self, text: str) -> str:
        """Return the piece."""
        return text

    def flush(self) -> str:
        """Return nothing: nothing was held."""
        return ""


class NoSecrets:
    """The guard of an agent that knows no secrets."""

    def clean(self, text: str) -> str:
        """Return the text."""
        return text

    def stream(self) -> OpenStream:
        """Begin a stream that lets everything pass."""
        return OpenStream()
