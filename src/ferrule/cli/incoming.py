"""Text that people and pipes send in: read so that it can be cancelled, and refused when it is no text."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import sys

from ..types.errors import UsageError

LONGEST = 32 * 1024 * 1024
"""Bytes of one message; more would only fill the memory: no model reads that much."""

PIECE = 65_536
PATIENCE_S = 2.0
"""Seconds after which a silent pipe is spoken of, when there is a message without it."""


def text_of(data: bytes, what: str) -> str:
    """Read bytes as UTF-8 text, with or without a byte order mark.

    Raises:
        UsageError: they are something else, or longer than `LONGEST`.

    >>> text_of(b"a\\xc3\\xa9", "it")
    'aé'
    """
    if len(data) > LONGEST:
        raise UsageError(
            f"{what} is longer than {LONGEST // 2**20} MiB", hint="put it into a file, and name the file in the message"
        )
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{what} is not UTF-8 text: byte 0x{data[error.start]:02x} at position {error.start}",
            hint="convert it (`iconv -f latin1 -t utf-8`), or put it into a file and name the file in the message",
        ) from error
    refuse_nul(text, what)
    return text


def refuse_nul(text: str, what: str) -> None:
    """Refuse what no text holds.

    Raises:
        UsageError: there is a NUL, or half a character (a terminal sent bytes that are not UTF-8).
    """
    if "\0" in text:
        raise UsageError(
            f"{what} holds a NUL at position {text.index(chr(0))}: that is no text",
            hint="put it into a file, and name the file in the message",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} is not UTF-8 text, at position {error.start}", hint="set the terminal to UTF-8, and type it again"
        ) from error


def piped(*, needed: bool) -> str:
    """Return all of standard input; nothing when it is a terminal.

    Args:
        needed: Nothing can be done without it, so waiting for it is no surprise; otherwise a
            pipe that stays open and silent is spoken of.

    Raises:
        UsageError: it is no text, or too long.
    """
    if sys.stdin.isatty():
        return ""
    found = bytearray()
    patience_s = None if needed else PATIENCE_S
    while len(found) <= LONGEST:
        if not select.select([0], [], [], patience_s)[0]:
            sys.stderr.write("waiting for the end of standard input; when there is none: </dev/null\n")
            patience_s = None
            continue
        try:
            piece = os.read(0, PIECE)
        except BlockingIOError:
            continue
        if not piece:
            break
        found += piece
    return text_of(bytes(found), "standard input")


class Lines:
    """Lines of a descriptor, awaited without a thread: a thread that reads could not be cancelled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._too_long = b""
        self._pieces = bytearray()
        self._searched = 0
        self._ended = False

    async def read(self) -> bytes:
        """Return the next line without its end; the last one may lack it.

        Of a line longer than `LONGEST` only so much is kept that `text_of` refuses it.

        Raises:
            EOFError: there is none.
        """
        while True:
            end = self._pieces.find(b"\n", self._searched)
            if end >= 0:
                return self._taken(end, 1)
            if self._ended:
                if not self._pieces and not self._too_long:
                    raise EOFError
                return self._taken(len(self._pieces), 0)
            if len(self._pieces) > LONGEST:
                self._too_long = self._too_long or bytes(self._pieces)
                self._pieces.clear()
            self._searched = len(self._pieces)
            await self._more()

    async def _more(self) -> None:
        await _readable(self._descriptor)
        try:
            piece = os.read(self._descriptor, PIECE)
        except BlockingIOError:
            return
        self._pieces += piece
        self._ended = not piece

    def _taken(self, end: int, more: int) -> bytes:
        line = self._too_long or bytes(self._pieces[:end])
        del self._pieces[: end + more]
        self._too_long = b""
        self._searched = 0
        return line.removesuffix(b"\r")


async def _readable(descriptor: int) -> None:
    """Wait until reading does not block; a file never does, and cannot be waited for."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    try:
        loop.add_reader(descriptor, _wake, ready)
    except PermissionError:
        return
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
