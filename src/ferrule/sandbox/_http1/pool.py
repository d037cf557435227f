"""Connections that wait for their next request, by server."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

import aiohappyeyeballs

from .connection import Broken, Connection

NO_ADDRESS = "the host name has no address"
NO_CONNECTION = "no connection within the time limit"
RECEIVED_BYTES = 128 * 1024
"""The most that is taken from a socket at once."""
ADDRESS_DELAY_S = 0.25
"""When the next address of a host is tried beside the first (RFC 8305)."""


@dataclass(frozen=True, slots=True)
class Server:
    """Whom to connect to."""

    host: str
    port: int
    is_tls: bool


class Pool:
    """The connections of one event loop.

    Args:
        idle_s: How long an unused connection is kept.
    """

    def __init__(self, idle_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle_s = idle_s
        self._idle: dict[Server, list[Connection]] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._tls: ssl.SSLContext | None = None
        self._buffer = memoryview(bytearray(RECEIVED_BYTES))
        self._is_closed = False

    async def connection(self, server: Server, connect_s: float) -> Connection:
        """Return an idle connection, or a new one.

        Raises:
            Broken: there is none within the limit.
            OSError: the system refuses, or TLS does.
        """
        waiting = self._idle.get(server)
        while waiting:
            connection = waiting.pop()
            if connection.is_open and self._loop.time() - connection.idle_since < self._idle_s:
                return connection
            connection.abort()
        tls = self._tls_context() if server.is_tls else None  # reading the certificates is not the server's delay
        try:
            async with asyncio.timeout(connect_s):
                return await self._connect(server, tls)
        except TimeoutError:
            raise Broken(NO_CONNECTION) from None

    def put(self, connection: Connection, server: Server) -> None:
        """Keep a connection for the next request, unless there will be none."""
        if self._is_closed:
            connection.abort()
            return
        self._idle.setdefault(server, []).append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._idle_s, self._sweep)

    async def close(self) -> None:
        """Close all idle connections; one that is in use is closed when its answer has been read."""
        self._is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for waiting in self._idle.values():
            for connection in waiting:
                connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # transports let go of their sockets in the next iteration

    async def _connect(self, server: Server, tls: ssl.SSLContext | None) -> Connection:
        found = await self._loop.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
        if not found:
            raise Broken(NO_ADDRESS)
        connected = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=ADDRESS_DELAY_S, interleave=1, loop=self._loop
        )
        connection = Connection(self._buffer)
        try:
            await self._loop.create_connection(
                lambda: connection,
                sock=connected,
                ssl=tls,
                server_hostname=server.host.rstrip(".") if tls is not None else None,
            )
        except BaseException:
            connection.abort()  # a transport that is ready would go on watching a descriptor that others get
            connected.close()
            raise
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _sweep(self) -> None:
        self._sweeper = None
        now = self._loop.time()
        for server, waiting in list(self._idle.items()):
            kept = [c for c in waiting if c.is_open and now - c.idle_since < self._idle_s]
            for connection in waiting:
                if connection not in kept:
                    connection.abort()
            if kept:
                self._idle[server] = kept
            else:
                del self._idle[server]
        if self._idle:
            self._sweeper = self._loop.call_later(self._idle_s, self._sweep)
