"""`memory_store`: the agent's own memory, so it touches neither files nor commands nor the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.arguments import MaxLength
from ..types.codec import clean
from ..types.memory import MemoryEntry
from ..types.tools import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreArguments:
    """Arguments of `memory_store`."""

    text: Annotated[str, MaxLength(10_000), "What to remember, in a sentence that can be understood on its own."]


class MemoryStoreTool:
    """Remember a text beyond this conversation."""

    name: ClassVar[str] = "memory_store"
    needs: ClassVar[frozenset[str]] = frozenset()
    arguments: ClassVar[type] = StoreArguments

    async def execute(self, arguments: StoreArguments, context: ToolContext) -> ToolResult:
        """Remember it."""
        text = clean(arguments.text).strip()
        if not text:
            return ToolResult.failed("memory.empty", "There is nothing to remember in an empty text.")
        await context.memory.append(MemoryEntry(text=text, origin="model"))
        return ToolResult.text("remembered")


TOOL = MemoryStoreTool()
