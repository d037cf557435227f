"""What people allowed for always, on disk: listed, revoked, and over after a time.

An answer holds for one agent under the very rules it was given under: the
policy's revision, so another folder or a changed profile asks anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from ..ports.clock import Clock
from ..types.errors import StoreError
from .atomic import write_atomic
from .locks import FileLock

DAYS = 30
"""How long an answer holds."""

_DAY_MS = 86_400_000
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptApproval:
    """One answer.

    Attributes:
        pattern: What it allows, as it was shown.
        revision: Of the rules it was given under.
        folder: The agent's workspace then, for people who look at the list.
        at_ms: When it was given, milliseconds since 1970.
        expires_ms: When it ends.
    """

    agent: str
    pattern: str
    revision: str
    folder: str
    at_ms: int
    expires_ms: int


class KeptApprovals:
    """The file of answers; a missing one holds none."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._read: tuple[object, tuple[KeptApproval, ...]] = (None, ())

    def standing(self) -> tuple[KeptApproval, ...]:
        """Return the answers that hold now, oldest first; the file is read again when it has changed.

        Raises:
            StoreError: it cannot be read, or is none of ours.
        """
        now = self._clock.now_ms()
        return tuple(kept for kept in self._all() if kept.expires_ms > now)

    def keep(self, *, agent: str, pattern: str, revision: str, folder: str) -> None:
        """Note an answer, on disk when this returns; the same one again starts its time anew.

        Raises:
            StoreError: it could not be noted.
        """
        now = self._clock.now_ms()
        new = KeptApproval(
            agent=agent,
            pattern=pattern,
            revision=revision,
            folder=folder,
            at_ms=now,
            expires_ms=now + DAYS * _DAY_MS,
        )
        with self._lock():
            others = [kept for kept in self.standing() if _key(kept) != _key(new)]
            self._write([*others, new])

    def revoke(self, *, agent: str = "", pattern: str = "") -> tuple[KeptApproval, ...]:
        """Take back answers; returns those that were.

        Args:
            agent: Only this agent's; "" for those of all.
            pattern: Only this one; "" for all.

        Raises:
            StoreError: the file cannot be read or written; then nothing was taken back.
        """
        with self._lock():
            standing = self.standing()
            gone = tuple(kept for kept in standing if agent in ("", kept.agent) and pattern in ("", kept.pattern))
            if gone:
                self._write([kept for kept in standing if kept not in gone])
        return gone

    def _lock(self) -> FileLock:
        return FileLock(self._path.with_name(f"{self._path.name}.lock"))

    def _write(self, kept: Sequence[KeptApproval]) -> None:
        data = {"version": _VERSION, "approvals": [asdict(one) for one in kept]}
        write_atomic(self._path, orjson.dumps(data, option=orjson.OPT_INDENT_2), mode=0o600)

    def _all(self) -> tuple[KeptApproval, ...]:
        try:
            found = os.stat(self._path)
            mark = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._read[0] != mark:
                self._read = (mark, _parsed(self._path.read_bytes(), self._path))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be read: {error.strerror}", hint="correct its permissions, or delete it"
            ) from error
        return self._read[1]


def _key(kept: KeptApproval) -> tuple[str, str, str]:
    return kept.agent, kept.pattern, kept.revision


def _parsed(content: bytes, path: Path) -> tuple[KeptApproval, ...]:
    try:
        data = orjson.loads(content)
        if data["version"] != _VERSION:
            raise ValueError("another version")
        return tuple(_checked(KeptApproval(**entry)) for entry in data["approvals"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} does not hold approvals as this version writes them",
            hint="delete it: what was allowed for always is then asked again",
            code="approvals.invalid",
        ) from error


def _checked(kept: KeptApproval) -> KeptApproval:
    texts = (kept.agent, kept.pattern, kept.revision, kept.folder)
    if not all(type(text) is str for text in texts) or not all(type(at) is int for at in (kept.at_ms, kept.expires_ms)):
        raise ValueError("a field has another type")
    return kept
