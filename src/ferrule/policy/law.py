"""From what the operator wrote to the policy of one agent: the same input gives the same policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..types.access import Level
from ..types.errors import ConfigError
from .agent_policy import AgentPolicy, Rights, Root, policy_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaw:
    """What the operator wrote about one agent.

    Attributes:
        workspace: Absolute path.
        access: Rights in the workspaces of sibling agents, by their alias.
        forbidden: Prefixes that this agent does not touch.
    """

    level: Level
    workspace: str
    access: Mapping[str, Rights] = field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    unrestricted: bool = False
    allowed_commands: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ("operator",)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawInput:
    """What the operator wrote about all agents.

    Attributes:
        agents: By alias.
        forbidden: Prefixes that no tool touches: the runtime's own state.
    """

    agents: Mapping[str, AgentLaw]
    forbidden: tuple[str, ...] = ()


def for_agent(law: LawInput, alias: str) -> AgentPolicy:
    """Return the policy of one agent: its level, its workspace, what siblings share with it.

    Raises:
        ConfigError: there is no such agent, or it is given access to one that does not exist.
    """
    own = _of(law, alias)
    roots = [Root(_of(law, sibling).workspace, rights) for sibling, rights in sorted(own.access.items())]
    return policy_of(
        level=own.level,
        workspace=own.workspace,
        roots=roots,
        forbidden=(*law.forbidden, *own.forbidden),
        unrestricted=own.unrestricted,
        allowed_commands=own.allowed_commands,
        approvers=own.approvers,
    )


def _of(law: LawInput, alias: str) -> AgentLaw:
    found = law.agents.get(alias)
    if found is None:
        known = ", ".join(sorted(law.agents)) or "none"
        raise ConfigError(f"there is no agent {alias!r}", hint=f"known agents: {known}", code="config.agent")
    return found
