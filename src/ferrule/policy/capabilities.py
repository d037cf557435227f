"""What one agent may do beside its level and its folders: grants, and denials that beat them.

A set is a tuple of layers, each what one operator's list says, and all of
them must agree: that is the intersection, so a set only ever gets narrower.
A layer that grants something is closed: what it does not grant, it refuses.
A layer of denials alone refuses those and leaves the rest to the others.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..types.capability import CapabilityKind, Grant
from .globs import matches_host, matches_name, matches_path

Layer = tuple[Grant, ...]
Ruling = Literal["granted", "denied", "missing"]

UNKNOWN = ""
"""A target that is not known before running: only a grant of everything, without any denial of its kind, covers it."""

_EVERYTHING: dict[CapabilityKind, str] = {"file_read": "/**", "file_write": "/**"}


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """Layers of grants; a set without layers leaves everything to levels and folders."""

    layers: tuple[Layer, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is granted by name, so that nothing is refused for want of a grant."""
        return not any(_is_closed(layer) for layer in self.layers)

    def ruling(self, kind: CapabilityKind, target: str) -> Ruling:
        """Judge one target: a denial in any layer counts first, then a layer that should grant it and does not.

        Args:
            kind: What the target is.
            target: An absolute path, a program as written, a host, a tool's name, a namespace or an agent; `UNKNOWN`
                when it cannot be told.
        """
        if any(_denies(grant, kind, target) for layer in self.layers for grant in layer):
            return "denied"
        for layer in self.layers:
            if _is_closed(layer) and not any(_grants(grant, kind, target) for grant in layer):
                return "missing"
        return "granted"

    def allows_tool(self, name: str) -> bool:
        """Tell whether a tool may be called; what it touches is judged besides."""
        return self.ruling("tool", name) == "granted"

    def allows_file_read(self, place: str) -> bool:
        """Tell whether an absolute, normal path may be read."""
        return self.ruling("file_read", place) == "granted"

    def allows_file_write(self, place: str) -> bool:
        """Tell whether an absolute, normal path may be written."""
        return self.ruling("file_write", place) == "granted"

    def allows_shell(self, program: str) -> bool:
        """Tell whether a program may run; a denial of ``rm`` is one of ``/bin/rm`` as well, a grant is not."""
        return self.ruling("shell", program) == "granted"

    def allows_network(self, host: str) -> bool:
        """Tell whether a host may be reached."""
        return self.ruling("network", host) == "granted"

    def allows_memory(self, namespace: str) -> bool:
        """Tell whether a namespace may be used."""
        return self.ruling("memory", namespace) == "granted"

    def allows_delegate(self, agent: str) -> bool:
        """Tell whether work may be given to an agent."""
        return self.ruling("delegate", agent) == "granted"

    def may_ever(self, kind: CapabilityKind) -> bool:
        """Tell whether anything of a kind can be granted at all."""
        closed = [layer for layer in self.layers if _is_closed(layer)]
        return all(any(grant.kind == kind and grant.effect == "allow" for grant in layer) for layer in closed)

    def narrowed(self, wanted: CapabilitySet) -> CapabilitySet:
        """Return what both sets grant: the intersection."""
        return CapabilitySet(tuple(dict.fromkeys((*self.layers, *wanted.layers))))

    def ceiling(self) -> CapabilitySet:
        """Return the most that a child may have: what the `delegate` grants name; no limit when none names any."""
        named: Iterable[Layer] = (
            tuple(
                inner
                for grant in layer
                if grant.kind == "delegate" and grant.effect == "allow"
                for inner in grant.ceiling
            )
            for layer in self.layers
        )
        return CapabilitySet(tuple(layer for layer in named if layer))

    def for_child(self, wanted: CapabilitySet) -> CapabilitySet:
        """Return a child's set: what it wants, at most this set, under its ceiling."""
        return self.narrowed(self.ceiling()).narrowed(wanted)

    def is_within(self, other: CapabilitySet) -> bool:
        """Tell whether every layer of `other` binds this set too, so that it can grant nothing more."""
        return set(other.layers) <= set(self.layers)


UNLIMITED = CapabilitySet()
"""Nothing is refused for want of a grant."""


def _is_closed(layer: Layer) -> bool:
    return any(grant.effect == "allow" for grant in layer)


def _grants(grant: Grant, kind: CapabilityKind, target: str) -> bool:
    if grant.effect != "allow" or grant.kind != kind:
        return False
    if not grant.patterns:
        return kind in ("memory", "delegate")
    if target == UNKNOWN and kind not in ("memory", "delegate"):
        return _EVERYTHING.get(kind, "*") in grant.patterns
    return any(_matches(kind, pattern, target) for pattern in grant.patterns)


def _denies(grant: Grant, kind: CapabilityKind, target: str) -> bool:
    if grant.effect != "deny" or grant.kind != kind:
        return False
    if not grant.patterns or target == UNKNOWN:
        return bool(grant.patterns) or kind in ("memory", "delegate")
    if kind == "shell" and any(matches_name(pattern, posixpath.basename(target)) for pattern in grant.patterns):
        return True
    return any(_matches(kind, pattern, target) for pattern in grant.patterns)


def _matches(kind: CapabilityKind, pattern: str, target: str) -> bool:
    if kind in ("file_read", "file_write"):
        return matches_path(pattern, target)
    if kind == "network":
        return matches_host(pattern, target)
    if kind == "memory":
        return pattern == target
    return matches_name(pattern, target)
