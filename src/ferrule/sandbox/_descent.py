"""Opens paths component by component, so that the path that was judged is the path that is opened.

Each component is opened by descriptor and without following links. A link is
read, its target is judged like any path, and the descent begins anew; what
is swapped in between makes the last, link-refusing open fail.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..policy.agent_policy import AgentPolicy
from ..policy.paths import FileAction, absolute, judge_path, runs_code
from ..types.access import Deny
from ..types.errors import PolicyDenied

MOST_LINKS = 40
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path really is: the open folder it lies in, its name there, its real absolute path.

    `folder` is a descriptor; `name` is "." for the root of the file system.
    """

    folder: int
    name: str
    path: str


@contextmanager
def descended(path: str, action: FileAction, policy: AgentPolicy, *, make: bool = False) -> Iterator[Place]:
    """Find a path's place; with `make`, folders that are missing on the way are created.

    Raises:
        PolicyDenied: the path, or where a link leads, is not the agent's to touch.
        FileNotFoundError, NotADirectoryError, PermissionError, OSError: as the system says.
    """
    place = _judged(absolute(path, policy) if path and "\0" not in path else path, action, policy)
    for _ in range(MOST_LINKS):
        found = _descend(place, make=make)
        if isinstance(found, str):
            if action == "files.write" and runs_code(found) and not runs_code(place):
                raise PolicyDenied(f"{path} is a link into {found}; name that", code="path.runs_code")
            place = _judged(found, action, policy)
            continue
        try:
            yield found
        finally:
            os.close(found.folder)
        return
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _judged(path: str, action: FileAction, policy: AgentPolicy) -> str:
    decision = judge_path(path, action, policy)
    if isinstance(decision, Deny):
        raise PolicyDenied(decision.reason, code=decision.rule)
    return path


def _descend(path: str, *, make: bool) -> Place | str:
    """Walk down; returns the place, or the new path when a link was met."""
    parts = [part for part in path.split("/") if part]
    folder = os.open("/", _STEP | os.O_DIRECTORY)
    try:
        for i, part in enumerate(parts[:-1]):
            entered = _enter(folder, part, make=make)
            if entered is None:
                return _followed(folder, parts, i)
            os.close(folder)
            folder = entered
        if not parts:
            return Place(_keep(folder), ".", "/")
        if _is_link(folder, parts[-1]):
            return _followed(folder, parts, len(parts) - 1)
        return Place(_keep(folder), parts[-1], path)
    finally:
        os.close(folder)


def _keep(folder: int) -> int:
    return os.dup(folder)


def _enter(folder: int, name: str, *, make: bool) -> int | None:
    """Open a folder below another; None when the name is a link."""
    try:
        inner = os.open(name, _STEP, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, 0o755, dir_fd=folder)
        inner = os.open(name, _STEP, dir_fd=folder)
    mode = os.fstat(inner).st_mode
    if stat.S_ISDIR(mode):
        return inner
    os.close(inner)
    if stat.S_ISLNK(mode):
        return None
    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _followed(folder: int, parts: list[str], index: int) -> str:
    """Return the whole path with the link at `index` replaced by where it leads."""
    target = os.readlink(parts[index], dir_fd=folder)
    here = "/" + "/".join(parts[:index])
    return os.path.normpath("/".join([os.path.join(here, target), *parts[index + 1 :]]))
