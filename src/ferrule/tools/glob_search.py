"""`glob_search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.arguments import MaxLength
from ..types.tools import ToolResult
from ._errors import failure
from ._globs import compile_glob

MOST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobArguments:
    """Arguments of `glob_search`."""

    pattern: Annotated[str, MaxLength(500), "For example **/*.py; ** stands for any folders."]
    path: Annotated[str, "Folder to search in, relative to the workspace."] = "."


class GlobSearch:
    """Find files by a name pattern such as **/*.py."""

    name: ClassVar[str] = "glob_search"
    needs: ClassVar[frozenset[str]] = frozenset({"files.read"})
    arguments: ClassVar[type] = GlobArguments

    def accesses(self, arguments: GlobArguments) -> Sequence[Access]:
        """It reads the names below one folder."""
        return (Access(action="files.read", target=arguments.path),)

    async def execute(self, arguments: GlobArguments, context: ToolContext) -> ToolResult:
        """Search."""
        pattern = compile_glob(arguments.pattern)
        found: list[str] = []
        try:
            async for entry in context.files.walk(arguments.path):
                if entry.kind == "file" and pattern.match(entry.path):
                    found.append(entry.path)
                    if len(found) > MOST:
                        break
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        if not found:
            return ToolResult.text("no files match (normal)", origin="file")
        more = len(found) > MOST
        lines = [*found[:MOST], *([f"[more than {MOST} files; narrow the pattern]"] if more else [])]
        return ToolResult.text("\n".join(lines), origin="file", truncated=more)


TOOL = GlobSearch()
