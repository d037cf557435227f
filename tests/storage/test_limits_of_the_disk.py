"""Two processes at one file, and a disk that takes no more: errors, never half a thing."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import Session, SessionKey
from ferrule.storage.atomic import write_atomic
from ferrule.storage.sessions import open_sessions
from ferrule.testing.contracts.session import KEY, said
from ferrule.types.errors import StoreError

MIB = 1024 * 1024

WRITER = """
import asyncio, sys
from pathlib import Path
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.types.messages import Message

async def main():
    async with open_sessions(Path(sys.argv[1]), SystemClock(), RandomIds()) as store:
        session = await store.open(SessionKey(agent="a"))
        print(session.id, flush=True)
        sys.stdin.readline()
        for i in range(100):
            await session.append([Message(id=f"m{i}", role="user", text=str(i))])
        await session.close()

asyncio.run(main())
"""


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file grow beyond `size` bytes, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def fill(session: Session, kept: list[str]) -> None:
    """Append pairs of messages until it fails, and note the ids of those that were taken."""
    for number in range(100):
        pair = [said("x" * MIB, id=str(number)), said("end", id=f"end {number}")]
        await session.append(pair)
        kept += [message.id for message in pair]


async def test_processes_that_write_to_one_file_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ids = [writer.stdout.readline().strip() for writer in writers if writer.stdout is not None]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, "")
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        for session_id in ids:
            assert [m.text for m in await store.read(session_id)] == [str(i) for i in range(100)]


async def test_a_full_disk_is_an_error_and_writing_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    kept: list[str] = []
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        with files_of_at_most(8 * MIB), pytest.raises(StoreError, match=r"sessions\.db") as caught:
            await fill(session, kept)
        assert caught.value.hint
        assert 0 < len(kept) < 200
        assert [m.id for m in session.messages] == kept
        assert [m.id for m in await store.read(session.id)] == kept
        await session.append([said("after", id="after")])
        await session.close()
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [m.id for m in again.messages] == [*kept, "after"]
        await again.close()
    assert sorted(os.listdir(path.parent)) == ["sessions.db", "sessions.lock"]


async def test_a_full_disk_fails_all_sessions_of_a_commit_alike(tmp_path: Path) -> None:
    async with open_sessions(tmp_path / "s" / "sessions.db", SystemClock(), RandomIds()) as store:
        sessions = [await store.open(KEY) for _ in range(3)]
        with files_of_at_most(5 * MIB):
            ends = await asyncio.gather(
                *(session.append([said("x" * 8 * MIB)]) for session in sessions), return_exceptions=True
            )
        assert [type(end) for end in ends] == [StoreError] * 3
        assert list(await store.list()) == []
        await asyncio.gather(*(session.append([said("now")]) for session in sessions))
        assert [line.messages for line in await store.list()] == [1, 1, 1]
        for session in sessions:
            await session.close()


def test_a_file_that_does_not_fit_leaves_the_old_one_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"old")
    with files_of_at_most(1000), pytest.raises(StoreError, match="could not be written") as caught:
        write_atomic(path, b"x" * 1001)
    assert caught.value.hint
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_bytes() == b"old"
    write_atomic(path, b"x" * 1001)
    assert path.read_bytes() == b"x" * 1001


def test_a_file_of_sessions_that_cannot_be_made_is_an_error_and_can_be_made_later(tmp_path: Path) -> None:
    path = tmp_path / "s" / "sessions.db"
    with files_of_at_most(1000), pytest.raises(StoreError, match=r"sessions\.db"):
        asyncio.run(_open_once(path))
    asyncio.run(_open_once(path))


async def _open_once(path: Path) -> None:
    async with open_sessions(path, SystemClock(), RandomIds()) as store:
        session = await store.open(KEY)
        await session.append([said("x")])
        await session.close()


MAKER = """
import asyncio, sys
from pathlib import Path
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.storage.sessions import open_sessions

async def main():
    async with open_sessions(Path(sys.argv[1]) / name.strip() / "sessions.db", SystemClock(), RandomIds()):
        print(name.strip(), flush=True)

print("ready", flush=True)
for name in sys.stdin:
    asyncio.run(main())
"""


def test_processes_that_make_one_file_at_the_same_time_all_open_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKER, str(tmp_path)]
    makers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for maker in makers:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "ready\n"
    for name in map(str, range(20)):
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(f"{name}\n")
            maker.stdin.flush()
        for maker in makers:
            assert maker.stdout is not None
            assert maker.stdout.readline() == f"{name}\n"
    for maker in makers:
        maker.communicate(timeout=60)
        assert maker.returncode == 0
