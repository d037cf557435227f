"""`list_directory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.tools import ToolResult
from ._errors import failure

MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArguments:
    """Arguments of `list_directory`."""

    path: Annotated[str, "Path of the folder, relative to the workspace."] = "."


class ListDirectory:
    """List what is in a folder: its files and folders."""

    name: ClassVar[str] = "list_directory"
    needs: ClassVar[frozenset[str]] = frozenset({"files.read"})
    arguments: ClassVar[type] = ListArguments

    def accesses(self, arguments: ListArguments) -> Sequence[Access]:
        """It reads one folder."""
        return (Access(action="files.read", target=arguments.path),)

    async def execute(self, arguments: ListArguments, context: ToolContext) -> ToolResult:
        """List the folder."""
        try:
            entries, more = await context.files.list(arguments.path, limit=MOST)
        except NotADirectoryError:
            return ToolResult.failed("file.not_directory", f"{arguments.path!r} is a file; read it with file_read.")
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        signs = {"directory": "/", "link": "@"}
        lines = [entry.path + signs.get(entry.kind, "") for entry in entries]
        if more:
            lines.append(f"[more than {MOST} entries; use glob_search]")
        return ToolResult.text("\n".join(lines) or "(empty folder)", origin="file", truncated=more)


TOOL = ListDirectory()
