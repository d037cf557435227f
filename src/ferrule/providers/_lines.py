"""Lines of JSON: bytes in, whole lines out, however the bytes were cut."""

from __future__ import annotations


class LineParser:
    """Splits a byte stream into lines that are not blank.

    Lines end with LF or CRLF. Nothing is decoded: a character cut in two by
    the network is whole again here.
    """

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """Take a piece of the stream and return the lines that it completes."""
        if b"\n" not in piece:
            self._tail.append(piece)
            return []
        lines = b"".join([*self._tail, piece]).split(b"\n")
        self._tail = [lines.pop()]
        return _told(lines)

    def close(self) -> list[bytes]:
        """End the stream; a last line without its end is given too."""
        last, self._tail = b"".join(self._tail), []
        return _told([last])


def _told(lines: list[bytes]) -> list[bytes]:
    return [bare for line in lines if (bare := line.strip(b" \t\r"))]
