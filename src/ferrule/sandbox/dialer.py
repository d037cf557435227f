"""Outbound HTTP: the only file of the project that builds HTTP clients.

Servers that are reached directly are spoken to by the small client in
`_http1`; whatever stands behind a proxy by aiohttp, which is imported when the
first proxy is met (400 ms, 25 MB).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..ports.dialer import HttpRequest
from ..types.errors import ConnectionFailed, PolicyDenied
from ._http1 import Broken, Exchange, Limits, Pool, Target
from ._proxies import Proxies, Proxy

if TYPE_CHECKING:
    import aiohttp

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
    "SSLCertVerificationError": "the server's TLS certificate is not valid for this host",
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


class _Direct:
    """An answer that came over a connection of our own; iterating it gives the body."""

    __slots__ = ("_body", "_exchange", "_headers", "status")

    def __init__(self, exchange: Exchange, body: _Body) -> None:
        self._exchange = exchange
        self._body = body
        self._headers: dict[str, str] | None = None
        self.status = exchange.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields; made on first use, since a good answer needs none of them."""
        if self._headers is None:
            self._headers = self._exchange.headers
        return self._headers

    def pieces(self) -> _Direct:
        """Yield the body as it came from the socket."""
        return self

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([piece async for piece in self])

    def __aiter__(self) -> _Direct:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._exchange.piece(self._body.left)
        except Broken as error:
            raise ConnectionFailed(f"{self._body.place}: {error.cause}") from None
        if not piece:
            raise StopAsyncIteration
        return self._body.take(piece)

    def close(self) -> None:
        """Give the connection back, or close it when the answer was not read."""
        self._exchange.close()


class _Proxied:
    """An answer that came through a proxy; iterating it gives the body."""

    __slots__ = ("_body", "_failures", "_headers", "_response", "status")

    def __init__(self, response: aiohttp.ClientResponse, body: _Body) -> None:
        import aiohttp

        self._response = response
        self._body = body
        self._failures = (aiohttp.ClientError, TimeoutError, OSError)
        self._headers: dict[str, str] | None = None
        self.status = response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields, names in lower case."""
        if self._headers is None:
            found: dict[str, str] = {}
            for name, value in self._response.headers.items():
                key = name.lower()
                found[key] = f"{found[key]}, {value}" if key in found else value
            self._headers = found
        return self._headers

    def pieces(self) -> _Proxied:
        """Yield the body as it came from the socket."""
        return self

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([piece async for piece in self])

    def __aiter__(self) -> _Proxied:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._response.content.readany()
        except self._failures as error:
            raise ConnectionFailed(f"{self._body.place}: {cause_of(error)}") from None
        if not piece:
            raise StopAsyncIteration
        return self._body.take(piece)

    def close(self) -> None:
        """Give the connection back, or close it when the answer was not read: then the other side stops working."""
        content = self._response.content
        if content.at_eof() or content.is_eof():
            self._response.release()
        else:
            self._response.close()


@dataclass(frozen=True, slots=True)
class _Route:
    """How an address is reached.

    Attributes:
        place: Its host and port, for messages.
        address: As it was given.
        target: The address, taken apart.
        proxy: What stands between; None for a direct connection.
    """

    place: str
    address: str = field(repr=False)
    target: Target
    proxy: Proxy | None = field(repr=False)


class _Exchange:
    """One request and its answer, as a block."""

    __slots__ = ("_dialer", "_request", "_response")

    def __init__(self, dialer: HttpDialer, request: HttpRequest) -> None:
        self._dialer = dialer
        self._request = request
        self._response: _Direct | _Proxied  # there once the block is entered

    async def __aenter__(self) -> _Direct | _Proxied:
        request = self._request
        if request.purpose != "operator_configured":
            raise PolicyDenied(
                f"{place_of(request.url)}: addresses chosen by an agent are not allowed",
                hint="no network rule admits them; configure the address yourself if you want it used",
            )
        self._response = await self._dialer.send(request)
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.close()


@dataclass(slots=True)
class _OfLoop:
    """The connections of one event loop."""

    pool: Pool
    session: aiohttp.ClientSession | None = None

    def through_proxies(self) -> aiohttp.ClientSession:
        """Return the session for addresses behind a proxy."""
        if self.session is None:
            self.session = _new_session()
        return self.session


class HttpDialer:
    """A `Dialer` with pools of connections; identity encoding, no cookies, no redirects, proxies of the environment.

    Args:
        environ: Where ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` are looked up.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._proxies = Proxies.of(os.environ if environ is None else environ)
        self._loops: dict[asyncio.AbstractEventLoop, _OfLoop] = {}
        self._routes: dict[str, _Route] = {}
        self._closed = False

    def open(self, request: HttpRequest) -> _Exchange:
        """Send a request and wait for the head of the answer."""
        return _Exchange(self, request)

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._closed = True
        ours = self._loops.pop(asyncio.get_running_loop(), None)
        if ours is not None:
            await ours.pool.close()
            if ours.session is not None:
                await ours.session.close()
        self._forget_ended_loops()

    async def send(self, request: HttpRequest) -> _Direct | _Proxied:
        """Send a request and return its answer; for this file only.

        Raises:
            ConnectionFailed: no answer came.
        """
        route = self._route(request.url)
        ours = self._ready(route.place)
        body = _Body(route.place, request.max_bytes, request.max_bytes)
        if route.proxy is not None or request.method == "HEAD":  # a parser of answers does not know the method
            return _Proxied(await _send_through(ours.through_proxies(), route, request), body)
        limits = Limits(connect_s=request.connect_s, idle_s=request.idle_s, total_s=request.total_s)
        try:
            exchange = await Exchange.begin(
                ours.pool, route.target, request.method, request.headers, request.body, limits
            )
        except Broken as error:
            raise ConnectionFailed(f"{route.place}: {error.cause}") from None
        except OSError as error:
            raise ConnectionFailed(f"{route.place}: {cause_of(error)}") from None
        return _Direct(exchange, body)

    def _route(self, address: str) -> _Route:
        """Return how an address is reached; worked out once for each of the last few."""
        route = self._routes.get(address)
        if route is None:
            if len(self._routes) >= _KNOWN_ROUTES:
                self._routes.clear()
            route = self._routes[address] = _route(address, self._proxies)
        return route

    def _ready(self, place: str) -> _OfLoop:
        """Return what the running loop has; a library's caller may run one loop after another."""
        if self._closed:
            raise ConnectionFailed(f"{place}: the dialer was closed")
        loop = asyncio.get_running_loop()
        ours = self._loops.get(loop)
        if ours is None:
            self._forget_ended_loops()
            ours = self._loops[loop] = _OfLoop(Pool(IDLE_CONNECTION_S))
        return ours

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in self._loops if loop.is_closed()]:
            session = self._loops.pop(loop).session
            if session is not None:
                session.detach()


def _route(address: str, proxies: Proxies) -> _Route:
    place, target = place_of(address), Target.of(address)
    if target is None:
        is_other = "://" in address and not address.startswith(("http://", "https://"))
        raise ConnectionFailed(f"{place}: {CAUSES['NonHttpUrlClientError' if is_other else 'InvalidURL']}")
    server = target.server
    proxy = proxies.for_url("https" if server.is_tls else "http", server.host, server.port)
    if proxy is not None and not proxy.address.startswith("http"):
        kind = proxy.address.partition(":")[0]
        raise ConnectionFailed(f"{place}: {kind} is no kind of proxy that can be used; set an http or https one")
    return _Route(place, address, target, proxy)


async def _send_through(session: aiohttp.ClientSession, route: _Route, request: HttpRequest) -> aiohttp.ClientResponse:
    import aiohttp
    import yarl

    headers, proxy = request.headers, route.proxy
    if proxy is not None and not route.target.server.is_tls:  # over https the proxy sees the CONNECT alone
        headers = {**headers, **proxy.headers}
    url = yarl.URL(route.address)
    if any(name.lower() == "authorization" for name in headers):
        url = url.with_user(None)  # HTTP has room for one
    try:
        return await session.request(
            request.method,
            url,
            data=request.body,
            headers=headers,
            allow_redirects=False,
            proxy=proxy.address if proxy is not None else None,
            proxy_headers=proxy.headers if proxy is not None else None,
            timeout=aiohttp.ClientTimeout(
                total=request.total_s,
                connect=request.connect_s,
                sock_connect=request.connect_s,
                sock_read=request.idle_s,
            ),
        )
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise ConnectionFailed(f"{route.place}: {cause_of(error)}") from None


def _new_session() -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity", "User-Agent": "ferrule"},
        skip_auto_headers=("Accept", "Content-Type"),
    )
