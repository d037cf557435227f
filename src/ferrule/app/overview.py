"""What a home has: its agents, and what a tool is, for people and scripts that look before they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from ..core.options import AgentOptions
from ..core.toolset import Toolbox
from ..types.errors import UsageError
from .home import Home
from .runtime import tools_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """One agent of a config.

    Attributes:
        provider: ``<adapter>.<alias>``; None when the environment or the demo model decides.
        level: Of its risk profile.
        workspace: Where it works when it is started in `folder`.
        tools: How many it is shown.
    """

    alias: str
    provider: str | None
    level: str
    risk_profile: str
    runtime_profile: str
    workspace: str
    memory: str | None
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool as the model is shown it, with what it may touch.

    Attributes:
        schema: JSON Schema of its arguments.
        needs: Kinds of effects; None when it does not say, and is judged as able to do anything.
    """

    name: str
    description: str
    schema: dict[str, Any]
    needs: list[str] | None


def agents_of(home: Home, folder: str) -> list[AgentFacts]:
    """List the agents of a home, by name.

    Raises:
        ConfigError: one of them names something that is not there.
    """
    return [_facts(home, alias, folder) for alias in sorted(home.config.root.agents)]


def tool_facts(home: Home, alias: str, name: str) -> ToolFacts:
    """Describe a tool that an agent is shown.

    Raises:
        ConfigError: there is no such agent.
        UsageError: it is not shown a tool of this name.
    """
    shown = Toolbox(tools_of(home, alias), AgentOptions().schemas).refresh().tools
    tool = shown.get(name)
    if tool is None:
        raise UsageError(f"{alias} is shown no tool {name!r}", hint=f"it is shown {', '.join(shown) or 'none'}")
    return ToolFacts(
        name=name,
        description=tool.spec.description,
        schema=orjson.loads(tool.spec.schema),
        needs=None if tool.needs is None else sorted(tool.needs),
    )


def _facts(home: Home, alias: str, folder: str) -> AgentFacts:
    agent, policy = home.config.agent(alias), home.policy_of(alias, folder)
    return AgentFacts(
        alias=alias,
        provider=home.provider_of(alias),
        level=policy.level,
        risk_profile=agent.risk_profile,
        runtime_profile=agent.runtime_profile,
        workspace=str(policy.workspace),
        memory=agent.memory,
        tools=len(tools_of(home, alias)),
    )
