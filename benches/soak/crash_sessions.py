"""Kills an agent in the middle of its turns at random moments and counts what that lost.

A child sends message after message to an agent over sessions on disk: two
rounds with a tool that has an effect, then text. Over a pipe it says what
the product acknowledged: a turn that has finished, and an effect that began,
which the product allows only when the intent is on disk. The parent kills it
0 to 20 ms after it is ready, or after it was started, then starts anew: opens
the session, compares it with what was acknowledged, takes one more turn, and
looks for files that were left behind. Every ten seeds get a folder of their own.

    python -m benches.soak.crash_sessions --seeds 0:250

Prints one JSON object; exit code 1 when anything was lost, a start failed, or
anything was left behind.
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
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path

from ferrule.core.agent import Agent
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.core.tool_decorator import tool
from ferrule.ports.session import Session, SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.testing.gates import TableGate
from ferrule.testing.scripted import ask, call, say
from ferrule.types.access import Allow, Deny
from ferrule.types.completion import ProviderEvent, Request
from ferrule.types.errors import FerruleError

from ._seeds import parsed

ROUNDS = 2
"""Rounds of a turn in which the model calls the tool."""

SEEDS_PER_FOLDER = 10
EXPECTED = {"sessions.db", "sessions.lock"}
Acknowledge = Callable[[str], object]


class Model:
    """Answers ``go N`` with calls about ``N.0`` and ``N.1``, then with ``done N``."""

    name = "model"

    async def stream(self, request: Request) -> AsyncIterator[ProviderEvent]:
        """Give the answer that the history asks for."""
        start = max(i for i, message in enumerate(request.messages) if message.role == "user")
        number = request.messages[start].text.removeprefix("go ")
        rounds = sum(message.role == "tool" for message in request.messages[start:])
        if rounds == ROUNDS:
            answer = say(f"done {number}")
        else:
            answer = ask(call("effect", {"number": f"{number}.{rounds}"}, id=f"call_{number}_{rounds}"))
        for event in answer:
            yield event


def agent_over(session: Session, acknowledge: Acknowledge) -> Agent:
    """Make the agent, whose tool says that its effect has begun."""

    @tool(needs=("files.write",))
    async def effect(number: str) -> str:
        """Do something that cannot be undone."""
        acknowledge(f"effect {number}")
        await asyncio.sleep(0.0005)
        return f"did {number}"

    gate = TableGate({"effect": Allow(rule="soak")}, default=Deny(rule="soak", reason="only its own tool"))
    return Agent(Model(), gate=gate, tools=[effect], session=session)


async def reopened(store: SqliteSessions) -> Session:
    """Open the only session of the file, or start it."""
    listed = await store.list()
    return await store.open(SessionKey(agent="default", id=listed[0].id if listed else ""))


async def talk_for_ever(path: Path, pipe: int) -> None:
    """Take turns and say so, until killed."""

    def acknowledge(text: str) -> None:
        os.write(pipe, f"{text}\n".encode())

    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await reopened(store)
        agent = agent_over(session, acknowledge)
        acknowledge("ready")
        for number in count(next_number(session)):
            await agent.send(f"go {number}", raise_on_error=True)
            acknowledge(f"turn {number}")


def next_number(session: Session) -> int:
    """Return the number of the next turn: a person's message may be there without its turn."""
    return sum(message.role == "user" for message in session.messages)


def kill_once(path: Path, seed: int, faults: Counter[str]) -> list[str]:
    """Start a child, kill it, and return what it acknowledged."""
    chance = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(talk_for_ever(path, writing))
        finally:
            sys.excepthook(*sys.exc_info())  # it only comes here by failing
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as lines:
        if chance.random() < 0.8:
            lines.readline()
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        faults["failed_starts"] += not os.WIFSIGNALED(status)
        whole = lines.read().split(b"\n")[:-1]
    return [line.decode() for line in whole if line != b"ready"]


def lost(acknowledged: list[str], session: Session) -> list[str]:
    """Return what was acknowledged and is not there."""
    calls = {str(one.arguments["number"]): one.id for message in session.messages for one in message.calls}
    kept = {message.call_id for message in session.messages} | {one.id for one in session.interrupted}
    texts = [message.text for message in session.messages if message.role != "tool"]
    gone = []
    for line in acknowledged:
        kind, _, number = line.partition(" ")
        if kind == "effect":
            there = calls.get(number) in kept
        else:
            answered = all(calls.get(f"{number}.{i}") in kept for i in range(ROUNDS))
            there = texts.count(f"go {number}") == texts.count(f"done {number}") == 1 and answered
        if not there:
            gone.append(line)
    return gone


async def inspect(path: Path, acknowledged: list[str], faults: Counter[str]) -> None:
    """Start anew and count what is wrong; what the turn taken here acknowledges joins the rest."""
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await reopened(store)
        for line in lost(acknowledged, session):
            faults["lost"] += 1
            sys.stderr.write(f"{line}: acknowledged and lost\n")
        number = next_number(session)
        await agent_over(session, acknowledged.append).send(f"go {number}", raise_on_error=True)
        acknowledged.append(f"turn {number}")
        await session.close()
        session = await reopened(store)
        if session.interrupted or lost(acknowledged, session):
            faults["lost"] += 1
            sys.stderr.write(f"turn {number} after the restart did not settle everything\n")
        await session.close()
    faults["left_behind"] += len({file.name for file in path.parent.iterdir()} - EXPECTED)


def run(seeds: range) -> Counter[str]:
    """Kill once per seed."""
    faults: Counter[str] = Counter(kills=0, acknowledged=0, lost=0, failed_starts=0, left_behind=0)
    for first in seeds[::SEEDS_PER_FOLDER]:
        acknowledged: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state" / "sessions.db"
            for seed in range(first, min(first + SEEDS_PER_FOLDER, seeds.stop)):
                acknowledged += kill_once(path, seed, faults)
                faults["kills"] += 1
                try:
                    asyncio.run(inspect(path, acknowledged, faults))
                except FerruleError as error:
                    faults["failed_starts"] += 1
                    sys.stderr.write(f"seed {seed}: {error}\n")
        faults["acknowledged"] += len(acknowledged)
    return faults


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Kill an agent in its turns and count what was lost.")
    parser.add_argument("--seeds", type=parsed, default=range(50), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    faults = run(options.seeds)
    sys.stdout.write(json.dumps(faults) + "\n")
    return 1 if faults["lost"] or faults["failed_starts"] or faults["left_behind"] else 0


if __name__ == "__main__":
    sys.exit(main())
