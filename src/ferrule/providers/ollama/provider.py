"""A provider that speaks Ollama's own API; free of pydantic, so that a library's user does not load it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlunsplit

from ...ports.clock import Clock
from ...ports.dialer import Dialer, HttpRequest
from ...types.completion import ProviderEvent, Request
from ...types.errors import BadRequest, ConfigError, ConnectionFailed, ContextOverflow, ProviderError
from ...types.parts import ImagePart
from .._chat.exchange import address, bearer, failed_body, read_events
from .._chat.failures import Failures, secrets_in
from .answer import Answer
from .encode import unreadable
from .facts import ModelFacts, read_facts, read_names
from .failures import explained, is_missing, missing, unreachable
from .request import RequestWriter

BASE_URL = "http://127.0.0.1:11434"
"""Where Ollama listens unless it was told otherwise."""

LOOKUP_S = 10.0
"""Seconds for a question about the server's models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is, and how it is run.

    Attributes:
        model: As the server names it.
        base_url: Address of the server, without ``/api``; a query is kept.
        api_key: Sent as a bearer token; None for servers without keys.
        keep_alive: How long the model stays loaded: a duration as text, or seconds; negative for ever.
        think: Whether or how much it thinks; None leaves it to the model.
        options: Options of the model, ``num_ctx`` among them.
        connect_s: Seconds to connect.
        idle_s: Seconds of silence after which an answer is given up.
        total_s: Seconds for a whole answer; None for no limit.
    """

    model: str
    base_url: str = BASE_URL
    api_key: str | None = field(default=None, repr=False)
    keep_alive: str | int | None = None
    think: bool | Literal["low", "medium", "high"] | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    connect_s: float = 15.0
    idle_s: float = 300.0
    total_s: float | None = None


class OllamaChat:
    """A `Provider` over ``/api/chat``.

    The server is told never to cut a prompt that is too long: it reports an
    error instead, so that nothing of the conversation is lost unseen.
    """

    def __init__(self, *, name: str, endpoint: Endpoint, dialer: Dialer, clock: Clock) -> None:
        """Check the address and the key once.

        Raises:
            ConfigError: the address is no http(s) URL or that of another API, or the key cannot be sent in a header.
        """
        self.name = name
        self.model = endpoint.model
        self._dialer = dialer
        self._clock = clock
        self._writer = RequestWriter(
            model=endpoint.model, think=endpoint.think, keep_alive=endpoint.keep_alive, options=endpoint.options
        )
        self._chat = HttpRequest(
            method="POST",
            url=_api_url(name, endpoint.base_url, "chat"),
            headers={"Content-Type": "application/json", **bearer(name, endpoint.api_key)},
            connect_s=endpoint.connect_s,
            idle_s=endpoint.idle_s,
            total_s=endpoint.total_s,
        )
        ask = replace(self._chat, total_s=LOOKUP_S)
        self._tags = replace(ask, method="GET", url=_api_url(name, endpoint.base_url, "tags"))
        self._show = replace(ask, url=_api_url(name, endpoint.base_url, "show"), body=self._writer.question())
        secrets = secrets_in(endpoint.base_url, (endpoint.api_key or "").strip())
        self._failures = Failures(name, endpoint.model, secrets)
        self._has_sight = False

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model once."""
        sees = await self._sees(request)
        self._check(request, sees=sees)
        wanted = replace(self._chat, body=self._writer.body(request, sees=sees))
        answer = Answer(self._failures, made_ids=f"call_{request.id.removeprefix('req_')}")
        try:
            async with self._dialer.open(wanted) as response:
                if response.status != 200:
                    body, now_s = await failed_body(response), self._clock.now_ms() / 1000
                    raise self._failures.of_status(response.status, response.headers, body, now_s=now_s)
                async with aclosing(read_events(response, answer, self._failures)) as events:
                    async for event in events:
                        yield event
        except ConnectionFailed as error:
            raise unreachable(error, name=self.name) from None
        except ProviderError as error:
            raise await self._explained(error) from None

    async def models(self) -> tuple[str, ...]:
        """Ask the server which models it has, by name, the one used last first.

        Raises:
            ProviderError: it does not answer, or not like an Ollama server.
        """
        return read_names(await self._ask(self._tags), self._failures)

    async def facts(self) -> ModelFacts:
        """Ask the server what the model can do.

        Raises:
            ProviderError: as for `models`; also when it does not have the model.
        """
        return read_facts(await self._ask(self._show), self._failures)

    async def _ask(self, wanted: HttpRequest) -> bytes:
        try:
            async with self._dialer.open(wanted) as response:
                body = await response.read()
                if response.status != 200:
                    now_s = self._clock.now_ms() / 1000
                    raise self._failures.of_status(response.status, response.headers, body, now_s=now_s)
                return body
        except ConnectionFailed as error:
            raise unreachable(error, name=self.name) from None

    async def _sees(self, request: Request) -> bool:
        """Tell whether images may be sent; asked of the server only when there are some, until it says yes."""
        if self._has_sight or not any(isinstance(p, ImagePart) for m in request.messages for p in m.parts):
            return True
        try:
            facts = await self.facts()
        except ProviderError:
            return True  # the request itself will say what is wrong
        self._has_sight = "vision" in facts.capabilities
        return self._has_sight or not facts.capabilities

    def _check(self, request: Request, *, sees: bool) -> None:
        """Refuse what a person sends now and Ollama cannot take; of earlier messages the model is told."""
        last = request.messages[-1]
        for part in last.parts if last.role == "user" else ():
            if (why := unreadable(part, sees=sees)) is not None:
                raise BadRequest(
                    f"{self.name}: the message holds {why}",
                    hint="send text and image bytes, to a model that can see them",
                )

    async def _explained(self, error: ProviderError) -> ProviderError:
        """Add what only the server knows: the models that are there, and how much this one could take."""
        try:
            if is_missing(error):
                return missing(error, self.model, await self.models())
            if isinstance(error, ContextOverflow):
                return explained(error, name=self.name, context=(await self.facts()).context)
        except ProviderError:
            return missing(error, self.model, ()) if is_missing(error) else explained(error, name=self.name)
        return explained(error, name=self.name)


def _api_url(name: str, base_url: str, what: str) -> str:
    parts = address(name, base_url, example=BASE_URL)
    path = parts.path.rstrip("/").removesuffix("/api")
    if path.endswith("/v1"):
        raise ConfigError(
            f"[providers.{name}] base_url ends in /v1, where Ollama speaks another API",
            hint="leave /v1 out, or configure the address as [providers.openai.<alias>]",
        )
    return urlunsplit(parts._replace(path=f"{path}/api/{what}", fragment=""))
