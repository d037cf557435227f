"""Two agents in processes of their own over one file of sessions; one is killed, and both are compared.

Each holds a session of its own and takes turns as in `crash_sessions`. After
a random 0 to 20 ms one of the two is killed. While the other goes on, the
killed one's session must be free, hold everything that was acknowledged, and
take a turn; the session that the other still holds must be refused with its
process id. Then the other is killed, too, and compared.

    python -m benches.soak.crash_two_writers --seeds 0:250

Prints one JSON object; exit code 1 when anything was lost or a start failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import count
from pathlib import Path

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.types.errors import FerruleError, SessionBusy

from ._seeds import parsed
from .crash_sessions import agent_over, lost, next_number

SEEDS_PER_FOLDER = 10


@dataclass
class Writer:
    """One process and what it acknowledged, over all its lives."""

    session_id: str = ""
    pid: int = 0
    lines: BufferedReader | None = None
    acknowledged: list[str] = field(default_factory=list)

    def start(self, path: Path) -> None:
        """Start the process and wait until it is ready."""
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            try:
                asyncio.run(talk_for_ever(path, self.session_id, writing))
            finally:
                sys.excepthook(*sys.exc_info())  # it only comes here by failing
                os._exit(1)
        os.close(writing)
        self.lines = os.fdopen(reading, "rb")
        self.session_id = self.lines.readline().decode().strip() or self.session_id

    def kill(self) -> bool:
        """Kill it and read what it said; False when it had ended by itself."""
        assert self.lines is not None
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        with self.lines as lines:
            self.acknowledged += [line.decode() for line in lines.read().split(b"\n")[:-1]]
        return os.WIFSIGNALED(status)


async def talk_for_ever(path: Path, session_id: str, pipe: int) -> None:
    """Take turns and say so, until killed; the first line is the session's id."""

    def acknowledge(text: str) -> None:
        os.write(pipe, f"{text}\n".encode())

    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="default", id=session_id))
        if not session_id:  # a session without messages leaves no row
            await agent_over(session, lambda _: None).send("go 0", raise_on_error=True)
        agent = agent_over(session, acknowledge)
        os.write(pipe, f"{session.id}\n".encode())
        for number in count(next_number(session)):
            await agent.send(f"go {number}", raise_on_error=True)
            acknowledge(f"turn {number}")


async def inspect(path: Path, dead: Writer, living: Writer | None) -> list[str]:
    """Open the dead one's session, compare, take a turn; the living one's must be refused."""
    found = []
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="default", id=dead.session_id))
        found += [f"{line}: acknowledged and lost" for line in lost(dead.acknowledged, session)]
        number = next_number(session)
        await agent_over(session, dead.acknowledged.append).send(f"go {number}", raise_on_error=True)
        dead.acknowledged.append(f"turn {number}")
        found += [f"{line}: lost after the restart" for line in lost(dead.acknowledged, session)]
        await session.close()
        if living is not None:
            try:
                held = await store.open(SessionKey(agent="default", id=living.session_id))
                await held.close()
                found.append("a held session was given away")
            except SessionBusy as busy:
                found += [] if busy.pid == living.pid else [f"the holder is said to be {busy.pid}"]
    return found


def once(path: Path, writers: Sequence[Writer], seed: int, total: Counter[str]) -> list[str]:
    """Start both, kill one, look, kill the other, look."""
    chance = random.Random(seed)
    for writer in writers:
        writer.start(path)
    order = chance.sample(writers, 2)
    time.sleep(chance.random() * 0.02)
    found: list[str] = []
    for dead, living in ((order[0], order[1]), (order[1], None)):
        total["failed_starts"] += not dead.kill()
        total["kills"] += 1
        try:
            found += asyncio.run(inspect(path, dead, living))
        except FerruleError as error:
            total["failed_starts"] += 1
            found.append(str(error))
    total["lost"] += len(found)
    return found


def run(seeds: range) -> Counter[str]:
    """Kill two writers per seed."""
    total: Counter[str] = Counter(kills=0, acknowledged=0, lost=0, failed_starts=0)
    for first in seeds[::SEEDS_PER_FOLDER]:
        writers = (Writer(), Writer())
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(first, min(first + SEEDS_PER_FOLDER, seeds.stop)):
                for line in once(Path(folder) / "state" / "sessions.db", writers, seed, total):
                    sys.stderr.write(f"seed {seed}: {line}\n")
        total["acknowledged"] += sum(len(writer.acknowledged) for writer in writers)
    return total


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Kill two writers of one file and count what was lost.")
    parser.add_argument("--seeds", type=parsed, default=range(20), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    total = run(options.seeds)
    sys.stdout.write(json.dumps(total) + "\n")
    return 1 if total["lost"] or total["failed_starts"] else 0


if __name__ == "__main__":
    sys.exit(main())
