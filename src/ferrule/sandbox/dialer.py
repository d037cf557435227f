"""Outbound HTTP over aiohttp: the only file of the project that builds an HTTP client.

aiohttp is imported by the first `open`, so that a process which never dials
does not pay for it (400 ms, 25 MB).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..ports.dialer import HttpRequest
from ..types.errors import ConnectionFailed, PolicyDenied
from ._proxies import Proxies, Proxy

if TYPE_CHECKING:
    import aiohttp
    import yarl

IDLE_CONNECTION_S = 20.0
"""How long an unused connection is kept: below the 30 s after which common servers close theirs."""

_KNOWN_ROUTES = 64

CAUSES: dict[str, str] = {
    "ClientConnectorCertificateError": "the server's TLS certificate is not valid for this host",
    "ClientConnectorDNSError": "the host name could not be resolved",
    "ClientProxyConnectionError": "the proxy could not be reached",
    "ClientHttpProxyError": "the proxy refused to pass the request on",
    "ClientSSLError": "the TLS handshake failed",
    "ServerFingerprintMismatch": "the server's TLS certificate is another one than expected",
    "ConnectionTimeoutError": "no connection within the time limit",
    "SocketTimeoutError": "no byte came within the idle limit",
    "ServerTimeoutError": "no answer within the time limit",
    "TimeoutError": "the exchange took longer than its total limit",
    "ServerDisconnectedError": "the server closed the connection without an answer",
    "ClientConnectionResetError": "the connection was reset",
    "ClientPayloadError": "the body ended before it was complete",
    "UploadAbortedError": "the server stopped reading the request",
    "WSServerHandshakeError": "the server refused the WebSocket handshake",
    "WSMessageTypeError": "the server sent another kind of WebSocket message than expected",
    "TooManyRedirects": "the server redirects for ever",
    "RedirectClientError": "the server redirects to an address that cannot be used",
    "InvalidURL": "the address is not a valid http or https URL",
    "NonHttpUrlClientError": "the address is not an http or https URL",
    "ContentTypeError": "the answer has an unexpected content type",
    "ClientResponseError": "the answer is not valid HTTP",
    "HttpProcessingError": "the answer is not valid HTTP",
    "ServerConnectionError": "the connection to the server broke",
    "ConnectionRefusedError": "connection refused",
    "ConnectionResetError": "the connection was reset",
    "gaierror": "the host name could not be resolved",
    "SSLError": "the TLS handshake failed",
    "OSError": "the connection failed",
    "ClientConnectionError": "the connection broke",
    "ClientError": "the HTTP client gave up",
    "ValueError": "a header holds characters that HTTP forbids",
}
"""What to say about an exception, by the name of its class or of the nearest class it derives from."""


def cause_of(error: BaseException) -> str:
    """Say why a connection failed, without any text of the exception: it may hold the address with its secrets."""
    inner = error.__dict__.get("_os_error")  # aiohttp's connector errors wrap the system's
    nearest = inner if type(error).__name__ == "ClientConnectorError" and isinstance(inner, OSError) else error
    for kind in type(nearest).__mro__:
        if kind.__name__ in CAUSES:
            if kind is OSError and isinstance(nearest, OSError) and nearest.errno:
                return f"the connection failed: {os.strerror(nearest.errno)}"
            return CAUSES[kind.__name__]
    return "the connection failed"


def place_of(url: str) -> str:
    """Name the host and port of a URL, never its user part, path or query."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "an address without a host", parts.port
    except ValueError:
        return "an address that cannot be read"
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host


@dataclass(slots=True)
class _Body:
    """How far a body has been read, and how far it may go."""

    place: str
    left: int
    limit: int

    def take(self, piece: bytes) -> bytes:
        """Count a piece; refuse the one that goes over the limit."""
        self.left -= len(piece)
        if self.left < 0:
            raise ConnectionFailed(f"{self.place}: the answer is longer than {self.limit} bytes")
        return piece


class AiohttpResponse:
    """An answer whose head has arrived."""

    def __init__(self, response: aiohttp.ClientResponse, body: _Body) -> None:
        self._response = response
        self._body = body
        self._headers: dict[str, str] | None = None
        self.status = response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields, names in lower case; made on first use, since a good answer needs none of them."""
        if self._headers is None:
            found: dict[str, str] = {}
            for name, value in self._response.headers.items():
                key = name.lower()
                found[key] = f"{found[key]}, {value}" if key in found else value
            self._headers = found
        return self._headers

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it came from the socket."""
        return _Pieces(self._response.content, self._body)

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([piece async for piece in self.pieces()])


class _Pieces:
    """The body, piece by piece; a plain iterator, so that leaving it early leaves nothing to be closed."""

    __slots__ = ("_body", "_content", "_failures")

    def __init__(self, content: aiohttp.StreamReader, body: _Body) -> None:
        import aiohttp

        self._content = content
        self._body = body
        self._failures = (aiohttp.ClientError, TimeoutError, OSError)

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._content.readany()
        except self._failures as error:
            raise ConnectionFailed(f"{self._body.place}: {cause_of(error)}") from None
        if not piece:
            raise StopAsyncIteration
        return self._body.take(piece)


@dataclass(frozen=True, slots=True)
class _Route:
    """How an address is reached.

    Attributes:
        place: Its host and port, for messages.
        url: The address, parsed.
        proxy: What stands between; None for a direct connection.
    """

    place: str
    url: yarl.URL
    proxy: Proxy | None


class _Exchange:
    """One request and its answer, as a block; leaving it gives the connection back, or closes it when unread."""

    __slots__ = ("_dialer", "_request", "_response")

    def __init__(self, dialer: AiohttpDialer, request: HttpRequest) -> None:
        self._dialer = dialer
        self._request = request
        self._response: aiohttp.ClientResponse  # there once the block is entered

    async def __aenter__(self) -> AiohttpResponse:
        request = self._request
        if request.purpose != "operator_configured":
            raise PolicyDenied(
                f"{place_of(request.url)}: addresses chosen by an agent are not allowed",
                hint="no network rule admits them; configure the address yourself if you want it used",
            )
        self._response = await self._dialer.send(request)
        body = _Body(self._dialer.route(request.url).place, request.max_bytes, request.max_bytes)
        return AiohttpResponse(self._response, body)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        response = self._response
        if response.content.at_eof() or response.content.is_eof():
            response.release()
        else:
            response.close()  # the other side sees the end at once, and stops working


class AiohttpDialer:
    """A `Dialer` with one pool of connections; identity encoding, no cookies, no redirects, proxies of the environment.

    Args:
        environ: Where ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` are looked up.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._proxies = Proxies.of(os.environ if environ is None else environ)
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._routes: dict[str, _Route] = {}
        self._closed = False

    def open(self, request: HttpRequest) -> _Exchange:
        """Send a request and wait for the head of the answer."""
        return _Exchange(self, request)

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._closed = True
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()
        self._forget_ended_loops()

    async def send(self, request: HttpRequest) -> aiohttp.ClientResponse:
        """Send a request and return the library's response; for this file only.

        Raises:
            ConnectionFailed: no answer came.
        """
        import aiohttp

        route = self.route(request.url)
        session = self._ready(route.place)
        headers, proxy = request.headers, route.proxy
        if proxy is not None and route.url.scheme == "http":  # over https the proxy sees the CONNECT alone
            headers = {**headers, **proxy.headers}
        try:
            return await session.request(
                request.method,
                _without_user(route.url, headers),
                data=request.body,
                headers=headers,
                allow_redirects=False,
                proxy=proxy.address if proxy is not None else None,
                proxy_headers=proxy.headers if proxy is not None else None,
                timeout=_limits(request.total_s, request.connect_s, request.idle_s),
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ConnectionFailed(f"{route.place}: {cause_of(error)}") from None

    def route(self, address: str) -> _Route:
        """Return how an address is reached; worked out once for each of the last few.

        Raises:
            ConnectionFailed: it is no address that can be reached.
        """
        route = self._routes.get(address)
        if route is None:
            if len(self._routes) >= _KNOWN_ROUTES:
                self._routes.clear()
            route = self._routes[address] = _route(address, self._proxies)
        return route

    def _ready(self, place: str) -> aiohttp.ClientSession:
        """Return the session of the running loop; a library's caller may run one loop after another."""
        if self._closed:
            raise ConnectionFailed(f"{place}: the dialer was closed")
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            self._forget_ended_loops()
            session = self._sessions[loop] = _new_session()
        return session

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in self._sessions if loop.is_closed()]:
            self._sessions.pop(loop).detach()


def _route(address: str, proxies: Proxies) -> _Route:
    place = place_of(address)
    url = _url(address, place)
    proxy = proxies.for_url(url.scheme, url.host or "", url.port)
    if proxy is not None and not proxy.address.startswith("http"):
        kind = proxy.address.partition(":")[0]
        raise ConnectionFailed(f"{place}: {kind} is no kind of proxy that can be used; set an http or https one")
    return _Route(place, url, proxy)


@lru_cache(maxsize=32)
def _limits(total_s: float | None, connect_s: float, idle_s: float) -> aiohttp.ClientTimeout:
    import aiohttp

    return aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_connect=connect_s, sock_read=idle_s)


def _url(text: str, place: str) -> yarl.URL:
    import yarl

    try:
        url = yarl.URL(text)
    except ValueError:
        raise ConnectionFailed(f"{place}: {CAUSES['InvalidURL']}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ConnectionFailed(f"{place}: {CAUSES['NonHttpUrlClientError']}")
    return url


def _without_user(url: yarl.URL, headers: Mapping[str, str]) -> yarl.URL:
    """Drop the user part of an address when the request brings its own authorization; HTTP has room for one."""
    if url.raw_user is None:
        return url
    return url.with_user(None) if any(name.lower() == "authorization" for name in headers) else url


def _new_session() -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity", "User-Agent": "ferrule"},
        skip_auto_headers=("Accept", "Content-Type"),
    )
