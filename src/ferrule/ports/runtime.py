"""Where commands run: on this machine, or in a container."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from .handles import Commands


@runtime_checkable
class Runtime(Protocol):
    """A place to run commands, confined as the policy it was opened with says."""

    @property
    def name(self) -> str:
        """For example ``native``."""
        ...

    @property
    def confinement(self) -> str:
        """What confines children here, for people; ``unconfined`` when nothing does."""
        ...

    def commands(self, workspace: str) -> AbstractAsyncContextManager[Commands]:
        """Open the commands of one agent, rooted at `workspace` (an absolute path); closing kills what still runs.

        Raises:
            ToolError: the place cannot be used; the text says what is missing.
        """
        ...
