"""Server-sent events: bytes in, the data of whole events out, however the bytes were cut.

Source of the rules: WHATWG HTML, section 9.2.6. Only `data` is of use to a
model's stream; `event`, `id` and `retry` are read over.
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


class SseParser:
    """Splits a byte stream into events.

    Lines end with LF, CRLF or CR. Several `data` lines of one event are
    joined by LF. Lines that start with a colon are comments. Nothing is
    decoded: a character cut in two by the network is whole again here.
    """

    __slots__ = ("_after_cr", "_data", "_fresh", "_tail")

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False
        self._fresh = True

    def feed(self, piece: bytes) -> list[bytes]:
        """Take a piece of the stream and return the data of the events that it completes."""
        if self._after_cr and piece:
            self._after_cr = False
            if piece[0] == 10:  # the LF of a CRLF that was cut in two
                piece = piece[1:]
        if b"\r" in piece:
            self._after_cr = piece[-1] == 13
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in piece:
            if piece:
                self._tail.append(piece)
            return []
        if self._tail:
            self._tail.append(piece)
            piece = b"".join(self._tail)
        lines = piece.split(b"\n")
        rest = lines.pop()
        self._tail = [rest] if rest else []
        return self._events(lines)

    def close(self) -> list[bytes]:
        """End the stream; an event that lacks only its empty line is given too, since some servers never send it."""
        last = b"".join(self._tail)
        self._tail = []
        return self._events([last, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        if self._fresh:
            self._fresh = False
            lines[0] = lines[0].removeprefix(BOM)
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line[:5] == b"data:":
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line == b"data":
                data.append(b"")
        return events
