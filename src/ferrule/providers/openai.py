"""Provider ``openai``: OpenAI, and every server that speaks its chat-completions dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ..ports.adapter import Adapter, Parts
from ._chat.provider import Endpoint, OpenAIChat

Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseModel):
    """The table ``[providers.openai.<alias>]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1, description="The model, as the vendor names it.")]
    base_url: Annotated[str, Field(description="Address of the API, up to and including its version.")] = (
        "https://api.openai.com/v1"
    )
    api_key: Annotated[SecretStr | None, Field(description="Sent as a bearer token; absent for keyless servers.")] = (
        None
    )
    organization: Annotated[str | None, Field(description="Sent as openai-organization.")] = None
    length_field: Annotated[
        Literal["max_completion_tokens", "max_tokens"] | None,
        Field(description="Field of the longest answer; the address decides when absent."),
    ] = None
    replay_reasoning: Annotated[
        bool | None, Field(description="Send reasoning back in later rounds; the address decides when absent.")
    ] = None
    connect_timeout_s: Annotated[Seconds, Field(description="Seconds to connect.")] = 15.0
    idle_timeout_s: Annotated[Seconds, Field(description="Seconds of silence after which an answer is given up.")] = (
        120.0
    )
    total_timeout_s: Annotated[Seconds | Literal["unlimited"], Field(description="Seconds for a whole answer.")] = (
        "unlimited"
    )

    def endpoint(self) -> Endpoint:
        """Return the same values, free of pydantic."""
        return Endpoint(
            model=self.model,
            base_url=self.base_url,
            api_key=self.api_key.get_secret_value() if self.api_key is not None else None,
            headers={"OpenAI-Organization": self.organization} if self.organization else {},
            length_field=self.length_field,
            replay_reasoning=self.replay_reasoning,
            connect_s=self.connect_timeout_s,
            idle_s=self.idle_timeout_s,
            total_s=None if self.total_timeout_s == "unlimited" else self.total_timeout_s,
        )


@asynccontextmanager
async def open_provider(settings: Settings, parts: Parts) -> AsyncIterator[OpenAIChat]:
    """Build the provider; it holds nothing that must be closed, since the dialer owns the connections."""
    yield OpenAIChat(name=parts.name, endpoint=settings.endpoint(), dialer=parts.dialer, clock=parts.clock)


ADAPTER: Adapter[Settings, OpenAIChat] = Adapter(
    kind="providers",
    name="openai",
    settings=Settings,
    open=open_provider,
    summary="OpenAI and servers that speak its chat-completions dialect",
)
