"""What a person may set for one run: the model, the folder, tighter limits. None of it loosens a rule."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..policy.agent_policy import AgentPolicy
from ..policy.paths import judge_path
from ..types.access import Deny
from ..types.errors import UsageError
from ..types.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisRun:
    """What holds for one run only.

    Attributes:
        model: Asked of the agent's provider in place of the configured one; "" keeps that.
        folder: Where the agent begins to work, absolute; "" leaves it to the config.
        max_rounds: Model requests in a turn; the runtime profile's limit holds as well.
        max_tokens: Tokens in a turn, both directions; the runtime profile's limit holds as well.
    """

    model: str = ""
    folder: str = ""
    max_rounds: int | None = None
    max_tokens: int | None = None


def tightened(limits: Limits, run: ThisRun) -> Limits:
    """Return limits of which each is the lower of the profile's and the run's.

    >>> tightened(Limits(rounds=25), ThisRun(max_rounds=3)).rounds
    3
    >>> tightened(Limits(rounds=2), ThisRun(max_rounds=3)).rounds
    2
    """
    return replace(limits, rounds=_lower(limits.rounds, run.max_rounds), tokens=_lower(limits.tokens, run.max_tokens))


def with_model(settings: Mapping[str, object], adapter: Any, run: ThisRun) -> dict[str, object]:
    """Return the values of a provider's table with the model of this run.

    Args:
        settings: The values as they are configured.
        adapter: Record of the provider.

    Raises:
        UsageError: this provider has one model only.
    """
    if not run.model:
        return dict(settings)
    if "model" not in adapter.settings.model_json_schema()["properties"]:
        raise UsageError(
            f"the provider {adapter.name!r} has no other model to choose",
            hint="leave out --model, or give the agent another provider: ferrule config set agents.NAME.provider",
        )
    return {**settings, "model": run.model}


def existing_folder(name: str) -> str:
    """Return the absolute form of a folder that a person named.

    Raises:
        UsageError: there is none, or it cannot be entered.
    """
    place = os.path.abspath(os.path.expanduser(name))
    if not os.path.exists(place):
        raise UsageError(f"there is no folder {name!r}", hint="make it, or correct --cwd")
    if not os.path.isdir(place):
        raise UsageError(f"{name!r} is no folder", hint="name the folder that the file lies in")
    if not os.access(place, os.R_OK | os.X_OK):
        raise UsageError(f"the folder {name!r} may not be entered", hint="correct its permissions, or name another")
    return place


def moved(policy: AgentPolicy, run: ThisRun, alias: str) -> AgentPolicy:
    """Let an agent whose table names a workspace begin in a folder that it may read anyway; its roots stay as they are.

    Raises:
        UsageError: its rules keep it out of that folder.
    """
    if not run.folder or run.folder == policy.workspace:
        return policy
    decision = judge_path(run.folder, "files.read", policy)
    if isinstance(decision, Deny):
        raise UsageError(
            f"--cwd: {decision.reason} (rule {decision.rule})",
            hint=f"name a folder in {policy.workspace}, or change agents.{alias}.workspace.path",
        )
    return replace(policy, workspace=run.folder)


def _lower(profile: int | None, run: int | None) -> int | None:
    return min((limit for limit in (profile, run) if limit is not None), default=None)
