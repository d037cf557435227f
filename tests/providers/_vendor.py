"""A server that says exactly the bytes a test wrote, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar, cast


class Act(Enum):
    """What a server may do beside sending bytes."""

    STALL = "say nothing more, keep the socket open"
    DROP = "close the socket"
    RESET = "close the socket rudely"


Step = bytes | Act | asyncio.Event
"""Bytes are sent; an event is waited for."""


@dataclass
class Asked:
    """One request as it came in."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        """The decoded body."""
        return cast("dict[str, object]", json.loads(self.body))


@dataclass
class Vendor:
    """The server; `answers` are given in order, the last one again and again."""

    answers: deque[list[Step]]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Base of its addresses."""
        return f"http://127.0.0.1:{self.port}"

    def choose(self, asked: Asked) -> list[Step]:
        """Pick the answer to a request."""
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests of one connection until either side leaves."""
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (f.partition(":") for f in fields)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append(Asked(line, headers, body))
        for step in self.choose(self.asked[-1]):
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, asyncio.Event):
                await step.wait()
            elif step is Act.STALL:
                await reader.readexactly(1)
            else:
                if step is Act.RESET:
                    writer.transport.abort()
                return False
        return True


VendorT = TypeVar("VendorT", bound=Vendor)


@asynccontextmanager
async def vendor(*answers: Iterable[Step], tls: ssl.SSLContext | None = None) -> AsyncIterator[Vendor]:
    """Run a server for a block."""
    async with served(Vendor(deque([list(a) for a in answers])), tls=tls) as it:
        yield it


@asynccontextmanager
async def served(it: VendorT, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[VendorT]:
    """Run a server of your own for a block."""
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0, ssl=tls)
    it.port = server.sockets[0].getsockname()[1]
    async with server:
        yield it


def whole(body: bytes, *, status: str = "200 OK", headers: str = "") -> list[Step]:
    """Answer with a body whose length is known."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return [head.encode() + body]


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """Frame bytes as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def streamed(*pieces: bytes, end: bool = True) -> list[Step]:
    """Answer with chunks, each written on its own; `end=False` cuts the answer off."""
    return [STREAM_HEAD, *[chunk(p) for p in pieces], LAST if end else Act.DROP]


def sse(*payloads: object) -> bytes:
    """Write payloads as server-sent events; strings stand for themselves."""
    lines = [p if isinstance(p, str) else json.dumps(p, ensure_ascii=False) for p in payloads]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    """Make one chunk."""
    return {"id": "c1", "model": "m-real", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}
