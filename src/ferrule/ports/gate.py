"""The one decision point, and the people it may ask."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..types.access import AccessRequest, ApprovalAnswer, ApprovalRequest, Decision
from .handles import Handles


@runtime_checkable
class GateKeeper(Protocol):
    """Decides about calls and holds the handles that enforce the decision.

    `decide` is pure and total: the same request under the same revision gets
    the same decision, and nothing a caller passes makes it raise.
    """

    @property
    def revision(self) -> str:
        """Changes whenever the policy changes."""
        ...

    @property
    def label(self) -> str:
        """How logs and surfaces name this gate: the level, and ``unconfined`` or ``no gate`` where true."""
        ...

    @property
    def handles(self) -> Handles:
        """The agent's handles, with the policy baked in."""
        ...

    def decide(self, request: AccessRequest) -> Decision:
        """Judge one call with its final arguments."""
        ...

    def remember(self, pattern: str) -> None:
        """Allow what `pattern` covers from now on, in this process ("always")."""
        ...


class Approver(Protocol):
    """A person's answer to an ask, from the surface that carried the message."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Show the question and return the answer; `NOBODY` when there is no one to ask."""
        ...
