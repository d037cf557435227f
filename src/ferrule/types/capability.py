"""Grants: an operator's permission for an action on a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CapabilityKind = Literal["file_read", "file_write", "shell", "network", "tool", "memory", "delegate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One ``[[capabilities]]`` entry; `patterns` are globs over paths, program names, hosts, tools or scopes.

    Attributes:
        kind: What the grant is about.
        patterns: What it covers; for `memory` and `delegate` an empty tuple means all.
        effect: `deny` beats `allow`.
        ceiling: For `delegate`: the most a child may have.
    """

    kind: CapabilityKind
    patterns: tuple[str, ...] = ()
    effect: Literal["allow", "deny"] = "allow"
    ceiling: tuple[Grant, ...] = ()
