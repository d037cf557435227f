"""How tools touch the world: handles with the agent's policy baked in.

A handle refuses what the policy refuses, whatever the tool passes it; check
and use are one step, on opened directory descriptors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .memory import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What a directory entry is.

    Attributes:
        path: Relative to the root it was listed under, ``/`` as separator.
        kind: file, directory, link or other.
        size: Bytes; 0 for directories.
        mtime_ns: Last change, nanoseconds since 1970.
        mode: Permission bits.
    """

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int = 0
    mtime_ns: int = 0
    mode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBytes:
    """Bytes of a file with what is needed to write it back unchanged in kind."""

    data: bytes
    size: int
    facts: FileFacts


class Files(Protocol):
    """The files an agent may touch.

    Paths are relative to the workspace, or absolute inside a root. Every
    component is opened without following links that leave the roots; nothing
    is created before the check.

    All methods raise:
        PolicyDenied: the path is outside every root, below a forbidden prefix, runtime state, or of the wrong kind.
        FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, OSError: as the system says.
    """

    async def read(self, path: str, *, max_bytes: int, offset: int = 0) -> FileBytes:
        """Read up to `max_bytes` bytes from `offset`; devices and pipes are refused unless allowed, and capped."""
        ...

    async def write(self, path: str, data: bytes, *, create: bool = True) -> FileFacts:
        """Replace or create a file whole: temporary file, fsync, rename, fsync of the folder; the mode is kept.

        With ``create=False`` a missing file raises FileNotFoundError. Missing parent folders are made.
        """
        ...

    async def facts(self, path: str) -> FileFacts:
        """Describe one entry without following a final link."""
        ...

    async def list(self, path: str, *, limit: int) -> tuple[list[FileFacts], bool]:
        """List a directory in name order; the flag says that more than `limit` entries exist."""
        ...

    def walk(self, path: str) -> AsyncIterator[FileFacts]:
        """Walk a tree in name order, not following links; `path` fields are relative to the walked root."""
        ...


Pump = Callable[[Literal["stdout", "stderr"], str], Awaitable[None]]
"""Takes pieces of a running command's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest:
    """A program to run.

    Attributes:
        line: The command line as the model wrote it.
        cwd: Directory relative to the workspace; "" for the workspace itself.
        timeout_s: Wall time after which the whole process group is killed.
        max_output: Bytes kept of each stream (head and tail).
        stdin: Bytes for its standard input; None closes it.
    """

    line: str
    cwd: str = ""
    timeout_s: float = 120.0
    max_output: int = 60_000
    stdin: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """How a program ended.

    Attributes:
        exit_code: Its exit status; negative for a signal; None when it was killed by the time limit.
        stdout: Decoded output, bounded; `stdout_bytes` is what it really wrote.
        duration_ms: Wall time.
        shell: True when a shell ran the line, False when it ran as plain argv.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    duration_ms: int
    timed_out: bool = False
    shell: bool = False


class Commands(Protocol):
    """The programs an agent may run, each in its own session and process group, with an allow-list environment."""

    async def run(self, request: CommandRequest, *, pump: Pump | None = None) -> CommandOutcome:
        """Run to the end; cancelling kills the whole group.

        Raises:
            PolicyDenied: the directory is outside every root, or running is forbidden.
            ToolError: the program does not exist or could not be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class Handles:
    """The handles of one agent; None where the policy gives none."""

    files: Files | None = field(default=None)
    commands: Commands | None = field(default=None)
    memory: MemoryStore | None = field(default=None)
