"""A provider that speaks the chat-completions dialect; free of pydantic, so that a library's user does not load it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from ...ports.clock import Clock
from ...ports.dialer import Dialer, HttpRequest, HttpResponse
from ...types.completion import ProviderEvent, Request
from ...types.errors import ConfigError, ConnectionFailed, ProviderError
from .answer import Answer
from .failures import Failures, refused_parameters, secrets_in
from .request import REASONING, LengthField, RequestWriter

DRAIN_S = 0.1
"""How long the end of a finished body is waited for, so that its connection can be used again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is, and how to talk to it.

    Attributes:
        model: As the vendor names it.
        base_url: Up to and including the version, for example ``https://api.openai.com/v1``; a query is kept.
        api_key: Sent as a bearer token; None for servers without keys.
        headers: More header fields, for example ``openai-organization``.
        length_field: The field for the longest answer; None picks it by the address.
        replay_reasoning: Whether reasoning is sent back; None decides by the address.
        connect_s: Seconds to connect.
        idle_s: Seconds of silence after which an answer is given up.
        total_s: Seconds for a whole answer; None for no limit.
    """

    model: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    length_field: LengthField | None = None
    replay_reasoning: bool | None = None
    connect_s: float = 15.0
    idle_s: float = 120.0
    total_s: float | None = None

    @property
    def is_openai(self) -> bool:
        """Whether the address is OpenAI's own: it has its own length field and refuses reasoning fields."""
        return urlsplit(self.base_url).hostname == "api.openai.com"


class OpenAIChat:
    """A `Provider` over chat completions, for OpenAI and for every server that speaks its dialect.

    Parameters that the server refuses by name are left out of one repetition
    of the request and of all later ones.
    """

    def __init__(self, *, name: str, endpoint: Endpoint, dialer: Dialer, clock: Clock) -> None:
        """Check the address and the key once.

        Raises:
            ConfigError: the address is no http(s) URL, or the key cannot be sent in a header.
        """
        self.name = name
        self._dialer = dialer
        self._clock = clock
        url = _completions_url(name, endpoint.base_url)
        length_field = endpoint.length_field or ("max_completion_tokens" if endpoint.is_openai else "max_tokens")
        self._writer = RequestWriter(model=endpoint.model, length_field=length_field)
        replay = not endpoint.is_openai if endpoint.replay_reasoning is None else endpoint.replay_reasoning
        if not replay:
            self._writer.refused({REASONING})
        self._blank = HttpRequest(
            method="POST",
            url=url,
            headers=_headers(name, endpoint),
            connect_s=endpoint.connect_s,
            idle_s=endpoint.idle_s,
            total_s=endpoint.total_s,
        )
        secrets = secrets_in(endpoint.base_url, (endpoint.api_key or "").strip())
        self._failures = Failures(name, endpoint.model, secrets)

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model once; a refused optional parameter costs one repetition without it."""
        for last in (False, True):
            wanted = replace(self._blank, body=self._writer.body(request))
            async with self._dialer.open(wanted) as response:
                if response.status == 200:
                    answer = Answer(self._failures, made_ids=f"call_{request.id.removeprefix('req_')}")
                    async with aclosing(self._events(response, answer)) as events:
                        async for event in events:
                            yield event
                    return
                body = await _failed_body(response)
                if last or not self._leave_out(request, response.status, body):
                    raise self._failure(response, body)

    async def _events(self, response: HttpResponse, answer: Answer) -> AsyncGenerator[ProviderEvent, None]:
        """Decode a body; what was paid for is reported also when the answer fails."""
        try:
            pieces = response.pieces()
            try:
                async for piece in pieces:
                    for event in answer.feed(piece):
                        yield event
                    if answer.done:
                        await _drain(pieces)
                        break
            except ConnectionFailed as error:
                if not answer.ended:
                    raise self._failures.broken(f"the answer broke off: {error}") from None
                log.info("%s: the connection failed after the end of the answer: %s", self.name, error)
            for event in answer.end():
                yield event
        except ProviderError:
            for event in answer.usage():
                yield event
            raise

    def _leave_out(self, request: Request, status: int, body: bytes) -> bool:
        """Remember the parameters that a refusal names; tell whether there are any."""
        if status not in (400, 422):
            return False
        sent = self._writer.sent(request)
        refused = refused_parameters(body, sent)
        if not refused:
            return False
        fields = {m.reasoning_field for m in request.messages if m.reasoning_field}
        log.warning("%s: the model refuses %s; left out from now on", self.name, ", ".join(sorted(refused)))
        self._writer.refused({REASONING if name in fields else name for name in refused})
        return True

    def _failure(self, response: HttpResponse, body: bytes) -> ProviderError:
        now_s = self._clock.now_ms() / 1000
        return self._failures.of_status(response.status, response.headers, body, now_s=now_s)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the few bytes behind the end mark, else the connection could not be kept."""
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                continue
    except (TimeoutError, ConnectionFailed):
        return  # the answer is whole; only the connection is lost


async def _failed_body(response: HttpResponse) -> bytes:
    """Read the report of a failed request; a report that cannot be read is an empty one."""
    try:
        return await response.read()
    except ConnectionFailed:
        return b""


def _completions_url(name: str, base_url: str) -> str:
    try:
        parts = urlsplit(base_url.strip())
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"[providers.{name}] base_url is not an http or https address",
            hint='write it like "https://api.openai.com/v1"',
        )
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return urlunsplit(parts._replace(path=path, fragment=""))


def _headers(name: str, endpoint: Endpoint) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **endpoint.headers}
    key = (endpoint.api_key or "").strip()
    if key:
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"[providers.{name}] api_key holds characters that a header cannot carry",
                hint="copy the key again, without line breaks",
            )
        headers["Authorization"] = f"Bearer {key}"
    return headers
