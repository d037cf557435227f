"""`file_write`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.codec import clean
from ..types.tools import ToolResult
from ._errors import failure
from ._text import decode, unified_diff

MOST_PREVIEWED = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteArguments:
    """Arguments of `file_write`."""

    path: Annotated[str, "Path of the file, relative to the workspace. Missing folders are made."]
    content: Annotated[str, "The whole new content."]


class FileWrite:
    """Create a text file or replace it whole. To change a part of a file use file_edit."""

    name: ClassVar[str] = "file_write"
    needs: ClassVar[frozenset[str]] = frozenset({"files.write"})
    arguments: ClassVar[type] = WriteArguments

    def accesses(self, arguments: WriteArguments) -> Sequence[Access]:
        """It writes one file."""
        return (Access(action="files.write", target=arguments.path),)

    async def preview(self, arguments: WriteArguments, context: ToolContext) -> str:
        """Show what changes."""
        try:
            found = await context.files.read(arguments.path, max_bytes=MOST_PREVIEWED)
        except FileNotFoundError:
            return unified_diff(arguments.path, "", arguments.content)
        if found.size > len(found.data):
            return f"replaces {found.size:,} bytes of {arguments.path}; it is too large to show what changes"
        decoded = decode(found.data)
        if decoded is None:
            return f"replaces {found.size:,} binary bytes of {arguments.path}"
        return unified_diff(arguments.path, decoded.text, arguments.content)

    async def execute(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        """Write the file."""
        data = clean(arguments.content).encode()
        try:
            await context.files.write(arguments.path, data)
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        return ToolResult.text(f"wrote {len(data):,} bytes to {arguments.path}")


TOOL = FileWrite()
