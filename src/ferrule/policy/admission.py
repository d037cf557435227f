"""Whether a tool may be called at all, by its name: show lists and grants, before anything it touches is judged."""

from __future__ import annotations

from ..types.access import Deny
from ..types.capability import CapabilityKind
from .agent_policy import AgentPolicy
from .families import FAMILIES

DEFAULT_NAMESPACE = "default"
"""The one namespace of memory there is."""


def refused_by_name(tool: str, policy: AgentPolicy) -> Deny | None:
    """Return why a tool is neither shown nor run; None when its name is no reason."""
    if policy.show and not all(shown.shows(tool) for shown in policy.show):
        return Deny(reason=f"{tool} is not among the tools this agent is shown", rule="show.tools")
    if (refused := refused_by_grants("tool", tool, f"the tool {tool}", policy)) is not None:
        return refused
    if tool in FAMILIES["memory"]:
        return refused_by_grants("memory", DEFAULT_NAMESPACE, "memory", policy)
    return None


def refused_by_grants(kind: CapabilityKind, target: str, told: str, policy: AgentPolicy) -> Deny | None:
    """Return the denial of the grants about one target.

    Args:
        kind: Of the grant that is needed.
        target: What it must cover.
        told: How the denial calls it.
    """
    if not policy.capabilities.layers:
        return None
    ruling = policy.capabilities.ruling(kind, target)
    if ruling == "denied":
        return Deny(reason=f"{told}: a capability denies it", rule=f"grant.{kind}.denied")
    if ruling == "missing":
        return Deny(reason=f"{told}: no capability grants it", rule=f"grant.{kind}.missing")
    return None
