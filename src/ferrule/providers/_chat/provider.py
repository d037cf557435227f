"""A provider that speaks the chat-completions dialect; free of pydantic, so that a library's user does not load it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from ...ports.clock import Clock
from ...ports.dialer import Dialer, HttpRequest, HttpResponse
from ...types.completion import ProviderEvent, Request
from ...types.errors import ProviderError
from .._attachments import check_last
from .answer import Answer
from .exchange import address, bearer, failed_body, read_events
from .failures import Failures, refused_parameters, secrets_in
from .request import REASONING, LengthField, RequestWriter

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
        self.model = endpoint.model
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
        check_last(request.messages, self.name)
        for last in (False, True):
            wanted = replace(self._blank, body=self._writer.body(request))
            async with self._dialer.open(wanted) as response:
                if response.status == 200:
                    answer = Answer(self._failures, made_ids=f"call_{request.id.removeprefix('req_')}")
                    async with aclosing(read_events(response, answer, self._failures)) as events:
                        async for event in events:
                            yield event
                    return
                body = await failed_body(response)
                if last or not self._leave_out(request, response.status, body):
                    raise self._failure(response, body)

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


def _completions_url(name: str, base_url: str) -> str:
    parts = address(name, base_url, example="https://api.openai.com/v1")
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return urlunsplit(parts._replace(path=path, fragment=""))


def _headers(name: str, endpoint: Endpoint) -> dict[str, str]:
    accept = "text/event-stream, application/json"
    own = {"Content-Type": "application/json", "Accept": accept, **endpoint.headers}
    return own | bearer(name, endpoint.api_key)
