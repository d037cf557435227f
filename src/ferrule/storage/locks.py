"""Locks between processes, which the kernel frees when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..types.errors import StoreError


class LockHeld(StoreError):
    """Somebody else holds the lock; `pid` names the process, if it said so."""

    code = "store.locked"

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"{path} is locked by {holder}", hint="wait until it has finished, then repeat")
        self.pid = pid


class FileLock:
    """An exclusive lock on a file of its own; the holder's process id stands in it.

    Use as a context manager, or with `acquire` and `release`. Two holders in
    one process exclude each other too.
    """

    def __init__(self, path: Path, timeout_s: float = 10.0) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, waiting up to the time-out.

        Raises:
            LockHeld: it is still held by somebody else.
            StoreError: the lock file cannot be made, locked or written.
        """
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._wait(descriptor)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise StoreError(
                f"the lock {self._path} cannot be made: {error.strerror}",
                hint="free space or correct the permissions, then repeat",
            ) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with suppress(OSError):  # the descriptor is gone and the lock free, whatever the disk says about the file
                os.close(descriptor)

    def _wait(self, descriptor: int) -> None:
        end = time.monotonic() + self._timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise LockHeld(self._path, _holder(descriptor)) from None
                time.sleep(0.01)
            else:
                return

    def __enter__(self) -> FileLock:
        """Take the lock."""
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go."""
        self.release()


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
