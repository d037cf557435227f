"""One connection: a request goes out, its answer comes back, then the next one."""

from __future__ import annotations

import asyncio
from typing import cast

import httptools

MOST_HEAD_BYTES = 64 * 1024
"""As long as a head may be, and what comes between two pieces of a body: extensions of chunks, trailers."""

MOST_BUFFERED = 256 * 1024
"""Reading pauses when this much of a body waits for its reader."""

HeaderList = list[tuple[bytes, bytes]]
_WITHOUT_BODY = (204, 304)


class Broken(Exception):
    """An exchange failed; the text is the cause in words, without any part of the address or the answer.

    Attributes:
        is_end: The other side closed the connection.
    """

    def __init__(self, cause: str, *, is_end: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.is_end = is_end


NO_ANSWER = "the server closed the connection without an answer"
CUT = "the body ended before it was complete"
NO_HTTP = "the answer is not valid HTTP"
IDLE = "no byte came within the idle limit"
TOTAL = "the exchange took longer than its total limit"


class Connection(asyncio.BufferedProtocol):
    """A socket with a parser. At most one exchange is under way; between two, any byte ends the connection.

    Args:
        buffer: Where bytes are received. What is in it is parsed before anything else is received, so that all
            connections of an event loop can have the same one; asyncio's own way takes 256 KiB for each read.

    Attributes:
        status: Of the answer, once its head has come.
        headers: The header fields as they came.
        is_complete: The whole body has arrived; some of it may wait to be read.
        may_stay: The server lets the connection be used again.
        idle_since: When the last exchange ended, in the loop's time.
    """

    def __init__(self, buffer: memoryview) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._failure: Broken | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._idle_s = 0.0
        self.is_busy = False
        self.idle_since = 0.0
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: HeaderList = []
        self.is_complete = False
        self.may_stay = False
        self._has_head = False
        self._is_excess = False  # the server says more than one answer
        self._until_close = False
        self._bare_bytes = 0  # since the last piece of a body
        self._is_long = False
        self._body: list[bytes] = []
        self._buffered = 0
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._since = self._loop.time()

    # -- the exchange -----------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._failure is None and self._transport is not None and not self._transport.is_closing()

    def send(self, head: bytes, body: bytes | None, *, idle_s: float, total_s: float | None) -> None:
        """Send a request; `head_arrived` waits for the answer."""
        self._begin()
        self.is_busy = True
        self._idle_s = idle_s
        self._is_long = body is not None and len(body) > MOST_HEAD_BYTES
        transport = cast(asyncio.Transport, self._transport)
        if body and self._is_long:
            transport.writelines((head, body))
        else:
            transport.write(head + body if body else head)
        self._timers = [self._loop.call_later(idle_s, self._check_idle)]
        if total_s is not None:
            self._timers.append(self._loop.call_later(total_s, self.fail, TOTAL))

    async def head_arrived(self) -> None:
        """Wait for status and header fields.

        Raises:
            Broken: they did not come.
        """
        while not self._has_head:
            await self._wait()

    async def piece(self) -> bytes:
        """Return what has come of the body since the last call; empty at its end.

        Raises:
            Broken: the body broke off.
        """
        while not self._body:
            if self.is_complete:
                return b""
            await self._wait()
        piece = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._buffered = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def finish(self) -> bool:
        """End the exchange; tells whether the connection can be used again. One that cannot is closed."""
        self._stop_timers()
        self.is_busy = False
        if self.is_complete and not self._body and self.may_stay and self.is_open:
            self.idle_since = self._loop.time()
            return True
        self.abort()
        return False

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._stop_timers()
        if self._transport is not None:
            self._transport.abort()

    def fail(self, cause: str, *, is_end: bool = False) -> None:
        """End the exchange with a cause; the first one stays, whatever the closing socket says after it."""
        if self._failure is None:
            self._failure = Broken(cause, is_end=is_end)
        self.abort()
        self._wake()

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._since = self._loop.time()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _check_idle(self) -> None:
        """Fail when somebody has waited too long for a byte; a slow reader is not the server's silence."""
        left = self._idle_s
        if self._waiter is not None:
            left -= self._loop.time() - self._since
            if left <= 0.001:
                self.fail(IDLE)
                return
        self._timers[0] = self._loop.call_later(left, self._check_idle)

    def _stop_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    # -- asyncio.BufferedProtocol -----------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where to put what comes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what came."""
        if not self.is_busy or self.is_complete:  # nobody asked for it
            self.fail(NO_HTTP)
            return
        self._since = self._loop.time()
        before = self._buffered
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.fail(NO_HTTP)
            return
        self._bare_bytes = 0 if self._buffered > before else self._bare_bytes + nbytes
        if self._bare_bytes > MOST_HEAD_BYTES and not self.is_complete:
            self.fail(NO_HTTP)
        elif self._has_head:
            self._wake()

    def eof_received(self) -> None:
        """Let the transport close itself; `connection_lost` follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Complete a body that ends with the connection; anything else that was under way has failed."""
        if self._until_close and self._has_head and exc is None and self._failure is None:
            self.is_complete = True
        elif self._failure is None and not self.is_complete:
            self._failure = Broken(CUT if self._has_head else NO_ANSWER, is_end=True)
        self._wake()

    # -- what the parser calls --------------------------------------------

    def on_message_begin(self) -> None:
        """Note an answer that nobody asked for: nothing of it is taken, and the connection is not used again."""
        if self.is_complete:
            self._is_excess = True
            self.may_stay = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field; those behind a chunked body are of no use here."""
        if not self._has_head:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Note how the body ends; an interim answer has none and is passed over."""
        if self._is_excess:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self.headers = []
            return
        if status < 100:
            self._is_excess = True
            self.fail(NO_HTTP)
            return
        self.status = status
        self._has_head = True
        # A long request that is refused may not have been read: the next one would be taken for its rest.
        self.may_stay = self._parser.should_keep_alive() and not (self._is_long and status >= 400)
        names = {name for name, _ in self.headers}
        framed = b"content-length" in names or b"transfer-encoding" in names
        self._until_close = not framed and status not in _WITHOUT_BODY

    def on_body(self, body: bytes) -> None:
        """Keep a piece for the reader."""
        if self._is_excess:
            return
        self._body.append(body)
        self._buffered += len(body)
        if self._buffered > MOST_BUFFERED and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """Note that the answer is whole."""
        if self._has_head:
            self.is_complete = True
