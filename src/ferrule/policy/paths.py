"""Whether a path may be read or written. By components, never by text."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Literal

from ..types.access import Allow, Ask, Decision, Deny
from ..types.capability import CapabilityKind
from .admission import refused_by_grants
from .agent_policy import AgentPolicy

FileAction = Literal["files.read", "files.write"]

DEVICES = frozenset({"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
"""Always readable; whoever reads them caps the bytes."""

RESERVED = ".ferrule"
"""A folder of settings inside a workspace: never written by tools, whether or not it exists."""

GIT = ".git"
"""What lies in it can make git run programs (hooks, filters, helpers), so writing there is asked for at every level."""

LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Standing:
    """What the boundary alone says about a place, before levels and grants.

    Attributes:
        rule: What decided: path.inside, path.unrestricted, path.outside or path.forbidden.
        prefix: The root or forbidden prefix that decided; "" when none did.
    """

    can_read: bool
    can_write: bool
    rule: str
    prefix: str = ""


def absolute(path: str, policy: AgentPolicy) -> str:
    """Return the normal, absolute form of a path as a tool was given it; `~` and `%` have no meaning here."""
    joined = posixpath.normpath(posixpath.join(policy.workspace, path))
    return "/" + joined.lstrip("/")  # two leading slashes survive normpath


def is_below(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or lies in it, comparing whole components."""
    return path == root or root == "/" or path.startswith(root + "/")


def runs_code(place: str) -> bool:
    """Tell whether writing a place can make git run programs later."""
    return GIT in _components(place)


def is_reserved(place: str, standing: Standing) -> bool:
    """Tell whether a place is one of Ferrule's own settings, unless the operator shared just that folder."""
    return RESERVED in _components(place) and RESERVED not in _components(standing.prefix)


def standing_of(place: str, policy: AgentPolicy) -> Standing:
    """Judge a place by roots and forbidden prefixes: the longest match wins, a prefix beats a root of its length.

    Of roots with the same path each takes away what it does not give.

    Args:
        place: Absolute and normal.
    """
    holding = [root for root in policy.roots if is_below(place, root.path)]
    nearest = max((root.path for root in holding), key=len, default="")
    kept = max((prefix for prefix in policy.forbidden if is_below(place, prefix)), key=len, default="")
    if len(kept) >= max(1, len(nearest)):
        return Standing(can_read=False, can_write=False, rule="path.forbidden", prefix=kept)
    if not holding:
        free = policy.unrestricted
        return Standing(can_read=free, can_write=free, rule="path.unrestricted" if free else "path.outside")
    rights = {root.rights for root in holding if root.path == nearest}
    return Standing(can_read="write" not in rights, can_write="read" not in rights, rule="path.inside", prefix=nearest)


def judge_path(path: str, action: FileAction, policy: AgentPolicy) -> Decision:
    """Judge one path, relative to the workspace or absolute; links are the handle's business."""
    if not path or "\0" in path or len(path) > LONGEST:
        return Deny(reason="a path is 1 to 4096 characters without NUL", rule="path.invalid")
    place = absolute(path, policy)
    if action == "files.read" and place in DEVICES:
        return Allow(rule="path.device")
    standing = standing_of(place, policy)
    if standing.rule == "path.forbidden":
        return Deny(reason=f"{path} is kept from tools", rule="path.forbidden")
    if standing.rule == "path.outside":
        return Deny(reason=f"{path} is outside the workspace and its shared folders", rule="path.outside")
    kind: CapabilityKind = "file_read" if action == "files.read" else "file_write"
    if (refused := refused_by_grants(kind, place, path, policy)) is not None:
        return refused
    if action == "files.read":
        return _judge_read(path, standing)
    return _judge_write(path, place, standing, policy)


def _judge_read(path: str, standing: Standing) -> Decision:
    if not standing.can_read:
        return Deny(reason=f"{path} may be written but not read", rule="path.write_only")
    return Allow(rule="path.readable")


def _judge_write(path: str, place: str, standing: Standing, policy: AgentPolicy) -> Decision:
    if not standing.can_write:
        return Deny(reason=f"{path} may be read but not written", rule="path.read_only")
    if is_reserved(place, standing):
        return Deny(reason=f"{path} belongs to Ferrule's own settings", rule="path.reserved")
    if kept := kept_inside(place, policy):
        reason = f"{path} holds {kept}, which may not be moved or replaced; name a file in it"
        return Deny(reason=reason, rule="path.holds_kept")
    if policy.level == "read_only":
        return Deny(reason="this agent may only read", rule="level.read_only.write")
    pattern = f"files.write:{place}"
    relative = posixpath.relpath(place, policy.workspace)
    if runs_code(place):
        return Ask(reason=f"writes {relative}, by which git may run programs", rule="path.runs_code", pattern=pattern)
    if policy.level == "supervised":
        return Ask(reason=f"writes {relative}", rule="level.supervised.write", pattern=pattern)
    return Allow(rule="level.full.write")


def kept_inside(place: str, policy: AgentPolicy) -> str:
    """Name what would leave its place if the folder at `place` were moved or replaced; "" when nothing would.

    A rule is bound to a path: a read-only root or a forbidden folder that is
    moved along with its parent would have no rule any more.
    """
    narrow = [root.path for root in policy.roots if root.rights != "read_write"]
    kept = [prefix for prefix in (*policy.forbidden, *narrow) if prefix != place and is_below(prefix, place)]
    return min(kept, key=len, default="")


def _components(place: str) -> list[str]:
    """Return the names in a path; some file systems take no notice of capitals."""
    return place.casefold().split("/")
