"""A memory store in a text file, one note a line, with only the three methods of the port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from ferrule import Adapter, MemoryEntry, Parts


class Settings(BaseModel):
    """``[memory.notes.<alias>]``; the file lies in the home unless its path is absolute."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = "notes.txt"


class Notes:
    """Remembers lines."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def append(self, entry: MemoryEntry) -> None:
        """Add one line."""
        with self._path.open("a") as file:
            file.write(" ".join(entry.text.split()) + "\n")

    async def recent(self, limit: int) -> Sequence[MemoryEntry]:
        """Return the last lines, oldest first."""
        return [MemoryEntry(text=line) for line in self._lines()[-limit:]] if limit else []

    async def search(self, query: str, limit: int) -> Sequence[MemoryEntry]:
        """Return lines that hold any word of the query."""
        words = query.lower().split()
        found = [line for line in self._lines() if any(word in line.lower() for word in words)]
        return [MemoryEntry(text=line) for line in found[:limit]]

    def _lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


@asynccontextmanager
async def open_notes(settings: Settings, parts: Parts) -> AsyncIterator[Notes]:
    """Open the store; there is nothing to close."""
    yield Notes(Path(parts.home) / settings.file)


ADAPTER = Adapter(kind="memory", name="notes", settings=Settings, open=open_notes, summary="Notes in a text file.")
