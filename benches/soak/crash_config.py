"""Kills a writer of ``config.toml`` at random moments and counts what that broke.

A child changes one key again and again and acknowledges each change over a
pipe. The parent kills it 0 to 20 ms after an acknowledgement, then starts
anew: reads the file, compares it with what was acknowledged, checks mode and
link, changes it once more, and looks for files that were left behind.

    python -m benches.soak.crash_config --seeds 0:2000

Prints one JSON object; exit code 1 when anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import stat
import sys
import tempfile
import time
import tomllib
from collections import Counter
from itertools import count
from pathlib import Path

from ferrule.config.edit import Editor
from ferrule.config.load import load
from ferrule.config.shape import Adapters, no_settings
from ferrule.types.errors import FerruleError

from ._seeds import parsed

KEY = "agents.default.instructions"
EXPECTED = {"config.toml", "config.toml.bak", "config.toml.bak.1"}
LOCK = "real.toml.lock"
START = '# mine\n[agents.default]\ninstructions = "0"   # kept\n'


def write_for_ever(path: Path, first: int, acknowledge: int) -> None:
    """Change the key and say so, until killed."""
    editor = Editor(path=path, adapters=Adapters())
    for number in count(first):
        editor.set(KEY, f'"{number}"')
        os.write(acknowledge, f"{number}\n".encode())


def kill_once(path: Path, first: int, chance: random.Random) -> int:
    """Start a writer, kill it, and return the last number that it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_for_ever(path, first, writing)
    os.close(writing)
    with open(reading, "rb") as lines:
        lines.readline()
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rest = lines.read().split(b"\n")
    numbers = [int(line) for line in rest[:-1]]
    return numbers[-1] if numbers else first


def inspect(path: Path, acknowledged: int, faults: Counter[str]) -> int:
    """Start anew and count what is wrong; returns the number that the file holds."""
    try:
        load(path, settings_for=no_settings, environ={})
        found = int(tomllib.loads(path.read_text())["agents"]["default"]["instructions"])
    except (FerruleError, tomllib.TOMLDecodeError, KeyError, ValueError) as error:
        faults["failed_starts"] += 1
        sys.stderr.write(f"{error}\n")
        return acknowledged
    faults["lost"] += found not in (acknowledged, acknowledged + 1)
    faults["changed_modes"] += stat.S_IMODE(path.stat().st_mode) != 0o600
    faults["links_replaced"] += not path.is_symlink()
    faults["lost_comments"] += path.read_text() != START.replace('"0"', f'"{found}"')
    Editor(path=path, adapters=Adapters()).set(KEY, f'"{found + 1}"')
    inside = {file.name for file in path.parent.iterdir()} - EXPECTED
    beside = {file.name for file in path.resolve().parent.iterdir()} - {"real.toml", LOCK}
    faults["left_behind"] += len(inside | beside)
    return found + 1


def run(seeds: range) -> Counter[str]:
    """Kill once per seed, in a folder of its own."""
    faults: Counter[str] = Counter(lost=0, failed_starts=0, changed_modes=0, links_replaced=0, left_behind=0)
    with tempfile.TemporaryDirectory() as folder:
        real = Path(folder) / "elsewhere" / "real.toml"
        path = Path(folder) / "home" / "config.toml"
        real.parent.mkdir()
        path.parent.mkdir()
        real.write_text(START)
        real.chmod(0o600)
        path.symlink_to(real)
        number = 0
        for seed in seeds:
            acknowledged = kill_once(path, number + 1, random.Random(seed))
            number = inspect(path, acknowledged, faults)
    return faults


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Kill a writer of config.toml and count what was lost.")
    parser.add_argument("--seeds", type=parsed, default=range(50), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    faults = run(options.seeds)
    sys.stdout.write(json.dumps({"kills": len(options.seeds), **faults}) + "\n")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
