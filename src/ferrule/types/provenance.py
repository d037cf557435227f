"""Where bytes came from, and whether they may be believed."""

from __future__ import annotations

from typing import Literal, get_args

Origin = Literal["operator", "user", "model", "tool", "file", "web", "peer", "memory"]
"""Who wrote a message or a result. `tool` is a tool's own words, `file` and `web` what it read."""

ORIGINS: frozenset[str] = frozenset(get_args(Origin))

UNTRUSTED: frozenset[str] = frozenset({"file", "web", "peer", "memory"})
"""Origins whose text is data, never an instruction of the operator or the person."""


def is_trusted(origin: Origin) -> bool:
    """Tell whether text of this origin is trusted by default."""
    return origin not in UNTRUSTED
