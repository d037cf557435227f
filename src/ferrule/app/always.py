"""What people allowed for always: kept below the home, shown, and taken back."""

from __future__ import annotations

import logging

from ..core.system_clock import SystemClock
from ..policy.agent_policy import AgentPolicy
from ..ports.clock import Clock
from ..storage.approvals import KeptApproval, KeptApprovals
from ..types.errors import StoreError
from .home import Home

log = logging.getLogger(__name__)


class KeptAnswers:
    """The answers about one agent under its present rules. What cannot be read or written is logged and asked again."""

    def __init__(self, kept: KeptApprovals, alias: str, policy: AgentPolicy) -> None:
        self._kept = kept
        self._alias = alias
        self._folder = policy.workspace
        self._revision = policy.revision
        self._unkept: set[str] = set()

    def patterns(self) -> set[str]:
        """Return the patterns that hold now; of a file that cannot be read none do."""
        try:
            standing = self._kept.standing()
        except StoreError as error:
            log.error("what was allowed for always is asked again: %s", error)
            return set(self._unkept)
        mine = {one.pattern for one in standing if (one.agent, one.revision) == (self._alias, self._revision)}
        return mine | self._unkept

    def keep(self, pattern: str) -> None:
        """Keep one more; if it cannot be put on disk it holds as long as this process."""
        try:
            self._kept.keep(agent=self._alias, pattern=pattern, revision=self._revision, folder=self._folder)
        except StoreError as error:
            log.error("what was allowed for always is kept for this process only: %s", error)
            self._unkept.add(pattern)


def always_of(home: Home, alias: str, policy: AgentPolicy, clock: Clock) -> KeptAnswers:
    """Return the answers about an agent."""
    return KeptAnswers(KeptApprovals(home.layout.approvals, clock), alias, policy)


def standing_approvals(home: Home) -> tuple[KeptApproval, ...]:
    """List the answers of all agents that hold now, oldest first.

    Raises:
        StoreError: the file cannot be read.
    """
    return KeptApprovals(home.layout.approvals, SystemClock()).standing()


def revoke_approvals(home: Home, *, agent: str, pattern: str) -> tuple[KeptApproval, ...]:
    """Take answers back, also from agents that are running; "" stands for all. Returns those that were taken back.

    Raises:
        StoreError: the file cannot be read or written.
    """
    if not home.layout.approvals.exists():
        return ()
    return KeptApprovals(home.layout.approvals, SystemClock()).revoke(agent=agent, pattern=pattern)
