"""What a memory store keeps."""

from __future__ import annotations

from dataclasses import dataclass

from .provenance import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One remembered text.

    Attributes:
        text: What to remember; never empty.
        id: Given by the store; "" before that.
        origin: Who wrote it.
        at_ms: When, milliseconds since 1970; 0 lets the store fill it in.
        person: Whose it is; "" for the operator.
        audience: Who may see it; "" means everyone the agent serves.
        score: How well it matched a search, higher is better; 0 outside of searches.
    """

    text: str
    id: str = ""
    origin: Origin = "user"
    at_ms: int = 0
    person: str = ""
    audience: str = ""
    score: float = 0.0
