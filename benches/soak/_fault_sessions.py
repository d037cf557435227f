"""What the store of sessions does, piece by piece, for disks that fail in the middle of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ferrule.ports.session import Session, SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.storage.sessions.document import document_of, from_document
from ferrule.testing.clock import FakeClock, SequenceIds
from ferrule.types.errors import FerruleError, StoreError
from ferrule.types.messages import Message

from ._faults import Faults
from ._session_work import faults_of, message, text_of

KEY = SessionKey(agent="a")
TURNS = 2
Acknowledge = Callable[[str], None]
Operation = Callable[[Path, Faults, Acknowledge], None]
"""Prepares without a fault, arms it with `Faults.arm`, and works; what it acknowledges must be found later."""


class HeldSession:
    """The operations with a session that is held; each prepares, arms the faults, and works."""

    def __init__(self, root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        self._path = root / "sessions.db"
        self._faults = faults
        self._acknowledge = acknowledge
        self._clock, self._ids = FakeClock(), SequenceIds()

    async def create(self) -> None:
        """Make the file and write to it."""
        self._faults.arm()
        async with open_sessions(self._path, self._clock, self._ids) as store:
            try:
                session = await store.open(KEY)
                await self._append(session, 2)
                await session.close()
            finally:
                self._faults.disarm()  # closing is an operation of its own

    async def reopen(self) -> None:
        """Open a file that is there."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            await self._append(await store.open(KEY), 2)
        await self.create()

    async def close(self) -> None:
        """Close, which moves the log into the file."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            await self._append(await store.open(KEY), 2)
            self._faults.arm()

    async def used(self, step: str) -> None:
        """Do one step with a session of two messages; when it fails, the store must go on afterwards."""
        async with open_sessions(self._path, self._clock, self._ids) as store:
            session = await store.open(KEY)
            await self._append(session, 2)
            for _ in range(300 if step == "checkpoint" else 0):
                await self._append(session, 2)
            self._faults.arm()
            try:
                await self._step(step, store, session)
            except FerruleError:
                self._faults.disarm()
                if step in ("append", "intend", "checkpoint"):
                    await self._append(session, 1)
                raise
            finally:
                self._faults.disarm()
                await session.close()

    async def _step(self, step: str, store: SqliteSessions, session: Session) -> None:
        again = SessionKey(agent="a", id=session.id)
        if step in ("append", "checkpoint"):
            await self._append(session, 3)
        elif step == "intend":
            await self._append(session, 2, begin=True)
        else:
            await session.close()
            held = await store.open(again)
            _expect(len(held.messages) == 2, "the session that was opened is not whole")
            await held.close()

    async def _append(self, session: Session, count: int, *, begin: bool = False) -> None:
        place = len(session.messages)
        new = [message(session.id, place + i, count - 1 - i, 5_000) for i in range(count)]
        await (session.intend(new, [one.calls[0] for one in new]) if begin else session.append(new))
        for one in new:
            self._acknowledge(f"message {one.id}")
            if begin:
                self._acknowledge(f"begun {session.id} {one.calls[0].id}")


class KeptSession:
    """The operations with a session that lies in the store: of two turns, each a question and an answer."""

    def __init__(self, root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        self._path = root / "sessions.db"
        self._faults = faults
        self._acknowledge = acknowledge
        self._id = ""
        self._steps: dict[str, Callable[[SqliteSessions], Awaitable[None]]] = {
            "list": self._list,
            "find": self._find,
            "read": self._read,
            "export": self._export,
            "search": self._search,
            "branch": self._branch,
            "import": self._import,
            "undo": self._undo,
            "redo": self._redo,
            "delete": self._delete,
        }

    async def used(self, step: str) -> None:
        """Do one step; when it failed once, it must work the second time, and the store go on."""
        async with open_sessions(self._path, FakeClock(), SequenceIds()) as store:
            await self._prepare(store, step)
            self._faults.arm()
            try:
                await self._steps[step](store)
            except FerruleError:
                self._faults.disarm()
                if not self._faults.lasting:
                    await self._again(store, step)
                raise
            finally:
                self._faults.disarm()

    async def _prepare(self, store: SqliteSessions, step: str) -> None:
        session = await store.open(KEY)
        await session.append([_of_turn(session.id, number) for number in range(2 * TURNS)])
        self._id = session.id
        await session.close()
        other = await store.open(KEY)
        await other.append([message(other.id, 0, 0, 5_000)])
        self._acknowledge(f"message {message(other.id, 0, 0, 5_000).id}")
        await other.close()
        if step == "redo":
            await store.undo(self._id)
        self._acknowledge(f"kept {self._id} {step}")

    async def _again(self, store: SqliteSessions, step: str) -> None:
        if step == "undo":
            _expect(len(await store.read(self._id)) == 2 * TURNS, "a failed undo took something back")
        try:
            await self._steps[step](store)
        except StoreError as error:  # the session was gone, only its bytes were still in the log
            if step != "delete" or error.code != "session.missing":
                raise
            self._acknowledge(f"deleted {self._id}")

    async def _list(self, store: SqliteSessions) -> None:
        _expect([facts.messages for facts in await store.list()] in ([1, 4], [4, 1]), "the list is not whole")

    async def _find(self, store: SqliteSessions) -> None:
        _expect((await store.find(self._id)).messages == 2 * TURNS, "another session was found")

    async def _read(self, store: SqliteSessions) -> None:
        _expect(len(await store.read(self._id)) == 2 * TURNS, "what was read is not whole")

    async def _export(self, store: SqliteSessions) -> None:
        document = document_of(await store.find(self._id), await store.read(self._id))
        _expect(len(from_document(document, "it")[1]) == 2 * TURNS, "what was exported is not whole")

    async def _search(self, store: SqliteSessions) -> None:
        hits = await store.search(text_of(_of_turn(self._id, 1).id, 300)[:20])
        _expect([hit.message_id for hit in hits] == [_of_turn(self._id, 1).id], "the search found something else")

    async def _branch(self, store: SqliteSessions) -> None:
        self._acknowledge(f"copy {(await store.branch(self._id)).id}")

    async def _import(self, store: SqliteSessions) -> None:
        messages = [_of_turn("elsewhere", number) for number in range(2 * TURNS)]
        self._acknowledge(f"copy {(await store.take(KEY, messages)).id}")

    async def _undo(self, store: SqliteSessions) -> None:
        await store.undo(self._id)
        self._acknowledge(f"undone {self._id}")

    async def _redo(self, store: SqliteSessions) -> None:
        await store.redo(self._id)
        self._acknowledge(f"redone {self._id}")

    async def _delete(self, store: SqliteSessions) -> None:
        await store.delete(self._id)
        self._acknowledge(f"deleted {self._id}")


def _of_turn(session_id: str, number: int) -> Message:
    return replace(message(session_id, number, 0, 300), role="assistant" if number % 2 else "user", calls=())


def _expect(holds: bool, otherwise: str) -> None:
    """A call that fails may end in an error, never in less than was asked for."""
    if not holds:
        raise AssertionError(otherwise)


async def _faults_of_kept(path: Path, said: Sequence[str]) -> list[str]:
    """Compare what the steps said with what is there; what a step did not say it did, it did whole or not at all."""
    facts = [line.split() for line in said]
    done = {words[0]: words[1] for words in facts}
    if "kept" not in done:
        return []
    kept, step = next((words[1], words[2]) for words in facts if words[0] == "kept")
    async with open_sessions(path, FakeClock(), SequenceIds()) as store:
        there = {each.id: len(await store.read(each.id)) for each in await store.list()}
    allowed = {"undo": {2, 4}, "redo": {2, 4}, "delete": {0, 4}}.get(step, {4})
    allowed = {"undone": {2}, "redone": {4}, "deleted": {0}}.get(next(reversed(done)), allowed)
    found = []
    if there.get(kept, 0) not in allowed:
        found.append(f"{there.get(kept, 0)} of 4 messages are there, {sorted(allowed)} may be")
    copies = {each: count for each, count in there.items() if count == 2 * TURNS and each != kept}
    if "copy" in done and done["copy"] not in copies:
        found.append("the copy is not there, or not whole")
    others = {each: count for each, count in there.items() if each not in copies and each != kept}
    if list(others.values()) != [1]:
        found.append(f"beside it there is {others}")
    return found


HELD = ("create", "append", "intend", "checkpoint", "open", "close", "reopen")
KEPT = ("list", "find", "read", "export", "search", "branch", "import", "undo", "redo", "delete")


def _of_held(step: str) -> Operation:
    def operation(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        held = HeldSession(root, faults, acknowledge)
        whole = {"create": held.create, "reopen": held.reopen, "close": held.close}
        asyncio.run(whole[step]() if step in whole else held.used(step))

    return operation


def _of_kept(step: str) -> Operation:
    def operation(root: Path, faults: Faults, acknowledge: Acknowledge) -> None:
        asyncio.run(KeptSession(root, faults, acknowledge).used(step))

    return operation


def session_faults(root: Path, acknowledged: Sequence[str]) -> list[str]:
    """Open the store and compare."""
    path = root / "sessions.db"
    messages = [line for line in acknowledged if line.startswith(("message ", "begun "))]
    found = asyncio.run(_faults_of_kept(path, [line for line in acknowledged if line not in messages]))
    return found + asyncio.run(faults_of(path, messages))


OPERATIONS = {step: _of_held(step) for step in HELD} | {step: _of_kept(step) for step in KEPT}
