"""Whether a path may be read or written. By components, never by text."""

from __future__ import annotations

import posixpath
from typing import Literal

from ..types.access import Allow, Ask, Decision, Deny
from .agent_policy import AgentPolicy, Root

FileAction = Literal["files.read", "files.write"]

DEVICES = frozenset({"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
"""Always readable; whoever reads them caps the bytes."""

RESERVED = ".ferrule"
"""A folder of settings inside a workspace: never written by tools, whether or not it exists."""

LONGEST = 4096


def absolute(path: str, policy: AgentPolicy) -> str:
    """Return the normal, absolute form of a path as a tool was given it; `~` and `%` have no meaning here."""
    joined = posixpath.normpath(posixpath.join(policy.workspace, path))
    return "/" + joined.lstrip("/")  # two leading slashes survive normpath


def is_below(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or lies in it, comparing whole components."""
    return path == root or root == "/" or path.startswith(root + "/")


def judge_path(path: str, action: FileAction, policy: AgentPolicy) -> Decision:
    """Judge one path, relative to the workspace or absolute; links are the handle's business."""
    if not path or "\0" in path or len(path) > LONGEST:
        return Deny(reason="a path is 1 to 4096 characters without NUL", rule="path.invalid")
    place = absolute(path, policy)
    if action == "files.read" and place in DEVICES:
        return Allow(rule="path.device")
    root = _root_of(place, policy)
    forbidden = max((len(p) for p in policy.forbidden if is_below(place, p)), default=-1)
    if forbidden >= (len(root.path) if root is not None else 0):
        return Deny(reason=f"{path} is kept from tools", rule="path.forbidden")
    if root is None and not policy.unrestricted:
        return Deny(reason=f"{path} is outside the workspace and its shared folders", rule="path.outside")
    if action == "files.read":
        return _judge_read(path, root)
    return _judge_write(path, place, root, policy)


def _judge_read(path: str, root: Root | None) -> Decision:
    if root is not None and root.rights == "write":
        return Deny(reason=f"{path} may be written but not read", rule="path.write_only")
    return Allow(rule="path.readable")


def _judge_write(path: str, place: str, root: Root | None, policy: AgentPolicy) -> Decision:
    if root is not None and root.rights == "read":
        return Deny(reason=f"{path} may be read but not written", rule="path.read_only")
    if RESERVED in place.split("/") and not (root is not None and RESERVED in root.path.split("/")):
        return Deny(reason=f"{path} belongs to Ferrule's own settings", rule="path.reserved")
    if policy.level == "read_only":
        return Deny(reason="this agent may only read", rule="level.read_only.write")
    if policy.level == "supervised":
        relative = posixpath.relpath(place, policy.workspace)
        return Ask(reason=f"writes {relative}", rule="level.supervised.write", pattern=f"files.write:{place}")
    return Allow(rule="level.full.write")


def _root_of(place: str, policy: AgentPolicy) -> Root | None:
    """Return the longest root that holds the path; of equal ones the one with fewer rights."""
    found = [root for root in policy.roots if is_below(place, root.path)]
    return max(found, key=lambda root: (len(root.path), root.rights != "read_write"), default=None)
