"""One installation: where its state lies, and what its config says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..config.law import law_input
from ..config.layout import Layout, layout
from ..config.load import Loaded, load
from ..policy.agent_policy import AgentPolicy
from ..policy.law import for_agent
from . import discovery


@dataclass(frozen=True, slots=True)
class Home:
    """A home and its config."""

    layout: Layout
    config: Loaded

    def provider_of(self, alias: str) -> str | None:
        """Return ``<adapter>.<alias>`` of the agent's provider; None when nobody configured one.

        Raises:
            ConfigError: there is no such agent.
        """
        return self.config.provider(alias)

    def policy_of(self, alias: str, folder: str) -> AgentPolicy:
        """Return the rules of an agent that works in `folder` unless its table names another.

        Raises:
            ConfigError: there is no such agent.
        """
        return for_agent(law_input(self.config, self.layout, folders={alias: folder}), alias)


def read_home(environ: Mapping[str, str], *, agents: tuple[str, ...] = ()) -> Home:
    """Read the config of the home that the environment names; an absent one is fine.

    Args:
        environ: The environment: the home, overrides and secrets.
        agents: The agents about to run, whose secrets must be set.

    Raises:
        ConfigError: with every fault of the config.
    """
    place = layout(environ)
    place.check()
    loaded = load(
        place.config, settings_for=discovery.settings_for, environ=environ, names=discovery.names, agents=agents
    )
    return Home(place, loaded)
