"""`memory_recall`: what the agent remembers is data, never an instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.arguments import MaxLength, Range
from ..types.tools import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallArguments:
    """Arguments of `memory_recall`."""

    query: Annotated[str, MaxLength(1_000), "Words to look for; the newest entries when empty."] = ""
    limit: Annotated[int, Range(1, 100), "Most entries to return."] = 10


class MemoryRecall:
    """Look up what was remembered earlier."""

    name: ClassVar[str] = "memory_recall"
    needs: ClassVar[frozenset[str]] = frozenset()
    arguments: ClassVar[type] = RecallArguments

    async def execute(self, arguments: RecallArguments, context: ToolContext) -> ToolResult:
        """Search, or take the newest."""
        memory = context.memory
        if arguments.query.strip():
            found = await memory.search(arguments.query, arguments.limit)
        else:
            found = await memory.recent(arguments.limit)
        text = "\n".join(f"- {entry.text}" for entry in found)
        return ToolResult.text(text or "nothing is remembered about that (normal)", origin="memory")


TOOL = MemoryRecall()
