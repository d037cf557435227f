"""Notices a model that goes round in circles: the same calls with the same results."""

from __future__ import annotations

import hashlib

from ..types.tools import ToolCall, ToolResult

HINT_AFTER = 3
STOP_AFTER = 5
UNKNOWN_IN_A_ROW = 3
HINT = "\n\n(The same call has given the same result {times} times. Do something else, or answer.)"


class RepeatWatch:
    """Counts equal failing calls, and calls of tools that do not exist, within one turn."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._unknown = 0

    @property
    def is_lost(self) -> bool:
        """Whether the model keeps asking for tools that do not exist."""
        return self._unknown >= UNKNOWN_IN_A_ROW

    def count(self, call: ToolCall, result: ToolResult) -> int:
        """Note one call; returns how often this very call has failed in this very way (0 when it succeeded)."""
        self._unknown = self._unknown + 1 if result.code == "tool.unknown" else 0
        if not result.is_error:
            return 0
        facts = repr((call.name, call.arguments, call.raw, result.code, result.content)).encode()
        key = hashlib.blake2b(facts, digest_size=16).digest()
        self._seen[key] = self._seen.get(key, 0) + 1
        return self._seen[key]
