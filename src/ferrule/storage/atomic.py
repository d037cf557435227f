"""Files that are written whole or not at all, and stay written."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from ..types.errors import StoreError

PREFIX = ".ferrule-"
SUFFIX = ".tmp"


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace or create a file: temporary file beside it, fsync, rename, fsync of the folder.

    A symbolic link stays one: its target is replaced. An existing file keeps
    its mode and owner unless `mode` is given; a new one gets `mode`, or 0600.

    Raises:
        StoreError: it was not written and the old content stands, or it was
            written and a power failure could undo that; the text says which,
            and names the path and the cause.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{PREFIX}{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}")
    try:
        kept = _facts(target)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _fill(descriptor, data)
            wanted = mode if mode is not None else stat.S_IMODE(kept.st_mode) if kept else 0o600
            os.fchmod(descriptor, wanted)
            if kept is not None and (kept.st_uid, kept.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, kept.st_uid, kept.st_gid)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except OSError as error:
        with suppress(OSError):  # what kept us from writing may keep us from removing: the first cause is told
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} could not be written: {error.strerror}", hint="free space or correct the permissions, then repeat"
        ) from error
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(
            f"{path} was written, but the old content may come back after a power failure:"
            f" the folder {target.parent} could not be put on disk: {error.strerror}",
            hint="check the disk and the permissions of the folder, then repeat",
        ) from error


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path, mode: int = 0o700) -> None:
    """Make a folder, with what is missing above it, and put its name on disk; one that exists is fine.

    The folder above those that were made is put on disk, too: whoever made it
    may have been killed before that.

    Raises:
        OSError: it cannot be made, or its name not put on disk; as the system says.
    """
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)
        sync_folder(each.parent)
    folder.mkdir(mode=mode, exist_ok=True)  # says so when something else has the name
    if missing:
        with suppress(PermissionError):  # a folder that may not be read is none that this program made
            sync_folder(missing[-1].parent.parent)


def remove_leftovers(folder: Path) -> int:
    """Remove temporary files of writers that died; returns how many."""
    removed = 0
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        if not pid.isdigit() or not _is_alive(int(pid)):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _fill(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _facts(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
