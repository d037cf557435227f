"""Locks of sessions between processes and within one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ferrule.storage.locks import LockHeld
from ferrule.storage.session_locks import SessionLocks
from ferrule.types.errors import StoreError

HOLDER = """
import sys
import threading
from pathlib import Path
from ferrule.storage.session_locks import SessionLocks

lock = SessionLocks(Path(sys.argv[1])).acquire("one")
print("held", flush=True)
sys.stdin.readline()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """Start a process that holds session "one" until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_session_has_one_holder_and_its_process_is_named(tmp_path: Path) -> None:
    process = holder(tmp_path / "s.lock")
    locks = SessionLocks(tmp_path / "s.lock")
    with pytest.raises(LockHeld, match=str(process.pid)) as caught:
        locks.acquire("one")
    assert caught.value.pid == process.pid
    locks.acquire("two").release()
    process.communicate("\n", timeout=30)
    locks.acquire("one").release()
    locks.close()


def test_a_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    process = holder(tmp_path / "s.lock")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    locks = SessionLocks(tmp_path / "s.lock")
    locks.acquire("one").release()
    locks.close()


def test_two_parts_of_one_process_exclude_each_other_and_neither_frees_what_the_other_holds(tmp_path: Path) -> None:
    first, second = SessionLocks(tmp_path / "s.lock"), SessionLocks(tmp_path / "s.lock")
    held = first.acquire("one")
    with pytest.raises(LockHeld) as caught:
        second.acquire("one")
    assert caught.value.pid == os.getpid()
    other = second.acquire("two")
    second.close()
    code = HOLDER.replace('"one"', "sys.argv[2]")
    for session_id in ("one", "two"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "s.lock"), session_id],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "LockHeld" in done.stderr
    held.release()
    held.release()
    other.release()
    first.close()


def test_no_descriptor_and_no_further_file_is_left(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    locks = SessionLocks(tmp_path / "s.lock")
    last = locks.acquire("one")
    locks.close()
    assert len(os.listdir("/proc/self/fd")) == before + 1
    last.release()
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == ["s.lock"]


def test_a_child_that_was_forked_does_not_hold_what_its_parent_holds(tmp_path: Path) -> None:
    locks = SessionLocks(tmp_path / "s.lock")
    held = locks.acquire("one")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            SessionLocks(tmp_path / "s.lock").acquire("one")
        except LockHeld as refused:
            status = 0 if refused.pid == os.getppid() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    held.release()
    locks.close()


def test_a_file_system_without_room_for_the_lock_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none/s\.lock"):
        SessionLocks(tmp_path / "none" / "s.lock")


def test_a_child_that_is_forked_while_another_thread_locks_can_lock_too(tmp_path: Path) -> None:
    locks = SessionLocks(tmp_path / "s.lock")
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            locks.acquire("two").release()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for number in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that hangs is killed, which fails the test
                SessionLocks(tmp_path / "s.lock").acquire(f"child {number}")
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()
    locks.close()
