"""Standard input, output and error, made fit before a command runs.

A stream that was closed is opened again on the null device: otherwise the next
file that is opened, a database perhaps, would get its number, and text meant
for people would be written into it.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys

from ..types.errors import FerruleError

TYPE_CHECKING = False  # as in `ferrule`: a start shall not import `typing` for it
if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer


class OutputFailed(FerruleError):
    """Standard output cannot be written to; `reader_left` when it is a pipe that nobody reads any more."""

    code = "output.failed"

    def __init__(self, cause: OSError) -> None:
        super().__init__(
            f"standard output cannot be written to: {os.strerror(cause.errno or 0)}",
            hint="free space, or send it elsewhere; what was answered is kept: `ferrule sessions` lists it",
        )
        self.reader_left = cause.errno in (errno.EPIPE, errno.ECONNRESET)


class Descriptor(io.RawIOBase):
    """An open descriptor for writing, which is waited for when it is set not to block.

    Args:
        number: The descriptor.
        needed: Raise when it cannot be written to; otherwise what is written is lost without a word.
    """

    def __init__(self, number: int, *, needed: bool) -> None:
        super().__init__()
        self._number = number
        self._needed = needed

    def writable(self) -> bool:
        """It is for writing only."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Tell whether a terminal is behind it."""
        return os.isatty(self._number)

    def give_up(self) -> None:
        """From now on nobody needs it: the last flush of the interpreter shall not complain again."""
        self._needed = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data`.

        Raises:
            OutputFailed: it cannot be written to, and is needed.
        """
        while True:
            try:
                return os.write(self._number, data)
            except BlockingIOError:
                select.select([], [self._number], [])
            except OSError as error:
                if self._needed:
                    raise OutputFailed(error) from error
                return memoryview(data).nbytes


def take_over() -> tuple[Descriptor, bool]:
    """Replace ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` by ones that are always there.

    Standard error that cannot be written to is not worth a failure: there is
    nowhere left to tell it. Characters that the terminal's encoding lacks are
    written as escapes.

    Returns:
        Standard output, and whether it was open.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)
    os.close(number)
    was_open = sys.stdout is not None
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    output = Descriptor(1, needed=True)
    sys.stdout = _text(output, sys.stdout)
    sys.stderr = _text(Descriptor(2, needed=False), sys.stderr, by_line=True)
    return output, was_open


def _text(raw: Descriptor, before: TextIO | None, *, by_line: bool = False) -> io.TextIOWrapper:
    encoding = (before.encoding if before is not None else None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=by_line or raw.isatty()
    )
