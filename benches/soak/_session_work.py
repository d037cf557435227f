"""A conversation for the disk's sake: sessions that grow, end, are copied and reopened, with checkable content."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import apsw

from ferrule.core.system_clock import RandomIds
from ferrule.ports.session import Session, SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall

SIZES = (10, 300, 5_000, 90_000, 600_000)
WEIGHTS = (4, 6, 4, 2, 1)
Acknowledge = Callable[[str], None]


def message(session_id: str, number: int, rest: int, size: int) -> Message:
    """Make the `number`-th message of a session, which `rest` more of the same write follow."""
    mark = f"{session_id} {number} {rest} {size}"
    calls = (ToolCall(id=f"{session_id}/{number}", name="effect", arguments={"mark": mark}),)
    return Message(id=mark, role="assistant", text=text_of(mark, size), calls=calls)


def text_of(mark: str, size: int) -> str:
    """Return what the message with this id says; it depends on every part of the id."""
    return random.Random(mark).randbytes(size // 2).hex()


class Work:
    """Some steps with one file of sessions, as the dice say."""

    def __init__(self, path: Path, chance: random.Random, acknowledge: Acknowledge) -> None:
        self._path = path
        self._chance = chance
        self._acknowledge = acknowledge
        self._clock, self._ids = FakeClock(), SequenceIds()
        self._store: SqliteSessions | None = None
        self._held: list[Session] = []
        self._pragma = ""

    async def run(self, steps: int, pragma: str = "") -> None:
        """Take the steps; `pragma` weakens each connection, to see that this is found out."""
        self._pragma = pragma
        for _ in range(self._chance.randint(1, 3)):
            async with AsyncExitStack() as stack:
                self._store = await stack.enter_async_context(open_sessions(self._path, self._clock, self._ids))
                if pragma:
                    self._store._database._connection.execute(pragma)
                self._held = [await self._store.open(SessionKey(agent="a")) for _ in range(3)]
                for _ in range(steps):
                    await self._step(self._store)
                for session in self._held:
                    await session.close()

    async def _step(self, store: SqliteSessions) -> None:
        step = self._chance.choice((self._grow, self._grow, self._grow_together, self._begin, self._give_up))
        if self._chance.random() < 0.15:
            await self._reopen(store)
        await step()

    async def _grow(self) -> None:
        await self._append(self._chance.choice(self._held))

    async def _grow_together(self) -> None:
        await asyncio.gather(*(self._append(session) for session in self._held))

    async def _append(self, session: Session) -> None:
        new = self._messages(session)
        await session.append(new)
        for one in new:
            self._acknowledge(f"message {one.id}")

    async def _begin(self) -> None:
        """A call is about to run; more calls of one session are begun at once."""
        session = self._chance.choice(self._held)
        new = self._messages(session)
        await session.intend(new, [call for one in new for call in one.calls])
        for one in new:
            self._acknowledge(f"message {one.id}")
            self._acknowledge(f"begun {session.id} {one.calls[0].id}")

    async def _give_up(self) -> None:
        """Whoever waits goes away; nothing is acknowledged, and the rest goes on."""
        session = self._chance.choice(self._held)
        waiting = asyncio.ensure_future(session.append(self._messages(session)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])

    async def _reopen(self, store: SqliteSessions) -> None:
        place = self._chance.randrange(len(self._held))
        old = self._held[place]
        await old.close()
        self._held[place] = await store.open(SessionKey(agent="a", id=old.id if old.messages else ""))

    def _messages(self, session: Session) -> list[Message]:
        begin, count = len(session.messages), self._chance.randint(1, 3)
        sizes = self._chance.choices(SIZES, WEIGHTS, k=count)
        return [message(session.id, begin + i, count - 1 - i, size) for i, size in enumerate(sizes)]


async def faults_of(path: Path, acknowledged: Sequence[str]) -> list[str]:
    """Open what is there, compare it with what was acknowledged, go on with it; returns what is wrong."""
    found: list[str] = []
    async with open_sessions(path, FakeClock(), RandomIds()) as store:
        kept: dict[str, Sequence[Message]] = {}
        begun: set[str] = set()
        for facts in await store.list():
            session = await store.open(SessionKey(agent="a", id=facts.id))
            kept[facts.id] = list(session.messages)
            begun.update(call.id for call in session.interrupted)
            found += _half(facts.id, kept[facts.id])
            await session.append([message(facts.id, len(session.messages), 0, 300)])
            await session.close()
            if len(await store.read(facts.id)) != len(kept[facts.id]) + 1:
                found.append(f"{facts.id}: what was added after the restart is not there")
        there = {one.id for messages in kept.values() for one in messages}
        for line in acknowledged:
            kind, _, what = line.partition(" ")
            if what not in there if kind == "message" else what.partition(" ")[2] not in begun:
                found.append(f"acknowledged and lost: {line}")
        fresh = await store.open(SessionKey(agent="a"))
        await fresh.append([message(fresh.id, 0, 0, 10)])
        await fresh.close()
    return found + _damage(path)


def _half(session_id: str, messages: Sequence[Message]) -> list[str]:
    """Look for a hole, a changed message, and a write of which only a part is there."""
    found = []
    for place, one in enumerate(messages):
        _, number, _, size = one.id.split()
        if int(number) != place:
            found.append(f"{session_id}: message {number} stands at {place}")
        if one.text != text_of(one.id, int(size)):
            found.append(f"{session_id}: message {number} was changed")
    if messages and messages[-1].id.split()[2] != "0":
        found.append(f"{session_id}: the last write is there in part")
    return found


def _damage(path: Path) -> list[str]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        said = [str(line) for (line,) in connection.execute("pragma integrity_check")]
    except apsw.Error as error:
        said = [str(error)]
    finally:
        connection.close()
    return [] if said == ["ok"] else [f"the file is damaged: {said[0]}"]
