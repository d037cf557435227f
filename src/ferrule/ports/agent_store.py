"""Agents that were made while running, beside those of the config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """One stored agent; `settings` holds the keys of an ``[agents.<alias>]`` table."""

    agent_id: str
    name: str
    description: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    status: Literal["active", "stopped"] = "active"
    created_ms: int = 0
    updated_ms: int = 0


@runtime_checkable
class AgentStore(Protocol):
    """Keeps agent records; every change is on disk when the method returns."""

    async def create(self, record: AgentRecord) -> AgentRecord:
        """Store a new record, active, with its times set.

        Raises:
            StoreError: the id exists already, or nothing could be written.
        """
        ...

    async def get(self, agent_id: str) -> AgentRecord | None:
        """Return one record, or None."""
        ...

    async def list(self) -> Sequence[AgentRecord]:
        """Return all records in order of creation."""
        ...

    async def update(self, agent_id: str, changes: Mapping[str, object]) -> AgentRecord | None:
        """Change name, description or settings; None when there is no such record."""
        ...

    async def delete(self, agent_id: str) -> bool:
        """Remove a record; False when there was none."""
        ...

    async def set_status(self, agent_id: str, status: Literal["active", "stopped"]) -> bool:
        """Start or stop an agent; False when there is no such record."""
        ...

    async def count(self) -> int:
        """Count the records."""
        ...
