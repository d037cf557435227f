"""The server: a small HTTP/1.1 loop on asyncio streams, with keep-alive."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import ollama, wire
from .script import Reply, error
from .wire import by_model

LONGEST_HEAD = 65_536
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}

Script = Iterable[Reply] | Callable[["Recorded"], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request as it arrived; `json` is None when the body is no JSON object."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Mapping[str, Any] | None


class MockLLM:
    """A scripted model server; use it as an async context manager.

    A script is a list of replies, taken one per request to
    ``/v1/chat/completions`` or, in Ollama's dialect, ``/api/chat``; or a
    function from the recorded request to a reply.
    When the list is used up the server answers 500 and says so.
    """

    def __init__(self, script: Script | None = None, *, models: Iterable[str] = ("mock-plain-16",)) -> None:
        self._function = script if callable(script) else None
        self._steps = None if script is None or callable(script) else deque(script)
        self._models = tuple(models)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[Recorded] = []
        self.port = 0

    @property
    def base_url(self) -> str:
        """Address up to and including the version."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def ollama_url(self) -> str:
        """Address for those who speak Ollama's dialect."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def unconsumed(self) -> int:
        """How many steps of the script were not asked for."""
        return len(self._steps or ())

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 takes a free one."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=LONGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection; no task is left."""
        if self._server is not None:
            self._server.close()
            for task in list(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    async def __aenter__(self) -> MockLLM:
        """Start on a free port."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                if not await _send(self._answer(request), request, writer):
                    return
        except (ValueError, asyncio.LimitOverrunError):  # no HTTP request: say so, and close
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # the client left, or the server is closing
        finally:
            writer.close()

    def _answer(self, request: Recorded) -> Reply:
        try:
            return self._reply(request)
        # The script is a test author's code: they see its fault in the answer, not only a closed connection.
        except Exception as fault:
            return error(500, {"error": {"message": f"the script failed: {type(fault).__name__}: {fault}"}})

    def _reply(self, request: Recorded) -> Reply:
        path = request.path.partition("?")[0].removeprefix("/v1").rstrip("/")
        if request.method == "GET" and path == "/models":
            data = [{"id": model, "object": "model", "owned_by": "mock"} for model in self._models]
            return error(200, {"object": "list", "data": data})
        if request.method == "GET" and path == ollama.VERSION:
            return error(200, {"version": "0.0.0-mock"})
        if request.method == "GET" and path == ollama.TAGS:
            return error(200, ollama.tags(self._models))
        if request.method == "POST" and path == ollama.SHOW:
            return error(200, ollama.show())
        if request.method != "POST" or path not in ("/chat/completions", ollama.CHAT):
            return error(404, {"error": {"message": f"no such route: {request.method} {request.path}"}})
        if request.json is None:
            return error(400, {"error": {"message": "the body is no JSON object"}})
        if self._function is not None:
            return self._function(request)
        if self._steps is None:
            return by_model(request.json)
        if not self._steps:
            return error(500, {"error": {"message": "the script is used up"}})
        return self._steps.popleft()


async def _read(reader: asyncio.StreamReader) -> Recorded | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        document = json.loads(body) if body else None
    except ValueError:
        document = None
    found = document if isinstance(document, dict) else None
    return Recorded(method=method, path=path, headers=headers, body=body, json=found)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    """Read a body in chunks; extensions and trailers say nothing.

    Raises:
        ValueError: the framing is broken.
    """
    pieces: list[bytes] = []
    while True:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        if not size:
            break
        pieces.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk is longer than it says")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        continue
    return b"".join(pieces)


async def _send(reply: Reply, request: Recorded, writer: asyncio.StreamWriter) -> bool:
    """Write one answer; False when the connection cannot be used again."""
    model = str((request.json or {}).get("model", ""))
    native = request.path.startswith(ollama.CHAT)
    streamed = bool((request.json or {}).get("stream", native))  # Ollama streams unless told not to
    body, kind = reply.body, "application/json"
    if body is None:
        dialect = ollama if native else wire
        body = dialect.stream_body(reply, model) if streamed else dialect.plain_body(reply, model)
        if streamed:
            kind = "application/x-ndjson" if native else "text/event-stream"
    if reply.delay_s:
        await asyncio.sleep(reply.delay_s)
    own = {name.lower(): value for name, value in reply.headers.items()}
    headers = {"content-type": kind, "transfer-encoding": "chunked", **own}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Scripted')}\r\n{head}\r\n".encode())
    drop, stall, stop = reply.drop_after, reply.stall_after, 0
    if stall is not None and (drop is None or stall < drop):
        stop = stall
        await _write(writer, body[:stop], reply)
        await (asyncio.Event().wait() if reply.stall_s is None else asyncio.sleep(reply.stall_s))
    await _write(writer, body[stop:drop], reply)
    if drop is not None and drop <= len(body):
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _write(writer: asyncio.StreamWriter, body: bytes, reply: Reply) -> None:
    """Write a stretch of the body, in the pieces that the reply wants."""
    step = reply.every or len(body) or 1
    for at in range(0, len(body), step):
        piece = body[at : at + step]
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
        if reply.every:
            await asyncio.sleep(reply.pause_s)
