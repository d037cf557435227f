"""The gate that people embed and that the wiring builds: the policy's decision, and the handles that enforce it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..policy.agent_policy import AgentPolicy, policy_of
from ..policy.decide import decide
from ..ports.handles import Handles
from ..ports.memory import MemoryStore
from ..sandbox.commands import NativeCommands
from ..sandbox.files import WorkspaceFiles
from ..types.access import AccessRequest, Allow, Ask, Decision, Level
from ..types.errors import UsageError

LEVELS = ("read_only", "supervised", "full")
CONFINEMENT = "unconfined"
"""No fence confines child processes in this version; every surface says so."""


class Gate:
    """Decides about every call of an agent, and holds its handles.

    ``Gate.of(level="supervised", workspace=".")`` is a whole gate.
    """

    def __init__(self, policy: AgentPolicy, handles: Handles) -> None:
        self._policy = policy
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
    ) -> Gate:
        """Make a gate for one folder.

        Args:
            level: read_only, supervised or full.
            workspace: The folder the agent works in; it must exist.
            allowed_commands: Programs whose harmless forms run without asking.
            approvers: Principals who may answer an approval.

        Raises:
            UsageError: there is no such level, or the workspace is no folder.
        """
        if level not in LEVELS:
            raise UsageError(f"there is no level {level!r}", hint=f"one of {', '.join(LEVELS)}")
        place = os.path.realpath(workspace)
        if not os.path.isdir(place):
            raise UsageError(f"the workspace {os.fspath(workspace)!r} is no folder", hint="create it first")
        policy = policy_of(level=level, workspace=place, allowed_commands=allowed_commands, approvers=tuple(approvers))
        return cls.from_policy(policy)

    @classmethod
    def from_policy(cls, policy: AgentPolicy, *, memory: MemoryStore | None = None) -> Gate:
        """Make the gate of a policy, with its handles."""
        commands = None if policy.level == "read_only" else NativeCommands(policy)
        return cls(policy, Handles(files=WorkspaceFiles(policy), commands=commands, memory=memory))

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
        """The patterns that a person allowed for always, in this process."""
        return tuple(sorted(self._always))

    def decide(self, request: AccessRequest) -> Decision:
        """Judge one call; what a person allowed for always is not asked again, and never loosens a denial."""
        decision = decide(request, self._policy)
        if isinstance(decision, Ask) and decision.pattern and decision.pattern in self._always:
            return Allow(rule="always")
        return decision

    def remember(self, pattern: str) -> None:
        """Allow what `pattern` covers from now on, in this process."""
        self._always.add(pattern)
