"""A store of an older version: backed up, brought up to date, nothing lost; or left as it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.storage.sessions.schema import MIGRATIONS, backups
from ferrule.testing.contracts.session import said, texts
from ferrule.types.errors import StoreError
from tests.storage._processes import outcomes, start
from tests.storage.test_limits_of_the_disk import files_of_at_most

VERSION_1 = """
create table sessions (
    id text primary key, agent text not null, person text not null, audience text not null,
    title text not null, created_ms integer not null, changed_ms integer not null
) strict, without rowid;
create table messages (
    session_id text not null references sessions(id), seq integer not null,
    person text not null, audience text not null, body blob not null,
    primary key (session_id, seq)
) strict, without rowid;
create table intents (
    session_id text not null references sessions(id), call_id text not null,
    person text not null, audience text not null, name text not null, at_ms integer not null,
    primary key (session_id, call_id)
) strict, without rowid;
create index sessions_changed on sessions(changed_ms);
pragma user_version = 1;
insert into sessions values ('ses_old', 'research', 'ann', 'room', 'an old question', 5, 7);
insert into messages values ('ses_old', 0, 'ann', 'room',
    cast('{"v":1,"id":"msg_1","role":"user","text":"an old question","origin":"user","at_ms":5}' as blob));
insert into messages values ('ses_old', 1, 'ann', 'room', cast(
    '{"v":1,"id":"msg_2","role":"assistant","origin":"model","calls":[{"id":"c1","name":"shell","arguments":{"command":"make"}}]}'
    as blob));
insert into intents values ('ses_old', 'c1', 'ann', 'room', 'shell', 6);
"""
"""The first shape of the store, as it was written; it never changes."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 1 with one session, killed in the middle of a call."""
    path = tmp_path / "state" / "sessions.db"
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    connection = apsw.Connection(str(path))
    connection.execute("pragma journal_mode = wal")
    connection.execute(VERSION_1)
    connection.close()
    return path


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return int(str(connection.pragma("user_version")))
    finally:
        connection.close()


def test_the_first_migration_still_makes_the_first_shape(old: Path) -> None:
    made, kept = apsw.Connection(":memory:"), apsw.Connection(str(old))
    made.execute(MIGRATIONS[0])
    sql = "select type, name, replace(sql, '  ', '') from sqlite_schema where sql is not null order by name"
    shapes = [[" ".join(str(row).split()) for row in each.execute(sql).fetchall()] for each in (made, kept)]
    for connection in (made, kept):
        connection.close()
    assert [row.replace("\\n", "") for row in shapes[0]] == [row.replace("\\n", "") for row in shapes[1]]


async def test_an_older_store_is_brought_up_to_date_after_a_backup(old: Path) -> None:
    async with open_sessions(old, SystemClock(), RandomIds()) as store:
        (facts,) = await store.list()
        assert (facts.id, facts.agent, facts.person, facts.messages, facts.title, facts.changed_ms) == (
            *("ses_old", "research", "ann", 2, "an old question"),
            7,
        )
        assert [hit.message_id for hit in await store.search("old question")] == ["msg_1"]
        assert [hit.message_id for hit in await store.search("make")] == ["msg_2"]
        session = await store.open(SessionKey(agent="research", id="ses_old"))
        assert [call.id for call in session.interrupted] == ["c1"]
        await session.append([said("new")])
        await session.close()
        await store.undo("ses_old")
        assert await texts(store, "ses_old") == ["an old question", ""]
    (backup,) = backups(old)
    assert backup.name == "sessions.db.v1.backup"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert (version_of(backup), version_of(old)) == (1, len(MIGRATIONS))
    connection = apsw.Connection(str(backup))
    assert connection.execute("select id, seq from messages join sessions on id = session_id").fetchall() == [
        ("ses_old", 0),
        ("ses_old", 1),
    ]
    connection.close()


async def test_one_migration_makes_one_backup_and_never_replaces_another(old: Path) -> None:
    earlier = old.with_name("sessions.db.v1.backup")
    earlier.write_text("an earlier backup")
    for _ in range(2):
        async with open_sessions(old, SystemClock(), RandomIds()) as store:
            assert len(await store.list()) == 1
    assert [path.name for path in backups(old)] == ["sessions.db.v1.2.backup", "sessions.db.v1.backup"]
    assert earlier.read_text() == "an earlier backup"
    assert not [name for name in os.listdir(old.parent) if name.startswith(".ferrule-")]


async def test_a_backup_can_be_put_back(old: Path) -> None:
    async with open_sessions(old, SystemClock(), RandomIds()) as store:
        await store.delete("ses_old")
    os.replace(old.with_name("sessions.db.v1.backup"), old)
    async with open_sessions(old, SystemClock(), RandomIds()) as store:
        assert await texts(store, "ses_old") == ["an old question", ""]


async def test_a_store_that_cannot_be_backed_up_is_left_as_it_was(old: Path) -> None:
    connection = apsw.Connection(str(old))
    connection.execute("update messages set body = zeroblob(200000) where seq = 1")
    connection.close()
    before = old.read_bytes()
    with files_of_at_most(100_000), pytest.raises(StoreError, match="no backup") as caught:
        async with open_sessions(old, SystemClock(), RandomIds()):
            raise AssertionError("it must not open")
    assert (caught.value.code, bool(caught.value.hint)) == ("store.backup", True)
    assert old.read_bytes() == before
    assert sorted(os.listdir(old.parent)) == ["sessions.db", "sessions.lock"]


async def test_a_new_store_and_an_empty_old_one_need_no_backup(tmp_path: Path, old: Path) -> None:
    connection = apsw.Connection(str(old))
    connection.execute("delete from intents; delete from messages; delete from sessions")
    connection.close()
    for path in (old, tmp_path / "new" / "sessions.db"):
        async with open_sessions(path, SystemClock(), RandomIds()) as store:
            assert list(await store.list()) == []
        assert backups(path) == []


async def test_a_store_that_says_it_is_old_and_is_damaged_is_named(old: Path) -> None:
    old.write_bytes(old.read_bytes()[:100] + b"\xff" * 8000)
    with pytest.raises(StoreError, match=r"sessions\.db") as caught:
        async with open_sessions(old, SystemClock(), RandomIds()):
            raise AssertionError("it must not open")
    assert caught.value.hint
    assert backups(old) == []


OPENER = """
async def main():
    async with open_sessions(PATH, SystemClock(), RandomIds()) as store:
        print(len(await store.read("ses_old")))

asyncio.run(main())
"""


def test_many_processes_that_meet_an_old_store_change_it_once(old: Path) -> None:
    assert outcomes([start(OPENER, old) for _ in range(6)]) == ["2\n"] * 6
    assert len(backups(old)) == 1
    assert version_of(old) == len(MIGRATIONS)
