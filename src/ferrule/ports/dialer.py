"""Every outbound connection of every room goes through here.

The port speaks our own request, response and byte stream, never a library's
types; network policy, address pinning and proxies live behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

Purpose = Literal["operator_configured", "agent_chosen"]
"""Who chose the address: the operator's config, or a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request.

    Attributes:
        method: Upper case.
        url: Absolute; http or https.
        headers: As sent. Secrets in them never reach logs or errors.
        body: Bytes, or None for no body.
        purpose: Who chose the address.
        connect_s: Seconds to connect, TLS included.
        idle_s: Seconds without a byte before the exchange is given up.
        total_s: Seconds for the whole exchange; None for no limit.
        max_bytes: Longest body accepted.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    purpose: Purpose = "operator_configured"
    connect_s: float = 15.0
    idle_s: float = 120.0
    total_s: float | None = None
    max_bytes: int = 64 * 1024 * 1024


class HttpResponse(Protocol):
    """An answer whose head has arrived."""

    @property
    def status(self) -> int:
        """The status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields, names in lower case; repeated fields joined by a comma."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it came from the socket.

        Raises:
            ConnectionFailed: silent for `idle_s`, cut before its end, or over a limit.
        """
        ...

    async def read(self) -> bytes:
        """Return the whole body.

        Raises:
            ConnectionFailed: as for `pieces`.
        """
        ...


class Dialer(Protocol):
    """Opens connections that the network policy allows."""

    def open(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request and wait for the head of the answer; redirects are not followed.

        Raises:
            PolicyDenied: the network policy refuses the address.
            ConnectionFailed: no answer; the text names host and cause, never a key, query or user part.
        """
        ...

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        ...
