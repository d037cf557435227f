"""Results as the model sees them: masked, and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ports.guard import Guard
from ..types.codec import is_flat
from ..types.tools import ToolCall, ToolResult

CANCELLED = ToolResult.failed("tool.cancelled", "Cancelled before it finished; its effects, if any, were not undone.")
NOT_BEGUN = ToolResult.failed("tool.cancelled", "Not run: the turn was stopped before this call began.")
DEEPEST = 200
"""Levels of arguments; a JSON encoder takes 254, and some are needed for what arguments are sent and stored in."""

TOO_DEEP = f"they are nested more than {DEEPEST} levels deep"


def bounded(result: ToolResult, limit: int) -> ToolResult:
    """Return the result with at most `limit` characters: its head and its tail, with exact counts between them."""
    text = result.content
    if len(text) <= limit:
        return result
    head, tail = limit * 2 // 3, limit // 3
    left_out = len(text) - head - tail
    cut = f"{text[:head]}\n[... {left_out:,} of {len(text):,} characters left out ...]\n{text[len(text) - tail :]}"
    return replace(result, content=cut, truncated=True)


def guarded_value(guard: Guard, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return arguments with every secret in them masked."""
    return {key: _guarded(guard, value) for key, value in arguments.items()}


def own_arguments(arguments: Mapping[str, object]) -> dict[str, object] | None:
    """Return arguments in containers of their own: who changes them changes nothing of anybody else's.

    None when they are nested more deeply than can be copied, stored and sent on.
    """
    if is_flat(arguments):
        return dict(arguments)
    return None if is_deep(arguments) else {key: copied(value) for key, value in arguments.items()}


def copied(value: object) -> object:
    """Return a JSON-like value in containers of its own."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def is_deep(arguments: Mapping[str, object]) -> bool:
    """Tell whether values are nested more deeply than can be copied, stored and sent on."""
    if is_flat(arguments):
        return False
    level: list[object] = [arguments]
    for _ in range(DEEPEST):
        values = (value.values() if isinstance(value, Mapping) else value for value in level)
        level = [item for inside in values for item in inside if isinstance(item, Mapping | list)]  # type: ignore[attr-defined]  # both hold items
        if not level:
            return False
    return True


def readable(call: ToolCall) -> ToolCall:
    """Return the call, without its arguments when nobody could do anything with them."""
    if not is_deep(call.arguments):
        return call
    return replace(call, arguments={}, raw="", fault=TOO_DEEP)


def _guarded(guard: Guard, value: object) -> object:
    if isinstance(value, str):
        return guard.clean(value)
    if isinstance(value, Mapping):
        return {key: _guarded(guard, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_guarded(guard, item) for item in value]
    return value
