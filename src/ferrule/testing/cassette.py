"""Cassettes: a real conversation with a model API, recorded at the dialer and replayed byte by byte.

The dialer is the seam because everything above it runs for real: the request
builder, the decoder and its way with split pieces, the error mapping. A
cassette is a text file of JSON lines:

    {"cassette": 1}
    {"request": {"method": "POST", "url": "https://...", "headers": {...}, "body": {...}}}
    {"status": 200, "headers": {...}}
    {"piece": "data: ..."}             one line for each piece that came, as text, or as "base64"
    {"end": "whole"}                   or "left" (the reader went), or "broken" with the error's text

Keys, cookies and authorization never enter it: their values are masked. A
configured secret is masked in addresses and header fields, and a cassette in
which one is left, in a body or over the seam of two pieces, is not written.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from ..ports.dialer import Dialer, HttpRequest, HttpResponse
from ..storage.atomic import write_atomic
from ..types.errors import ConnectionFailed
from ._difference import difference

VERSION = 1
MASK = "[masked]"
Mode = Literal["record", "replay", "once"]

_PRIVATE = ("authorization", "cookie", "key", "token", "secret", "password", "signature", "credential")
_FLEETING = frozenset({"date", "x-request-id", "cf-ray", "server", "connection", "keep-alive", "alt-svc"})


class CassetteMismatch(AssertionError):
    """The conversation is not the recorded one; the text names what differs."""


class CassetteSecret(AssertionError):
    """The cassette was not written: it would hold a configured secret."""


class Cassette:
    """A `Dialer` that records or replays; use it as a block, at whose end it is written or found used up.

    Args:
        path: The file.
        mode: ``record`` asks the real API and writes anew; ``replay`` never asks; ``once`` replays when the file
            exists and records when it does not.
        dialer: Asks for real; not needed to replay.
        secrets: Values that must not be in the file, whatever their encoding.

    Raises:
        FileNotFoundError: there is nothing to replay.
        CassetteMismatch: the file is of another version, or parts of it were not asked for.
        CassetteSecret: a secret would have been written.
    """

    def __init__(
        self, path: Path, mode: Mode = "replay", *, dialer: Dialer | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self.path = path
        self.is_recording = mode == "record" or (mode == "once" and not path.exists())
        if self.is_recording and dialer is None:
            raise ValueError(f"to record {path.name} a dialer is needed")
        self._dialer = dialer
        self._secrets = [secret for secret in secrets if secret]
        self._recorded: list[list[dict[str, Any]]] = []
        self._left = [] if self.is_recording else _load(path)
        self._asked = 0

    async def __aenter__(self) -> Cassette:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        if kind is None and self._left:
            raise CassetteMismatch(f"{self.path.name}: {len(self._left)} recorded exchanges were not asked for")

    async def close(self) -> None:
        """Write what was recorded, and close the real dialer."""
        if self._dialer is not None:
            await self._dialer.close()
        if self._recorded:
            self._write()
            self._recorded = []

    @asynccontextmanager
    async def open(self, request: HttpRequest) -> AsyncGenerator[HttpResponse, None]:
        """Ask for real and record, or find the recorded exchange.

        Raises:
            CassetteMismatch: no recorded exchange fits the request.
            ConnectionFailed: as it was recorded, or as the real dialer says.
        """
        self._asked += 1
        shown = self._shown(request)
        if self._dialer is not None and self.is_recording:
            lines: list[dict[str, Any]] = [{"request": shown}]
            self._recorded.append(lines)
            try:
                async with self._dialer.open(request) as response:
                    lines.append({"status": response.status, "headers": self._fields(response.headers)})
                    yield _Recording(response, lines)
            except ConnectionFailed as error:
                if "status" not in lines[-1] and len(lines) == 1:
                    lines.append({"failed": str(error)})
                raise
            return
        lines = self._matching(shown)
        if "failed" in lines[1]:
            raise ConnectionFailed(lines[1]["failed"])
        yield _Replayed(lines)

    def _matching(self, shown: dict[str, Any]) -> list[dict[str, Any]]:
        if not self._left:
            raise CassetteMismatch(f"{self.path.name}: request {self._asked} was not recorded; there are fewer")
        for i, lines in enumerate(self._left):
            if not _differs(lines[0]["request"], shown):
                return self._left.pop(i)
        raise CassetteMismatch(
            f"{self.path.name}: request {self._asked} differs from the recorded one:\n"
            + _differs(self._left[0][0]["request"], shown)
        )

    def _shown(self, request: HttpRequest) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "method": request.method,
            "url": self._masked(_address(request.url)),
            "headers": self._fields(request.headers),
        }
        if request.body is not None:
            shown["body"] = _content(request.body)
        return shown

    def _fields(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {
            name.lower(): MASK if _is_private(name) else self._masked(value)
            for name, value in sorted(headers.items())
            if name.lower() not in _FLEETING
        }

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            for form in _forms(secret):
                text = text.replace(form, MASK)
        return text

    def _write(self) -> None:
        lines = [{"cassette": VERSION}, *(line for exchange in self._recorded for line in exchange)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        whole = b"".join(_piece(line) for exchange in self._recorded for line in exchange).decode("utf-8", "replace")
        for secret in self._secrets:
            if any(form in text or form in whole for form in _forms(secret)):
                raise CassetteSecret(f"{self.path.name} was not written: a configured secret is in a body")
        write_atomic(self.path, text.encode("utf-8", "backslashreplace"))


class _Recording:
    """A real answer; every piece that is read is kept."""

    def __init__(self, response: HttpResponse, lines: list[dict[str, Any]]) -> None:
        self._response = response
        self._lines = lines
        self.status = response.status
        self.headers = response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        end: dict[str, Any] = {"end": "left"}
        try:
            async for piece in self._response.pieces():
                self._lines.append(_line(piece))
                yield piece
            end = {"end": "whole"}
        except ConnectionFailed as error:
            end = {"end": "broken", "error": str(error)}
            raise
        finally:
            self._lines.append(end)

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([piece async for piece in self.pieces()])


class _Replayed:
    """A recorded answer."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._rest = lines[2:]
        self.status: int = lines[1]["status"]
        self.headers: Mapping[str, str] = lines[1]["headers"]

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body, split as it was."""
        for line in self._rest:
            if "end" not in line:
                yield _piece(line)
            elif line["end"] == "broken":
                raise ConnectionFailed(line["error"])

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([piece async for piece in self.pieces()])


def _load(path: Path) -> list[list[dict[str, Any]]]:
    if not path.exists():
        raise FileNotFoundError(f"there is no cassette {path}; record it with mode='record'")
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    if head.get("cassette") != VERSION:
        raise CassetteMismatch(
            f"{path.name} is a cassette of version {head.get('cassette')}, not {VERSION}; record anew"
        )
    exchanges: list[list[dict[str, Any]]] = []
    for line in lines:
        if "request" in line:
            exchanges.append([])
        exchanges[-1].append(line)
    return exchanges


def _differs(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Name what differs in method, address and body; header fields may change."""
    wanted = ("method", "url", "body")
    return difference(*({key: one.get(key) for key in wanted} for one in (recorded, asked)))


def _content(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return _line(body)


def _line(piece: bytes) -> dict[str, Any]:
    try:
        return {"piece": piece.decode()}
    except UnicodeDecodeError:  # the piece ends within a character
        return {"base64": base64.b64encode(piece).decode()}


def _piece(line: Mapping[str, Any]) -> bytes:
    if "base64" in line:
        return base64.b64decode(line["base64"])
    return str(line.get("piece", "")).encode()


def _address(url: str) -> str:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")
    query = [(name, MASK if _is_private(name) else value) for name, value in parse_qsl(parts.query, True)]
    netloc = f"{MASK}@{place[2]}" if place[1] else parts.netloc
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="[]")))


def _is_private(name: str) -> bool:
    return any(word in name.lower() for word in _PRIVATE)


def _forms(secret: str) -> set[str]:
    """Return a secret as it may stand in text: plain, in an address, in JSON, in hexadecimal, in base64."""
    raw = secret.encode()
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3], raw.hex()}
    for lead in range(3):
        text = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
        forms.add(text[-(-lead * 8 // 6) : (lead + len(raw)) * 8 // 6])
    return {form for form in forms if form}
