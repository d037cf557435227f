"""Output of a program, bounded: its head and its tail, with exact counts, decoded piece by piece."""

from __future__ import annotations

import codecs


class Capture:
    """Keeps the first and the last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit * 2 // 3
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.total = 0

    def feed(self, data: bytes) -> str:
        """Take bytes; returns what they say, for people who watch."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[: max(0, room)]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]
        return self._decoder.decode(data)

    def text(self) -> str:
        """Return what was kept, with a line that says how much was left out."""
        tail = self._tail[-self._tail_limit :] if self._tail_limit else b""
        left_out = self.total - len(self._head) - len(tail)
        if left_out <= 0:
            return (self._head + tail).decode("utf-8", "replace")
        note = f"\n[... {left_out:,} of {self.total:,} bytes left out ...]\n"
        return self._head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")
