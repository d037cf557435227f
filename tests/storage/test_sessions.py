"""Sessions on a real disk: durable, exclusive, honest about damage."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import Session, SessionKey, SessionStore
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.storage.sqlite import Database
from ferrule.testing.clock import SequenceIds
from ferrule.testing.contracts.memory import MemoryStoreContract
from ferrule.testing.contracts.session import KEY, SessionStoreContract, said
from ferrule.testing.stores import ListMemory, RamSessions
from ferrule.types.errors import StoreError
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall


class TestSqlite(SessionStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SessionStore]:
        async with open_sessions(tmp_path / "s" / "sessions.db", SystemClock(), SequenceIds()) as store:
            yield store


class TestRam(SessionStoreContract):
    @pytest.fixture
    async def store(self) -> SessionStore:
        return RamSessions()


class TestListMemory(MemoryStoreContract):
    @pytest.fixture
    def store(self) -> ListMemory:
        return ListMemory()


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[SqliteSessions]:
    async with open_sessions(tmp_path / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        yield store


async def test_writes_of_one_loop_iteration_share_a_commit(sessions: SqliteSessions, tmp_path: Path) -> None:
    opened = [await sessions.open(KEY) for _ in range(20)]
    watcher = apsw.Connection(str(tmp_path / "state" / "sessions.db"))
    before = watcher.pragma("data_version")
    await asyncio.gather(*(session.append([said(str(i))]) for i, session in enumerate(opened)))
    assert watcher.execute("select count(*) from messages").fetchall() == [(20,)]
    assert watcher.pragma("data_version") == int(str(before)) + 1
    watcher.close()
    for session in opened:
        await session.close()


async def test_a_cancelled_caller_does_not_undo_what_others_wrote(sessions: SqliteSessions) -> None:
    one, two = await sessions.open(KEY), await sessions.open(KEY)
    first = asyncio.ensure_future(one.append([said("one")]))
    second = asyncio.ensure_future(two.append([said("two")]))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert [m.text for m in await sessions.read(two.id)] == ["two"]
    assert [m.text for m in await sessions.read(one.id)] == ["one"]
    for session in (one, two):
        await session.close()


async def test_a_copy_can_be_made_of_a_session_in_use(sessions: SqliteSessions) -> None:
    session = await sessions.open(KEY)
    await session.append([said("one")])
    copy = await sessions.open(SessionKey(agent="other", id=(await sessions.branch(session.id, agent="other")).id))
    await copy.append([said("two")])
    assert [m.text for m in copy.messages] == ["one", "two"]
    assert [m.text for m in session.messages] == ["one"]
    for held in (session, copy):
        await held.close()


async def test_a_failed_write_adds_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        await session.append([said("one")])
        blocker = apsw.Connection(str(path))
        blocker.execute("create trigger full before insert on messages begin select raise(abort, 'disk full'); end")
        with pytest.raises(StoreError, match="disk full"):
            await session.append([said("lost")])
        assert [m.text for m in session.messages] == ["one"]
        blocker.execute("drop trigger full")
        blocker.close()
        await session.append([said("two")])
        assert [m.text for m in await store.read(session.id)] == ["one", "two"]
        await session.close()


def refuse_messages(path: Path) -> apsw.Connection:
    """Make every insert of a message fail until the trigger is dropped."""
    blocker = apsw.Connection(str(path))
    blocker.execute("create trigger full before insert on messages begin select raise(abort, 'disk full'); end")
    return blocker


async def append(session: Session, text: str) -> None:
    await session.append([said(text)])


async def test_a_cancelled_append_that_then_fails_is_forgotten_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session, other = await store.open(KEY), await store.open(KEY)  # a lone one waits for nobody
        blocker = refuse_messages(path)
        cancelled = asyncio.create_task(append(session, "lost"))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert list(session.messages) == []
        blocker.execute("drop trigger full")
        blocker.close()
        await session.append([said("kept")])
        assert [m.text for m in session.messages] == ["kept"]
        assert [m.text for m in await store.read(session.id)] == ["kept"]
        await session.close()
        await other.close()


async def test_appends_in_flight_fail_together_and_leave_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session, other = await store.open(KEY), await store.open(KEY)  # a lone one waits for nobody
        blocker = refuse_messages(path)
        three = [asyncio.create_task(append(session, str(i))) for i in range(3)]
        await asyncio.sleep(0)
        assert len(session.messages) == 3
        three[0].cancel()
        ends = await asyncio.gather(*three, return_exceptions=True)
        assert [type(end) for end in ends] == [asyncio.CancelledError, StoreError, StoreError]
        assert list(session.messages) == []
        blocker.execute("drop trigger full")
        await asyncio.gather(*(session.append([said(text)]) for text in ("one", "two")))
        assert blocker.execute("select seq from messages order by seq").fetchall() == [(0,), (1,)]
        blocker.close()
        await session.close()
        await other.close()


async def test_a_lone_session_is_on_disk_at_once_and_two_share_a_commit(tmp_path: Path) -> None:
    async with open_sessions(tmp_path / "s" / "sessions.db", SystemClock(), RandomIds()) as store:
        lone = await store.open(KEY)
        assert lone.append([said("one")]).done()
        other = await store.open(KEY)
        written = [lone.append([said("two")]), other.append([said("three")])]
        assert [write.done() for write in written] == [False, False]
        await asyncio.gather(*written)
        await other.close()
        assert lone.append([said("four")]).done()
        assert [m.text for m in await store.read(lone.id)] == ["one", "two", "four"]
        await lone.close()


async def test_an_append_that_waits_when_the_store_closes_is_written(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        waiting = asyncio.ensure_future(session.append([said("one")]))
        await asyncio.sleep(0)
        await session.close()
    await waiting
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        assert [m.text for m in await store.read(session.id)] == ["one"]


async def test_an_intent_alone_is_kept_too_and_closing_twice_is_safe(tmp_path: Path) -> None:
    calls = (ToolCall(id="c1", name="shell", arguments={}),)
    path = tmp_path / "s" / "sessions.db"
    store = SqliteSessions(path, SystemClock(), RandomIds())
    session = await store.open(KEY)
    await session.append([said("go"), Message(id="a", role="assistant", calls=calls)])
    await session.intend([], calls)
    await session.close()
    again = await store.open(SessionKey(agent="default", id=session.id))
    assert [call.id for call in again.interrupted] == ["c1"]
    await again.close()
    await store.close()
    await store.close()


async def test_broken_text_does_not_stop_a_session(sessions: SqliteSessions) -> None:
    session = await sessions.open(KEY)
    await asyncio.wait_for(session.append([said("half \ud83d")]), 5)
    with pytest.raises(StoreError, match="cannot be stored") as caught:
        await session.append([said("x", id="\ud83d")])
    assert caught.value.hint
    calls = (ToolCall(id="c1", name="half_\ud83d", arguments={}),)
    await asyncio.wait_for(session.intend([Message(id="a", role="assistant", calls=calls)], calls), 5)
    assert [m.text for m in await sessions.read(session.id)] == ["half \ufffd", ""]
    assert [line.title for line in await sessions.list()] == ["half \ufffd"]
    await session.close()


async def test_values_that_no_database_holds_are_an_error_and_not_a_hang(sessions: SqliteSessions) -> None:
    session = await sessions.open(SessionKey(agent="a", person="\ud83d"))
    with pytest.raises(StoreError, match=r"sessions\.db"):
        await asyncio.wait_for(session.append([said("x")]), 5)
    assert list(session.messages) == []
    await session.close()


def test_a_lock_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "sessions.lock").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreError, match=r"sessions\.lock") as caught:
        SqliteSessions(tmp_path / "sessions.db", SystemClock(), RandomIds())
    assert caught.value.hint
    assert len(os.listdir("/proc/self/fd")) == before


async def test_another_process_is_named_by_its_pid(sessions: SqliteSessions, tmp_path: Path) -> None:
    session = await sessions.open(KEY)
    await session.append([said("one")])
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from ferrule.storage.sessions import open_sessions\n"
        "from ferrule.core.system_clock import *\n"
        "from ferrule.ports.session import SessionKey\n"
        "from ferrule.types.errors import SessionBusy\n"
        "async def main():\n"
        "    async with open_sessions(Path(sys.argv[1]), SystemClock(), RandomIds()) as store:\n"
        "        try: await store.open(SessionKey(agent='a', id=sys.argv[2]))\n"
        "        except SessionBusy as busy: print(busy.pid)\n"
        "asyncio.run(main())\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "state" / "sessions.db"), session.id]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(os.getpid())
    await session.close()


@pytest.mark.parametrize(
    "content", [b"this is no database at all, not even close" * 40, b"SQLite format 3\0" + b"\xff" * 200]
)
def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sessions.db"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(StoreError, match=r"sessions\.db") as caught:
        SqliteSessions(path, SystemClock(), RandomIds())
    assert caught.value.hint
    assert path.read_bytes() == content


def test_a_file_that_others_can_read_is_refused_with_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.touch(mode=0o644)
    path.chmod(0o644)
    with pytest.raises(StoreError, match="others") as caught:
        SqliteSessions(path, SystemClock(), RandomIds())
    assert caught.value.hint == f"chmod 600 {path}"


async def test_a_file_of_a_newer_version_is_refused(sessions: SqliteSessions, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    connection = apsw.Connection(str(path))
    connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer") as caught:
        SqliteSessions(path, SystemClock(), RandomIds())
    assert caught.value.code == "store.newer"


async def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with pytest.raises(StoreError, match=r"some\.db"):
        Database(path, ("create table one (a); create table one (a);",))
    database = Database(path, ("create table one (a)",))
    assert database.read("select * from one") == []
    await database.close()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"v": 1}',
        b"\xff",
        b'{"v": 1, "id": "m", "role": "user", "parts": [{"type": "file", "name": "a", "media_type": "b", "data": "x"}]}',
    ],
)
async def test_a_damaged_message_is_named_and_other_sessions_can_be_read(
    sessions: SqliteSessions, tmp_path: Path, body: bytes
) -> None:
    bad, good = await sessions.open(KEY), await sessions.open(KEY)
    for session in (bad, good):
        await session.append([said("x")])
        await session.close()
    connection = apsw.Connection(str(tmp_path / "state" / "sessions.db"))
    connection.execute("update messages set body = ? where session_id = ?", (body, bad.id))
    connection.close()
    with pytest.raises(StoreError, match=bad.id) as caught:
        await sessions.open(SessionKey(agent="a", id=bad.id))
    assert caught.value.hint
    assert len(await sessions.read(good.id)) == 1


@pytest.mark.parametrize("arguments", [b"{", b"[]", b"\xff"])
async def test_damaged_arguments_of_a_call_in_doubt_are_named(
    sessions: SqliteSessions, tmp_path: Path, arguments: bytes
) -> None:
    call = ToolCall(id="c1", name="shell", arguments={})
    session = await sessions.open(KEY)
    await session.intend([said("x"), Message(id="a", role="assistant", calls=(call,))], [call])
    await session.close()
    connection = apsw.Connection(str(tmp_path / "state" / "sessions.db"))
    connection.execute("update intents set arguments = ?", (arguments,))
    connection.close()
    with pytest.raises(StoreError, match=f"the arguments of a call of session '{session.id}'") as caught:
        await sessions.open(SessionKey(agent="a", id=session.id))
    assert (caught.value.code, bool(caught.value.hint)) == ("session.damaged", True)


async def test_a_call_whose_arguments_are_no_json_is_not_begun(sessions: SqliteSessions) -> None:
    session = await sessions.open(KEY)
    with pytest.raises(StoreError, match="arguments of a call") as caught:
        await session.intend([said("x")], [ToolCall(id="c1", name="shell", arguments={"x": object()})])
    assert caught.value.hint
    assert list(session.messages) == []
    await session.append([said("y")])
    assert [message.text for message in await sessions.read(session.id)] == ["y"]


CHILD = """
import asyncio, sys
from pathlib import Path
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.types.messages import Message

async def main():
    async with open_sessions(Path(sys.argv[1]), SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="a"))
        for i in range(10_000):
            await session.append([Message(id=f"m{i}", role="user", text=str(i))])
            print(session.id, i, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [0, 1, 5, 17, 40])
async def test_what_was_acknowledged_before_a_kill_is_there_afterwards(tmp_path: Path, after: int) -> None:
    path = tmp_path / "s" / "sessions.db"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(after + 1)]
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.read().splitlines()
    child.stdout.close()
    child.wait()
    session_id, last = next(line for line in reversed(lines) if len(line.split()) == 2).split()
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="a", id=session_id))
        texts = [m.text for m in session.messages]
        assert texts[: int(last) + 1] == [str(i) for i in range(int(last) + 1)]
        await session.append([said("after")])
        await session.close()


def test_an_agent_killed_at_any_moment_loses_nothing_and_leaves_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benches.soak.crash_sessions", "--seeds", "0:10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    counted = json.loads(done.stdout)
    assert counted.pop("acknowledged") > 0
    assert counted == {"kills": 10, "lost": 0, "failed_starts": 0, "left_behind": 0}, done.stderr
    assert done.returncode == 0
