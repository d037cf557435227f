"""The rules of one agent, as one frozen value."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from ..types.access import Level
from ..types.capability import Grant
from .capabilities import UNLIMITED, CapabilitySet
from .show import ShowList

Rights = Literal["read", "write", "read_write"]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder an agent may use; `path` is absolute and normal."""

    path: str
    rights: Rights


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What bounds an agent beside its workspace, for programs that embed one.

    Attributes:
        grants: Capabilities; with one that allows, nothing else is allowed. File patterns are absolute, or relative to
            the workspace.
        access: Further folders, absolute, with the rights in each: read, write or read_write.
        forbidden: Files and folders, absolute, that no tool touches.
        unrestricted: Lifts the boundary of workspace and folders; what is forbidden stays so.
    """

    access: Mapping[str, Rights] = field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    unrestricted: bool = False
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolicy:
    """What one agent may do.

    Attributes:
        level: How much runs without asking.
        workspace: Absolute, normal path of the folder it works in; relative paths start there.
        roots: Folders it may use, the workspace among them.
        forbidden: Prefixes that beat every root that is not deeper than they are.
        unrestricted: Lifts the boundary of the roots; `forbidden` stays.
        allowed_commands: Programs whose harmless forms run without asking.
        approvers: Principals who may answer an approval.
        show: Lists of tools, all of which must show one; without any, all are shown.
        capabilities: Grants; file patterns in them are absolute.
    """

    level: Level
    workspace: str
    roots: tuple[Root, ...]
    forbidden: tuple[str, ...] = ()
    unrestricted: bool = False
    allowed_commands: frozenset[str] = frozenset()
    approvers: tuple[str, ...] = ("operator",)
    show: tuple[ShowList, ...] = ()
    capabilities: CapabilitySet = UNLIMITED

    @property
    def revision(self) -> str:
        """A digest that changes whenever any rule changes."""
        facts = [(f.name, _stable(getattr(self, f.name))) for f in fields(self)]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def policy_of(
    *,
    level: Level,
    workspace: str,
    roots: Iterable[Root] = (),
    forbidden: Iterable[str] = (),
    unrestricted: bool = False,
    allowed_commands: Iterable[str] = (),
    approvers: Iterable[str] = ("operator",),
) -> AgentPolicy:
    """Put a policy together; paths become normal, and the workspace becomes a root unless it is one already."""
    place = posixpath.normpath(workspace)
    given = tuple(Root(posixpath.normpath(root.path), root.rights) for root in roots)
    own = () if any(root.path == place for root in given) else (Root(place, "read_write"),)
    return AgentPolicy(
        level=level,
        workspace=place,
        roots=(*own, *given),
        forbidden=tuple(posixpath.normpath(path) for path in forbidden),
        unrestricted=unrestricted,
        allowed_commands=frozenset(allowed_commands),
        approvers=tuple(approvers),
    )


def _stable(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
