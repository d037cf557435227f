"""Cancels turns at random moments and looks what survives.

A model that streams slowly asks for a shell with children (some in sessions
of their own, some deaf to being asked), for a file, or for something that a
person must approve, who never answers. After a random 0 to 150 ms the turn is
cancelled. It must end as cancelled or completed; the history on disk must
have every call answered once; the effect must take less than a second; and no
process with the run's mark in its environment, nor a zombie of ours, may be
left.

    python -m benches.soak.cancel --seeds 0:1000

Prints one JSON object; exit code 1 when anything survived or was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from ferrule.core.agent import Agent
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.policy.agent_policy import policy_of
from ferrule.ports.handles import Handles
from ferrule.ports.session import SessionKey
from ferrule.sandbox.commands import NativeCommands
from ferrule.sandbox.files import WorkspaceFiles
from ferrule.storage.sessions import open_sessions
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ask, call, say
from ferrule.tools.file_write import TOOL as FILE_WRITE
from ferrule.tools.list_directory import TOOL as LIST_DIRECTORY
from ferrule.tools.shell import TOOL as SHELL
from ferrule.types.access import Allow, ApprovalAnswer, ApprovalRequest, Ask
from ferrule.types.completion import ProviderEvent, Request
from ferrule.types.messages import Message

from ._seeds import parsed

MARK = "TZ"
"""A variable that commands inherit; its value names the run, and no zone."""

LIMIT_MS = 1_000
LINES = (
    "sleep 300",
    "sleep 300 & sleep 300 & wait",
    "setsid sleep 300 & sleep 300",
    "setsid -f sh -c 'setsid -f sleep 300; sleep 300'; sleep 300",
    "trap '' TERM; sh -c 'trap \"\" TERM; sleep 300; sleep 300' & wait; sleep 300",
    "while true; do sh -c 'true'; done",
)


class SlowModel:
    """Streams some text, asks for a tool, and goes on so."""

    name = "slow"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._calls = 0

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Give one answer, piece by piece."""
        self._calls += 1
        kind = self._chance.choice(("shell", "shell", "file_write", "list_directory", "text"))
        arguments: dict[str, object] = {}
        if kind == "shell":
            arguments = {"command": self._chance.choice(LINES)}
        elif kind == "file_write":
            arguments = {"path": f"f{self._calls}", "content": "x" * 100_000}
        answer = say("word " * 40, pieces=40)
        if kind != "text":
            answer = answer[:-1] + ask(call(kind, arguments, id=f"call_{self._calls}"))
        for event in answer:
            await asyncio.sleep(0.0005)
            yield event


class Nobody:
    """A person who never answers."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for ever."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody answered")


def survivors(mark: str) -> list[str]:
    """List the processes that have the mark in their environment, and the zombies of this one."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = (Path("/proc") / name / "stat").read_text().rpartition(")")[2].split()[:2]
            marked = f"{MARK}={mark}".encode() in (Path("/proc") / name / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or somebody else's
            continue
        if name != str(os.getpid()) and ((marked and state != "Z") or (state == "Z" and int(parent) == os.getpid())):
            found.append(name)
    return found


def history_faults(messages: list[Message]) -> list[str]:
    """Find calls that are not answered exactly once."""
    calls = Counter(one.id for message in messages for one in message.calls)
    answers = Counter(message.call_id for message in messages if message.role == "tool")
    return [] if calls == answers else [f"calls {dict(calls)}, answers {dict(answers)}"]


async def once(folder: Path, seed: int) -> tuple[float, list[str]]:
    """Take one turn and cancel it; returns how long that took in ms, and what is wrong."""
    chance = random.Random(seed)
    mark = f"soak-{os.getpid()}-{seed}"
    os.environ[MARK] = mark
    policy = policy_of(level="full", workspace=str(folder))
    handles = Handles(files=WorkspaceFiles(policy), commands=NativeCommands(policy))
    asks = {"shell": Ask(rule="soak", reason="asked")} if chance.random() < 0.2 else {}
    gate = TableGate({**asks}, default=Allow(rule="soak"), handles=handles)
    found: list[str] = []
    async with open_sessions(folder / ".state" / "sessions.db", SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="a"))
        agent = Agent(
            SlowModel(chance), gate=gate, tools=[SHELL, FILE_WRITE, LIST_DIRECTORY], approver=Nobody(), session=session
        )
        turn = asyncio.ensure_future(agent.send("go"))
        await asyncio.wait([turn], timeout=chance.random() * 0.15)
        began = time.monotonic()
        agent.cancel()
        result = await turn
        took = (time.monotonic() - began) * 1000
        if result.status not in ("cancelled", "completed"):
            found.append(f"it ended as {result.status}: {result.error}")
        found += [f"survived: {pid}" for pid in survivors(mark)]
        if session.messages:
            found += history_faults(list(await store.read(session.id)))
        await session.close()
    return took, found


async def cancel_all(seeds: range) -> tuple[Counter[str], list[float]]:
    """Cancel one turn per seed."""
    total: Counter[str] = Counter(cancels=0, wrong=0)
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            took, found = await once(Path(folder), seed)
            times.append(took)
            total.update(cancels=1, wrong=len(found))
            sys.stderr.writelines(f"seed {seed}: {line}\n" for line in found)
    return total, sorted(times)


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Cancel turns and count what survived.")
    parser.add_argument("--seeds", type=parsed, default=range(20), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    total, times = asyncio.run(cancel_all(options.seeds))
    p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
    sys.stdout.write(json.dumps({**total, "p50_ms": round(times[len(times) // 2]), "p99_ms": round(p99)}) + "\n")
    return 1 if total["wrong"] or p99 >= LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
