"""One request and its answer over a pooled connection."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from .connection import CUT, Broken, Connection
from .pool import Pool, Server

_FORBIDDEN = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_HOST = re.compile(r"[0-9A-Za-z._:%-]+\Z")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_KEPT = "/%:@!$&'()*+,;=-._~?"
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_FRAMING = frozenset({"content-length", "transfer-encoding"})
BAD_HEADER = "a header holds characters that HTTP forbids"
OWN_LENGTH = "a header says how long the request is, which is not its caller's to say"
STRANGE_CODING = "the body is compressed in a way that was not asked for"
STRANGE_TRANSFER = "the body has a transfer coding that was not asked for"
BAD_CODING = "the compressed body is damaged"


@dataclass(slots=True)
class Target:
    """An address, taken apart once: where to connect, what to ask for, what to send with it.

    Attributes:
        server: Whom to connect to.
        path: Path and query as they are sent.
        host: The ``Host`` field.
        user: The ``Authorization`` that the address brings; None without one.
    """

    server: Server
    path: str = field(repr=False)
    host: str
    user: str | None = field(repr=False)
    _last: tuple[str, dict[str, str], bytes] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, address: str) -> Target | None:
        """Take an address apart; None when it is no http or https address that can be reached."""
        try:
            parts = urlsplit(address)
            port = parts.port
            host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
        except (ValueError, UnicodeError):
            return None
        if parts.scheme not in ("http", "https") or not _HOST.match(host) or port == 0:
            return None
        is_tls = parts.scheme == "https"
        shown = f"[{host}]" if ":" in host else host
        path = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
        user = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            user = f"Basic {base64.b64encode(pair.encode()).decode()}"
        server = Server(host, port or (443 if is_tls else 80), is_tls)
        return cls(server, path, f"{shown}:{port}" if port else shown, user)

    def head(self, method: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        """Return the head of a request; the part that repeats is made once.

        Raises:
            Broken: a header cannot be sent.
        """
        last = self._last
        if last is None or last[0] != method or last[1] != headers:
            last = self._last = (method, dict(headers), self._written(method, headers))
        if body is None and method not in _WITH_BODY:
            return last[2] + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n" % (last[2], len(body or b""))

    def _written(self, method: str, headers: Mapping[str, str]) -> bytes:
        given = {name.lower() for name in headers}
        fields = {"Host": self.host, "User-Agent": "ferrule", "Accept-Encoding": "identity"}
        if self.user is not None:
            fields["Authorization"] = self.user
        lines = [f"{method} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items() if name.lower() not in given]
        for name, value in headers.items():
            if not _NAME.match(name) or _FORBIDDEN.search(value):
                raise Broken(BAD_HEADER)
            if name.lower() in _FRAMING:
                raise Broken(OWN_LENGTH)
            lines.append(f"{name}: {value}")
        return ("\r\n".join(lines) + "\r\n").encode("latin-1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times of an exchange, in seconds."""

    connect_s: float
    idle_s: float
    total_s: float | None


class Exchange:
    """An answer whose head has arrived; `close` gives the connection back, or ends it when the answer was not read."""

    __slots__ = ("_connection", "_is_packed", "_pool", "_server", "_unpack", "status")

    def __init__(self, pool: Pool, server: Server, connection: Connection) -> None:
        self._pool = pool
        self._server = server
        self._connection = connection
        self.status = connection.status
        _refuse_transfer_codings(connection)
        self._unpack = _unpacker(connection)
        self._is_packed = False  # something packed has come

    @classmethod
    async def begin(
        cls, pool: Pool, target: Target, method: str, headers: Mapping[str, str], body: bytes | None, limits: Limits
    ) -> Exchange:
        """Send a request and wait for the head of its answer.

        Raises:
            Broken: no answer came.
            OSError: the system refuses the connection, or TLS does.
        """
        head = target.head(method, headers, body)
        connection = await pool.connection(target.server, limits.connect_s)
        try:
            connection.send(head, body, idle_s=limits.idle_s, total_s=limits.total_s)
            await connection.head_arrived()
            return cls(pool, target.server, connection)
        except BaseException:
            connection.abort()
            raise

    @property
    def headers(self) -> dict[str, str]:
        """Header fields, names in lower case; repeated fields joined by a comma."""
        found: dict[str, str] = {}
        for raw_name, raw_value in self._connection.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    async def piece(self, most: int) -> bytes:
        """Return the next piece of the body; empty at its end.

        Args:
            most: A compressed piece is unpacked to no more than this and one byte.

        Raises:
            Broken: the body broke off.
        """
        if self._unpack is None:
            return await self._connection.piece()
        while (packed := await self._connection.piece()) or self._unpack.unconsumed_tail:
            self._is_packed = True
            try:
                piece = self._unpack.decompress(self._unpack.unconsumed_tail + packed, most + 1)
            except zlib.error:
                raise Broken(BAD_CODING) from None
            if self._unpack.unused_data:  # nothing follows a packed body, and it would be kept without a limit
                raise Broken(BAD_CODING)
            if piece:
                return piece
        if self._is_packed and not self._unpack.eof:
            raise Broken(CUT)
        return b""

    def close(self) -> None:
        """End the exchange."""
        if self._connection.finish():
            self._pool.put(self._connection, self._server)


def _refuse_transfer_codings(connection: Connection) -> None:
    """Refuse a body that is coded for its transfer otherwise than in chunks: nobody asked for that (RFC 9112, 7).

    Raises:
        Broken: it is.
    """
    codings = [value.strip().lower() for name, value in connection.headers if name == b"transfer-encoding"]
    if codings not in ([], [b"chunked"]):
        raise Broken(STRANGE_TRANSFER)


def _unpacker(connection: Connection) -> zlib._Decompress | None:
    """Return what unpacks a body that came compressed against our wish."""
    coding = next((value for name, value in connection.headers if name == b"content-encoding"), b"").strip().lower()
    if coding in (b"", b"identity"):
        return None
    if coding in (b"gzip", b"x-gzip", b"deflate"):
        return zlib.decompressobj(wbits=47)  # finds out by itself which of the two it is
    raise Broken(STRANGE_CODING)
