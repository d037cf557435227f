"""Kills a writer of the vault at random moments, rotations among them, and counts what was lost.

A child keeps, replaces and removes named secrets, encrypts a key of
``config.toml``, and changes the vault's key, in an order of its seed. Over a
pipe it says what it is about to do and what the product acknowledged. The
parent waits for 1 to 8 lines, kills it 0 to 100 ms later, and starts anew:
every acknowledged secret must open with its value, one that was on its way
may have its old or its new value. After every other kill the key is changed,
which finishes a change that was interrupted: then no file may be left behind,
and no secret or former key lie readable. Every ten seeds get a home of their
own.

    python -m benches.soak.crash_vault --seeds 0:200

Prints one JSON object; exit code 1 when anything was lost, a start failed, or
anything was left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

from ferrule.app.secrets import keep_secret, rotate_secrets
from ferrule.config.layout import Layout
from ferrule.types.errors import FerruleError

from ._seeds import parsed
from ._vault_work import KEY, Known, begin, change, compare, keys, left_behind

SEEDS_PER_HOME = 10


def kill_once(place: Layout, seed: int, known: Known, faults: Counter[str]) -> None:
    """Start a child, kill it, and take in what it said."""
    chance = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            chances = random.Random(f"child {seed}")
            change(place, chances, str(seed), lambda text: os.write(writing, f"{text}\n".encode()), count())
        finally:
            sys.excepthook(*sys.exc_info())  # it only comes here by failing
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as lines:
        heard = [lines.readline() for _ in range(chance.randint(1, 8))]
        time.sleep(chance.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        faults["failed_starts"] += not os.WIFSIGNALED(status)
        for line in (b"".join(heard) + lines.read()).decode().split("\n")[:-1]:
            known.hear(line)


def inspect(place: Layout, known: Known, faults: Counter[str], *, finish: bool) -> None:
    """Start anew, compare, and settle what was on its way.

    The first look comes before anything is written, so that the state as the
    dead process left it must open; the second comes after a rotation.
    """
    faults["killed_in_rotation"] += known.begun
    lost = compare(place, known)
    former = keys(place)
    behind: list[str] = []
    if finish:
        done = rotate_secrets(place, {})
        known.rotated += 1
        faults["resumed"] += done.resumed
        lost += [f"{name}: does not open after the rotation" for name in done.left] + compare(place, known)
        behind = left_behind(place, former)
    faults.update(lost=len(lost), left_behind=len(behind))
    sys.stderr.writelines(f"{line}\n" for line in lost + behind)
    known.pending, known.begun = ("", ""), False


def _home(folder: str) -> Layout:
    place = Layout(Path(folder) / "home")
    begin(place)
    return place


def run(seeds: range) -> Counter[str]:
    """Kill once per seed."""
    faults: Counter[str] = Counter(
        kills=0, acknowledged=0, rotations=0, killed_in_rotation=0, resumed=0, lost=0, failed_starts=0, left_behind=0
    )
    for first in seeds[::SEEDS_PER_HOME]:
        with tempfile.TemporaryDirectory() as folder:
            place = _home(folder)
            keep_secret(place, {}, KEY, "sk-canary-first")  # what this imports is there in every child
            known = Known(values={KEY: "sk-canary-first"})
            for seed in range(first, min(first + SEEDS_PER_HOME, seeds.stop)):
                kill_once(place, seed, known, faults)
                faults["kills"] += 1
                try:
                    inspect(place, known, faults, finish=seed % 2 == 1)
                except FerruleError as error:
                    faults["failed_starts"] += 1
                    sys.stderr.write(f"seed {seed}: {error}\n")
        faults["acknowledged"] += known.acknowledged
        faults["rotations"] += known.rotated
    return faults


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Kill a writer of the vault and count what was lost.")
    parser.add_argument("--seeds", type=parsed, default=range(50), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    faults = run(options.seeds)
    sys.stdout.write(json.dumps(faults) + "\n")
    return 1 if faults["lost"] or faults["failed_starts"] or faults["left_behind"] else 0


if __name__ == "__main__":
    sys.exit(main())
