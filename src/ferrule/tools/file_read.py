"""`file_read`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.handles import FileBytes
from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.arguments import Range
from ..types.parts import ImagePart
from ..types.tools import ToolResult
from ._errors import failure
from ._text import IMAGES, decode, media_type

MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArguments:
    """Arguments of `file_read`."""

    path: Annotated[str, "Path of the file, relative to the workspace."]
    start_line: Annotated[int, Range(1, 10_000_000), "First line to read, counted from 1."] = 1
    max_lines: Annotated[int, Range(1, 20_000), "Most lines to read."] = 2_000
    line_numbers: Annotated[bool, "Put its number before each line."] = False


class FileRead:
    """Read one text file of the workspace. Long files come in pages: go on with start_line."""

    name: ClassVar[str] = "file_read"
    needs: ClassVar[frozenset[str]] = frozenset({"files.read"})
    arguments: ClassVar[type] = ReadArguments

    def accesses(self, arguments: ReadArguments) -> Sequence[Access]:
        """It reads one file."""
        return (Access(action="files.read", target=arguments.path),)

    async def execute(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        """Read the page."""
        try:
            found = await context.files.read(arguments.path, max_bytes=MOST_BYTES)
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        decoded = decode(found.data)
        if decoded is None:
            return _binary(found)
        lines = decoded.text.splitlines(keepends=True)
        first = arguments.start_line - 1
        if first and first >= len(lines):
            return ToolResult.failed("file.range", f"{arguments.path!r} has {len(lines)} lines.")
        page = lines[first : first + arguments.max_lines]
        text = _numbered(page, first) if arguments.line_numbers else "".join(page)
        notes = _notes(found, len(lines), first + len(page), decoded.bad_bytes)
        return ToolResult.text(text + notes, origin="file", truncated=first > 0 or first + len(page) < len(lines))


def _numbered(page: list[str], first: int) -> str:
    return "".join(f"{first + i:>6}  {line}" for i, line in enumerate(page, 1))


def _notes(found: FileBytes, lines: int, last: int, bad_bytes: int) -> str:
    notes: list[str] = []
    if last < lines:
        notes.append(f"[{lines - last} more lines; go on with start_line={last + 1}]")
    if found.size > len(found.data):
        notes.append(f"[only the first {len(found.data):,} of {found.size:,} bytes were looked at]")
    if bad_bytes:
        notes.append(f"[{bad_bytes} bytes are no valid text and are shown as \ufffd]")
    return "\n" + "\n".join(notes) if notes else ""


def _binary(found: FileBytes) -> ToolResult:
    kind = media_type(found.data)
    text = f"binary, {kind}, {found.size:,} bytes"
    if kind in IMAGES and found.size == len(found.data):
        parts = (ImagePart(media_type=kind, data=found.data),)
        return ToolResult(content=text, parts=parts, origin="file", trusted=False)
    return ToolResult.text(text + "; there is no text to read", origin="file")


TOOL = FileRead()
