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
import errno
import json
import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from ferrule.types.errors import FerruleError

from . import _fault_files, _fault_sessions
from ._disk import SCRATCH, Tape
from ._fault_files import Check
from ._fault_sessions import Operation, session_faults
from ._faults import ERRORS, Faults
from ._recorded_files import Recorder
from ._recorded_sqlite import recording

HANG_S = 20
EDGE_CALLS = 60
MIDDLE_CALLS = 60
"""Of an operation with very many calls (the first start grows the log) the first, the last, and some between."""

OPERATIONS: dict[str, tuple[Operation, Check]] = {
    **{step: (operation, session_faults) for step, operation in _fault_sessions.OPERATIONS.items()},
    **_fault_files.OPERATIONS,
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
        frames = traceback.extract_tb(error.__traceback__)
        where = next((frame for frame in reversed(frames) if "/src/ferrule/" in frame.filename), frames[-1])
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
    calls, end, wrong = attempt(name, Faults())
    if wrong or end != "done" or not calls:
        return Counter(wrong=1), [f"{name}: without a fault it made {calls} calls and ended as {end!r}", *wrong]
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
