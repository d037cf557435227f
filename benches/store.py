"""What an awaited write and a point read of the session store cost against plain sqlite3, inline, with equal settings.

    python -m benches.store --rounds 5

Both sides write the bytes of two messages in one transaction on a log that was
grown before (`synchronous=FULL`), with a short pause between as in a real
turn; and read one session of ten messages. Processor time, interleaved rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ferrule import Message, SessionKey, Sessions
from ferrule.storage.sessions import SqliteSessions

PAUSE_S = 0.001
LIMITS = {"write": 2.0, "read": 10.0}


def pair(number: int) -> list[Message]:
    """Make what one short turn appends."""
    question = Message(id=f"msg_{number}", role="user", text="What is in this folder? " * 4)
    return [question, Message(id=f"msg_{number}_a", role="assistant", text="Three files and a folder. " * 6)]


class Inline:
    """A store as one writes it in an afternoon: one table, no checks, no locks."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("pragma journal_mode=WAL")
        self.connection.execute("pragma synchronous=FULL")
        self.connection.execute(
            "create table messages (session text, seq integer, body blob, primary key (session, seq))"
        )
        self.connection.execute("create table grow (bytes blob)")
        self.connection.execute("insert into grow values (zeroblob(4194304))")
        self.connection.execute("drop table grow")
        self.connection.execute("pragma wal_checkpoint(passive)")

    def write(self, session: str, seq: int, messages: list[Message]) -> None:
        """Write messages in one transaction."""
        rows = [
            (session, seq + i, json.dumps({"role": m.role, "text": m.text}).encode()) for i, m in enumerate(messages)
        ]
        self.connection.execute("begin immediate")
        self.connection.executemany("insert into messages values (?, ?, ?)", rows)
        self.connection.execute("commit")

    def read(self, session: str) -> list[object]:
        """Read a session."""
        rows = self.connection.execute("select body from messages where session = ? order by seq", (session,))
        return [json.loads(body) for (body,) in rows]


def inline_round(store: Inline, name: str, count: int) -> tuple[float, float]:
    """Return microseconds of a write and of a read."""
    spent = 0.0
    for number in range(count):
        time.sleep(PAUSE_S)
        began = time.process_time()
        store.write(name, number * 2, pair(number))
        spent += time.process_time() - began
    small = f"{name} small"
    for number in range(5):
        store.write(small, number * 2, pair(number))
    began = time.process_time()
    for _ in range(count):
        store.read(small)
    return spent / count * 1e6, (time.process_time() - began) / count * 1e6


async def ours_round(store: SqliteSessions, count: int) -> tuple[float, float]:
    """Return microseconds of a write and of a read."""
    session = await store.open(SessionKey(agent="default"))
    small = await store.open(SessionKey(agent="default"))
    spent = 0.0
    for number in range(count):
        await asyncio.sleep(PAUSE_S)
        began = time.process_time()
        await session.append(pair(number))
        spent += time.process_time() - began
    for number in range(5):
        await small.append(pair(number))
    began = time.process_time()
    for _ in range(count):
        await store.read(small.id)
    read = time.process_time() - began
    await session.close()
    await small.close()
    return spent / count * 1e6, read / count * 1e6


async def measured(rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Measure both sides, round by round."""
    ratios: dict[str, list[float]] = {"write": [], "read": []}
    figures: dict[str, list[float]] = {name: [] for name in ("write", "read", "inline write", "inline read")}
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        inline = Inline(Path(folder, "inline.db"))
        async with Sessions.at(Path(folder, "home", "sessions.db")) as store:
            for number in range(rounds):
                plain = inline_round(inline, f"session {number}", count)
                ours = await ours_round(store, count)
                for name, mine, theirs in zip(("write", "read"), ours, plain, strict=True):
                    ratios[name].append(mine / theirs)
                    figures[name].append(mine)
                    figures[f"inline {name}"].append(theirs)
        inline.connection.close()
    return {
        name: {
            "ratio": round(statistics.median(ratios[name]), 2),
            "lowest": round(min(ratios[name]), 2),
            "highest": round(max(ratios[name]), 2),
            "us": round(statistics.median(figures[name]), 1),
            "inline_us": round(statistics.median(figures[f"inline {name}"]), 1),
            "limit": LIMITS[name],
        }
        for name in ("write", "read")
    }


def main() -> None:
    """Print the ratios as JSON."""
    parser = argparse.ArgumentParser(description="The session store against plain sqlite3.")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds")
    parser.add_argument("--count", type=int, default=300, help="writes and reads a round")
    options = parser.parse_args()
    sys.stdout.write(f"{json.dumps(asyncio.run(measured(options.rounds, options.count)), indent=2)}\n")


if __name__ == "__main__":
    main()
