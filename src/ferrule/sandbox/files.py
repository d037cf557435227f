"""The files of one agent, through directory descriptors, with its policy baked in."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import AsyncIterator, Iterator
from typing import Literal

from ..policy.agent_policy import AgentPolicy
from ..policy.paths import DEVICES, judge_path
from ..ports.handles import FileBytes, FileFacts
from ..types.access import Deny
from ..types.errors import PolicyDenied
from ._descent import Place, descended

PIECE_BYTES = 1024 * 1024
"""Read at once; between pieces other tasks get their turn. (A thread could outlive a cancelled read's descriptor.)"""

DEVICE_BYTES = 64 * 1024
DEEPEST = 64
PAUSE_EVERY = 500
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkspaceFiles:
    """Implements `Files`: whatever a tool passes, only what the policy allows is opened."""

    def __init__(self, policy: AgentPolicy) -> None:
        self._policy = policy

    async def read(self, path: str, *, max_bytes: int, offset: int = 0) -> FileBytes:
        """Read up to `max_bytes` bytes from `offset`."""
        with descended(path, "files.read", self._policy) as place:
            descriptor, facts = _open_to_read(place)
        try:
            wanted = min(max_bytes, DEVICE_BYTES if facts.kind == "other" else max(0, facts.size - offset))
            data = await _read_at(descriptor, wanted, offset, is_device=facts.kind == "other")
        finally:
            os.close(descriptor)
        return FileBytes(data=data, size=facts.size, facts=facts)

    async def write(self, path: str, data: bytes, *, create: bool = True) -> FileFacts:
        """Replace or create a file whole."""
        with descended(path, "files.write", self._policy, make=create) as place:
            return _write_whole(place, data, create=create)

    async def facts(self, path: str) -> FileFacts:
        """Describe one entry without following a final link."""
        with descended(path, "files.read", self._policy) as place:
            return _facts(place.path, os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))

    async def list(self, path: str, *, limit: int) -> tuple[list[FileFacts], bool]:
        """List a folder in name order; the flag says that more than `limit` entries exist."""
        with descended(path, "files.read", self._policy) as place:
            folder = os.open(place.name, _FOLDER, dir_fd=place.folder)
        try:
            found = list(_entries(folder))
        finally:
            os.close(folder)
        return found[:limit], len(found) > limit

    async def walk(self, path: str) -> AsyncIterator[FileFacts]:
        """Walk a tree in name order, not following links; what the policy denies is left out."""
        with descended(path, "files.read", self._policy) as place:
            folder = os.open(place.name, _FOLDER, dir_fd=place.folder)
        for seen, facts in enumerate(_walk(folder, place.path, "", self._policy), 1):
            yield facts
            if seen % PAUSE_EVERY == 0:
                await asyncio.sleep(0)


def _open_to_read(place: Place) -> tuple[int, FileFacts]:
    try:
        descriptor = os.open(place.name, _READ, dir_fd=place.folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PolicyDenied(f"{place.path} changed while it was opened", code="path.swapped") from error
        raise
    facts = _facts(place.path, os.fstat(descriptor))
    if facts.kind == "file" or (facts.kind == "other" and place.path in DEVICES):
        return descriptor, facts
    os.close(descriptor)
    if facts.kind == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.path)
    raise PolicyDenied(f"{place.path} is no regular file", code="path.kind")


async def _read_at(descriptor: int, wanted: int, offset: int, *, is_device: bool) -> bytes:
    if is_device:
        return os.read(descriptor, wanted)
    pieces: list[bytes] = []
    while wanted > 0 and (piece := os.pread(descriptor, min(wanted, PIECE_BYTES), offset)):
        pieces.append(piece)
        offset += len(piece)
        wanted -= len(piece)
        if wanted > 0:
            await asyncio.sleep(0)
    return b"".join(pieces)


def _write_whole(place: Place, data: bytes, *, create: bool) -> FileFacts:
    mode = _mode_to_keep(place, create=create)
    temporary = f".{secrets.token_hex(8)}.tmp"  # short: the name itself may be as long as names can be
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600 if mode is not None else 0o666, dir_fd=place.folder)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
            facts = _facts(place.path, os.fstat(descriptor))
        finally:
            os.close(descriptor)
        os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        os.unlink(temporary, dir_fd=place.folder)
        raise
    folder = os.open(".", _FOLDER, dir_fd=place.folder)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return facts


def _mode_to_keep(place: Place, *, create: bool) -> int | None:
    """Return the mode of the file that is replaced; None when there is none."""
    try:
        found = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        if not create:
            raise
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.path)
    if not stat.S_ISREG(found.st_mode):
        raise PolicyDenied(f"{place.path} is no regular file", code="path.kind")
    return stat.S_IMODE(found.st_mode)


def _entries(folder: int) -> Iterator[FileFacts]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        try:
            yield _facts(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:  # removed meanwhile
            continue


def _walk(folder: int, real: str, relative: str, policy: AgentPolicy) -> Iterator[FileFacts]:
    """Walk below an open folder, which is closed at the end."""
    try:
        for entry in _entries(folder):
            path = f"{relative}{entry.path}"
            place = f"{real.rstrip('/')}/{entry.path}"
            if isinstance(judge_path(place, "files.read", policy), Deny):
                continue
            yield FileFacts(path=path, kind=entry.kind, size=entry.size, mtime_ns=entry.mtime_ns, mode=entry.mode)
            if entry.kind == "directory" and path.count("/") < DEEPEST:
                inner = _enter(folder, entry.path)
                if inner is not None:
                    yield from _walk(inner, place, f"{path}/", policy)
    finally:
        os.close(folder)


def _enter(folder: int, name: str) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:  # gone, swapped for a link, or not ours to enter: it is left out
        return None


def _facts(path: str, found: os.stat_result) -> FileFacts:
    return FileFacts(
        path=path,
        kind=_kind(found.st_mode),
        size=found.st_size if stat.S_ISREG(found.st_mode) else 0,
        mtime_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(found.st_mode),
    )


def _kind(mode: int) -> Literal["file", "directory", "link", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
