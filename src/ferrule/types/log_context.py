"""The ids that every log line carries, bound to the running task by context variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

LogKey = Literal["agent", "session", "turn", "tool", "request", "gate"]
"""`gate` is bound only where there is none, so that every line of such an agent says so."""

CONTEXT: dict[LogKey, ContextVar[str]] = {
    "agent": ContextVar("ferrule_agent", default=""),
    "session": ContextVar("ferrule_session", default=""),
    "turn": ContextVar("ferrule_turn", default=""),
    "tool": ContextVar("ferrule_tool", default=""),
    "request": ContextVar("ferrule_request", default=""),
    "gate": ContextVar("ferrule_gate", default=""),
}


def current() -> dict[str, str]:
    """Return the ids that are bound now, without the empty ones."""
    return {key: value for key, variable in CONTEXT.items() if (value := variable.get())}


@contextmanager
def bound(key: LogKey, value: str) -> Iterator[None]:
    """Bind one id for the block, in this task and the ones it starts."""
    token = CONTEXT[key].set(value)
    try:
        yield
    finally:
        CONTEXT[key].reset(token)
