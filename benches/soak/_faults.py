"""Lets the n-th call to the system fail, as a full or broken disk would."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EMFILE)


@dataclass
class Faults:
    """Counts calls, and makes one of them fail, or all from that one on.

    Attributes:
        at: Which call fails, counted from 1; 0 lets all pass.
        number: With which `errno`.
        lasting: Whether all later calls fail, too.
        calls: The names of the calls so far.
        hits: How many have failed.
    armed: Whether calls count at all.
        armed: Whether calls count at all.
    """

    at: int = 0
    number: int = errno.EIO
    lasting: bool = False
    calls: list[str] = field(default_factory=list)
    hits: int = 0
    armed: bool = False

    def arm(self) -> None:
        """From now on calls count."""
        self.armed = True

    def disarm(self) -> None:
        """The disk is well again."""
        self.armed = False

    def due(self, call: str) -> bool:
        """Count a call; tells whether it must fail."""
        if not self.armed:
            return False
        self.calls.append(call)
        place = len(self.calls)
        due = bool(self.at) and (place >= self.at if self.lasting else place == self.at)
        self.hits += due
        return due

    def error(self) -> OSError:
        """Make what the call raises."""
        return OSError(self.number, os.strerror(self.number))
