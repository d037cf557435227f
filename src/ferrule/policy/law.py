"""From what the operator wrote to the policy of one agent: the same input gives the same policy."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..types.access import Level
from ..types.capability import Grant
from ..types.errors import ConfigError
from .agent_policy import AgentPolicy, Rights, Root, policy_of
from .capabilities import CapabilitySet, Layer
from .families import FAMILIES, grants_of_switches
from .globs import escaped
from .show import EVERYTHING, ShowList


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaw:
    """What the operator wrote about one agent.

    Attributes:
        workspace: Absolute path.
        folder: Where it was started, absolute; "" for its workspace.
        access: Rights in the workspaces of sibling agents, by their alias.
        forbidden: Prefixes that this agent does not touch.
        show: Which tools it sees.
        grants: Its own capabilities, beside those of all agents.
        tools: Tools that it was given by name.
    """

    level: Level
    workspace: str
    folder: str = ""
    access: Mapping[str, Rights] = field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    unrestricted: bool = False
    allowed_commands: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ("operator",)
    show: ShowList = EVERYTHING
    grants: tuple[Grant, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LawInput:
    """What the operator wrote about all agents.

    Attributes:
        agents: By alias.
        forbidden: Prefixes that no tool touches: the runtime's own state.
        grants: Capabilities of all agents. With one that allows, `families` counts for nothing.
        families: Families of built-in tools that are switched on.
    """

    agents: Mapping[str, AgentLaw]
    forbidden: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    families: frozenset[str] = frozenset(FAMILIES)


def for_agent(law: LawInput, alias: str) -> AgentPolicy:
    """Return the policy of one agent: level, workspace, what siblings share with it, what it sees and is granted.

    Raises:
        ConfigError: there is no such agent, or it is given access to one that does not exist.
    """
    own = _of(law, alias)
    roots = [Root(_of(law, sibling).workspace, rights) for sibling, rights in sorted(own.access.items())]
    policy = policy_of(
        level=own.level,
        workspace=own.workspace,
        roots=roots,
        forbidden=(*law.forbidden, *own.forbidden),
        unrestricted=own.unrestricted,
        allowed_commands=own.allowed_commands,
        approvers=own.approvers,
    )
    return replace(policy, show=(own.show,), capabilities=_capabilities(law, alias))


def written_grants(law: LawInput, alias: str) -> tuple[Grant, ...]:
    """Return the grants of all agents as they are written or as the switches stand for them, before an agent's own."""
    if any(grant.effect == "allow" for grant in law.grants):
        return law.grants
    return (*grants_of_switches(law.families, _of(law, alias).tools), *law.grants)


def resolved(grants: Layer, folders: Mapping[str, str]) -> Layer:
    """Make file patterns absolute.

    Args:
        grants: Their patterns begin with ``workspace:``, ``cwd:``, ``agent/<alias>:`` or a slash; without any of these
            they are relative to the workspace.
        folders: Absolute path of each of these names, without the colon.

    Raises:
        ConfigError: a pattern names a folder that is not there.
    """
    return tuple(
        replace(grant, patterns=tuple(_absolute(pattern, folders) for pattern in grant.patterns))
        if grant.kind in ("file_read", "file_write")
        else grant
        for grant in grants
    )


def _absolute(pattern: str, folders: Mapping[str, str]) -> str:
    if pattern.startswith("/"):
        return posixpath.normpath(pattern)
    name, colon, rest = pattern.partition(":")
    if not colon:
        name, rest = "workspace", pattern
    if name not in folders:
        raise ConfigError(
            f"the pattern {pattern!r} begins in {name!r}, which is no folder here",
            hint=f"known: {', '.join(sorted(folders))}",
            code="config.capability",
        )
    return posixpath.normpath(f"{escaped(folders[name])}/{rest.lstrip('/')}")


def _capabilities(law: LawInput, alias: str) -> CapabilitySet:
    own = law.agents[alias]
    folders = {f"agent/{name}": agent.workspace for name, agent in law.agents.items()}
    folders |= {"workspace": own.workspace, "cwd": own.folder or own.workspace}
    layers = (written_grants(law, alias), own.grants)
    return CapabilitySet(tuple(resolved(layer, folders) for layer in layers if layer))


def _of(law: LawInput, alias: str) -> AgentLaw:
    found = law.agents.get(alias)
    if found is None:
        known = ", ".join(sorted(law.agents)) or "none"
        raise ConfigError(f"there is no agent {alias!r}", hint=f"known agents: {known}", code="config.agent")
    return found
