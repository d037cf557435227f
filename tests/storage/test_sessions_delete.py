"""Deleted means gone: from the rows, from the search, from the bytes on disk; and no process owns what another has."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.testing.contracts.session import KEY, answered, kept, said, texts
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from tests.storage._processes import outcomes, start

CANARY = "the canary kumquat sings at dawn "
TABLES = ("sessions", "messages", "intents", "undone", "places", "indexed", "words")


def holders_of(folder: Path, word: bytes) -> list[str]:
    """Name the files that hold a word."""
    return [path.name for path in sorted(folder.iterdir()) if word in path.read_bytes()]


async def test_no_row_and_no_byte_of_a_deleted_session_is_left(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    calls = (ToolCall(id="c1", name="shell", arguments={"command": CANARY}),)
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        await session.intend([said(CANARY * 50), Message(id="a", role="assistant", calls=calls)], calls)
        await session.append([answered(CANARY * number) for number in range(1, 40)])
        await session.append([said(CANARY)])
        await session.close()
        other = await kept(store, said("another text"))
        assert len(await store.search("kumquat", limit=100)) == 42
        await store.undo(session.id)
        assert holders_of(path.parent, b"kumquat") != []
        await store.delete(session.id)
        assert holders_of(path.parent, b"kumquat") == []
        assert await texts(store, other) == ["another text"]
        assert len(await store.search("another")) == 1
        await store.delete(other)
    connection = apsw.Connection(str(path))
    assert [connection.execute(f"select count(*) from {table}").fetchall() for table in TABLES] == [[(0,)]] * len(
        TABLES
    )
    connection.close()
    assert sorted(os.listdir(path.parent)) == ["sessions.db", "sessions.lock"]


async def test_a_reader_delays_the_erasing_and_not_the_deletion(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        one = await kept(store, said(CANARY))
        reader = apsw.Connection(str(path))
        reader.execute("begin")
        assert reader.execute("select count(*) from messages").fetchall() == [(1,)]
        await store.delete(one)
        assert list(await store.list()) == []
        reader.execute("rollback")
        reader.close()
    assert holders_of(path.parent, b"kumquat") == []


HOLDER = """
async def main():
    taken = 0
    async with open_sessions(PATH, SystemClock(), RandomIds()) as store:
        while taken < 15:
            try:
                session = await store.open(SessionKey(agent="default", id=sys.argv[2]))
            except SessionBusy:
                await asyncio.sleep(0)
                continue
            before = len(session.messages)
            for part in ("begin", "end"):
                await session.append([Message(id="m", role="user", text=f"{part} {before}")])
            assert len(await store.read(sys.argv[2])) == before + 2
            await session.close()
            taken += 1
    print(taken)

asyncio.run(main())
"""


async def test_processes_that_want_one_session_have_it_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        one = await kept(store, said("x"))
    assert outcomes([start(HOLDER, path, one) for _ in range(3)]) == ["15\n"] * 3
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        found = await texts(store, one)
    pairs = [part for number in range(1, 91, 2) for part in (f"begin {number}", f"end {number}")]
    assert found == ["x", *pairs]


LATE = """
async def main():
    async with open_sessions(PATH, SystemClock(), RandomIds()) as store:
        for _ in range(10_000):
            try:
                session = await store.open(SessionKey(agent="default", id=sys.argv[2]))
                await session.append([Message(id="m", role="user", text="more")])
                await session.close()
            except SessionBusy:
                continue
            except StoreError as error:
                print(error.code)
                return

asyncio.run(main())
"""

DELETER = """
async def main():
    async with open_sessions(PATH, SystemClock(), RandomIds()) as store:
        while True:
            try:
                await store.delete(sys.argv[2])
            except SessionBusy:
                continue
            print("deleted")
            return

asyncio.run(main())
"""


async def test_a_session_that_is_deleted_while_others_want_it_stays_deleted(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        one = await kept(store, said("x"))
    ends = outcomes([start(LATE, path, one), start(LATE, path, one), start(DELETER, path, one)])
    assert ends == ["session.missing\n"] * 2 + ["deleted\n"]
    connection = apsw.Connection(str(path))
    assert connection.execute("select count(*) from messages").fetchall() == [(0,)]
    connection.close()


async def test_closing_a_session_waits_for_what_was_given_to_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        writing = session.append([said("one")])
        await session.close()
        assert writing.done()
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [message.text for message in again.messages] == ["one"]
        await again.close()
