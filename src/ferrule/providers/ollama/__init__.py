"""Provider ``ollama``: models of an Ollama server, over its own API.

request ──> encode ──> dialer ──> lines of JSON ──> chat chunks ──> decoder ──> provider events
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ...ports.adapter import Adapter, Parts
from .provider import BASE_URL, Endpoint, OllamaChat

Seconds = Annotated[float, Field(gt=0)]
OptionValue = bool | int | float | str | list[str]


class Settings(BaseModel):
    """The table ``[providers.ollama.<alias>]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1, description="The model, as `ollama list` names it.")]
    base_url: Annotated[str, Field(description="Address of the server, without /api.")] = BASE_URL
    api_key: Annotated[
        SecretStr | None, Field(description="Sent as a bearer token; a server of your own needs none.")
    ] = None
    num_ctx: Annotated[
        int | None,
        Field(ge=1, description="Tokens of context the model is loaded with; the server decides when absent."),
    ] = None
    keep_alive: Annotated[
        str | int | None,
        Field(description='How long the model stays loaded after an answer: "30m", seconds, or -1 for ever.'),
    ] = None
    think: Annotated[
        bool | Literal["low", "medium", "high"] | None,
        Field(description="Whether, or how much, the model thinks first; the model decides when absent."),
    ] = None
    options: Annotated[
        Mapping[str, OptionValue], Field(description="More options of the model, as Ollama names them.")
    ] = {}
    connect_timeout_s: Annotated[Seconds, Field(description="Seconds to connect.")] = 15.0
    idle_timeout_s: Annotated[
        Seconds, Field(description="Seconds of silence after which an answer is given up; loading a model is silence.")
    ] = 300.0
    total_timeout_s: Annotated[Seconds | Literal["unlimited"], Field(description="Seconds for a whole answer.")] = (
        "unlimited"
    )

    def endpoint(self) -> Endpoint:
        """Return the same values, free of pydantic."""
        return Endpoint(
            model=self.model,
            base_url=self.base_url,
            api_key=self.api_key.get_secret_value() if self.api_key is not None else None,
            keep_alive=self.keep_alive,
            think=self.think,
            options={**self.options, **({"num_ctx": self.num_ctx} if self.num_ctx is not None else {})},
            connect_s=self.connect_timeout_s,
            idle_s=self.idle_timeout_s,
            total_s=None if self.total_timeout_s == "unlimited" else self.total_timeout_s,
        )


@asynccontextmanager
async def open_provider(settings: Settings, parts: Parts) -> AsyncIterator[OllamaChat]:
    """Build the provider; it holds nothing that must be closed, since the dialer owns the connections."""
    yield OllamaChat(name=parts.name, endpoint=settings.endpoint(), dialer=parts.dialer, clock=parts.clock)


ADAPTER: Adapter[Settings, OllamaChat] = Adapter(
    kind="providers",
    name="ollama",
    settings=Settings,
    open=open_provider,
    summary="Models of an Ollama server, over its own API",
)
