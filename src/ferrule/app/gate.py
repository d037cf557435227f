"""The gate that people embed and that the wiring builds: the policy's decision, and the handles that enforce it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from ..config.law import state_of
from ..config.layout import layout
from ..policy.admission import DEFAULT_NAMESPACE
from ..policy.agent_policy import AgentPolicy, Bounds, Root, policy_of
from ..policy.capabilities import CapabilitySet
from ..policy.decide import decide
from ..policy.law import resolved
from ..ports.handles import Handles
from ..ports.memory import MemoryStore
from ..sandbox.commands import NativeCommands
from ..sandbox.files import WorkspaceFiles
from ..types.access import AccessRequest, Allow, Ask, Decision, Level
from ..types.errors import UsageError

LEVELS = ("read_only", "supervised", "full")
CONFINEMENT = "unconfined"
"""No fence confines child processes in this version; every surface says so."""


class AlwaysAnswers(Protocol):
    """Keeps what a person allowed for always, for one agent under one set of rules. It never raises."""

    def patterns(self) -> Iterable[str]:
        """Return the patterns that hold now."""
        ...

    def keep(self, pattern: str) -> None:
        """Keep one more."""
        ...


class Gate:
    """Decides about every call of an agent, and holds its handles.

    ``Gate.of(level="supervised", workspace=".")`` is a whole gate.
    """

    def __init__(self, policy: AgentPolicy, handles: Handles, *, kept: AlwaysAnswers | None = None) -> None:
        """Put a gate together.

        Args:
            policy: The rules.
            handles: Enforce the same rules where things are touched.
            kept: Where answers for always are kept; without it they end with this object.
        """
        self._policy = policy
        self._kept = kept
        self._handles = handles
        self._always: set[str] = set()
        self._revision = policy.revision

    @classmethod
    def of(
        cls,
        *,
        level: Level,
        workspace: str | os.PathLike[str],
        allowed_commands: Iterable[str] = (),
        approvers: Iterable[str] = ("operator",),
        bounds: Bounds | None = None,
    ) -> Gate:
        """Make a gate for one folder. Ferrule's own home is kept from tools, as it is for agents of a config.

        Args:
            level: read_only, supervised or full.
            workspace: The folder the agent works in; it must exist.
            allowed_commands: Programs whose harmless forms run without asking.
            approvers: Principals who may answer an approval.
            bounds: Further folders, and what is kept from tools.

        Raises:
            UsageError: there is no such level, the workspace is no folder, or a path of `bounds` is not absolute.
            ConfigError: FERRULE_HOME names no folder that could be kept.
        """
        if level not in LEVELS:
            raise UsageError(f"there is no level {level!r}", hint=f"one of {', '.join(LEVELS)}")
        place = os.path.realpath(workspace)
        if not os.path.isdir(place):
            raise UsageError(f"the workspace {os.fspath(workspace)!r} is no folder", hint="create it first")
        own = bounds or Bounds()
        policy = policy_of(
            level=level,
            workspace=place,
            roots=[Root(_resolved(path), rights) for path, rights in own.access.items()],
            forbidden=(
                *state_of(layout(os.environ)),
                *map(os.path.normpath, own.forbidden),
                *map(_resolved, own.forbidden),
            ),
            unrestricted=own.unrestricted,
            allowed_commands=allowed_commands,
            approvers=tuple(approvers),
        )
        grants = resolved(own.grants, {"workspace": place, "cwd": os.getcwd()})
        return cls.from_policy(replace(policy, capabilities=CapabilitySet((grants,) if grants else ())))

    @classmethod
    def from_policy(
        cls, policy: AgentPolicy, *, memory: MemoryStore | None = None, kept: AlwaysAnswers | None = None
    ) -> Gate:
        """Make the gate of a policy, with its handles; `kept` is where answers for always are kept."""
        granted = policy.capabilities
        commands = NativeCommands(policy) if policy.level != "read_only" and granted.may_ever("shell") else None
        own = memory if granted.allows_memory(DEFAULT_NAMESPACE) else None
        return cls(policy, Handles(files=WorkspaceFiles(policy), commands=commands, memory=own), kept=kept)

    @property
    def policy(self) -> AgentPolicy:
        """The rules it decides by."""
        return self._policy

    @property
    def revision(self) -> str:
        """Changes whenever the policy changes."""
        return self._revision

    @property
    def label(self) -> str:
        """The level, and that nothing confines child processes."""
        return f"{self._policy.level}, {CONFINEMENT}"

    @property
    def handles(self) -> Handles:
        """The agent's handles, with the policy baked in."""
        return self._handles

    @property
    def remembered(self) -> tuple[str, ...]:
        """The patterns that a person allowed for always and that hold now."""
        return tuple(sorted(self._standing()))

    def decide(self, request: AccessRequest) -> Decision:
        """Judge one call; what a person allowed for always is not asked again, and never loosens a denial."""
        decision = decide(request, self._policy)
        if isinstance(decision, Ask) and decision.pattern and decision.pattern in self._standing():
            return Allow(rule="always")
        return decision

    def remember(self, pattern: str) -> None:
        """Allow what `pattern` covers from now on; if it cannot be kept, then as long as this object lives."""
        self._always.add(pattern)
        if self._kept is not None:
            self._kept.keep(pattern)

    def _standing(self) -> set[str]:
        """Return the patterns that are allowed now: those kept may have been revoked or be over."""
        if self._kept is not None:
            self._always = set(self._kept.patterns())
        return self._always


def _resolved(path: str) -> str:
    if not os.path.isabs(path):
        raise UsageError(f"{path!r} in the bounds of a gate is relative", hint="write an absolute path")
    return os.path.realpath(path)
