"""`content_search`."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jsonschema_rs

from ..ports.handles import FileFacts
from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.arguments import MaxLength, Range
from ..types.errors import PolicyDenied, ToolError
from ..types.tools import ToolResult
from ._errors import failure
from ._globs import compile_glob
from ._text import decode

PIECE_BYTES = 2 * 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
"""A longer file is not searched, and the result says so."""

LONGEST_LINE = 2_000
SHOWN_OF_LINE = 300
Matches = Callable[[str], bool]

LEFT_OUT = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArguments:
    """Arguments of `content_search`."""

    pattern: Annotated[str, MaxLength(500), "A regular expression, searched in each line."]
    path: Annotated[str, "File or folder to search in, relative to the workspace."] = "."
    files: Annotated[str, MaxLength(500), "Only files that match this, for example **/*.md."] = "**"
    ignore_case: Annotated[bool, "Take capitals and small letters for equal."] = False
    max_matches: Annotated[int, Range(1, 1_000), "Stop after this many lines."] = 100


class ContentSearch:
    """Find lines in files that match a regular expression. Folders like .git and node_modules are left out."""

    name: ClassVar[str] = "content_search"
    needs: ClassVar[frozenset[str]] = frozenset({"files.read"})
    arguments: ClassVar[type] = SearchArguments

    def accesses(self, arguments: SearchArguments) -> Sequence[Access]:
        """It reads what lies below one path."""
        return (Access(action="files.read", target=arguments.path),)

    async def execute(self, arguments: SearchArguments, context: ToolContext) -> ToolResult:
        """Search."""
        pattern = _compiled(arguments)
        found: list[str] = []
        unread: list[str] = []
        try:
            for path in await _candidates(arguments, context):
                async for line in _matches(path, pattern, unread, context):
                    found.append(line)
                    if len(found) > arguments.max_matches:
                        break
                if len(found) > arguments.max_matches:
                    break
        except OSError as error:
            return await failure(error, arguments.path, context.files)
        more = len(found) > arguments.max_matches
        lines = found[: arguments.max_matches] or ["no matches (normal)"]
        if more:
            lines.append(f"[more than {arguments.max_matches} matches; narrow the pattern]")
        if unread:
            names = ", ".join(unread[:5]) + (", ..." if len(unread) > 5 else "")
            lines.append(f"[not searched, because longer than {MOST_BYTES:,} bytes: {names}]")
        return ToolResult.text("\n".join(lines), origin="file", truncated=more)


def _compiled(arguments: SearchArguments) -> Matches:
    """Return a search whose time is linear in the length of a line, whatever the pattern.

    The engine is the one that checks schemas; Python's own can take for ever
    on a pattern of ten characters, and nothing could stop it.
    """
    pattern = f"(?i){arguments.pattern}" if arguments.ignore_case else arguments.pattern
    try:
        options = jsonschema_rs.RegexOptions()
        return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options).is_valid
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise ToolError(
            f"{arguments.pattern!r} is no regular expression here; look-arounds and back references are not supported",
            code="search.pattern",
        ) from error


async def _candidates(arguments: SearchArguments, context: ToolContext) -> list[str]:
    facts = await context.files.facts(arguments.path)
    if facts.kind != "directory":
        return [arguments.path]
    wanted = compile_glob(arguments.files)
    base = "" if arguments.path in (".", "./") else arguments.path.rstrip("/") + "/"
    return [base + entry.path async for entry in context.files.walk(arguments.path) if _is_wanted(entry, wanted)]


def _is_wanted(entry: FileFacts, wanted: re.Pattern[str]) -> bool:
    if entry.kind != "file" or wanted.match(entry.path) is None:
        return False
    return LEFT_OUT.isdisjoint(entry.path.split("/"))


async def _matches(path: str, is_match: Matches, unread: list[str], context: ToolContext) -> AsyncIterator[str]:
    """Yield the lines of a file that match; a file that is too long is noted in `unread`, a binary one is passed by."""
    number, offset, rest = 0, 0, ""
    decoder: codecs.IncrementalDecoder | None = None
    is_last = False
    while not is_last:
        try:
            found = await context.files.read(path, max_bytes=PIECE_BYTES, offset=offset)
        except (FileNotFoundError, PermissionError, PolicyDenied):  # gone, or not ours: one file less
            return
        if found.size > MOST_BYTES:
            unread.append(path)
            return
        data = found.data
        offset += len(data)
        is_last = not data or offset >= found.size
        if decoder is None:
            decoded = decode(data)
            if decoded is None:
                return
            decoder = codecs.getincrementaldecoder(decoded.encoding)("replace")
            data = data[len(decoded.bom) :]
        lines = (rest + decoder.decode(data, is_last)).split("\n")
        rest = lines.pop()[:PIECE_BYTES]  # a line without end is not kept whole
        if is_last and rest:
            lines.append(rest)
        for line in lines:
            number += 1
            if is_match(line[:LONGEST_LINE].removesuffix("\r")):
                yield f"{path}:{number}: {line[:SHOWN_OF_LINE]}".removesuffix("\r")


TOOL = ContentSearch()
