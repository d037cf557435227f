"""Handles in memory: a world of files and commands that a test owns, and that remembers how it was touched."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from posixpath import normpath

from ..ports.handles import CommandOutcome, CommandRequest, FileBytes, FileFacts, Handles, Pump
from ..types.access import Access
from ..types.errors import PolicyDenied
from .stores import ListMemory


class RamFiles:
    """`Files` over a dictionary of paths and bytes; what leaves the workspace is refused.

    Attributes:
        kept: The files; folders are those that their paths name.
        used: Every touch, in order.
        hang: When set, every operation waits for ever before it does anything.
    """

    def __init__(self, kept: Mapping[str, bytes] | None = None) -> None:
        self.kept = dict(kept or {})
        self.used: list[Access] = []
        self.hang = False

    async def read(self, path: str, *, max_bytes: int, offset: int = 0) -> FileBytes:
        """Read a file."""
        facts = await self._found("files.read", path)
        if facts.kind == "directory":
            raise _error(IsADirectoryError, errno.EISDIR, path)
        data = self.kept[normpath(path)]
        return FileBytes(data=data[offset : offset + max_bytes], size=len(data), facts=facts)

    async def write(self, path: str, data: bytes, *, create: bool = True) -> FileFacts:
        """Write a file whole."""
        await self._touch("files.write", path)
        name = normpath(path)
        if name == "." or self._is_folder(name):
            raise _error(IsADirectoryError, errno.EISDIR, path)
        if any(parent in self.kept for parent in _parents(name)):
            raise _error(NotADirectoryError, errno.ENOTDIR, path)
        if not create and name not in self.kept:
            raise _error(FileNotFoundError, errno.ENOENT, path)
        self.kept[name] = data
        return FileFacts(path=path, kind="file", size=len(data))

    async def facts(self, path: str) -> FileFacts:
        """Describe one entry."""
        return await self._found("files.read", path)

    async def list(self, path: str, *, limit: int) -> tuple[list[FileFacts], bool]:
        """List a folder in name order."""
        if (await self._found("files.read", path)).kind != "directory":
            raise _error(NotADirectoryError, errno.ENOTDIR, path)
        inside = {name.split("/")[0]: "/" in name for name in self._below(normpath(path))}
        entries = [FileFacts(path=n, kind="directory" if deep else "file") for n, deep in sorted(inside.items())]
        return entries[:limit], len(entries) > limit

    async def walk(self, path: str) -> AsyncIterator[FileFacts]:
        """Walk a tree in name order."""
        if (await self._found("files.read", path)).kind != "directory":
            raise _error(NotADirectoryError, errno.ENOTDIR, path)
        root = "" if normpath(path) == "." else normpath(path) + "/"
        for name in sorted(self._below(normpath(path))):
            yield FileFacts(path=name, kind="file", size=len(self.kept[root + name]))

    async def _found(self, action: str, path: str) -> FileFacts:
        await self._touch(action, path)
        name = normpath(path)
        if name in self.kept:
            return FileFacts(path=path, kind="file", size=len(self.kept[name]))
        if name == "." or self._is_folder(name):
            return FileFacts(path=path, kind="directory")
        if any(parent in self.kept for parent in _parents(name)):
            raise _error(NotADirectoryError, errno.ENOTDIR, path)
        raise _error(FileNotFoundError, errno.ENOENT, path)

    async def _touch(self, action: str, path: str) -> None:
        self.used.append(Access(action="files.write" if action == "files.write" else "files.read", target=path))
        if self.hang:
            await asyncio.Event().wait()
        if not path or "\0" in path or path.startswith("/") or normpath(path).split("/")[0] == "..":
            raise PolicyDenied(f"{path!r} is outside the workspace", code="path.outside")
        if any(len(os.fsencode(part)) > 255 for part in path.encode("utf-8", "replace").decode().split("/")):
            raise _error(OSError, errno.ENAMETOOLONG, path)

    def _below(self, folder: str) -> Sequence[str]:
        start = "" if folder == "." else folder + "/"
        return [name.removeprefix(start) for name in self.kept if name.startswith(start)]

    def _is_folder(self, name: str) -> bool:
        return any(kept.startswith(name + "/") for kept in self.kept)


class ScriptedCommands:
    """`Commands` that answers every line with the same output.

    Attributes:
        output: What a command writes to its standard output.
        exit_code: How it ends.
        used: Every request, in order.
        running: How many run now.
        hang: When set, a command runs until it is cancelled.
    """

    def __init__(self, output: str = "", *, exit_code: int = 0) -> None:
        self.output = output
        self.exit_code = exit_code
        self.used: list[CommandRequest] = []
        self.running = 0
        self.hang = False

    async def run(self, request: CommandRequest, *, pump: Pump | None = None) -> CommandOutcome:
        """Run to the end; output beyond `max_output` is left out."""
        self.used.append(request)
        self.running += 1
        try:
            if self.hang:
                await asyncio.Event().wait()
            shown = self.output[: request.max_output]
            if pump is not None and shown:
                await pump("stdout", shown)
        finally:
            self.running -= 1
        size = len(self.output.encode())
        return CommandOutcome(
            exit_code=self.exit_code, stdout=shown, stderr="", stdout_bytes=size, stderr_bytes=0, duration_ms=0
        )


class RamWorld:
    """The handles of one agent, in memory."""

    def __init__(self, files: Mapping[str, bytes] | None = None, *, output: str = "") -> None:
        self.files = RamFiles(files)
        self.commands = ScriptedCommands(output)
        self.memory = ListMemory()

    @property
    def handles(self) -> Handles:
        """What a gate is given."""
        return Handles(files=self.files, commands=self.commands, memory=self.memory)

    def hang(self) -> None:
        """Let every touch from now on wait for ever."""
        self.files.hang = self.commands.hang = True


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def _error(kind: type[OSError], number: int, path: str) -> OSError:
    return kind(number, os.strerror(number), path)
