"""`file_edit`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.codec import clean
from ..types.errors import ToolError
from ..types.tools import ToolResult
from ._errors import failure
from ._text import Decoded, decode, unified_diff

MOST_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EditArguments:
    """Arguments of `file_edit`."""

    path: Annotated[str, "Path of the file, relative to the workspace."]
    old: Annotated[str, "The exact text to replace; it must occur exactly once."]
    new: Annotated[str, "What to put in its place."]


class FileEdit:
    """Replace one exact piece of text in a file. Take enough lines around it to make it unique."""

    name: ClassVar[str] = "file_edit"
    needs: ClassVar[frozenset[str]] = frozenset({"files.read", "files.write"})
    arguments: ClassVar[type] = EditArguments

    def accesses(self, arguments: EditArguments) -> Sequence[Access]:
        """It reads and writes one file."""
        read = Access(action="files.read", target=arguments.path)
        return (read, Access(action="files.write", target=arguments.path))

    async def preview(self, arguments: EditArguments, context: ToolContext) -> str:
        """Show what changes."""
        decoded = await _load(arguments, context)
        return unified_diff(arguments.path, decoded.text, replaced(decoded.text, arguments))

    async def execute(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        """Edit the file."""
        try:
            decoded = await _load(arguments, context)
            text = replaced(decoded.text, arguments)
            await context.files.write(arguments.path, decoded.encode(text), create=False)
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        return ToolResult.text(f"edited {arguments.path}")


async def _load(arguments: EditArguments, context: ToolContext) -> Decoded:
    found = await context.files.read(arguments.path, max_bytes=MOST_BYTES)
    decoded = decode(found.data)
    if decoded is None or decoded.bad_bytes:
        raise ToolError(f"{arguments.path!r} is not clean text, so it cannot be edited safely", code="file.binary")
    if found.size > len(found.data):
        raise ToolError(f"{arguments.path!r} is larger than {MOST_BYTES:,} bytes", code="file.too_large")
    return decoded


def replaced(text: str, arguments: EditArguments) -> str:
    """Return the text with the one match replaced; line ends of the file are kept.

    Raises:
        ToolError: there is no match, or more than one; the text names near ones.
    """
    old, new = clean(arguments.old), clean(arguments.new)
    if not old:
        raise ToolError("`old` is empty; to create a file use file_write", code="edit.empty")
    if "\r\n" in text and old not in text and "\r\n" not in old:
        old = old.replace("\n", "\r\n")
    lines = _lines_of(text, old)
    if len(lines) == 1:
        at = text.index(old)
        return text[:at] + _with_line_ends(new, text, at) + text[at + len(old) :]
    if lines:
        where = ", ".join(str(number) for number in lines[:8])
        raise ToolError(
            f"`old` occurs {len(lines)} times (lines {where}); take more of its surroundings", code="edit.many"
        )
    raise ToolError(f"`old` does not occur in {arguments.path!r}.{_near(text, old)}", code="edit.none")


def _with_line_ends(new: str, text: str, at: int) -> str:
    """Give new text the line ends that the file has where it goes; a file may mix them."""
    end = text.find("\n", at)
    end = text.rfind("\n") if end < 0 else end
    if end > 0 and text[end - 1] == "\r":
        return new.replace("\r\n", "\n").replace("\n", "\r\n")
    return new


def _lines_of(text: str, old: str) -> list[int]:
    lines: list[int] = []
    at = text.find(old)
    while at >= 0:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + 1)  # also where it overlaps itself: which one is meant?
    return lines


def _near(text: str, old: str) -> str:
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    lines = [line.strip() for line in text.splitlines()[:5_000]]
    close = difflib.get_close_matches(first, [line for line in lines if line], 1, 0.6)
    return f" The nearest line is number {lines.index(close[0]) + 1}: {close[0][:200]!r}" if close else ""


TOOL = FileEdit()
