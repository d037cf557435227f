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
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ferrule.app.secrets import forget_secret, keep_secret, list_secrets, rotate_secrets
from ferrule.config.layout import Layout
from ferrule.storage.vault import INSTALL, vault_in
from ferrule.types.errors import FerruleError

from ._seeds import parsed

SEEDS_PER_HOME = 10
NAMES = ("one", "two", "three")
KEY = "providers.openai.main.api_key"
START = '# mine\n[providers.openai.main]\nmodel = "m"   # kept\n'
EXPECTED = {"config.toml", "config.toml.bak", "config.toml.bak.1", "config.toml.lock", "logs", "state", "vault"}
IN_VAULT = {"key", "lock", "secrets.json"}
Say = Callable[[str], object]


@dataclass(slots=True)
class Known:
    """What the product acknowledged, and what was on its way.

    Attributes:
        values: By name; "" for one that was removed.
        pending: Name and value of the change that had begun; name "" when none had.
        rotated: How many rotations were acknowledged.
        begun: Whether a rotation had begun when the process died.
    """

    values: dict[str, str] = field(default_factory=dict)
    pending: tuple[str, str] = ("", "")
    rotated: int = 0
    begun: bool = False
    acknowledged: int = 0

    def hear(self, line: str) -> None:
        """Take one line of the child."""
        what, _, rest = line.partition(" ")
        name, _, value = rest.partition(" ")
        if what == "will":
            self.pending, self.begun = (name, value), name == "rotate"
            return
        self.acknowledged += 1
        self.pending, self.begun = ("", ""), False
        if name == "rotate":
            self.rotated += 1
        else:
            self.values[name] = value


def change_for_ever(place: Layout, chance: random.Random, first: str, say: Say) -> None:
    """Change something and say so, until killed."""
    for number in count():
        what, value = chance.choice((*NAMES, KEY, "rotate")), f"sk-canary-{first}-{number}"
        if what == "rotate":
            say("will rotate")
            rotate_secrets(place, {})
            say("did rotate")
        elif what in NAMES and chance.random() < 0.2 and vault_in(place.vault, {}).get(INSTALL, what) is not None:
            say(f"will {what} ")
            forget_secret(place, {}, what)
            say(f"did {what} ")
        else:
            say(f"will {what} {value}")
            keep_secret(place, {}, what, value)
            say(f"did {what} {value}")


def kill_once(place: Layout, seed: int, known: Known, faults: Counter[str]) -> None:
    """Start a child, kill it, and take in what it said."""
    chance = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            change_for_ever(
                place, random.Random(f"child {seed}"), str(seed), lambda text: os.write(writing, f"{text}\n".encode())
            )
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
    _compare(place, known, faults)
    former = _keys(place)
    if finish:
        done = rotate_secrets(place, {})
        known.rotated += 1
        faults["resumed"] += done.resumed
        faults["lost"] += len(done.left)
        _compare(place, known, faults)
        behind = {path.name for path in place.vault.iterdir()} - IN_VAULT
        behind |= {path.name for path in place.home.iterdir()} - EXPECTED
        readable = b"".join(path.read_bytes() for path in place.home.rglob("*") if path.is_file())
        now = _keys(place)
        behind |= {"a former key" for key in former - now if key.encode() in readable}
        behind |= {"a secret"} if b"canary" in readable else set()
        faults["left_behind"] += len(behind)
        sys.stderr.write("".join(f"left behind: {name}\n" for name in sorted(behind)))
    known.pending, known.begun = ("", ""), False


def _compare(place: Layout, known: Known, faults: Counter[str]) -> None:
    for facts in list_secrets(place, {}):
        if facts.fault:
            faults["lost"] += 1
            sys.stderr.write(f"{facts.name}: {facts.fault}\n")
    vault = vault_in(place.vault, {})
    found = {name: vault.get(INSTALL, name) or "" for name in NAMES}
    text = place.config.read_text()
    value = text.partition('api_key = "')[2].partition('"')[0]
    found[KEY] = vault.open(value, namespace=INSTALL, place=KEY) if value else ""
    faults["lost"] += not text.startswith(START.rstrip("\n"))
    for name, there in found.items():
        allowed = {known.values.get(name, "")}
        if known.pending[0] == name:
            allowed.add(known.pending[1])
        if there not in allowed:
            faults["lost"] += 1
            sys.stderr.write(f"{name}: {sorted(allowed)} was acknowledged, {there!r} is there\n")
        known.values[name] = there


def _keys(place: Layout) -> set[str]:
    return set(vault_in(place.vault, {}).remember())


def _home(folder: str) -> Layout:
    place = Layout(Path(folder) / "home")
    place.prepare()
    place.config.write_text(START)
    place.config.chmod(0o600)
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
