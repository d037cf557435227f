"""From the checked config to the policy's own input values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..policy.law import AgentLaw, LawInput
from ..policy.show import EVERYTHING, ShowList
from .layout import Layout
from .load import Loaded
from .root import Show, ShowDeny


def law_input(loaded: Loaded, layout: Layout, *, folders: Mapping[str, str] | None = None) -> LawInput:
    """Collect what the operator wrote about all agents.

    Args:
        loaded: The config.
        layout: Where the home is.
        folders: Workspaces, by alias, of agents whose table names none: a terminal gives its own folder. An agent
            that is in neither works in its folder below the home.
    """
    return LawInput(
        agents={alias: _law(loaded, layout, alias, folders or {}) for alias in loaded.root.agents},
        forbidden=state_of(layout),
        grants=tuple(entry.grant() for entry in loaded.root.capabilities),
        families=families_on(loaded),
    )


def families_on(loaded: Loaded) -> frozenset[str]:
    """Name the families of built-in tools that are switched on."""
    switches = loaded.root.security.tools
    on = {"files": switches.files, "memory": switches.memory, "shell": switches.shell}
    return frozenset(family for family, is_on in on.items() if is_on)


def state_of(layout: Layout) -> tuple[str, ...]:
    """List what no tool may touch: the home with config, sessions, logs and vault, also where links lead.

    A root that lies deeper beats a forbidden prefix, so the workspaces below
    the home stay usable; the folders of the state are named as well, so that
    none of them can be made a workspace.
    """
    state = [layout.home, layout.sessions.parent, layout.log.parent, layout.vault]
    config = Path(os.path.realpath(layout.config))
    resolved = [Path(os.path.realpath(path)) for path in state]
    return tuple(dict.fromkeys(str(p) for p in (*state, *resolved, config, config.with_name(f"{config.name}.lock"))))


def _law(loaded: Loaded, layout: Layout, alias: str, folders: Mapping[str, str]) -> AgentLaw:
    table = loaded.agent(alias)
    risk = loaded.risk_profile(alias)
    named = table.workspace.path
    workspace = os.path.expanduser(named) if named else folders.get(alias) or str(layout.workspace(alias))
    forbidden = [os.path.normpath(os.path.expanduser(path)) for path in risk.forbidden_paths]
    return AgentLaw(
        level=risk.level,
        workspace=os.path.realpath(workspace),  # files are opened where links lead, so that is the place to judge
        access=table.workspace.access,
        forbidden=tuple(dict.fromkeys([*forbidden, *map(os.path.realpath, forbidden)])),
        unrestricted=table.workspace.unrestricted_filesystem,
        allowed_commands=risk.allowed_commands,
        approvers=risk.approvers,
        folder=folders.get(alias, ""),
        show=_shown(table.show),
        grants=tuple(entry.grant() for entry in table.capabilities),
        tools=() if table.tools == "all" else table.tools,
    )


def _shown(table: Show | None) -> ShowList:
    if table is None:
        return EVERYTHING
    if isinstance(table.tools, ShowDeny):
        return ShowList(table.tools.deny, is_deny=True)
    return ShowList(table.tools)
