"""Cuts the power, on paper, and counts what that lost.

A child works on real files and a recording layer notes every write, change
of length, sync and change of names. From the record the files are made anew
as a power failure after any of these acts may leave them (`_disk` has the
rules), opened by the product, and compared with what it had acknowledged by
then. Fifty seeds share a record.

- ``sessions``: a store of sessions, through SQLite.
- ``config``: changes of ``config.toml``.
- ``home``: both in a home that has to be made first.
- ``files``: an agent's file tool.
- ``vault``: secrets that are kept, replaced and removed, one of them encrypted
  in ``config.toml``, and changes of the vault's key, in a home made before.

``--weaken`` takes a protection away, after which losses must be found:
``synchronous=OFF`` or ``synchronous=NORMAL`` for SQLite, ``file-sync`` or
``folder-sync`` for the rest.

    python -m benches.soak.power_loss --seeds 0:2000 --subject sessions

Prints one JSON object; exit code 1 when anything was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ferrule.config.layout import Layout
from ferrule.types.errors import FerruleError

from ._disk import SCRATCH, Acknowledged, Remains, Tape
from ._faults import Faults
from ._file_work import change_config, faults_of_config, faults_of_files, write_files
from ._recorded_files import Recorder
from ._recorded_sqlite import recording
from ._seeds import parsed
from ._session_work import Work, faults_of
from ._vault_work import begin, change, faults_of_vault

SEEDS_PER_TAPE = 50
STEPS = 30
CHANGES = 12
"""Of the vault."""

NOT_KEPT = ("-shm", ".lock")
"""Ends of names of what is not on the tape, because nobody needs it after a restart."""

Record = Callable[[Path, random.Random, Tape, str], None]
Check = Callable[[Path, Sequence[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is recorded, and how its remains are judged."""

    record: Record
    check: Check


def _record_sessions(root: Path, chance: random.Random, tape: Tape, weaken: str) -> None:
    pragma = f"pragma {weaken}" if weaken.startswith("synchronous") else ""
    with _recorder(tape, weaken).watching(), recording(tape, Faults()):
        asyncio.run(Work(root / "sessions.db", chance, tape.acknowledge).run(STEPS, pragma))


def _record_config(root: Path, chance: random.Random, tape: Tape, weaken: str) -> None:
    with _recorder(tape, weaken).watching():
        change_config(root / "config.toml", chance, tape.acknowledge)


def _record_files(root: Path, chance: random.Random, tape: Tape, weaken: str) -> None:
    with _recorder(tape, weaken).watching():
        asyncio.run(write_files(root, chance, tape.acknowledge))


def _record_home(root: Path, chance: random.Random, tape: Tape, weaken: str) -> None:
    home = Layout(root / "of" / "mine")
    with _recorder(tape, weaken).watching(), recording(tape, Faults()):
        home.prepare()
        change_config(home.config, chance, tape.acknowledge)
        asyncio.run(Work(home.sessions, chance, tape.acknowledge).run(2))


def _record_vault(root: Path, chance: random.Random, tape: Tape, weaken: str) -> None:
    home = Layout(root / "mine")
    with _recorder(tape, weaken).watching():
        begin(home)
        change(home, chance, "tape", tape.acknowledge, range(CHANGES))


def _recorder(tape: Tape, weaken: str) -> Recorder:
    return Recorder(tape, Faults(), skip_file_sync=weaken == "file-sync", skip_folder_sync=weaken == "folder-sync")


def _check_home(root: Path, acknowledged: Sequence[str]) -> list[str]:
    home = Layout(root / "of" / "mine")
    home.prepare()
    kept = [line for line in acknowledged if not line.startswith("config ")]
    return faults_of_config(home.home, acknowledged) + asyncio.run(faults_of(home.sessions, kept))


def _check_vault(root: Path, acknowledged: Sequence[str]) -> list[str]:
    return faults_of_vault(Layout(root / "mine"), acknowledged)


SUBJECTS = {
    "sessions": Subject(_record_sessions, lambda root, kept: asyncio.run(faults_of(root / "sessions.db", kept))),
    "config": Subject(_record_config, faults_of_config),
    "home": Subject(_record_home, _check_home),
    "files": Subject(_record_files, faults_of_files),
    "vault": Subject(_record_vault, _check_vault),
}


def taped(subject: str, number: int, weaken: str) -> Tape:
    """Record one piece of work in a process of its own.

    Raises:
        RuntimeError: it failed, or the record is not complete.
    """
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        target = Path(folder) / "tape"
        child = multiprocessing.get_context("fork").Process(target=_record, args=(subject, number, weaken, target))
        child.start()
        child.join()
        if child.exitcode != 0:
            raise RuntimeError(f"{subject}: tape {number} could not be recorded")
        tape = pickle.loads(target.read_bytes())
    assert isinstance(tape, Tape)
    return tape


def _record(subject: str, number: int, weaken: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=SCRATCH) as one, tempfile.TemporaryDirectory(dir=SCRATCH) as other:
        tape = Tape(Path(one))
        SUBJECTS[subject].record(tape.root, random.Random(f"{subject} {number}"), tape, weaken)
        Remains(tape, len(tape.acts), None).write(Path(other))
        if contents(Path(one)) != contents(Path(other)):
            raise RuntimeError("the record does not give the files that are there")
    target.write_bytes(pickle.dumps(tape))


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return every file below a folder; None stands for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.endswith(NOT_KEPT)
    }


def cut(tape: Tape, chance: random.Random) -> int:
    """Choose how many acts there were: anywhere, after the first word, or beside a word, where most can be lost."""
    said = [place for place, act in enumerate(tape.acts) if isinstance(act, Acknowledged)]
    kind = chance.random()
    if kind < 0.15:
        return chance.randint(0, len(tape.acts))
    if kind < 0.5:
        return chance.randint(said[0], len(tape.acts))
    return min(len(tape.acts), chance.choice(said) + chance.randint(0, 3))


def examine(subject: str, tape: Tape, seed: int) -> tuple[int, list[str]]:
    """Make one state and judge it; returns how much had been acknowledged, and what is wrong."""
    chance = random.Random(seed)
    end = cut(tape, chance)
    acknowledged = tape.acknowledged(end)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        folder = Path(os.path.realpath(name))
        Remains(tape, end, chance).write(folder)
        try:
            found = SUBJECTS[subject].check(folder, acknowledged)
        except (FerruleError, ValueError, LookupError, OSError) as error:
            found = [f"it does not open: {error}"]
    done = sum(not line.startswith("will ") for line in acknowledged)
    return done, [f"{subject} seed {seed}, after {end} acts: {line}" for line in found]


def run(subject: str, seeds: range, weaken: str = "", show: int = 5) -> Counter[str]:
    """Examine one state per seed; prints the first faults."""
    total: Counter[str] = Counter(states=0, acknowledged=0, lost=0)
    number, tape = -1, Tape(Path("/"))
    for seed in seeds:
        if seed // SEEDS_PER_TAPE != number:
            number = seed // SEEDS_PER_TAPE
            tape = taped(subject, number, weaken)
        acknowledged, found = examine(subject, tape, seed)
        total.update(states=1, acknowledged=acknowledged, lost=bool(found))
        for line in found[:1] if total["lost"] <= show else ():
            sys.stderr.write(f"{line}\n")
    return total


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Cut the power and count what was lost.")
    parser.add_argument("--seeds", type=parsed, default=range(50), metavar="A:B", help="from A up to, not with, B")
    parser.add_argument("--subject", choices=sorted(SUBJECTS), default="sessions")
    parser.add_argument("--weaken", default="", help="a protection to take away")
    options = parser.parse_args()
    total = run(options.subject, options.seeds, options.weaken)
    sys.stdout.write(json.dumps({"subject": options.subject, "weaken": options.weaken, **total}) + "\n")
    return 1 if total["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
