"""What the system refused, in words that help a model to do better."""

from __future__ import annotations

import difflib

from ..ports.handles import Files
from ..types.errors import PolicyDenied
from ..types.tools import ToolResult


async def failure(error: OSError, path: str, files: Files) -> ToolResult:
    """Return the result for an error of the system about one path."""
    if isinstance(error, FileNotFoundError):
        near = await _near(path, files)
        return ToolResult.failed("file.missing", f"There is no file {path!r}." + (f" Near: {near}." if near else ""))
    if isinstance(error, IsADirectoryError):
        return ToolResult.failed("file.is_directory", f"{path!r} is a folder; list it with list_directory.")
    if isinstance(error, NotADirectoryError):
        return ToolResult.failed("file.not_directory", f"{path!r} is not a folder, or a part of it is a file.")
    if isinstance(error, PermissionError):
        return ToolResult.failed("file.permission", f"The system does not permit it for {path!r}.")
    return ToolResult.failed("file.failed", f"{path!r}: {error.strerror or error}")


async def _near(path: str, files: Files) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        entries, _ = await files.list(folder or ("/" if path.startswith("/") else "."), limit=1000)
    except (OSError, PolicyDenied):  # then there is nothing to suggest
        return ""
    return ", ".join(difflib.get_close_matches(name, [entry.path for entry in entries], 3, 0.5))
