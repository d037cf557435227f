"""What went wrong at an Ollama server, with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...types.errors import BadRequest, ConnectionFailed, ContextOverflow, ProviderError

_MISSING = re.compile(r"model\b.{0,200}\bnot found|try pulling it", re.IGNORECASE)
_HINTS = (
    (re.compile(r"does not support tools"), "use a model that can call tools, or write tools = [] for the agent"),
    (re.compile(r"does not support thinking"), "take `think` out of [providers.{name}]"),
    (re.compile(r"404 page not found"), "check base_url: it is the address of an Ollama server, without /api"),
)
_MEMORY = re.compile(r"requires more system memory|out of memory|cudaMalloc failed", re.IGNORECASE)


def is_missing(error: ProviderError) -> bool:
    """Tell whether the server does not have the model."""
    return isinstance(error, BadRequest) and _MISSING.search(str(error)) is not None


def missing(error: ProviderError, model: str, installed: Sequence[str]) -> BadRequest:
    """Make the error of a model that is not on the server."""
    hint = f"run `ollama pull {model}`"
    if installed:
        hint += f", or use one that is there: {', '.join(installed)}"
    return BadRequest(str(error), hint=hint)


def explained(error: ProviderError, *, name: str, context: int | None = None) -> ProviderError:
    """Return the error with the advice that fits an Ollama server.

    Args:
        error: As made from the server's report.
        name: ``ollama.<alias>``.
        context: Tokens the model can take at most, when the server said so.
    """
    if isinstance(error, ContextOverflow):
        # Said in the text too, since whoever trims the conversation writes a hint of its own; in thousands, since it
        # reads long numbers of the text as the vendor's limits.
        most = f", the model takes up to {context // 1024}k" if context else ""
        advice = f"num_ctx of [providers.{name}] can be raised{most}"
        return ContextOverflow(f"{error} ({advice})", hint=f"shorten the conversation; {advice}")
    if _MEMORY.search(str(error)):
        return BadRequest(str(error), hint=f"use a smaller model, or lower num_ctx of [providers.{name}]")
    for pattern, hint in _HINTS:
        if pattern.search(str(error)):
            error.hint = hint.format(name=name)
    return error


def unreachable(error: ConnectionFailed, *, name: str) -> ConnectionFailed:
    """Return the error with the advice that fits a server on this machine."""
    return ConnectionFailed(
        f"{name}: {error}",
        hint="start it with `ollama serve`; if it runs, check base_url, and raise idle_timeout_s for a model that "
        "loads slowly",
    )
