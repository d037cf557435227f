"""Lets every call to the disk fail once, and looks what the product makes of it.

For each operation of the stores a child does it again and again: in the n-th
time the n-th call fails, with ``ENOSPC``, ``EIO``, ``EACCES`` or ``EMFILE``,
once or for good, until none is left.
Each time the operation must end with a `FerruleError` that has a code, or
have really done its work; the store must go on or say that it cannot; and a
fresh start must find everything that was acknowledged.

    python -m benches.soak.io_faults

Prints one JSON object; exit code 1 when anything was lost, broke otherwise, or hung.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import json
import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ferrule.ports.session import Session, SessionKey
from ferrule.storage.atomic import write_atomic
from ferrule.storage.locks import FileLock
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.types.errors import FerruleError

from ._disk import SCRATCH, Tape
from ._faults import ERRORS, Faults
from ._file_work import change_once, faults_of_config
from ._recorded_files import Recorder
from ._recorded_sqlite import recording
from ._session_work import faults_of, message

HANG_S = 20
KEY = SessionKey(agent="a")
EDGE_CALLS = 60
MIDDLE_CALLS = 60
"""Of an operation with very many calls (the first start grows the log) the first, the last, and some between."""

Acknowledge = Callable[[str], None]
Operation = Callable[[Path, Faults, Acknowledge], None]
"""Prepares without a fault, arms it with `Faults.arm`, and works; what it acknowledges must be found later."""


class Sessions:
    """The operations of the store of sessions; each prepares, arms the faults, and works."""

    def __init__(self, root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        self._path = root / "sessions.db"
        self._faults = faults
        self._acknowledge = acknowledge
        self._clock, self._ids = FakeClock(), SequenceIds()

    async def create(self) -> None:
        """Make the file and write to it."""
        self._faults.arm()
        async with open_sessions(self._path, self._clock, self._ids) as store:
            try:
                session = await store.open(KEY)
                await self._append(session, 2)
                await session.close()
            finally:
                self._faults.disarm()  # closing is an operation of its own

    async def reopen(self) -> None:
        """Open a file that is there."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            await self._append(await store.open(KEY), 2)
        await self.create()

    async def close(self) -> None:
        """Close, which moves the log into the file."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            await self._append(await store.open(KEY), 2)
            self._faults.arm()

    async def used(self, step: str) -> None:
        """Do one step with a session of two messages; when it fails, the store must go on afterwards."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            session = await store.open(KEY)
            await self._append(session, 2)
            for _ in range(300 if step == "checkpoint" else 0):
                await self._append(session, 2)
            self._faults.arm()
            try:
                await self._step(step, store, session)
            except FerruleError:
                self._faults.disarm()
                if step in ("append", "intend", "checkpoint"):
                    await self._append(session, 1)
                raise
            finally:
                self._faults.disarm()
                await session.close()

    async def _step(self, step: str, store: SqliteSessions, session: Session) -> None:
        again = SessionKey(agent="a", id=session.id)
        if step in ("append", "checkpoint"):
            await self._append(session, 3)
        elif step == "intend":
            await self._append(session, 2, begin=True)
        elif step == "list":
            await store.list()
        elif step == "read":
            await store.read(session.id)
        else:
            await session.close()
            await (await store.open(again)).close()

    async def _append(self, session: Session, count: int, *, begin: bool = False) -> None:
        place = len(session.messages)
        new = [message(session.id, place + i, count - 1 - i, 5_000) for i in range(count)]
        await (session.intend(new, [one.calls[0] for one in new]) if begin else session.append(new))
        for one in new:
            self._acknowledge(f"message {one.id}")
            if begin:
                self._acknowledge(f"begun {session.id} {one.calls[0].id}")


def _of_sessions(step: str) -> Operation:
    def operation(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        sessions = Sessions(root, faults, acknowledge)
        whole = {"create": sessions.create, "reopen": sessions.reopen, "close": sessions.close}
        asyncio.run(whole[step]() if step in whole else sessions.used(step))

    return operation


def _config(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    for number in range(3):
        change_once(root / "config.toml", number)
        acknowledge(f"config {number}")
    faults.arm()
    change_once(root / "config.toml", 3)
    acknowledge("config 3")


def _write(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    write_atomic(root / "plain", b"old")
    faults.arm()
    write_atomic(root / "plain", b"new" * 1_000)
    acknowledge("plain")


def _lock(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
    faults.arm()
    with FileLock(root / "lock", timeout_s=0.1):
        acknowledge("lock")


def _plain_faults(root: Path, acknowledged: Sequence[str]) -> list[str]:
    kept = (root / "plain").read_bytes()
    whole = kept == b"new" * 1_000 or (kept == b"old" and not acknowledged)
    return [] if whole else ["the file is neither the old nor the new one"]


def _lock_faults(root: Path, _: Sequence[str]) -> list[str]:
    FileLock(root / "lock", timeout_s=0.1).acquire()
    return []


def _session_faults(root: Path, acknowledged: Sequence[str]) -> list[str]:
    return asyncio.run(faults_of(root / "sessions.db", acknowledged))


STEPS = ("create", "append", "intend", "checkpoint", "list", "read", "open", "close", "reopen")
Check = Callable[[Path, Sequence[str]], list[str]]
OPERATIONS: dict[str, tuple[Operation, Check]] = {
    **{step: (_of_sessions(step), _session_faults) for step in STEPS},
    "config": (_config, faults_of_config),
    "write": (_write, _plain_faults),
    "lock": (_lock, _lock_faults),
}


def child(name: str, root: Path, faults: Faults, report: int) -> None:
    """Do the operation with the fault, and report how it ended; runs in a process of its own."""
    signal.alarm(HANG_S)

    def acknowledge(text: str) -> None:
        os.write(report, f"ack {text}\n".encode())

    tape = Tape(root)
    try:
        with Recorder(tape, faults).watching(), recording(tape, faults):
            OPERATIONS[name][0](root, faults, acknowledge)
        os.write(report, b"end done\n")
    except FerruleError as error:
        os.write(report, f"end {error.code}\n".encode())
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        os.write(report, f"broke {error!r} in {where.filename}:{where.lineno}\n".encode())
    finally:
        os.write(report, f"calls {len(faults.calls)}\n".encode())


def attempt(name: str, faults: Faults) -> tuple[int, str, list[str]]:
    """Do an operation once; returns how many calls it made, how it ended, and what is wrong."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        root = Path(os.path.realpath(folder))
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            try:  # its fault is reported by the parent, with where it happened
                child(name, root, faults, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as lines:
            said = [line.rstrip("\n") for line in lines]
        _, status = os.waitpid(pid, 0)
        acknowledged = [line.removeprefix("ack ") for line in said if line.startswith("ack ")]
        end = next((line.partition(" ")[2] for line in said if line.startswith("end ")), "")
        wrong = [line for line in said if line.startswith("broke ")]
        if not end and not wrong:
            wrong = ["it hung" if os.WIFSIGNALED(status) else "it vanished"]
        try:
            wrong += OPERATIONS[name][1](root, acknowledged)
        except (FerruleError, ValueError, LookupError, OSError) as error:
            wrong.append(f"it does not open: {error}")
        calls = next((int(line.split()[1]) for line in said if line.startswith("calls ")), 0)
        return calls, end, wrong


def places(calls: int, every: int) -> list[int]:
    """Choose which calls are to fail, counted from 1."""
    first, last = range(1, calls + 1)[:EDGE_CALLS], range(1, calls + 1)[-EDGE_CALLS:]
    between = range(EDGE_CALLS, calls, max(1, calls // MIDDLE_CALLS)) if calls > 2 * EDGE_CALLS else ()
    return sorted({*first, *between, *last})[::every]


def exhaust(name: str, number: int, lasting: bool, every: int = 1) -> tuple[Counter[str], list[str]]:
    """Let the first call fail, the second, and so on, until none is left; `every` takes a sample."""
    total: Counter[str] = Counter(faults=0, wrong=0)
    told: list[str] = []
    calls, _, _ = attempt(name, Faults())
    for at in places(calls, every):
        _, end, wrong = attempt(name, Faults(at=at, number=number, lasting=lasting))
        kind = f"{name}: call {at} of {calls} {'and later ' if lasting else ''}{errno.errorcode[number]}"
        told += [f"{kind}: {line}" for line in wrong[:1]]
        total.update({"faults": 1, "wrong": bool(wrong), "tolerated" if end == "done" else "refused": 1})
    return total, told


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Let every call to the disk fail once.")
    parser.add_argument("--only", choices=sorted(OPERATIONS), action="append", help="this operation")
    parser.add_argument("--every", type=int, default=1, help="let only each n-th call fail")
    parser.add_argument("--errors", type=int, default=len(ERRORS), help="how many of the four errors")
    options = parser.parse_args()
    total: Counter[str] = Counter(faults=0, refused=0, tolerated=0, wrong=0)
    for name in options.only or OPERATIONS:
        for number in ERRORS[: options.errors]:
            for lasting in (False, True):
                counted, told = exhaust(name, number, lasting, options.every)
                total.update(counted)
                sys.stderr.writelines(f"{line}\n" for line in told)
    sys.stdout.write(json.dumps(total) + "\n")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
