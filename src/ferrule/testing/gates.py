"""Gates for tests: never for a program that other people run."""

from __future__ import annotations

from ..ports.handles import Handles
from ..types.access import AccessRequest, Allow, Decision


class AllowAll:
    """A gate that allows everything and says so wherever it is shown."""

    revision = "allow-all"
    label = "no gate"

    def __init__(self, handles: Handles) -> None:
        self._handles = handles

    @property
    def handles(self) -> Handles:
        """The handles it was made with."""
        return self._handles

    def decide(self, request: AccessRequest) -> Decision:
        """Allow."""
        return Allow(rule="no_gate")

    def remember(self, pattern: str) -> None:
        """Nothing needs to be remembered where everything is allowed."""


def allow_all(handles: Handles | None = None) -> AllowAll:
    """Make a gate that allows everything; an agent built with it is labelled "no gate" in every log line."""
    return AllowAll(handles if handles is not None else Handles())


class TableGate:
    """A gate that answers from a table of tool names; what is not in it gets `default`. Remembers what it was asked."""

    revision = "table"
    label = "test table"

    def __init__(self, table: dict[str, Decision], *, default: Decision, handles: Handles | None = None) -> None:
        self._table = table
        self._default = default
        self.handles = handles if handles is not None else Handles()
        self.asked: list[AccessRequest] = []
        self.remembered: list[str] = []

    def decide(self, request: AccessRequest) -> Decision:
        """Look the tool up."""
        self.asked.append(request)
        return self._table.get(request.tool, self._default)

    def remember(self, pattern: str) -> None:
        """Note the pattern."""
        self.remembered.append(pattern)
