"""Everything that one command started, also what left its process group: found in `/proc`, ended for good.

A member carries the command's mark in its environment, belongs to the
session of the command's first process, or descends from a member. What
clears its environment, makes a session of its own and loses its parent before
anybody looks is not found; only a fence with its own table of processes holds
that. Where there is no `/proc`, nothing is found, and the
process group is all that is ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "FERRULE_COMMAND"
"""The variable that every process of a command inherits; its value is the command's own."""

TABLE = Path("/proc")
MOST_LOOKS = 100
PAUSE_S = 0.002
"""A killed process needs a moment to leave the table."""


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the table; a number may be used again, with another `born`."""

    pid: int
    parent: int
    session: int
    born: str
    is_marked: bool


class Family:
    """The processes of one command; whoever was once seen in it stays a member."""

    def __init__(self) -> None:
        self.mark = os.urandom(8).hex()
        self._leader = 0
        self._seen: dict[int, str] = {}

    def lead(self, pid: int) -> None:
        """Say which process was the first; it began a session of its own."""
        self._leader = pid

    def look(self) -> list[Process]:
        """List the members that live."""
        table = list(_table(f"{MARK}={self.mark}".encode()))
        found = {each.pid: each for each in table if self._knows(each)}
        grown = -1
        while grown != len(found):
            grown = len(found)
            found.update({each.pid: each for each in table if each.parent in found})
        self._seen.update({each.pid: each.born for each in found.values()})
        return list(found.values())

    def end(self) -> bool:
        """Kill every member until none is left; False when some would not go."""
        for _ in range(MOST_LOOKS):
            members = self.look()
            if not members:
                return True
            for member in members:
                _kill(member)
            time.sleep(PAUSE_S)
        return False

    def _knows(self, process: Process) -> bool:
        led = self._leader in (process.pid, process.session)
        return process.is_marked or led or self._seen.get(process.pid) == process.born


def _table(mark: bytes) -> Iterator[Process]:
    try:
        names = os.listdir(TABLE)
    except OSError:  # no such table here
        return
    for name in names:
        if not name.isdigit():
            continue
        try:
            state, parent, session, born = _facts(name)
            is_marked = mark in _variables(name)
        except (FileNotFoundError, ProcessLookupError):  # gone meanwhile
            continue
        if state not in "ZX":
            yield Process(int(name), parent, session, born, is_marked)


def _variables(name: str) -> list[bytes]:
    try:
        return (TABLE / name / "environ").read_bytes().split(b"\0")
    except PermissionError:  # somebody else's
        return []


def _facts(name: str) -> tuple[str, int, int, str]:
    """Return state, parent, session and time of birth. Source: proc(5), `/proc/pid/stat`."""
    fields = (TABLE / name / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[3]), fields[19]


def _kill(member: Process) -> None:
    try:
        descriptor = os.pidfd_open(member.pid)
    except ProcessLookupError:
        return
    try:
        if _facts(str(member.pid))[3] == member.born:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone, or no longer ours
        return
    finally:
        os.close(descriptor)
