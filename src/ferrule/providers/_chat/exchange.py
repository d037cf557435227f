"""One exchange over HTTP: the address and key it goes to, and the body that comes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from ...ports.dialer import HttpResponse
from ...types.completion import ProviderEvent
from ...types.errors import ConfigError, ConnectionFailed, ProviderError
from .failures import Failures

DRAIN_S = 0.1
"""How long the end of a finished body is waited for, so that its connection can be used again."""

GRACE_S = 2.0
"""How long usage and the end mark are waited for when the answer has ended; some servers never send them."""

log = logging.getLogger(__name__)


class Body(Protocol):
    """Decodes one body, piece by piece."""

    @property
    def done(self) -> bool:
        """Whether the end mark was read, so that nothing more counts."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the answer is whole, although more could come."""
        ...

    def feed(self, piece: bytes) -> Iterator[ProviderEvent]:
        """Take a piece of the body and give the events that it completes."""
        ...

    def end(self) -> Iterator[ProviderEvent]:
        """End the body; the last event is `Finished`."""
        ...

    def usage(self) -> Iterator[ProviderEvent]:
        """Give the usage that was not given yet."""
        ...


async def read_events(
    response: HttpResponse, answer: Body, failures: Failures, *, grace_s: float = GRACE_S
) -> AsyncGenerator[ProviderEvent, None]:
    """Decode a body; what was paid for is reported also when the answer fails.

    Args:
        response: Whose body it is.
        answer: Decodes it.
        failures: Makes the errors.
        grace_s: Seconds that an answer which has ended may stay open.

    Raises:
        StreamBroken: the connection failed before the end of the answer.
        ProviderError: as for `Body`.
    """
    try:
        pieces = response.pieces()
        try:
            async for piece in _until_quiet(pieces, answer, grace_s):
                for event in answer.feed(piece):
                    yield event
                if answer.done:
                    await _drain(pieces)
                    break
        except ConnectionFailed as error:
            if not answer.ended:
                raise failures.broken(f"the answer broke off: {error}") from None
            log.info("%s: the connection failed after the end of the answer: %s", failures.name, error)
        for event in answer.end():
            yield event
    except ProviderError:
        for event in answer.usage():
            yield event
        raise


async def _until_quiet(pieces: AsyncIterator[bytes], answer: Body, grace_s: float) -> AsyncIterator[bytes]:
    """Give the pieces of a body; from the end of the answer on, only for the time of grace."""
    async for piece in pieces:
        yield piece
        if answer.ended:
            break
    else:
        return
    deadline = asyncio.get_running_loop().time() + grace_s
    try:
        while True:
            async with asyncio.timeout_at(deadline):
                piece = await anext(pieces)
            yield piece
    except (TimeoutError, StopAsyncIteration):
        return  # the answer is whole; only the connection is lost


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the few bytes behind the end mark, else the connection could not be kept."""
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                continue
    except (TimeoutError, ConnectionFailed):
        return  # the answer is whole; only the connection is lost


async def failed_body(response: HttpResponse) -> bytes:
    """Read the report of a failed request; a report that cannot be read is an empty one."""
    try:
        return await response.read()
    except ConnectionFailed:
        return b""


def address(name: str, base_url: str, *, example: str) -> SplitResult:
    """Take an address apart.

    Raises:
        ConfigError: it is no http(s) URL.
    """
    try:
        parts = urlsplit(base_url.strip())
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"[providers.{name}] base_url is not an http or https address", hint=f'write it like "{example}"'
        )
    return parts


def bearer(name: str, api_key: str | None) -> dict[str, str]:
    """Return the header that carries the key; none without one.

    Raises:
        ConfigError: the key cannot be sent in a header.
    """
    key = (api_key or "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"[providers.{name}] api_key holds characters that a header cannot carry",
            hint="copy the key again, without line breaks",
        )
    return {"Authorization": f"Bearer {key}"}
